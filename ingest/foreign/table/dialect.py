"""Read CSV and TSV in the dialects of Excel, pandas and databases.

Quotes are read strictly: only the row with unbalanced quotes is rejected, and reading
continues with the next line, so a stray quote does not affect other rows. The functions
about names of columns and repeated headers serve the other forms of tables too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from promptlab.encoding import SURROGATE, Decoded, decoded
from promptlab.ingest.foreign.documents import refused
from promptlab.ingest.foreign.table.cells import with_point
from promptlab.ingest.reading.problems import Problem, lone_surrogate_warning, warning
from promptlab.ingest.reading.source import GUESSED, Source

HEAD_BYTES = 1 << 20

Row = dict[str, Any]
"""Column → cell."""

ROWS_PROBED = 20
"""Number of rows that show whether a file is a table."""

_SEPARATORS = ",;\t|"
_LINE_END = re.compile(r"\r\n|\n|\r")
_NAMELESS = re.compile(r"column \d+|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True, slots=True)
class CsvHead:
    """The first lines of a CSV file: columns and some rows."""

    names: list[str]
    rows: list[list[str]]
    """The first ``ROWS_PROBED``; a row with broken quotes has no cells."""

    @property
    def is_table(self) -> bool:
        """Return whether the first row fits the columns, or most rows do."""
        if not self.may_be_table:
            return False
        fitting = [len(row) == len(self.names) for row in self.rows]
        return fitting[0] or 2 * sum(fitting) > len(fitting)

    @property
    def may_be_table(self) -> bool:
        """Return whether there are columns and rows, which may all be broken."""
        return self._has_columns and bool(self.rows)

    @property
    def is_header_alone(self) -> bool:
        """Return whether there are columns and no row."""
        return self._has_columns and not self.rows

    @property
    def _has_columns(self) -> bool:
        return len(self.names) > 1 and all(map(_is_name, self.names))


def head_of(data: bytes, encoding: str | None = None) -> CsvHead:
    """Return the first lines of a file, or of its first bytes."""
    text = decoded(data[:HEAD_BYTES], encoding).text
    if "\0" in text[:4096]:
        text = ""
    separator, text = _separator(text)
    file = io.StringIO(text, newline="")
    try:
        names = next(csv.reader(file, delimiter=separator), [])
    except csv.Error:
        return CsvHead([], [])
    return CsvHead(names, list(islice(_probed_rows(file, separator), ROWS_PROBED)))


def _probed_rows(file: io.StringIO, separator: str) -> Iterator[list[str]]:
    """Yield the cells of each row that has any; none for a row with broken quotes."""
    start: int | None = file.tell()
    while start is not None:
        file.seek(start)
        place, start = start, None
        try:
            for cells in csv.reader(file, delimiter=separator, strict=True):
                if any(cells):
                    yield cells
                place = file.tell()
        except csv.Error:
            yield []
            file.seek(place)
            file.readline()
            start = file.tell()


def _is_name(cell: str) -> bool:
    is_code = "{" in cell or ": " in cell  # a line of YAML has commas too
    return len(cell) <= 200 and "\n" not in cell.strip() and not is_code


def distinct_names(names: Collection[Any]) -> list[str]:
    """Return the names of columns; one that is empty or repeated gets a number."""
    counts: dict[str, int] = {}
    result = []
    for place, name in enumerate(names, start=1):
        name = str(name).strip() or f"column {place}"
        counts[name] = counts.get(name, 0) + 1
        result.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return result


def repeated_names(names: Collection[Any]) -> Iterator[Problem]:
    """Warn about each name that several columns have."""
    named = [word for name in names if (word := str(name).strip())]
    for name in dict.fromkeys(named):
        if named.count(name) > 1:
            yield repeated_name(name, f"the others are kept as `{name} 2` and so on", 1)


def repeated_name(name: str, outcome: str, line: int | None) -> Problem:
    """Return a warning about a repeated name in a table or a row."""
    return warning(
        "repeated_column",
        f"`{name}` is the name of several columns: the first counts, {outcome}. Give"
        " each column its own name",
        line=line,
    )


def is_nameless(column: str) -> bool:
    """Return whether a column has no name, like the index that pandas writes."""
    return _NAMELESS.fullmatch(column) is not None


def _separator(text: str) -> tuple[str, str]:
    """Return the separator, and the text without Excel's ``sep=`` line."""
    if text[:4].lower() == "sep=" and len(text) > 4:
        end = _LINE_END.search(text)
        return text[4], text[end.end() :] if end else ""
    # count separators of the header outside of quotes
    line = _LINE_END.split(text, maxsplit=1)[0]
    outside = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=outside.count), text


def csv_rows(
    data: bytes, source: Source, numbers: Collection[str] | None
) -> Iterator[tuple[int, Row] | Problem]:
    """Yield the rows of a CSV file, each with its first line number.

    Args:
        data: The whole file.
        source: Its limits, and the redaction of rejected rows.
        numbers: Columns that may have decimal commas if semicolons separate the cells;
            ``None``: all.

    Raises:
        Refused: Its encoding would have to be guessed, and nothing may be guessed.
    """
    mapping = source.mapping
    text = decoded(data, None if mapping is None else mapping[1].encoding)
    if text.is_guess:
        yield guessed_encoding_warning(text, source)
    if text.n_surrogates:
        yield lone_surrogate_warning(text.n_surrogates)
    yield from _CsvRows(text, source, numbers).read()


def guessed_encoding_warning(text: Decoded, source: Source) -> Problem:
    """Return the warning of a guessed encoding.

    Raises:
        Refused: Nothing may be guessed.
    """
    name = source.path.name
    fix = f'write encoding = "{text.encoding}" into its mapping'
    if not source.limits.may_guess:
        raise refused(
            GUESSED,
            f"the bytes are not UTF-8. They look like {text.name}, and --strict takes"
            f' no guess: save {name} as "CSV UTF-8", or {fix}',
        )
    return warning(
        GUESSED,
        f"the bytes are not UTF-8 and read as {text.name}: if letters look wrong, save"
        f' {name} as "CSV UTF-8"; if they are right, {fix}',
    )


class _CsvRows:
    """The rows of one CSV text."""

    def __init__(
        self, text: Decoded, source: Source, numbers: Collection[str] | None
    ) -> None:
        self._separator, table = _separator(text.text)
        self._above = int(table is not text.text)
        self._encoding = text.name
        self._source = source
        self._file = io.StringIO(table, newline="")
        self._has_bad_bytes = SURROGATE.search(table) is not None
        self._commas = numbers if self._separator == ";" else ()
        self._short: list[int] = []
        csv.field_size_limit(max(source.limits.max_record, 1 << 17))

    def read(self) -> Iterator[tuple[int, Row] | Problem]:
        """Read all rows; problems of the whole table come last."""
        header = next(csv.reader(self._file, delimiter=self._separator), [])
        names = distinct_names(header)
        yield from repeated_names(header)
        begins = (
            1 + self._above + self._file.getvalue()[: self._file.tell()].count("\n")
        )
        if self._commas is None:
            self._commas = names
        start: int | None = self._file.tell()
        while start is not None:
            self._file.seek(start)
            start = None
            reader = csv.reader(self._file, delimiter=self._separator, strict=True)
            first = line = begins
            place = self._file.tell()
            try:
                for cells in reader:
                    if any(cells):
                        yield from self._row(cells, header, names, line, place)
                    line, place = first + reader.line_num, self._file.tell()
            except csv.Error as error:
                yield self._broken(str(error), line, place)
                self._file.seek(place)
                self._file.readline()
                begins, start = line + 1, self._file.tell()
        if self._short:
            yield self._short_rows(len(names))

    def _row(
        self, cells: list[str], header: list[str], names: list[str], line: int, at: int
    ) -> Iterator[tuple[int, Row] | Problem]:
        again = repeated_header(cells, header, f"line {line}", line)
        if again is not None:
            yield again
            return
        if len(cells) > len(names) and any(cells[len(names) :]):
            yield self._rejected(
                "ragged_row",
                f"a row of {len(cells)} cells below {len(names)} columns: a cell that"
                f" holds `{self._separator}` needs quotes around it",
                line,
                at,
            )
            return
        if self._has_bad_bytes and any(map(SURROGATE.search, cells)):
            yield self._rejected(
                "not_in_encoding",
                f"the file is read as {self._encoding}, and the row holds bytes that"
                f' are not: save {self._source.path.name} as "CSV UTF-8"',
                line,
                at,
            )
            return
        if len(cells) < len(names):
            self._short.append(line)
        row: Row = dict(zip(names, cells, strict=False))
        for name in self._commas or ():
            if name in row:
                row[name] = with_point(row[name])
        yield line, row

    def _broken(self, error: str, line: int, at: int) -> Problem:
        return self._rejected(
            "broken_quotes",
            f"the quotes of this row do not add up ({error}): put quotes around the"
            ' whole cell, and write a quote inside of it twice, as in "5"" disk"',
            line,
            at,
        )

    def _rejected(self, code: str, message: str, line: int, at: int) -> Problem:
        end = _LINE_END.search(self._file.getvalue(), at)
        raw = self._file.getvalue()[at : end.start() if end else None]
        written = self._source.redact(raw.encode("utf-8", "replace"))
        return Problem(code, message, line=line, raw_text=written.decode())

    def _short_rows(self, n_columns: int) -> Problem:
        short = self._short
        rows = "1 row has" if len(short) == 1 else f"{len(short)} rows have"
        return warning(
            "short_row",
            f"{rows} fewer cells than the {n_columns} columns, the first in line"
            f" {short[0]}: the rest is read as empty. Does the file break off?",
            line=short[0],
        )


_FEW = 3


def repeated_header(
    cells: Sequence[Any], names: Sequence[str], place: str, line: int | None = None
) -> Problem | None:
    """Return a warning if a row of a table is its header once more.

    Raises:
        Refused: It is the header of another table, so the next rows have other columns.
    """
    first = cells[0] if cells else None
    if not isinstance(first, str) or first.removeprefix("\ufeff") not in names:
        return None
    cells = [first.removeprefix("\ufeff"), *cells[1:]]
    if cells == list(names):
        return warning(
            "repeated_header",
            f"{place} is the header once more: two exports were joined here. It is no"
            " row, and is left out",
            line=line,
        )
    known = sum(cell in names for cell in cells)
    if known >= _FEW and 2 * known > len(cells):
        raise refused(
            "two_headers",
            f"{place} is a header with other columns than the first line: two"
            " exports were joined that cannot be read as one table. Give each as"
            " a file of its own",
            line=line,
        )
    return None
