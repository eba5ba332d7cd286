"""JSON values as the warehouse sees them: reading, copying, writing.

Python's own reader and writer differ from DuckDB's in ways that decide verdicts: the
first of two equal keys counts (Python: the last), integers keep every digit, doubles
are written in another notation, control characters in upper-case hex. All walks use an
explicit stack, so nesting depth is no matter of Python's recursion limit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from promptlab.errors import InputError, UsageError

MAX_DEPTH: Final = 2000
"""Levels of nesting that are read; beyond, the value is taken to contain itself."""

_LONG_DIGITS: Final = 4000
"""Python refuses to convert integers longer than 4300 digits; Decimal does not."""

_FIRST_WITH_EXPONENT: Final = 1e21
"""From here on a whole double is written with an exponent."""

_SHORT_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_Pending = tuple[Any, Any, Any, str, int]
"""A value to copy: source, container and place in it, its name, its depth."""

_ESCAPES: Final = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(0x20)} | _SHORT_ESCAPES
)


class JsonText(str):
    """JSON text that stands for the value it holds.

    A plain ``str`` among outputs is a text value; ``JsonText('{"n": 1e2}')`` is an
    object, read so that no digit of its numbers is lost.
    """

    __slots__ = ()


class TwinKeys(dict[str, Any]):
    """An object whose text names a key twice: the first counts, all are written."""

    names: list[str]
    """Every key, as often as the text has it."""

    written: list[Any]
    """The values beside them."""


class OutOfRange(float):
    """A number beyond double range, such as ``1e400``: only its text is known."""

    text: str


def parse_json(text: str) -> Any:
    """Read JSON text the way the warehouse does.

    Args:
        text: One JSON document.

    Returns:
        Integers as ``int`` of any size, other numbers as ``float``; of equal keys the
        first counts.

    Raises:
        InputError: The text is not JSON (``NaN`` is not), or holds a lone surrogate, or
            is nested too deeply.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_no_constant,
        )
        return copy_json(value)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {place}: {error.msg}") from None
    except RecursionError:
        raise InputError("not readable: nested too deeply") from None
    except UsageError as error:
        raise InputError(f"not JSON: {error}") from None


def copy_json(value: Any, where: str = "") -> Any:
    """Return a deep copy of a JSON value, made of plain Python types.

    Args:
        value: Objects (any ``Mapping`` with text keys), lists or tuples, texts, finite
            numbers, booleans, ``None``; :class:`JsonText` is read.
        where: A name for the value, such as ``step_outputs``; opens error messages.

    Raises:
        UsageError: Something in it is not JSON; the message points at it.
    """
    root: list[Any] = [None]
    twins: list[TwinKeys] = []
    stack: list[_Pending] = [(value, root, 0, where, 0)]
    while stack:
        source, parent, key, place, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise UsageError(
                f"{where}: nested deeper than {MAX_DEPTH} levels, or a value that "
                "contains itself; pass a tree of plain JSON values"
            )
        if isinstance(source, JsonText):
            source = _read_at(source, place)
        if isinstance(source, TwinKeys):
            twin = _twin_like(source)
            twins.append(twin)
            parent[key] = twin
            for index, child in enumerate(source.written):
                below = _below(place, source.names[index])
                stack.append((child, twin.written, index, below, depth + 1))
        elif isinstance(source, Mapping):
            members = _keys_of(source, place)
            parent[key] = members
            for name, child in source.items():
                stack.append((child, members, name, _below(place, name), depth + 1))
        elif isinstance(source, list | tuple):
            items: list[Any] = [None] * len(source)
            parent[key] = items
            for index, child in enumerate(source):
                stack.append((child, items, index, _below(place, index), depth + 1))
        else:
            parent[key] = _scalar(source, place)
    for twin in twins:
        _let_the_first_count(twin)
    return root[0]


def compact_text(value: Any) -> str:
    """Write a JSON value as DuckDB does: compact, keys in order, non-ASCII as is."""
    parts: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Verbatim):
            parts.append(item)
        elif isinstance(item, dict):
            names, children = _members(item)
            stack.append(_Verbatim("}"))
            for position in range(len(names) - 1, -1, -1):
                name, child = names[position], children[position]
                comma = "," if position else ""
                stack += [child, _Verbatim(f"{comma}{_quoted(name)}:")]
            parts.append("{")
        elif isinstance(item, list | tuple):
            stack.append(_Verbatim("]"))
            for position in range(len(item) - 1, -1, -1):
                stack.append(item[position])
                if position:
                    stack.append(_Verbatim(","))
            parts.append("[")
        else:
            parts.append(_scalar_text(item))
    return "".join(parts)


def canonical_text(value: Any) -> str:
    """Write a JSON value so that equal values have one text.

    Objects have their keys sorted. Integers that 64 bits hold keep every digit; any
    other number is a double, and 1, 1.0 and 1e0 are one.
    """
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while stack:
        source, parent, place = stack.pop()
        if isinstance(source, dict):
            parent[place] = members = dict.fromkeys(sorted(source))
            stack += [(child, members, key) for key, child in source.items()]
        elif isinstance(source, list | tuple):
            parent[place] = items = [None] * len(source)
            stack += [(child, items, index) for index, child in enumerate(source)]
        else:
            parent[place] = _canonical_scalar(source)
    return compact_text(root[0])


def _canonical_scalar(value: Any) -> Any:
    is_small = isinstance(value, int) and -(2**63) <= value < 2**64
    if is_small or isinstance(value, bool | OutOfRange):
        return value
    if not isinstance(value, int | float):
        return value
    try:
        double = float(value)
    except OverflowError:
        return value
    is_written_out = double.is_integer() and 0 < abs(double) < _FIRST_WITH_EXPONENT
    return int(double) if is_written_out or str(double) == "0.0" else double


def _members(item: dict[str, Any]) -> tuple[list[str], list[Any]]:
    if isinstance(item, TwinKeys):
        return item.names, item.written
    return list(item), list(item.values())


def searchable_text(value: Any) -> str | None:
    """Return the text that ``contains:`` and ``regex:`` search; ``None`` for null."""
    if value is None or isinstance(value, str):
        return value
    return compact_text(value)


def escape_pointer(key: str) -> str:
    """Return a key as a JSON Pointer token (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


class _Verbatim(str):
    """Text that is written as it stands."""

    __slots__ = ()


def _below(place: str, key: object) -> str:
    return f"{place}/{escape_pointer(str(key))}"


def _keys_of(source: Mapping[Any, Any], place: str) -> dict[str, Any]:
    """Return an object with the same keys in the same order, still without values."""
    for name in source:
        if not isinstance(name, str):
            raise UsageError(
                f"{place}: key {name!r} is {type(name).__name__}, JSON keys are text; "
                f"write {str(name)!r}"
            )
        _text(name, place)
    return dict.fromkeys(source)


def _twin_like(source: TwinKeys) -> TwinKeys:
    twin = TwinKeys(dict.fromkeys(source))
    twin.names = list(source.names)
    twin.written = [None] * len(source.written)
    return twin


def _let_the_first_count(twin: TwinKeys) -> None:
    for name, child in zip(reversed(twin.names), reversed(twin.written), strict=True):
        twin[name] = child


def _read_at(text: JsonText, place: str) -> Any:
    try:
        return parse_json(text)
    except InputError as error:
        raise UsageError(f"{place}: {error}") from None


def _scalar(value: Any, place: str) -> Any:
    if value is None or isinstance(value, bool | OutOfRange):
        return value
    if isinstance(value, str):
        return _text(str.__str__(value), place)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(
                f"{place}: {value} is no JSON number; use None where there is no value"
            )
        return float(value)
    raise UsageError(
        f"{place}: {type(value).__name__} is no JSON value; pass dict, list, str, int, "
        "float, bool or None"
    )


def _text(value: str, place: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{place}: character {error.start} is half of a surrogate pair, which "
                "no UTF-8 file can hold; replace it"
            ) from None
    return value


def _scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, OutOfRange):
        return value.text
    if isinstance(value, int):
        # Decimal, because str() stops at 4300 digits.
        return str(Decimal(value)) if value.bit_length() > 10_000 else str(value)
    return _double_text(value)


def _quoted(value: str) -> str:
    return f'"{value.translate(_ESCAPES)}"'


def _double_text(value: float) -> str:
    """Write a double as DuckDB: the shortest digits, ``1e22`` from 1e21, ``1e-7``.

    The digits are those of ``repr``; only where the notation changes differs.
    """
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twin = TwinKeys(members)
    twin.names = [name for name, _ in pairs]
    twin.written = [child for _, child in pairs]
    _let_the_first_count(twin)
    return twin


def _integer(text: str) -> int:
    return int(text) if len(text) < _LONG_DIGITS else int(Decimal(text))


def _double(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        return value
    beyond = OutOfRange(value)
    beyond.text = text
    return beyond


def _no_constant(name: str) -> Any:
    raise InputError(f"not JSON: {name} is no JSON number")
