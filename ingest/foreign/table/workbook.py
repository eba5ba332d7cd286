"""Read XLSX cell by cell: each keeps its own type.

A workbook is an archive of XML files. It is read as a stream with the standard library:
libraries with typed columns lose cells of other types, and those that allocate a whole
sheet can be made to exhaust memory by one cell in its last corner.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar
from xml.parsers import expat

from promptlab.ingest.foreign.documents import Refused, refused
from promptlab.ingest.reading.source import Limits, in_mb

T = TypeVar("T")

_BLOCK = 1 << 18
_CELL = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_MERGED = re.compile(
    rb"<(?:[\w.-]+:)?mergeCell\s[^<>]*?\bref\s*=\s*"
    rb"[\"']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})[\"']"
)
_LONGEST_TAG = 1 << 12
_MOST_MERGED = 100_000
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]|General|E[+-]', re.I)
_DATES = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
"""Built-in number formats that show a date or a time."""
_PERCENT = (9, 10)
"""Built-in number formats that show a percentage."""
_LAST_DAY = 2_958_466
"""Days from 1900 to 10000."""


Cells = dict[int, Any]
"""Column, from 1 → cell; empty cells are left out."""


class CellError(NamedTuple):
    """A cell whose formula failed, or was never computed."""

    code: str
    """``#N/A``, ``#DIV/0!``, …; empty: the file has no result of it."""


class Workbook:
    """A workbook that is read cell by cell.

    Args:
        path: The file.
        limits: Limits of its unpacked size.
        is_whole: True if all of it is to be read; else each part is limited separately.

    Raises:
        Refused: It is not a workbook, or larger than ``max_file_mb`` unpacked.
    """

    def __init__(self, path: Path, limits: Limits, *, is_whole: bool = True) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise _refused(str(error)) from None
        members = self._archive.infolist()
        size = sum(member.file_size for member in members)
        if is_whole and size > limits.max_file:
            raise Refused(limits.unpacks_to(size))
        self._names = {
            member.filename.lstrip("/").lower(): member for member in members
        }
        self._size = limits.max_file
        self._strings: list[str] = []
        self._more_strings = self._shared_strings()
        self._formats: list[str | None] = []
        self._epoch = datetime(1899, 12, 30)

    def rows(self) -> Iterator[tuple[int, Cells]]:
        """Yield the rows of the first sheet with two rows, each with its number."""
        try:
            sheets = self._sheets()
            self._read_styles()
            for sheet in sheets:
                rows = self._rows(sheet)
                first, second = next(rows, None), next(rows, None)
                if first is not None and second is not None:
                    yield from (first, second)
                    yield from rows
                    return
        except (zipfile.BadZipFile, expat.ExpatError, ValueError, EOFError) as error:
            raise _refused(str(error)) from None
        except (NotImplementedError, RuntimeError) as error:  # unknown compression
            raise _refused(str(error)) from None
        except (IndexError, KeyError):
            raise _refused("a cell refers to a part that is not there") from None
        raise _refused("no sheet of it has rows")

    def _sheets(self) -> list[str]:
        """Return the files of the sheets, in the order of the workbook."""
        if "xl/workbook.xml" not in self._names:
            raise _refused("it has no xl/workbook.xml; save it as .xlsx")
        files: dict[str, str] = {}
        for name, attributes, _ in self._elements("xl/_rels/workbook.xml.rels"):
            if name == "Relationship":
                target = attributes.get("Target", "").lower()
                is_absolute = target.startswith("/")
                files[attributes.get("Id", "")] = (
                    target.lstrip("/") if is_absolute else f"xl/{target}"
                )
        sheets = []
        for name, attributes, _ in self._elements("xl/workbook.xml"):
            if name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self._epoch = datetime(1904, 1, 1)
            if name == "sheet":
                sheets.append(files.get(attributes.get("id", ""), ""))
        return [sheet for sheet in sheets if "worksheets/" in sheet]

    def _shared_strings(self) -> Iterator[str]:
        """Yield the shared texts, which cells refer to by index."""
        if "xl/sharedstrings.xml" not in self._names:
            return
        parts: list[str] = []
        is_phonetic = False
        for name, _, text in self._elements("xl/sharedStrings.xml"):
            if name == "rPh":
                is_phonetic = text is None
            elif name == "t" and text is not None and not is_phonetic:
                parts.append(text)
            elif name == "si" and text is not None:
                yield _unescaped("".join(parts))
                parts = []

    def _read_styles(self) -> None:
        if "xl/styles.xml" not in self._names:
            return
        formats: dict[int, str | None] = dict.fromkeys(_DATES, "date")
        formats |= dict.fromkeys(_PERCENT, "percent")
        is_cell = False
        for name, attributes, text in self._elements("xl/styles.xml"):
            if text is None and name == "numFmt":
                number, code = int(attributes["numFmtId"]), attributes["formatCode"]
                shown = _LITERAL.sub("", code.partition(";")[0])
                is_date = re.search(r"[dmyhs]", shown, re.I)
                formats[number] = (
                    "date" if is_date else "percent" if "%" in shown else None
                )
            elif name == "cellXfs":
                is_cell = text is None
            elif name == "xf" and text is None and is_cell:
                self._formats.append(formats.get(int(attributes.get("numFmtId", "0"))))

    def _rows(self, sheet: str) -> Iterator[tuple[int, Cells]]:
        parser = _SheetParser(self._cell)
        merged: _Merged | None = None
        with self._archive.open(self._names[sheet]) as file:
            for number, cells in self._parsed(file, parser.expat, parser.rows):
                if merged is None:
                    merged = _Merged(self._merged_ranges(sheet), number, max(cells))
                else:
                    merged.fill(number, cells)
                yield number, cells

    def _merged_ranges(self, sheet: str) -> list[Range]:
        """Return the merged ranges, which a sheet has after its rows."""
        ranges: list[Range] = []
        size = 0
        rest = b""
        with self._archive.open(self._names[sheet]) as file:
            while (block := file.read(_BLOCK)) and size <= self._size:
                size += len(block)
                data = rest + block
                complete = data.rfind(b">") + 1
                for match in _MERGED.finditer(data, 0, complete):
                    left, top, right, bottom = (
                        part.decode() for part in match.groups()
                    )
                    ranges.append(
                        (int(top), _column(left), int(bottom), _column(right))
                    )
                rest = data[complete:][-_LONGEST_TAG:]
                if len(ranges) > _MOST_MERGED:
                    raise ValueError(f"a sheet has over {_MOST_MERGED} merged ranges")
        return ranges

    def _cell(self, kind: str, style: str, value: str | None, parts: list[str]) -> Any:
        if kind == "inlineStr":
            return _unescaped("".join(parts)) or None
        if value is None or (value == "" and kind != "str"):
            return None
        if kind == "s":
            return self._string(int(value)) or None
        if kind == "b":
            return value.strip() in ("1", "true")
        if kind == "e":
            return CellError(value)
        if kind != "n":  # the text of a formula, or a date in ISO 8601
            return _unescaped(value) or None
        number = _number(value)
        place = int(style) if style.isdecimal() else 0
        form = self._formats[place] if place < len(self._formats) else None
        if form == "date":
            return _shown(number, self._epoch)
        # as in the CSV of the same sheet
        return f"{Decimal(repr(number)).scaleb(2):f}%" if form == "percent" else number

    def _string(self, place: int) -> str:
        """Return a shared text, reading texts up to it."""
        missing = place + 1 - len(self._strings)
        self._strings += islice(self._more_strings, max(missing, 0))
        return self._strings[place]

    def _elements(self, name: str) -> Iterator[tuple[str, dict[str, str], str | None]]:
        """Yield each start (text ``None``) and end of an element, with its text."""
        elements: list[tuple[str, dict[str, str], str | None]] = []
        texts: list[str] = []

        def opens(tag: str, attributes: dict[str, str]) -> None:
            texts.clear()
            plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
            elements.append((tag.rpartition(" ")[2], plain, None))

        def closes(tag: str) -> None:
            elements.append((tag.rpartition(" ")[2], {}, "".join(texts)))
            texts.clear()

        parser = _parser(opens, closes, texts.append)
        with self._archive.open(self._names[name.lower()]) as file:
            yield from self._parsed(file, parser, elements)

    def _parsed(
        self, file: IO[bytes], parser: expat.XMLParserType, elements: list[T]
    ) -> Iterator[T]:
        size = 0
        while block := file.read(_BLOCK):
            size += len(block)
            if size > self._size:  # regardless of the size in the archive
                raise ValueError(f"a part of it is larger than {in_mb(self._size)}")
            parser.Parse(block, False)
            yield from elements
            elements.clear()
        parser.Parse(b"", True)
        yield from elements


Range = tuple[int, int, int, int]
"""Top, left, bottom and right of a merged range: only its first cell has a value, and
all show it."""


class _Merged:
    """Fills the cells of merged ranges, while rows are read in order.

    Args:
        ranges: The ranges of the sheet.
        header: The number of the header's row; ranges that begin there are its own.
        width: The last column of the header.
    """

    def __init__(self, ranges: list[Range], header: int, width: int) -> None:
        below = [box for box in ranges if box[0] > header and box[1] <= width]
        self._next = sorted(below, reverse=True)
        self._width = width
        self._shown: dict[int, tuple[int, Any]] = {}  # column → last row, cell

    def fill(self, number: int, cells: Cells) -> None:
        """Fill the cells of a row that show a cell to the left or above."""
        while self._next and self._next[-1][0] <= number:
            top, left, bottom, right = self._next.pop()
            if top == number and left in cells:
                held = (bottom, cells[left])
                columns = range(left, min(right, self._width) + 1)
                self._shown |= dict.fromkeys(columns, held)
        for column, (last, cell) in list(self._shown.items()):
            if number <= last:
                cells.setdefault(column, cell)
            else:
                del self._shown[column]


class _SheetParser:
    """Collects the rows of a sheet while its XML is parsed."""

    def __init__(self, read: Callable[[str, str, str | None, list[str]], Any]) -> None:
        self.rows: list[tuple[int, Cells]] = []
        self._read = read
        self._names: dict[str, str] = {}
        self._texts: list[str] = []
        self._number = self._column = 0
        self._cells: Cells = {}
        self._kind = self._style = ""
        self._value: str | None = None
        self._is_formula = False
        self._parts: list[str] = []
        self._is_phonetic = False
        self.expat = _parser(self._opens, self._closes, self._texts.append)

    def _opens(self, tag: str, attributes: dict[str, str]) -> None:
        self._texts.clear()
        name = self._names.get(tag)
        if name is None:
            name = self._names[tag] = tag.rpartition(" ")[2]
        if name == "c":
            place = _CELL.fullmatch(attributes.get("r", ""))
            self._column = _column(place[1]) if place else self._column + 1
            self._kind = attributes.get("t", "n")
            self._style = attributes.get("s", "0")
            self._value = None
            self._is_formula = False
            self._parts.clear()
        elif name == "row":
            self._number = int(attributes.get("r", self._number + 1))
            self._cells, self._column = {}, 0
        elif name == "rPh":
            self._is_phonetic = True

    def _closes(self, tag: str) -> None:
        name = self._names[tag]
        if name == "c":
            cell = self._read(self._kind, self._style, self._value, self._parts)
            if cell is None and self._is_formula and not self._value:
                # a text that is empty is a result
                cell = None if self._kind == "str" else CellError("")
            if cell is not None:
                self._cells[self._column] = cell
        elif name == "f":
            self._is_formula = True
        elif name == "v":
            self._value = "".join(self._texts)
        elif name == "t" and not self._is_phonetic:
            self._parts.append("".join(self._texts))
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "row" and self._cells:
            self.rows.append((self._number, self._cells))
        self._texts.clear()


def _parser(
    opens: Callable[[str, dict[str, str]], None],
    closes: Callable[[str], None],
    text: Callable[[str], None],
) -> expat.XMLParserType:
    def refuses(*_: Any) -> None:
        raise ValueError("its XML declares entities")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = opens
    parser.EndElementHandler = closes
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = refuses
    return parser


def _refused(why: str) -> Refused:
    return refused("unexpected_shape", f"cannot be read as xlsx: {why}")


def _unescaped(text: str) -> str:
    """Decode ``_x000D_``, the form of characters that XML does not allow."""
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


@cache
def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _number(written: str) -> Any:
    """Read a number; Excel does not distinguish 7 and 7.0."""
    value = float(written)
    if written.lstrip("-").isdecimal() and abs(value) < 1 << 63:
        return int(written)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _shown(days: float, epoch: datetime) -> Any:
    """Convert a number formatted as a date or a time to ISO 8601."""
    if not 0 <= days < _LAST_DAY:
        return days
    if 0 < days < 60 and epoch.year == 1899:
        days += 1  # Excel has a 29 February 1900
    whole = int(days)
    moment = epoch + timedelta(
        days=whole, milliseconds=round((days - whole) * 86_400_000)
    )
    if days < 1:
        return moment.time().isoformat()
    is_day = moment.time() == datetime.min.time()
    return moment.date().isoformat() if is_day else moment.isoformat()
