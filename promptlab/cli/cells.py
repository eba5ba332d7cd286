"""Formatting of one value of a table: rounded, with a sign if it is judged.

Every function takes the values of a row under the names of its column, and returns a
``Cell``. Null is a dash, never 0. Colour is never the only hint: good and bad also have
a sign.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from promptlab.cli.language import spoken
from promptlab.cli.terminal import in_one_line
from promptlab.rounding import of_100, rounded

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
        return Cell(f"{value:.{digits}f}".rstrip("0").rstrip("."), is_number=True)
    if isinstance(value, int):
        return Cell(str(value), is_number=True)
    if isinstance(value, datetime):
        return Cell(value.strftime("%Y-%m-%d %H:%M"), is_whole=True)
    return Cell(_readable(str(value)))


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
    ends = (rounded(end, 1, scale=100) for end in (low, high))
    return Cell("–".join(map(str, ends)), is_number=True)


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
    return Cell(f"{plain(low).text}–{plain(high).text}", is_number=True)


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
