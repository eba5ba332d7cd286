"""Strict JSON: read fast, name every fault exactly, write compact and canonical text.

Strict means what testsets ask for: no NaN or Infinity, no number beyond a double, no
key twice in one object, no half of a surrogate pair, UTF-8 only. Integers keep every
digit. Two limits are stated rather than met by chance:
``MAX_DEPTH`` levels of nesting and ``MAX_DIGITS`` digits of one integer.

A text is first read by Python's own C decoder with a check of each object's keys; only
where that refuses does ``reading.json_reader.JsonReader`` read it again to
say what is wrong and where. No ``RecursionError`` leaves this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from promptlab.errors import InputError
from promptlab.ingest.reading.json_reader import MAX_DEPTH, MAX_DIGITS, JsonReader
from promptlab.ingest.reading.problems import Problem

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "JsonTextError",
    "canonical",
    "depth",
    "dump",
    "parse",
    "parse_fast",
]


class JsonTextError(InputError):
    """A text is not strict JSON; ``problems`` names each fault and its place."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "\n".join(
                f"line {fault.line}, column {fault.column}: {fault.message}"
                for fault in problems
            )
        )


def parse(data: bytes | str, *, strict: bool = True) -> Any:
    """Read one JSON value.

    Args:
        data: The text; bytes are UTF-8, with or without a byte-order mark.
        strict: Whether a key twice and a number beyond a double are faults too. If
            not, the first of two equal keys counts.

    Raises:
        JsonTextError: With every fault that could be told, its line and column (from 1,
            in characters) and its JSON Pointer.
    """
    text = decode(data) if isinstance(data, bytes) else data
    try:
        return parse_fast(text)
    except (ValueError, RecursionError):
        pass
    reader = JsonReader(strict=strict)
    for line in text.split("\n"):
        reader.feed(line)
        if reader.broken:
            break
    reader.finish()
    if reader.problems:
        raise JsonTextError(reader.problems)
    return reader.value


def decode(data: bytes) -> str:
    """Decode UTF-8, without a byte-order mark; other bytes become lone surrogates."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def parse_fast(text: str) -> Any:
    """Read one strict JSON value at the speed of the C decoder.

    Raises:
        ValueError: The text is at fault, or this way of reading cannot tell.
        RecursionError: It is nested too deeply for this way of reading.
    """
    text = text.strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise _RefusedError from None
    if end != len(text):
        raise _RefusedError
    if "\\u" in text and _SURROGATE_ESCAPE.search(text):
        _encode(value)  # refuses a lone surrogate with a ValueError
    if not text.isascii():
        text.encode()  # so does this, for bytes that were not UTF-8
    if text.count("{") + text.count("[") > MAX_DEPTH and depth(value) is None:
        raise ValueError("too deep")
    return value


def dump(value: Any) -> str:
    """Write *value* as compact JSON: keys in their order, non-ASCII as it is."""
    try:
        return _encode(value).decode()
    except RecursionError:
        return "".join(_pieces(value, sort=False))


def canonical(value: Any) -> bytes:
    """Write *value* so that equal values give equal bytes: keys sorted, UTF-8."""
    try:
        return _encode_sorted(value)
    except RecursionError:
        return "".join(_pieces(value, sort=True)).encode()


_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    """The fast decoder saw something that strict JSON does not allow."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RefusedError
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _RefusedError
    return number


def _no_constant(_: str) -> NoReturn:
    raise _RefusedError


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant
)
# Reads one value from a place on, in C; typeshed does not know of it.
_scan = _decoder.scan_once  # type: ignore[attr-defined]


def depth(value: Any, most: int = MAX_DEPTH) -> int | None:
    """Count the levels of *value*; ``None`` where it has more than *most*."""
    level = [value] if type(value) in _CONTAINERS else []
    levels = 0
    while level:
        levels += 1
        if levels > most:
            return None
        level = [
            each
            for one in level
            for each in (one.values() if type(one) is dict else one)
            if type(each) in _CONTAINERS
        ]
    return levels


_CONTAINERS = frozenset({dict, list})


def _pieces(value: Any, *, sort: bool) -> Iterator[str]:
    """Write *value* piece by piece with a stack of its own."""
    todo: list[Any] = [_Pending(value)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
            continue
        inner = item.value
        if isinstance(inner, dict):
            keys = sorted(inner) if sort else list(inner)
            parts: list[Any] = ["{"]
            for position, key in enumerate(keys):
                parts.append(("," if position else "") + dump(key) + ":")
                parts.append(_Pending(inner[key]))
            parts.append("}")
            todo.extend(reversed(parts))
        elif isinstance(inner, list):
            parts = ["["]
            for position, element in enumerate(inner):
                if position:
                    parts.append(",")
                parts.append(_Pending(element))
            parts.append("]")
            todo.extend(reversed(parts))
        else:
            yield dump(inner)


class _Pending:
    """Marks a value on the stack of ``_pieces`` that is still to be written."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
