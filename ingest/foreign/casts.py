"""Values of a tool's file as numbers, times, shares and names; else ``None``.

At the end, names for people: shortened, or joined.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from promptlab.contracts.base import LARGEST, in_utc, read_time
from promptlab.json_text.writing import compact

LONGEST_LINE = 200
"""Maximum number of characters of the error of a file that was not read."""
_BLANK = frozenset({"", "nan", "null", "none", "n/a", "na", "#n/a", "<na>"})


def as_object(value: Any) -> dict[str, Any]:
    """Return an object; any other value has no members."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list; any other value has no items."""
    return value if isinstance(value, list) else []


def first_member(value: Any, *names: str) -> Any:
    """Return the first of these parts of an object that is not null; else ``None``.

    Args:
        value: The object.
        names: A key of it, or keys inside objects with dots between.
    """
    for name in names:
        member = value
        for key in (name,) if name in as_object(value) else name.split("."):
            member = as_object(member).get(key)
        if member is not None:
            return member
    return None


def text_and_json(value: Any) -> tuple[str | None, str | None]:
    """Return an output as (text, parsed JSON object or null)."""
    if value is None or isinstance(value, str):
        return value, None
    written = compact(value)
    return written, written if isinstance(value, dict) else None


def as_float(value: Any) -> float | None:
    """Return a number as a double; ``None`` for anything else, NaN and infinity too."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float):
        return None
    try:
        as_double = float(value)
    except OverflowError:
        return None
    return as_double if math.isfinite(as_double) else None


def parse_float(written: str) -> float | None:
    """Return the number that a text is; ``None`` for any other text."""
    try:
        return as_float(float(written))
    except ValueError:
        return None


def is_infinite(value: Any) -> bool:
    """Return true for an infinite number, also as a text."""
    try:
        return math.isinf(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def is_blank(written: str) -> bool:
    """Return true for an empty text or a word for a missing value."""
    return written.strip().lower() in _BLANK


def as_int(value: Any) -> int | None:
    """Return a number as a 64-bit integer; ``None`` for anything else."""
    if type(value) is int:
        return value if abs(value) <= LARGEST else None
    as_double = as_float(value)
    if as_double is None or abs(as_double) > LARGEST:
        return None
    return int(as_double)


def as_milliseconds(seconds: float | None) -> float | None:
    """Convert seconds to milliseconds without rounding errors."""
    return None if seconds is None else round(seconds * 1000, 6)


def as_share(value: float | None) -> float | None:
    """Return the value if it is from 0 to 1."""
    return value if value is not None and 0 <= value <= 1 else None


def as_time(value: Any) -> datetime | None:
    """Return a time in UTC from ISO 8601 text or seconds since 1970."""
    try:
        if isinstance(value, str):
            return in_utc(read_time(value.replace(" ", "T", 1)))
        seconds = as_float(value)
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def first_line(value: str | None, longest: int = 60) -> str | None:
    """Return the first line that is not blank, shortened."""
    lines = (line.strip() for line in (value or "").splitlines())
    line = next((line for line in lines if line), None)
    if line is None or len(line) <= longest:
        return line
    return line[: longest - 1].rstrip() + "…"


def short_name(value: str | None, longest: int = 60) -> str | None:
    """Return the first line as a name: a longer one ends in a hash of all of it.

    So two long names that begin alike stay two.
    """
    line = first_line(value, len(value or ""))
    if line is None or len(line) <= longest:
        return line
    digest = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{line[: longest - 8].rstrip()}… {digest}"


def joined_texts(parts: Iterable[str | None], between: str = " / ") -> str:
    """Join the parts that are not empty."""
    return between.join(part.strip() for part in parts if part and part.strip())


def some_of(names: Iterable[str], most: int = 3) -> str:
    """Return the first names, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - most} more" if names[most:] else ""
    return ", ".join(names[:most]) + more
