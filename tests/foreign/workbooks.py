"""Writes the smallest XLSX that holds some cells."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/'
    '2006/content-types"/>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELS}"><sheets>'
    '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">'
    '<Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts>'
    r'<numFmt numFmtId="164" formatCode="0.0\ %"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="10"/>'
    '<xf numFmtId="164"/></cellXfs></styleSheet>',
}


class Failed(str):
    """The code of a formula that failed."""


class Percent(float):
    """A share that is shown as a percentage."""


class OwnPercent(float):
    """A share that is shown as a percentage in a format of the workbook's own."""


class Formula(str):
    """A formula without a stored result."""


def write_workbook(
    path: Path, rows: Iterable[Sequence[Any]], merged: Sequence[str] = ()
) -> Path:
    """Write rows into the first sheet of a workbook, and its merged ranges."""
    lines = (
        f'<row r="{n}">{"".join(_cell(n, *each) for each in enumerate(row))}</row>'
        for n, row in enumerate(rows, start=1)
    )
    ranges = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
    sheet = (
        f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData>'
        f"<mergeCells>{ranges}</mergeCells></worksheet>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


def _cell(row: int, column: int, value: Any) -> str:
    place = f'r="{_letters(column)}{row}"'
    if value is None:
        return ""
    if isinstance(value, Failed):
        return f'<c {place} t="e"><v>{value}</v></c>'
    if isinstance(value, Formula):
        return f"<c {place}><f>{value}</f><v></v></c>"
    if isinstance(value, bool):
        return f'<c {place} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, Percent | OwnPercent):
        style = 2 if isinstance(value, Percent) else 3
        return f'<c {place} s="{style}"><v>{float(value)!r}</v></c>'
    if isinstance(value, int | float):
        return f"<c {place}><v>{value!r}</v></c>"
    if isinstance(value, datetime):
        days = (value - datetime(1899, 12, 30)).total_seconds() / 86400
        return f'<c {place} s="1"><v>{days!r}</v></c>'
    text = "".join(f"_x{ord(c):04X}_" if ord(c) < 32 else c for c in _safe(value))
    return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _safe(text: str) -> str:
    """A text of the form ``_x000D_`` is escaped, as Excel does it."""
    return text.replace("_x", "_x005F_x")


def _letters(column: int) -> str:
    text, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text
