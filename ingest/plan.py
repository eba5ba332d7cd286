"""Plan an ingest: the files, their kinds and their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.encoding import without_comments
from promptlab.errors import InputError, UsageError
from promptlab.ingest.files.finding import FoundFile, find_files
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.registry import TOOLS, order_of, tool
from promptlab.ingest.foreign.registry import recognise as recognise_foreign
from promptlab.ingest.formats import HEAD_BYTES, KINDS, recognise
from promptlab.json_text.places import BOM

if TYPE_CHECKING:
    from promptlab.contracts.sources import TableMapping


Planned = tuple[FoundFile, "str | None"]
"""A file and its kind."""


TABLE = "table"
"""Kind of a file with a mapping in the config."""

Mappings = Mapping[str, "TableMapping"]


def plan(
    paths: Sequence[Path], kind: str = "auto", tables: Mappings | None = None
) -> list[Planned]:
    """Return the files below ``paths`` and their kinds, in reading order.

    Pipelines come first, so that testsets can be checked against their steps. A file
    named itself that is empty or of no known kind has a ``fault``.

    Args:
        paths: files and folders.
        kind: their kind; ``auto``: detected for each file.
        tables: mappings of tables by name; a table is read by the first that fits.

    Raises:
        InputError: a path that cannot be read.
        UsageError: the kind is unknown.
    """
    if kind not in {"auto", *KINDS}:
        raise UsageError(f"--kind {kind}: there is no such kind; {', '.join(KINDS)}")
    planned: list[Planned] = []
    for file in find_files(paths):
        if file.fault:
            planned.append((file, None))
        else:
            planned.append(_with_kind(file, kind, tables or {}))
    return sorted(gathered(planned), key=_place)


def gathered(planned: Iterable[Planned]) -> list[Planned]:
    """Group the files of each run by the rules of its tool; leave others unchanged."""
    result: list[Planned] = []
    of_tool: dict[str, list[FoundFile]] = defaultdict(list)
    for file, kind in planned:
        if kind in TOOLS and hasattr(tool(kind), "gather"):
            of_tool[kind].append(file)
        else:
            result.append((file, kind))
    for kind, files in of_tool.items():
        for lead, others in tool(kind).gather(files):
            companions = tuple(other.path for other in others)
            result.append((replace(lead, companions=companions), kind))
    return result


def _place(one: Planned) -> tuple[int, int]:
    """Return the sort key; the most complete form of a run comes first."""
    file, kind = one
    if kind is None:
        return len(KINDS), 0
    return KINDS.index(kind), order_of(kind, file.form) if kind in TOOLS else 0


def _with_kind(file: FoundFile, kind: str, tables: Mappings) -> Planned:
    if kind not in {"auto", *TOOLS}:
        return file, kind
    try:
        with file.path.open("rb") as stream:
            head = stream.read(min(file.size or HEAD_BYTES, HEAD_BYTES))
    except OSError as error:
        reason = error.strerror or str(error)
        if file.named:
            raise InputError(f"{file.path}: cannot be read: {reason}") from None
        return replace(file, fault=reason), None
    plain = Head(without_comments(head))
    foreign = recognise_foreign(plain)
    columns: list[str] = []
    if tables:
        mapped, columns = _mapped(file, head, tables, is_of_tool=foreign is not None)
        if mapped is not None and kind in {"auto", TABLE}:  # the config is first
            return mapped, TABLE
    if foreign is not None and kind in {"auto", foreign[0]}:
        return replace(file, form=foreign[1]), foreign[0]
    if kind == "auto":
        kind_of_ours = recognise(plain)
        is_run = kind_of_ours == "testset" and _has_answers(columns, tables)
        if kind_of_ours is not None and not is_run:
            return file, kind_of_ours
    from promptlab.ingest.foreign.table.opening import form_of

    form = form_of(head)
    if kind == "auto" and file.named:
        return replace(file, fault=_fault(file, form, head)), None
    if form in (None, "json") and kind == "auto":  # any document may hold a list
        return file, None
    return replace(file, form=form), TABLE if kind == "auto" else kind


def _mapped(
    file: FoundFile, head: bytes, tables: Mappings, *, is_of_tool: bool
) -> tuple[FoundFile | None, list[str]]:
    """Return the file as a table of the config, if one fits, and its columns."""
    from promptlab.ingest.foreign.table.opening import columns_of, form_of

    columns: list[str] = []
    for encoding in dict.fromkeys(mapping.encoding for mapping in tables.values()):
        alike = {
            n: mapping for n, mapping in tables.items() if mapping.encoding == encoding
        }
        form = form_of(head, partial(_fitting, tables=alike), encoding)
        if form is None or (form == "json" and is_of_tool):
            continue  # a tool's own document is large
        columns = columns_of(file.path, form, encoding) or []
        mapping = _fitting(columns, alike, has_keys=form in ("jsonl", "json"))
        if mapping is not None:
            return replace(file, form=form, mapping=mapping), columns
    return None, columns


def _fitting(
    columns: Sequence[str], tables: Mappings, *, has_keys: bool = False
) -> tuple[str, TableMapping] | None:
    """Return the first mapping that matches the columns of a table.

    If each row *has* its own *keys*, a file without any error has no key for it.
    """
    for without_facts in (False, True) if has_keys else (False,):
        for name, mapping in tables.items():
            if mapping.fits(columns, without_facts=without_facts):
                return name, mapping
    return None


def _has_answers(columns: Sequence[str], tables: Mappings) -> bool:
    """Return true for rows with an ``id`` that are answers, and not test cases.

    They have an answer, a verdict or a number that a mapping names. If they lack
    another column of it, they are a table without a mapping, and may be a newer run.
    """
    from promptlab.ingest.testsets import PIPELINE_FIELDS

    of_tests = set(PIPELINE_FIELDS) - {"inputs"}
    return of_tests.isdisjoint(columns) and any(
        mapping.has_answers_in(columns) for mapping in tables.values()
    )


_BY_ITS_FIRST_BYTES = {
    (b"\xff\xfe", b"\xfe\xff"): "is UTF-16, not UTF-8: save it as UTF-8",
    # gzip, zstd, bzip2, xz, zip
    (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"pk\x03\x04"): (
        "is compressed: unpack it"
    ),
    (b"\xd0\xcf\x11\xe0",): (
        "is a workbook with a password or of an old Excel: save it as .xlsx without one"
    ),
    (b"<!doctype html", b"<html"): "is a web page: download the file behind it",
    (b"version https://git-lfs",): "is the pointer of a large file: `git lfs pull`",
    (b"\x89png", b"\xff\xd8\xff", b"gif8", b"%pdf"): (
        "is a picture or a PDF: load the data that it shows"
    ),
}
"""First bytes of a file in lower case → its kind, and the fix."""


def _fault(file: FoundFile, form: str | None, head: bytes) -> str:
    """Return why a file named on the command line cannot be loaded, and the fix."""
    if form is not None:
        from promptlab.ingest.foreign.table.guessing import no_mapping_message

        return no_mapping_message(file.path, form)
    begins = head[:100].lower().removeprefix(BOM).lstrip()
    for known, sentence in _BY_ITS_FIRST_BYTES.items():
        if begins.startswith(known):
            return f"it {sentence}"
    if not head.strip():
        return "it is empty: write it again"
    return (
        "it is of no known kind: name its kind with `--kind`, or make it a table of a"
        " row per answer (`promptlab init --table`)"
    )
