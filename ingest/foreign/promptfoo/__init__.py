"""promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``.

Tried on 0.120.8, 0.121.20 and 0.123.1 (results version 3); version 2 is read by its
published shape. Its CSV, YAML, XML and JUnit files contain less of the same run: they
are skipped with a message that names the right format.

One file, a task per column (prompt and provider). A case is a test: vars, description,
conversation; tests that only differ in assertions, threshold or options are separate
cases. ``--repeat`` writes no number, so equal tests are rounds of one case, up to the
number of repeats in the file.

`export` defines the JSON; `run` converts it with `columns` (providers and prompts),
`cases` and `assertions` (tests), `answers` and `verdicts` (rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Raw

from promptlab.ingest.foreign.documents import UNREADABLE, ToolFiles, decode, lines
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.promptfoo.cases import Test, Tests
from promptlab.ingest.foreign.promptfoo.export import Export, Results, Row
from promptlab.ingest.foreign.promptfoo.run import Run
from promptlab.ingest.foreign.writing import Record
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

__all__ = ["FORMS", "HASHES_ANSWERS", "recognise", "translate"]

FORMS = ("json", "jsonl", "other")
HASHES_ANSWERS = True

_FILES = ToolFiles("promptfoo", "0.120.8, 0.121.20 and 0.123.1")


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``results.version``, and JSONL rows with ``promptIdx``."""
    is_table = {"Status", "Score", "Named Scores"} <= head.columns
    is_yaml = head.data.startswith(b"evalId:") and head.has(b"\nresults:")
    is_xml = head.data.lstrip().startswith(b"<") and (
        head.has(b"<promptfoo>", b"<evalId>")
        or head.has(b"<testsuites", b'name="promptfoo"')
    )
    if is_table or is_yaml or is_xml:
        return "other"
    if {"promptIdx", "testIdx"} <= head.keys:
        return "jsonl"
    below = head.keys_below("results")
    is_export = "version" in below and bool(below & {"results", "prompts", "table"})
    return "json" if is_export else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the export as records, row by row; tasks and claims come last."""
    if source.form == "other":
        yield Problem(
            "says_less",
            f"{source.path.name} is promptfoo's, in a form that says no more than its"
            " JSON: write `promptfoo eval --output results.json` and load that",
            severity="warning",
        )
        return
    export, written = _opened(source)
    run, tests = Run(source, export), Tests(source, export)
    rows: list[tuple[int, bytes | Raw, Row, Test]] = []
    for place, raw in written:
        try:
            row = decode(raw, Row)
            rows.append((place, raw, row, tests.read(row)))
        except UNREADABLE as error:
            yield _problem(source, error, place, raw)
    # JSONL has rows as they end, which is another order in every run
    rows.sort(key=lambda item: item[2].testIdx or 0)
    run.name([row for _, _, row, _ in rows])
    tests.name(test for *_, test in rows)
    for place, raw, row, test in rows:
        try:
            yield from run.add(row, test, tests)
        except UNREADABLE as error:
            yield _problem(source, error, place, raw)
    yield from run.closing(tests)


def _opened(source: Source) -> tuple[Export, Iterable[tuple[int, bytes | Raw]]]:
    """Return the export, and each row as it is written, with its line or place."""
    if source.form == "jsonl":
        return Export(Results()), lines(source)
    export = _FILES.document(source, Export)
    return export, enumerate(export.results.results)


def _problem(source: Source, error: Exception, place: int, raw: bytes | Raw) -> Problem:
    """Return the reject of a row."""
    if source.form == "jsonl":
        return _FILES.problem(error, line=place, raw=bytes(raw))
    pointer = f"/results/results/{place}"
    return _FILES.problem(error, pointer=pointer, raw=bytes(raw))
