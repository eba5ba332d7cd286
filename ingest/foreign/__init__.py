"""Translate result files of other tools to the records of promptlab's own formats.

A tool is one module here, or a small folder, and one line in `registry`. The module
defines:

``FORMS``
    The forms in which the tool writes a run, the most complete first: of two copies of
    a run the first form is loaded.
``recognise(head) -> str | None``
    Return the form of a file, from its first bytes (`file_head`); ``None``: it is not
    this tool's.
``translate(source) -> Iterator[Record]``
    The file as records, in any order, and problems of single records: `documents`
    redacts and decodes it, and `writing` defines and creates the records. Raises
    `Refused` if the file cannot be read at all.
``gather(files)`` (only if a run is several files)
    Group files by run: the leading file and its companions (`runs_of_files`).
``HASHES_ANSWERS`` (only if all its tasks have a ``run_hash`` of their own)
    The answers are hashed already, and need no hash of their rows.

`scorings` writes what scorers gave, also of one that broke; `documents.at` finds a part
of an object by its path.

A translation is pure: it computes no score, judges no answer and writes nothing. Values
of the tool are kept unchanged; SQL computes the numbers. Everything downstream
(batches, copies, limits) is the same for all tools (`reading`).
"""
