"""Print results to stdout: as a table for people, or complete as JSON or CSV.

A command declares the columns of its table, and the functions that format one value of
each. The table is laid out within the width of the terminal, or within ``COLUMNS``
or ``PIPE`` cells if stdout is not a terminal.

The English text is in the code that prints it; ``[printed]`` of a language's file in
``reports/texts`` contains its translation. Help, progress and errors are translated
where they are printed (`translation`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from itertools import groupby, repeat, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from promptlab.cli.streams import (
    GUARD,
    for_json,
    for_people,
    in_one_line,
    is_read_by_a_runner,
    without_controls,
)
from promptlab.cli.translation import LANGUAGE
from promptlab.rounding import of_100, rounded

if TYPE_CHECKING:
    from promptlab.contracts.gate import GateResult


# ---------- the language of what is printed


_GROUPS = frozenset(
    {
        "status",
        "severity",
        "target_status",
        "verdict",
        "measure_verdict",
        "direction",
        "change",
        "gate_verdict",
        "decision",
        "reason",
        "memory_operation",
    }
)
"""Sections of the reports' texts that tables also use, for words of codes."""


def speak(lang: str) -> None:
    """Set the language of printed texts, one of ``languages()``."""
    LANGUAGE.set(lang)


def spoken(text: str, **values: object) -> str:
    """Translate an English text into the chosen language.

    *text* is a key of ``[printed]``; any other text is returned unchanged.
    """
    lang = LANGUAGE.get()
    translated = text if lang == "en" else printed(lang).get(text, text)
    return translated.format(**values) if values else translated


@cache
def printed(lang: str) -> dict[str, str]:
    """Return every text that commands print in a language, by its English."""
    from promptlab.reports.texts import catalogue

    codes: dict[str, str] = {}
    for key, text in catalogue(lang).entries.items():
        group, _, code = key.rpartition(".")
        if group in _GROUPS and isinstance(text, str):
            codes.setdefault(code.replace("_", " "), text)
    return codes | catalogue(lang).printed


# ---------- one value of a table: rounded, with a sign if it is judged


BREAK = "\u200b"
"""A position where text may wrap without a space; never printed."""


class Cell(NamedTuple):
    """The printed form of a value."""

    text: str
    style: str = ""
    """A colour of the terminal; empty: none."""
    is_number: bool = False
    """Right-aligned, and never folded."""
    is_whole: bool = False
    """Never folded: an id that is to be read and copied."""


NOTHING = Cell("–")


_SMALL = 0.001
"""The cost of an answer may be less."""


def plain(value: Any) -> Cell:
    """As it is stored; numbers with four digits, small ones with seven."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return Cell(spoken("yes" if value else "no"))
    if isinstance(value, float | Decimal):
        digits = 7 if 0 < abs(float(value)) < _SMALL else 4
        shown = f"{value + 0:.{digits}f}"  # + 0: no negative zero
        return Cell(shown.rstrip("0").rstrip("."), is_number=True)
    if isinstance(value, int):
        return Cell(str(value), is_number=True)
    if isinstance(value, datetime):
        return Cell(value.strftime("%Y-%m-%d %H:%M"), is_whole=True)
    return Cell(_readable(str(value)))


def plain_beside(value: Any, other: Any) -> Cell:
    """As it is stored, with more digits where it would look like the other value."""
    shown = plain(value)
    is_alike = shown == plain(other) and shown.is_number and value != other
    return Cell(f"{value:.9g}", is_number=True) if is_alike else shown


def ident(value: Any) -> Cell:
    """An id or a pointer: on one line, whatever it costs."""
    return NOTHING if value is None else Cell(_readable(str(value)), is_whole=True)


def path(value: Any) -> Cell:
    """A path; may be folded after a slash."""
    return NOTHING if value is None else Cell(_readable(str(value), after_slash=True))


def words(value: Any) -> Cell:
    """A code as words: ``too_few_pairs`` is “too few pairs”."""
    return NOTHING if value is None else Cell(_readable(_of_code(str(value))))


def day(value: date | None) -> Cell:
    """The day of a time, UTC."""
    return NOTHING if value is None else Cell(f"{value:%Y-%m-%d}", is_whole=True)


def score(value: float | None) -> Cell:
    """A score or share, 0–1, as 0 to 100."""
    return NOTHING if value is None else Cell(of_100(value), is_number=True)


def points(value: float | None) -> Cell:
    """A difference of two scores, -1 to 1, as points with a sign."""
    return NOTHING if value is None else Cell(_points(value), is_number=True)


def interval(low: float | None, high: float | None) -> Cell:
    """The two ends of an interval of a score."""
    if low is None or high is None:
        return NOTHING
    ends = {"low": rounded(low, 1, scale=100), "high": rounded(high, 1, scale=100)}
    return Cell(spoken("{low}–{high}", **ends), is_number=True)


def interval_of_points(low: float | None, high: float | None) -> Cell:
    """The two ends of an interval of a difference."""
    if low is None or high is None:
        return NOTHING
    return Cell(
        spoken("{low} to {high}", low=_points(low), high=_points(high)), is_number=True
    )


def plain_interval(low: float | None, high: float | None) -> Cell:
    """Return the two ends of an interval as stored."""
    if low is None or high is None:
        return NOTHING
    ends = {"low": plain(low).text, "high": plain(high).text}
    return Cell(spoken("{low}–{high}", **ends), is_number=True)


def plain_interval_of(low: float | None, high: float | None) -> Cell:
    """Return the two ends of an interval that may be below 0, as stored."""
    if low is None or high is None:
        return NOTHING
    ends = spoken("{low} to {high}", low=plain(low).text, high=plain(high).text)
    return Cell(ends, is_number=True)


def plain_from_to(before: float, after: float) -> Cell:
    """Return a number of both sides of a comparison as stored."""
    return Cell(f"{plain(before).text} → {plain(after).text}", is_number=True)


def from_to(before: float | None, after: float | None) -> Cell:
    """A score on both sides of a comparison."""
    if before is None and after is None:
        return NOTHING
    return Cell(f"{score(before).text} → {score(after).text}", is_number=True)


def n_of(n: int | None, total: int | None) -> Cell:
    """A number of a whole: ``19/24``; nothing of nothing is missing."""
    return NOTHING if n is None or not total else Cell(f"{n}/{total}", is_number=True)


def passed_of(n: int | None, total: int | None, errors: float | None) -> Cell:
    """A number of a whole, with a mark if rounds ended in errors: ``2/24 !``."""
    share = n_of(n, total)
    if not errors or share is NOTHING:
        return share
    return Cell(f"{share.text} !", is_number=True)


def p_value(value: float | None) -> Cell:
    """A p-value, to three digits."""
    if value is None:
        return NOTHING
    return Cell("<0.001" if value < 0.001 else f"{value:.3f}", is_number=True)


def milliseconds(value: float | None) -> Cell:
    """A duration in milliseconds."""
    return NOTHING if value is None else Cell(f"{value:.1f}", is_number=True)


_MARKS = {
    "ship": ("✓", "green"),
    "do_not_ship": ("✗", "red"),
    "cannot_tell": ("?", "yellow"),
    "run_again": ("↻", "yellow"),
    "first_run": ("•", ""),
    "pass": ("✓", "green"),
    "ok": ("✓", "green"),
    "fail": ("✗", "red"),
    "error": ("✗", "red"),
    "warn": ("!", "yellow"),
    "unevaluated": ("?", "yellow"),
    "inconclusive": ("?", "yellow"),
    "check": ("↻", "yellow"),
    "improved": ("▲", "green"),
    "better": ("▲", "green"),
    "regressed": ("▼", "red"),
    "worse": ("▼", "red"),
    "no_reliable_change": ("=", ""),
    "same": ("=", ""),
    "not_comparable": ("–", "yellow"),
    "added": ("+", ""),
    "removed": ("-", ""),
    "lost": ("✗", "red"),
    "gained": ("✓", "green"),
    "unknown": ("?", "yellow"),
    "met": ("✓", "green"),
    "missed": ("✗", "red"),
    "critical": ("✗", "red"),
    "major": ("!", "yellow"),
    "minor": ("·", ""),
}


def judged(value: str | None) -> Cell:
    """A status, verdict, change or severity: its sign and word, in its colour."""
    if value is None:
        return NOTHING
    sign, style = _MARKS.get(value, ("", ""))
    return Cell(f"{sign} {_of_code(value)}".strip(), style, is_whole=True)


def sign(value: str) -> Cell:
    """Return only the sign, to print before a sentence."""
    mark, style = _MARKS.get(value, ("", ""))
    return Cell(f"{mark} ", style, is_whole=True)


def target(status: str) -> Cell:
    """Return whether the target of a dimension was met; a dash without a target."""
    return NOTHING if status == "none" else judged(status)


def judged_from_to(before: str | None, after: str | None) -> Cell:
    """A status on both sides of a comparison, in the colour of the second."""
    if before == after or before is None or after is None:
        return judged(after or before)
    new = judged(after)
    return Cell(f"{_of_code(before)} → {new.text}", new.style, is_whole=True)


def must_have(lost: bool, gained: bool) -> Cell:
    """Return the status of a case's must-haves."""
    return judged("lost" if lost else "gained" if gained else None)


def named(identifier: str | None, name: str | None) -> Cell:
    """An id, and its name for people where it has one."""
    if identifier is None:
        return NOTHING
    known = spoken(identifier)
    return Cell(_readable(known if name is None else f"{known} {name}"))


def _of_code(code: str) -> str:
    return spoken(code.replace("_", " "))


def _points(value: float) -> str:
    shown = rounded(value, 1, scale=100)
    # what rounds to nothing has no sign
    return f"{shown:+}" if shown else "0.0"


def _readable(text: str, *, after_slash: bool = False) -> str:
    """One line, in which nothing moves the cursor or turns the direction of writing."""
    text = in_one_line(text.replace(BREAK, ""))
    return text.replace("/", f"/{BREAK}") if after_slash else text


# ---------- text wrapped to a width in terminal cells


_EAST_ASIAN = "\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
_OPENING = "（「『《【〈“‘"
_CLOSING = "）」』》】〉”’，。、；：！？％"
_PIECE = re.compile(
    rf"[{_OPENING}]*"
    rf"(?:[{_EAST_ASIAN}]|[^\s{_EAST_ASIAN}{_OPENING}{_CLOSING}{BREAK}]+)[{_CLOSING}]*"
    rf"|[{_OPENING}{_CLOSING}]+|\s+|{BREAK}"
)


def width(text: str) -> int:
    """Return the width of a text in cells: most Chinese characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text.replace(BREAK, ""))


def least_width(text: str) -> int:
    """Return the width of its longest word, the minimum width of a column."""
    return max((width(piece) for piece in _pieces(text)), default=0)


def wrap(text: str, room: int) -> list[str]:
    """Wrap a text into lines of at most *room* cells; return at least one line."""
    if width(text) <= room:
        return [text.replace(BREAK, "")]
    lines: list[str] = []
    line, used, gap = "", 0, ""
    for piece in _pieces(text):
        if piece.isspace():
            gap = " " if line else ""
            continue
        for part, size in _chopped(piece, room):
            if line and used + len(gap) + size > room:
                lines.append(line)
                line, used, gap = "", 0, ""
            line, used, gap = f"{line}{gap}{part}", used + len(gap) + size, ""
    return [*lines, line]


def _pieces(text: str) -> Iterator[str]:
    return (match[0] for match in _PIECE.finditer(text) if match[0] != BREAK)


def _chopped(piece: str, room: int) -> Iterator[tuple[str, int]]:
    size = width(piece)
    if size <= room:
        yield piece, size
        return
    from rich.cells import chop_cells

    for part in chop_cells(piece, room):
        yield part, width(part)


# ---------- tables


PIPE = 100
"""Width of a line if stdout is not a terminal, and ``COLUMNS`` is not set."""

_LEAST = 40
"""Minimum width of a terminal."""
_NARROWEST = 12
"""Minimum width of a column with wrapped text."""
_FEWEST = 3
"""If fewer columns fit, each row is printed as one line per column."""
_UNLIMITED = 1_000_000
_GAP = "  "
_HEADING = "bold"

Line = list[tuple[str, str]]
"""Pieces of a line with their styles."""


class Column:
    """A column of a table for people: ``Column("passed", n_of, "n_pass", "n_judged")``.

    Args:
        heading: the text above it.
        show: formats the values of a row.
        names: the columns of the result that *show* takes, in its order.
    """

    def __init__(self, heading: str, show: Callable[..., Cell], *names: str) -> None:
        self.heading = heading
        self.show = show
        self.names = names

    def cell(self, row: Mapping[str, Any]) -> Cell:
        """Return the printed value of a row."""
        return self.show(*(row[name] for name in self.names))


@dataclass(frozen=True)
class Table:
    """The columns of a result that people see, in order."""

    columns: tuple[Column, ...]
    """The five or six most important columns, which fit 80 cells."""
    wide: tuple[Column, ...] = ()
    """Further columns, with ``--wide``."""
    by: tuple[str, ...] = ()
    """Columns that group the rows; their values are printed above each group."""
    is_declared: bool = True
    """If true, the columns are in order of importance, and the last ones are dropped on
    a narrow terminal."""


def print_rows(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    form: str,
    table: Table | None = None,
    *,
    wide: bool = False,
) -> None:
    """Print rows to stdout.

    JSON is a list of objects, CSV has a header; both hold every column, keep numbers as
    they are stored and times as ISO 8601. A table is for people.

    Args:
        names: the columns of *rows*.
        rows: the values, one sequence for each row.
        form: ``table``, ``json`` or ``csv``.
        table: what the table shows; every column as it is stored when not given.
        wide: also show the columns that the table leaves out.
    """
    if form == "json":
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        print_json(json.dumps(objects, ensure_ascii=False, indent=2, default=_for_json))
    elif form == "csv":
        _print_csv(names, rows)
    else:
        if table is None:  # names may be repeated, positions are unique
            names, shown = [str(i) for i in range(len(names))], names
            columns = map(Column, shown, repeat(plain), names)
            table = Table(tuple(columns), is_declared=False)
        records = [dict(zip(names, row, strict=True)) for row in rows]
        _print(_table(table, records, wide=wide, room=_room(wide=wide)))


def print_objects(
    objects: Iterable[object],
    names: Sequence[str],
    form: str,
    table: Table | None = None,
    *,
    wide: bool = False,
) -> None:
    """Print these attributes of objects to stdout, like `print_rows`."""
    rows = [[getattr(item, name) for name in names] for item in objects]
    print_rows(names, rows, form, table, wide=wide)


def print_table(objects: Iterable[object], table: Table, *, wide: bool = False) -> None:
    """Print objects for people; the columns of the table name their attributes."""
    shown = [*table.columns, *table.wide]
    names = list(
        dict.fromkeys([*table.by, *(n for column in shown for n in column.names)])
    )
    print_objects(objects, names, "table", table, wide=wide)


def print_text(text: str, *, lead: str = "", lead_style: str = "") -> None:
    """Print a sentence, wrapped between words.

    *lead* precedes the first line; the others are indented by its width.
    """
    lines = wrap(plain(text).text, _room() - width(lead))
    leads = [lead, *[" " * width(lead)] * (len(lines) - 1)]
    _print(
        [(start, lead_style), (line, "")]
        for start, line in zip(leads, lines, strict=True)
    )


def print_json(text: str) -> None:
    """Print JSON to stdout; control characters for terminals are escaped."""
    click.echo(for_json(text))


def print_lines(text: str) -> None:
    """Print lines for people to stdout, without control characters for terminals."""
    click.echo(for_people(text))


def print_sides(baseline: str, candidate: str) -> None:
    """Print the two compared tasks, one per line."""
    sides = spoken("baseline"), spoken("candidate")
    margin = max(map(width, sides)) + len(_GAP)
    for side, text in zip(sides, (baseline, candidate), strict=True):
        print_text(text, lead=side + " " * (margin - width(side)))


def print_headline(result: GateResult, *, with_next_step: bool = False) -> None:
    """Print the decision and its reasons, the first line about any task."""
    from promptlab.reports.gate.headline import next_step

    mark = sign(result.decision)
    print_text(result.headline, lead=mark.text, lead_style=mark.style)
    step = next_step(result) if with_next_step else None
    if step is not None:
        print_text(step, lead="  ")


# ---------- for programs


def _for_json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _print_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    cell = _in_csv  # programs get every character
    if sys.stdout.isatty():
        cell = _on_terminal
    elif is_read_by_a_runner(sys.stdout):
        cell = _in_log
    writer.writerow(map(cell, names))
    for row in rows:
        writer.writerow(map(cell, row))


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):  # like in JSON, not Python
        return "true" if value else "false"
    return _for_json(value) if isinstance(value, date) else value


def _on_terminal(value: Any) -> Any:
    return plain(value).text if isinstance(value, str) else _in_csv(value)


def _in_log(value: Any) -> Any:
    return without_controls(value) if isinstance(value, str) else _in_csv(value)


# ---------- for people


def _room(*, wide: bool = False) -> int:
    """Width of a line. In a pipe ``--wide`` has no limit, else ``COLUMNS`` sets it."""
    if not sys.stdout.isatty():
        columns_setting = os.environ.get("COLUMNS", "")
        in_pipe = (
            int(columns_setting)
            if columns_setting.isdecimal() and int(columns_setting)
            else PIPE
        )
        return _UNLIMITED if wide else max(_LEAST, in_pipe)
    from rich.console import Console

    return max(_LEAST, Console(file=sys.stdout).width)


def _print(lines: Iterable[Line]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, width=_UNLIMITED)  # COLUMNS may be 0
    for line in lines:
        begins = "".join(text for text, _ in line).lstrip()
        guard = [(GUARD, "")] if begins.startswith("::") else []
        # Text, not str: model output must never be parsed as markup
        console.print(Text.assemble(*guard, *line), soft_wrap=True)


def _table(
    table: Table, rows: list[dict[str, Any]], *, wide: bool, room: int
) -> Iterator[Line]:
    columns = table.columns + (table.wide if wide else ())
    headings = [
        Cell(
            spoken(c.heading) if table.is_declared else plain(c.heading).text, _HEADING
        )
        for c in columns
    ]
    cells = [[column.cell(row) for column in columns] for row in rows]
    n_shown = len(columns)
    widths = _widths([headings, *cells], room)
    while widths is None and table.is_declared and not wide and n_shown > _FEWEST:
        n_shown -= 1
        widths = _widths([row[:n_shown] for row in (headings, *cells)], room)
    if widths is None:
        n_shown = len(columns)
    all_headings = headings
    headings, cells = headings[:n_shown], [row[:n_shown] for row in cells]
    for place, (above, part) in enumerate(_parts(table, rows, cells)):
        if place:
            yield []
        if above:
            yield from ([(line, _HEADING)] for line in wrap(above, room))
        if widths is None:
            yield from _records(headings, part, room)
        else:
            yield from _aligned(headings, part, widths)
    if n_shown < len(columns):
        left_out = ", ".join(heading.text for heading in all_headings[n_shown:])
        yield [(spoken("too narrow for: {columns}; --wide", columns=left_out), "dim")]


def _parts(
    table: Table, rows: list[dict[str, Any]], cells: list[list[Cell]]
) -> list[tuple[str, list[list[Cell]]]]:
    """Return the rows in groups, each with the line above it."""
    above = [
        _GAP.join(plain(row[name]).text for name in table.by if row[name] is not None)
        for row in rows
    ]
    parts = groupby(zip(above, cells, strict=True), key=lambda pair: pair[0])
    groups = [(title, [row for _, row in part]) for title, part in parts]
    return groups or [("", [])]


def _widths(rows: list[list[Cell]], room: int) -> list[int] | None:
    """Return the width of each column, or nothing if they cannot fit.

    The widest column whose texts can still be wrapped is narrowed first.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(width(cell.text) for cell in column) for column in columns]
    free = room - len(_GAP) * (len(columns) - 1)
    if sum(widths) <= free or len(columns) == 1:
        return widths
    least = [max(map(_least, column)) for column in columns]
    if sum(least) > free:
        return None
    widths = [min(wanted, free) for wanted in widths]
    while sum(widths) > free:
        foldable = [i for i, wanted in enumerate(widths) if wanted > least[i]]
        widths[max(foldable, key=lambda i: widths[i])] -= 1
    return widths


def _least(cell: Cell) -> int:
    whole = width(cell.text)
    if cell.is_number or cell.is_whole:
        return whole
    return max(least_width(cell.text), min(whole, _NARROWEST))


def _aligned(
    headings: list[Cell], rows: list[list[Cell]], widths: list[int]
) -> Iterator[Line]:
    """Return the headings, a rule, and the rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(headings)
    right = [_is_of_numbers(column) for column in columns]
    yield from _row(headings, widths, right)
    yield [("─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), "")]
    for row in rows:
        yield from _row(row, widths, right)


def _row(row: list[Cell], widths: list[int], right: list[bool]) -> Iterator[Line]:
    """Return the lines of a row: as many as its tallest cell."""
    folded = [_lines(cell, room) for cell, room in zip(row, widths, strict=True)]
    for texts in zip_longest(*folded, fillvalue=""):
        line: Line = []
        for cell, text, room, is_right in zip(row, texts, widths, right, strict=True):
            blank = " " * (room - width(text))
            pieces = (blank, text) if is_right else (text, blank)
            line += [(pieces[0], cell.style), (pieces[1], cell.style), (_GAP, "")]
        yield _trimmed(line)


def _is_of_numbers(cells: Sequence[Cell]) -> bool:
    return any(c.is_number for c in cells) and all(
        c.is_number or c.text == "–" for c in cells
    )


def _lines(cell: Cell, room: int) -> list[str]:
    is_fixed = cell.is_number or cell.is_whole
    return [cell.text] if is_fixed else wrap(cell.text, room)


def _trimmed(line: Line) -> Line:
    """Remove trailing spaces."""
    while line and not line[-1][0].strip():
        line.pop()
    return line


def _records(headings: list[Cell], rows: list[list[Cell]], room: int) -> Iterator[Line]:
    """Return a line for each column of a row, for narrow terminals."""
    margin = max(width(heading.text) for heading in headings) + len(_GAP)
    for place, row in enumerate(rows):
        if place:
            yield []
        for heading, cell in zip(headings, row, strict=True):
            label = heading.text + " " * (margin - width(heading.text))
            for text in _lines(cell, max(_LEAST // 2, room - margin)):
                yield [(label, heading.style), (text, cell.style)]
                label = " " * margin
