"""Paths, JSON Pointers, lines and columns in JSON text.

Places are character indices. Text from bytes that are not UTF-8 is decoded with
`surrogateescape`, so that a bad byte has a place too. Readers also use `members`, to
recognise a file by its first bytes, and `SpanIndex`, to cut a document into records.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecodeError

BOM = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark, which every reader skips."""

Key = str | int
Keys = tuple[Key, ...]
"""The path to a value: keys and list positions."""

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A whole string, line breaks included where ``.`` matches them (``re.DOTALL``).
Possessive, so a string of any length needs no backtracking."""

STRINGS = re.compile(STRING, re.DOTALL)

# The closing quote may be missing: truncated text ends in a string.
STRINGS_AND_BRACKETS = re.compile(rf"{STRING}?|[][{{}}]", re.DOTALL)

_SPACE = re.compile(r"[ \t\n\r]*")
_OPENING = re.compile(rb"\{")
_KEY = re.compile(rf"\s*({STRING})\s*:".encode())
# To the next comma or bracket, and inside of a value to the next bracket, which is
# several times as fast.
_TO_COMMA = re.compile(rf'(?:[^][{{}},"]++|{STRING})*+([][{{}},])'.encode(), re.DOTALL)
_TO_BRACKET = re.compile(rf'(?:[^][{{}}"]++|{STRING})*+([][{{}}])'.encode(), re.DOTALL)

# Numbers are only skipped, not converted: they may have a million digits.
_STEP = json.JSONDecoder(parse_int=bool, parse_float=bool)


def decode(data: bytes) -> str:
    """Decode UTF-8 without its byte order mark; bad bytes become lone surrogates."""
    return data.removeprefix(BOM).decode("utf-8", "surrogateescape")


def escape_pointer(key: str) -> str:
    """Return a key as a token of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer(keys: Iterable[Key]) -> str:
    """Return a path as a JSON Pointer; "" is the whole document."""
    return "".join("/" + escape_pointer(str(key)) for key in keys)


def keys_of(pointer: str) -> list[str]:
    """Read a JSON Pointer, the inverse of `pointer`."""
    return [
        part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]
    ]


def line_column(text: str, place: int) -> tuple[int, int]:
    """Return line and column of a place, from 1, in characters."""
    line = text.count("\n", 0, place) + 1
    return line, place - text.rfind("\n", 0, place)


def after_space(text: str, start: int) -> int:
    """Return the place of the first character from *start* that is not white space."""
    match = _SPACE.match(text, start)
    return start if match is None else match.end()


def members(data: bytes | memoryview, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """Yield each key of the first object, as written, and the place of its value.

    The data may be truncated.
    """
    opening = _OPENING.search(data, start)
    if opening is None:
        return
    depth, position = 1, opening.end()
    expects_key = True
    while depth:
        if depth == 1 and expects_key:
            key = _KEY.match(data, position)
            if key is not None:
                position = key.end()
                yield key[1][1:-1], position
            expects_key = False
        token = (_TO_COMMA if depth == 1 else _TO_BRACKET).match(data, position)
        if token is None:
            return
        position = token.end()
        if token[1] in (b"{", b"["):
            depth += 1
        elif token[1] in (b"}", b"]"):
            depth -= 1
        else:
            expects_key = True


@dataclass(frozen=True, slots=True)
class Span:
    """A member of an object or an element of a list: its key, start and end."""

    key: Key
    start: int
    end: int


def value_end(text: str, start: int) -> int:
    """Return the end of the value that starts at *start*.

    Raises:
        JSONDecodeError: There is no JSON value at *start*.
    """
    try:
        return int(_STEP.raw_decode(text, start)[1])
    except RecursionError:
        pass
    depth = 0
    for match in STRINGS_AND_BRACKETS.finditer(text, start):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    raise JSONDecodeError("Unterminated array or object", text, start)


def spans(
    text: str, start: int, step: Callable[[Key, int], int] | None = None
) -> tuple[list[Span], int]:
    """Return the members or elements of the container at *start*, and its end.

    Args:
        text: The JSON text.
        start: Start of the value; one that is not a container has no members.
        step: Returns the end of a value from its key and start.

    Raises:
        JSONDecodeError: The text is broken.
    """
    closing = {"{": "}", "[": "]"}.get(text[start : start + 1])
    if closing is None:
        return [], value_end(text, start)
    members: list[Span] = []
    at = after_space(text, start + 1)
    while members or not text.startswith(closing, at):
        key: Key = len(members)
        if closing == "}":
            if not text.startswith('"', at):
                raise JSONDecodeError("Expecting a key", text, at)
            key, at = _STEP.raw_decode(text, at)
            at = after_space(text, at)
            if not text.startswith(":", at):
                raise JSONDecodeError("Expecting ':'", text, at)
            at = after_space(text, at + 1)
        end = step(key, at) if step else value_end(text, at)
        members.append(Span(key, at, end))
        at = after_space(text, end)
        if text.startswith(closing, at):
            break
        if not text.startswith(",", at):
            raise JSONDecodeError("Expecting ','", text, at)
        at = after_space(text, at + 1)
    return members, at + 1


class SpanIndex:
    """Places of the values of a JSON text; each container is read once, on demand.

    The text must be valid JSON in the parts that are used.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = after_space(text, 0)
        """Place of the outermost value."""
        self._inside: dict[int, list[Span]] = {}
        self._starts: dict[int, dict[str, int]] = {}

    def inside(self, start: int) -> list[Span]:
        """Return the members of the container at *start*; none for other values."""
        if start not in self._inside:
            is_container = self.text.startswith(("{", "["), start)
            self._inside[start] = spans(self.text, start)[0] if is_container else []
        return self._inside[start]

    def walk(self, start: int, list_key: Key) -> int:
        """Read a container and, in the same pass, the list below *list_key*.

        Returns:
            The end of the container.

        Raises:
            JSONDecodeError: The text is broken.
        """

        def step(key: Key, at: int) -> int:
            if key != list_key or not self.text.startswith("[", at):
                return value_end(self.text, at)
            self._inside[at], end = spans(self.text, at)
            return end

        self._inside[start], end = spans(self.text, start, step)
        return end

    def find(self, keys: Sequence[Key]) -> int:
        """Return the place of the value at a path, or of its deepest parent."""
        start = self.start
        for key in keys:
            if start not in self._starts:
                inside = self.inside(start)
                self._starts[start] = {str(span.key): span.start for span in inside}
            if str(key) not in self._starts[start]:
                break
            start = self._starts[start][str(key)]
        return start

    def text_member(self, key: str) -> str | None:
        """Return a member of the outermost object, if it exists and is a string."""
        place = self.find((key,))
        if place == self.start or not self.text.startswith('"', place):
            return None
        return str(json.loads(self.text[place : value_end(self.text, place)]))

    def line_column(self, place: int) -> tuple[int, int]:
        """Return line and column of a place, like the function `line_column`."""
        line = bisect_left(self._breaks, place)
        return line + 1, place - (self._breaks[line - 1] if line else -1)

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]
