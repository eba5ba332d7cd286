"""Decode JSON of other tools into structs; accept bare NaN, and describe errors."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from promptlab.contracts.base import in_utc, read_time
from promptlab.ingest.reading.problems import Problem
from promptlab.json_text.writing import compact

T = TypeVar("T")

_NOT_JSON = re.compile(rb"NaN|-?Infinity")
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
ABSENT = msgspec.Raw(b"")
"""The value of a missing member."""
_NOTHING = frozenset({"", "nan", "null", "none", "n/a", "na", "#n/a", "<na>"})


class Refused(Exception):
    """The file cannot be loaded at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def decode(data: bytes | memoryview | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON as *kind*; bare ``NaN`` becomes null, ``Infinity`` a text.

    Raises:
        msgspec.DecodeError: It is not JSON, or not of this kind.
        RecursionError: It is nested too deeply.
    """
    decoder = _decoder(kind)  # type: ignore[arg-type]  # types can be hashed
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]  # built for T
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        data = bytes(data)
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        return decoder.decode(without_nan(data))  # type: ignore[no-any-return]


def without_nan(data: bytes) -> bytes:
    """Replace ``NaN`` in JSON by null, and put ``Infinity`` in quotes.

    NaN is a missing number. Infinity is not missing: it is kept as a text, and reported
    where a number is expected.
    """
    pieces: list[bytes] = []
    done = seen = quotes = 0
    for found in _NOT_JSON.finditer(data):
        between, seen = data[seen : found.start()], found.start()
        quotes += between.count(b'"') - _ESCAPE.findall(between).count(b'\\"')
        if quotes % 2 == 0:  # outside of texts
            word = found[0]
            pieces += data[done:seen], b"null" if word == b"NaN" else b'"%b"' % word
            done = found.end()
    return b"".join(pieces) + data[done:]


def text(value: Any) -> str:
    """Return compact JSON of a value; a text stays in quotes."""
    return compact(value)


def raw_text(raw: msgspec.Raw) -> str | None:
    """Return JSON as written, but in one line; ``None`` for null or missing."""
    if not is_there(raw):
        return None
    return msgspec.json.format(bytes(raw), indent=-1).decode("utf-8", "replace")


def is_there(raw: msgspec.Raw) -> bool:
    """Return whether a member exists and is not null."""
    return bytes(raw) not in (b"", b"null")


def answer(value: Any) -> tuple[str | None, str | None]:
    """Return an output as (text, parsed JSON object or null)."""
    if value is None or isinstance(value, str):
        return value, None
    written = text(value)
    return written, written if isinstance(value, dict) else None


def number(value: Any) -> float | None:
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


def is_infinite(value: Any) -> bool:
    """Return true for an infinite number, also as a text."""
    try:
        return math.isinf(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def says_nothing(written: str) -> bool:
    """Return true for a text that means "not a number"."""
    return written.strip().lower() in _NOTHING


def integer(value: Any) -> int | None:
    """Return a number as a 64-bit integer; ``None`` for anything else."""
    as_double = number(value)
    if as_double is None or abs(as_double) >= 2**63:
        return None
    return int(as_double)


def milliseconds(seconds: float | None) -> float | None:
    """Convert seconds to milliseconds without rounding errors."""
    return None if seconds is None else round(seconds * 1000, 6)


def on_scale(value: float | None) -> float | None:
    """Return the value if it is from 0 to 1."""
    return value if value is not None and 0 <= value <= 1 else None


def time(value: Any) -> datetime | None:
    """Return a time in UTC from ISO 8601 text or seconds since 1970."""
    try:
        if isinstance(value, str):
            return in_utc(read_time(value.replace(" ", "T", 1)))
        seconds = number(value)
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


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
