"""promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``.

Tried on 0.120.8, 0.121.20 and 0.123.1 (results version 3); version 2 is read by its
published shape. Its CSV, YAML, XML and JUnit files contain less of the same run: they
are skipped with a message that names the right format.

One file, a task per column (prompt and provider). A case is a test: vars,
description, assertions, threshold. ``--repeat`` writes no number, so equal tests are
its rounds, up to the number of repeats in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from promptlab.ingest.foreign.documents import decode
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.promptfoo.columns import Columns, RunHead
from promptlab.ingest.foreign.promptfoo.structs import Export, Order, Row
from promptlab.ingest.foreign.promptfoo.totals import write_totals
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.tool_files import UNREADABLE, ToolFiles, file_bytes, lines
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("json", "jsonl", "other")

_FILES = ToolFiles("promptfoo", "0.120.8, 0.121.20 and 0.123.1")


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``results.version``, and JSONL rows with ``promptIdx``."""
    if _is_other(head):
        return "other"
    if {"promptIdx", "testIdx"} <= head.keys:
        return "jsonl"
    if "results" not in head.keys:
        return None
    below = head.keys_below("results")
    is_export = "version" in below and bool(below & {"results", "prompts", "table"})
    return "json" if is_export else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the export as records, row by row; tasks and totals come last."""
    if source.form == "other":
        yield Problem(
            "says_less",
            f"{source.path.name} is promptfoo's, in a form that says no more than its"
            " JSON: write `promptfoo eval --output results.json` and load that",
            severity="warning",
        )
    elif source.form == "jsonl":
        yield from _lines(source)
    else:
        yield from _document(source)


def _is_other(head: Head) -> bool:
    """Recognise CSV, YAML, XML or JUnit of promptfoo."""
    if {"Status", "Score", "Named Scores"} <= head.columns:
        return True
    if head.data.startswith(b"evalId:"):
        return head.has(b"\nresults:")
    return head.data.lstrip().startswith(b"<") and (
        head.has(b"<promptfoo>", b"<evalId>")
        or head.has(b"<testsuites", b'name="promptfoo"')
    )


def _document(source: Source) -> Iterator[Record | Problem]:
    # Only the slices of the rows are kept; they are decoded one by one.
    export = _FILES.decoded(file_bytes(source), Export)
    results = export.results
    columns = Columns(source, RunHead.of(export, source), repeat=_repeat(export))
    rows = sorted(enumerate(results.results), key=_test_of)
    for place, raw in rows:
        pointer = f"/results/results/{place}"
        yield from _row(columns, source.redact(bytes(raw)), pointer=pointer)
    yield from columns.closing()
    in_order = columns.in_order
    write_totals(export, in_order)
    for column in in_order:
        yield from column.task.written()


def _repeat(export: Export) -> int | None:
    """Return how often each test was repeated; before 0.121 it may be missing."""
    if export.runtimeOptions is not None:
        return export.runtimeOptions.repeat or 1
    options = export.config.evaluateOptions if export.config else None
    return options.repeat if options else None


def _lines(source: Source) -> Iterator[Record | Problem]:
    columns = Columns(source, RunHead.of(None, source), repeat=None)
    for number, line in lines(source):
        yield from _row(columns, line, line=number)
    yield from columns.closing()


def _row(
    columns: Columns,
    written: bytes,
    *,
    line: int | None = None,
    pointer: str | None = None,
) -> Iterator[Record | Problem]:
    try:
        row = decode(written, Row)
        yield from columns.add(row)
    except UNREADABLE as error:
        yield _FILES.problem(error, line=line, pointer=pointer, raw=written)


def _test_of(row: tuple[int, msgspec.Raw]) -> int:
    try:
        return decode(row[1], Order).testIdx or 0
    except (msgspec.DecodeError, RecursionError):
        return 0  # `_row` reports the error
