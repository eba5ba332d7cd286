"""Result files of other tools, translated into the records that our own inputs become.

A tool is one module here, or a small folder, and one line in `registry`. The module
holds:

``FORMS``
    The forms in which the tool writes a run, the one that says most first: of two
    copies of a run the first form is loaded.
``recognise(head) -> str | None``
    The form of a file, from its first bytes; ``None``: it is not this tool's.
``translate(source) -> Iterator[Record]``
    The file as records, in any order, and problems of single records: `tool_files`
    decodes it, redacted, and `writing` makes records (`records`) of what it says.
    Raises `Refused` where nothing of it can be read.
``gather(files)`` (only where a run is several files)
    Which file leads a run, and which belong to it (`runs`).

A translation is pure: it computes no score, judges no answer and writes nothing. What
the tool says is kept as it says it; SQL owns the numbers. Everything downstream
(batches, copies, limits) is the same for all tools (`reading`).
"""
