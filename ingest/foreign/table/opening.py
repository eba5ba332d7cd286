"""The bytes of a table as rows: which form it has, its columns, its cells.

Cells of CSV and TSV stay texts, so that ``007`` stays an id; what a number is, the
mapping knows. Redaction happens row by row, after the table is unpacked.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign.copies import repeated_header
from ingest.foreign.documents import Refused, decode
from ingest.foreign.files import file_bytes, lines
from ingest.foreign.heads import Head
from ingest.foreign.tool_files import UNREADABLE, ToolFiles
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    import polars as pl

    from ingest.reading.source import Source

FORMS = ("parquet", "xlsx", "jsonl", "csv")

Row = dict[str, Any]
"""Column → cell."""

_FILES = ToolFiles("a table", "JSONL")
_SEPARATORS = ",;\t|"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ROWS_AT_ONCE = 2000
_SHEET = b"xl/"
_HEAD_BYTES = 1 << 20
_NAMELESS = re.compile(r"column \d+|Unnamed: \d+|__index_level_\d+__")


def form_of(data: bytes) -> str | None:
    """The form of a table by its first bytes; ``None``: it does not look like one."""
    if data.startswith(b"PAR1"):
        return "parquet"
    head = Head(data)
    if head.is_zip:
        return "xlsx" if _SHEET in data or b"[Content_Types].xml" in data else None
    if head.data.lstrip()[:1] == b"{":
        return "jsonl" if _has_lines(head) else None
    return "csv" if _header(data) is not None else None


def _has_lines(head: Head) -> bool:
    """Two lines that are objects with a key in common."""
    found = []
    for line in head.data.split(b"\n")[:2]:
        try:
            found.append(decode(line, dict[str, Any]))
        except UNREADABLE:
            return False
    return len(found) == 2 and bool(found[0].keys() & found[1].keys())


def _header(data: bytes) -> tuple[list[str], str] | None:
    """Names and separator of a CSV's columns, if what is below them fits."""
    names, first, separator = _first_lines(data)
    if len(names) < 2 or len(first) != len(names) or not all(map(_is_name, names)):
        return None
    return _told_apart(names), separator


def _first_lines(data: bytes) -> tuple[list[str], list[str], str]:
    """Cells of a CSV's first two lines, none where there is none; its separator."""
    try:
        text = _decoded(data)[0]
    except UnicodeDecodeError:
        text = ""
    if "\0" in text[:4096]:
        text = ""
    separator, text = _separator(text)
    rows = csv.reader(io.StringIO(text[:_HEAD_BYTES]), delimiter=separator)
    try:
        return next(rows, []), next(rows, []), separator
    except csv.Error:
        return [], [], separator


def is_header_alone(data: bytes) -> bool:
    """Whether it looks like the columns of a CSV without a row."""
    names, first, _ = _first_lines(data)
    return len(names) > 1 and not first and all(map(_is_name, names))


def _is_name(cell: str) -> bool:
    is_code = "{" in cell or ": " in cell  # a line of YAML has commas too
    return len(cell) <= 200 and "\n" not in cell.strip() and not is_code


def _told_apart(names: list[str]) -> list[str]:
    """The names; one that is empty or taken gets a number."""
    seen: dict[str, int] = {}
    result = []
    for place, name in enumerate(names, start=1):
        name = name.strip() or f"column {place}"
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return result


def is_nameless(column: str) -> bool:
    """Whether a column has no name of its own, as the index that pandas writes."""
    return _NAMELESS.fullmatch(column) is not None


def _separator(text: str) -> tuple[str, str]:
    """What stands between cells, and the text without Excel's line about it."""
    if text[:4].lower() == "sep=" and len(text) > 4:
        return text[4], text.partition("\n")[2]
    # a separator inside quotes is text: count those of the header outside of them
    line = text.partition("\n")[0]
    outside = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=outside.count), text


def _decoded(data: bytes) -> tuple[str, str]:
    """The text, and how it is encoded; Excel writes three ways."""
    if data.startswith(_UTF16):
        return data[: len(data) // 2 * 2].decode("utf-16"), "UTF-16"
    try:
        return data.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:  # a head may end inside a character
            return data[: error.start].decode("utf-8-sig"), "UTF-8"
        return data.decode("cp1252"), "Windows-1252"


def columns_of(path: Path, form: str) -> list[str] | None:
    """The columns of a table; ``None`` where it cannot be opened."""
    try:
        if form == "parquet":
            import polars as pl

            return list(pl.read_parquet_schema(path))
        if form == "xlsx":
            return _sheet(path, 1 << 40).columns
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, Refused):
        return None
    except Exception as error:  # each library has errors of its own
        if isinstance(error, MemoryError):
            raise
        return None
    if form == "jsonl":
        first = Head(head).data.split(b"\n", 1)[0]
        return list(decode(first, dict[str, Any]))
    found = _header(head)
    return None if found is None else found[0]


def no_mapping(path: Path, form: str) -> str:
    """Say that a table has no mapping, and how to get one."""
    columns = columns_of(path, form) or []
    shown = ", ".join(columns[:12]) + (", …" if columns[12:] else "")
    return (
        f"{path.name} looks like a table ({form}: {shown}), and no mapping in the"
        f" config fits it: `promptlab init --table {path.name}` guesses one"
    )


def rows_of(source: Source, form: str) -> Iterator[tuple[int, Row] | Problem]:
    """Each row, redacted, in the order of the file, after the line where it begins.

    A frame has no lines: its rows are counted, a header as the first.

    Raises:
        Refused: It cannot be read as a table.
    """
    if form == "jsonl":
        for line, written in lines(source):
            row = _FILES.record(written, dict[str, Any], line=line)
            yield row if isinstance(row, Problem) else (line, row)
        return
    if source.size > source.limits.max_file:
        raise Refused(source.limits.file_too_large(source.size))
    if form == "csv":
        rows, encoding = _csv(source)
        if encoding == "Windows-1252":
            yield Problem(
                "not_utf8",
                f"{source.path.name} is not UTF-8 and is read as Windows-1252: save it"
                ' as "CSV UTF-8" if letters look wrong',
                severity="warning",
            )
    else:
        rows = _of_frame(_frame(source, form))
    batch: list[tuple[int, Row]] = []
    for each in rows:
        if isinstance(each, Problem):
            yield each
            continue
        batch.append(each)
        if len(batch) >= _ROWS_AT_ONCE:
            yield from _redacted(batch, source)
            batch = []
    yield from _redacted(batch, source)


def _redacted(rows: list[tuple[int, Row]], source: Source) -> list[tuple[int, Row]]:
    # as lines: what is redacted looks at a text line by line
    encode = msgspec.json.Encoder(enc_hook=str).encode
    written = b"\n".join(encode(row) for _, row in rows)
    redacted = source.redact(written)
    if redacted == written:
        return rows
    found = (decode(line, dict[str, Any]) for line in redacted.split(b"\n"))
    return [(line, row) for (line, _), row in zip(rows, found, strict=True)]


def _csv(source: Source) -> tuple[Iterator[tuple[int, Row] | Problem], str]:
    data = file_bytes(source)
    names, _, separator = _first_lines(data)
    text, encoding = _decoded(data)
    table = _separator(text)[1]
    above = int(table is not text)
    return _cells(table, _told_apart(names), separator, source, above), encoding


def _cells(
    text: str, names: list[str], separator: str, source: Source, above: int
) -> Iterator[tuple[int, Row] | Problem]:
    csv.field_size_limit(max(source.limits.max_record, 1 << 17))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    decimal_comma = separator == ";"
    header = next(reader, [])
    short: list[int] = []
    line = above + reader.line_num + 1
    try:
        for cells in reader:
            begins, line = line, above + reader.line_num + 1
            if not any(cells):
                continue
            again = repeated_header(cells, header, f"line {begins}", begins)
            if again is not None:
                yield again
                continue
            if len(cells) > len(names):
                raise Refused(
                    Problem(
                        "ragged_row",
                        f"a row of {len(cells)} cells below {len(names)} columns: a"
                        f" cell that holds `{separator}` needs quotes around it",
                        line=begins,
                    )
                )
            if len(cells) < len(names):
                short.append(begins)
            row = dict(zip(names, cells, strict=False))
            if decimal_comma:
                row = {name: _comma(cell) for name, cell in row.items()}
            yield begins, row
    except csv.Error as error:
        problem = Problem("unexpected_shape", str(error), line=above + reader.line_num)
        raise Refused(problem) from None
    if short:
        rows = "1 row has" if len(short) == 1 else f"{len(short)} rows have"
        yield Problem(
            "short_row",
            f"{rows} fewer cells than the {len(names)} columns, the first in line"
            f" {short[0]}: the rest is read as empty. Does the file break off?",
            severity="warning",
            line=short[0],
        )


def _comma(cell: str) -> str:
    """A number written with a decimal comma, with a point instead."""
    whole, comma, part = cell.partition(",")
    is_number = comma and part.isdigit() and whole.lstrip("-").isdigit()
    return f"{whole}.{part}" if is_number else cell


def _frame(source: Source, form: str) -> pl.DataFrame:
    import polars as pl

    read: dict[str, Callable[[], pl.DataFrame]] = {
        "parquet": partial(pl.read_parquet, source.path),
        "xlsx": partial(_sheet, source.path, source.limits.max_file),
    }
    try:
        return read[form]()
    except Exception as error:  # each library has errors of its own
        if isinstance(error, OSError | MemoryError | Refused):
            raise
        why = str(error).splitlines()[0]
        raise Refused(
            Problem("unexpected_shape", f"cannot be read as {form}: {why}")
        ) from None


def _sheet(path: Path, largest: int) -> pl.DataFrame:
    """The first sheet of a workbook that has rows."""
    import zipfile

    import polars as pl

    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > largest:
        raise Refused(
            Problem(
                "file_too_large",
                f"it unpacks to {size} bytes, more than max_file_mb allows",
            )
        )
    sheets = pl.read_excel(path, sheet_id=0, engine="calamine", raise_if_empty=False)
    frames = [frame for frame in sheets.values() if frame.height]
    if not frames:
        raise Refused(Problem("unexpected_shape", "no sheet of it has rows"))
    frame = frames[0]
    return frame.rename(
        dict(zip(frame.columns, _told_apart(frame.columns), strict=True))
    )


def _of_frame(frame: pl.DataFrame) -> Iterator[tuple[int, Row] | Problem]:
    line = 1
    for slice_ in frame.iter_slices(_ROWS_AT_ONCE):
        for row in slice_.to_dicts():
            line += 1
            again = repeated_header(list(row.values()), frame.columns, f"row {line}")
            yield (line, row) if again is None else again
