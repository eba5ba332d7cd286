"""Write JSON values as text: compact, canonical, and exactly like DuckDB.

DuckDB's text decides verdicts (``contains:`` and ``regex:`` search it), and it differs
from Python's: doubles have another notation, control characters upper-case hex, and an
object keeps a repeated key. `compact_as_duckdb` writes the same text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

_FIRST_WITH_EXPONENT: Final = 1e21
"""DuckDB writes whole doubles from this value on with an exponent."""

_ESCAPES: Final = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(0x20)}
    | {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f"}
    | {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
)

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


class RepeatedKeys(dict[str, Any]):
    """An object with repeated keys: the first one is used, all are written."""

    names: list[str]
    """Every key, as often as in the text."""

    written: list[Any]
    """The value of each of *names*."""

    def keep_first(self) -> None:
        """Use the first value of each key."""
        for name, value in zip(
            reversed(self.names), reversed(self.written), strict=True
        ):
            self[name] = value


class OutOfRange(float):
    """A number beyond a double, such as ``1e400``: only its text is known."""

    text: str


def compact(value: Any) -> str:
    """Write compact JSON: keys in their order, non-ASCII unescaped."""
    try:
        return _encode(value).decode()
    except RecursionError:
        return "".join(_pieces(value, sort=False))


def canonical(value: Any) -> bytes:
    """Write JSON so that equal values give equal bytes: keys sorted, UTF-8."""
    try:
        return _encode_sorted(value)
    except RecursionError:
        return "".join(_pieces(value, sort=True)).encode()


def shown(value: Any) -> str:
    """Write a value for a message: as JSON, cut if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}…"


def compact_as_duckdb(value: Any) -> str:
    """Write a JSON value like DuckDB."""
    return "".join(_pieces(value, sort=False, scalar=_duckdb_scalar))


def canonical_as_duckdb(value: Any) -> str:
    """Write a JSON value so that values that are equal in DuckDB have the same text.

    Keys are sorted. Integers that 64 bits hold keep every digit; any other number is a
    double, so 1, 1.0 and 1e0 are equal.
    """
    return "".join(_pieces(value, sort=True, scalar=_canonical_scalar))


class _Pending:
    """Marks an unwritten value on the stack of `_pieces`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _pieces(value: Any, *, sort: bool, scalar: Any = compact) -> Iterator[str]:
    """Write *value* piece by piece, at any depth: the stack is a list."""
    stack: list[Any] = [_Pending(value)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
            continue
        inner = item.value
        if isinstance(inner, dict):
            names, children = list(inner), list(inner.values())
            if sort:
                names = sorted(inner)
                children = [inner[name] for name in names]
            elif isinstance(inner, RepeatedKeys):
                names, children = inner.names, inner.written
            parts: list[Any] = ["{"]
            for position, (name, child) in enumerate(zip(names, children, strict=True)):
                parts.append(("," if position else "") + scalar(name) + ":")
                parts.append(_Pending(child))
            parts.append("}")
        elif isinstance(inner, list | tuple):
            parts = ["["]
            for position, element in enumerate(inner):
                if position:
                    parts.append(",")
                parts.append(_Pending(element))
            parts.append("]")
        else:
            yield scalar(inner)
            continue
        stack.extend(reversed(parts))


def _canonical_scalar(value: Any) -> str:
    if isinstance(value, bool | OutOfRange) or not isinstance(value, int | float):
        return _duckdb_scalar(value)
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return _duckdb_scalar(value)
    try:
        double = float(value)
    except OverflowError:
        return _duckdb_scalar(value)
    is_whole = double.is_integer() and abs(double) < _FIRST_WITH_EXPONENT
    is_minus_zero = str(double) == "-0.0"
    return _duckdb_scalar(int(double) if is_whole and not is_minus_zero else double)


def _duckdb_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, OutOfRange):
        return value.text
    if isinstance(value, int):
        # Decimal, because str() stops at 4300 digits.
        return str(Decimal(value)) if value.bit_length() > 10_000 else str(value)
    # The digits are those of repr(); DuckDB changes to an exponent elsewhere.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    significant = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(significant)
    digits = significant.rstrip("0")
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if not digits:
        return f"{sign}0.0"
    if not -6 < point <= 21:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}.0"
    return f"{sign}{digits[:point]}.{digits[point:]}"
