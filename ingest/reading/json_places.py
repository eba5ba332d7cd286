"""Where things stand in a JSON text: the index of its spans, lines, columns, and flaws.

Used only once something is wrong: the good case never pays for it. Places are indices
into the text; a text from bytes that are not UTF-8 is decoded with `surrogateescape`,
so that the record with the bad bytes can be told from the others.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecodeError
from operator import attrgetter
from typing import Literal

from promptlab.ingest.json_tokens import STRINGS_AND_BRACKETS, STRINGS_AND_NUMBERS

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# Numbers are only stepped over: one with a million digits need not become an int.
_STEP = json.JSONDecoder(parse_int=bool, parse_float=bool)

Key = str | int
Keys = tuple[Key, ...]
"""Keys and list positions on the way to a value."""

FlawCode = Literal["bad_utf8", "lone_surrogate", "not_a_number"]
NOT_JSON = ("lone_surrogate", "not_a_number")
"""Flaws that no reader lets through, even where the value is not stored."""


@dataclass(frozen=True, slots=True)
class Span:
    """One member or element: its key, and where its value starts and ends."""

    key: Key
    start: int
    end: int


def value_end(text: str, start: int) -> int:
    """Return where the value that starts at *start* ends.

    Raises:
        JSONDecodeError: No JSON value starts there.
    """
    try:
        return int(_STEP.raw_decode(text, start)[1])
    except RecursionError:
        return _end_by_brackets(text, start)


def _end_by_brackets(text: str, start: int) -> int:
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
    """Return what is in the object or array at *start*, and where that ends.

    Args:
        text: The JSON text.
        start: Where the value starts; one that is neither holds nothing.
        step: Given key and start of a value inside, finds its end.

    Raises:
        JSONDecodeError: The text is broken, around the values inside or in them.
    """
    closing = {"{": "}", "[": "]"}.get(text[start : start + 1])
    if closing is None:
        return [], value_end(text, start)
    found: list[Span] = []
    at = after_space(text, start + 1)
    while found or not text.startswith(closing, at):
        key: Key = len(found)
        if closing == "}":
            key, at = _key(text, at)
        end = step(key, at) if step else value_end(text, at)
        found.append(Span(key, at, end))
        at = after_space(text, end)
        if text.startswith(closing, at):
            break
        if not text.startswith(",", at):
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = after_space(text, at + 1)
    return found, at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the key at *at*, and where its value starts."""
    if not text.startswith('"', at):
        message = "Expecting property name enclosed in double quotes"
        raise JSONDecodeError(message, text, at)
    key, at = _STEP.raw_decode(text, at)
    at = after_space(text, at)
    if not text.startswith(":", at):
        raise JSONDecodeError("Expecting ':' delimiter", text, at)
    return str(key), after_space(text, at + 1)


def after_space(text: str, start: int) -> int:
    """Return the place of the first character from *start* that is not white space."""
    match = _SPACE.match(text, start)
    return start if match is None else match.end()


def line_column(text: str, place: int) -> tuple[int, int]:
    """Return line and column, both from 1 and in characters, of one place."""
    line = text.count("\n", 0, place) + 1
    return line, place - text.rfind("\n", 0, place)


def pointer(keys: Sequence[Key]) -> str:
    """Write *keys* as a JSON Pointer (RFC 6901); "" is the whole document."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def keys(pointer: str) -> list[str]:
    """Read a JSON Pointer, the other way round than `pointer`."""
    return [
        part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]
    ]


class SpanIndex:
    """Where the values of a JSON text stand; each container is walked through once.

    Nothing is walked through before it is asked for.

    Args:
        text: The text; its grammar is right as far as it is asked about.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = after_space(text, 0)
        """Where the outermost value stands."""
        self._inside: dict[int, list[Span]] = {}
        self._starts: dict[int, dict[str, int]] = {}

    def inside(self, start: int) -> list[Span]:
        """Return what is in the object or array at *start*; any other holds nothing."""
        if start not in self._inside:
            is_container = self.text.startswith(("{", "["), start)
            self._inside[start] = spans(self.text, start)[0] if is_container else []
        return self._inside[start]

    def walk(self, start: int, also: Key) -> int:
        """Walk through a container and, on the way, through the list below *also*.

        Returns:
            Where the container ends.

        Raises:
            JSONDecodeError: The text is broken there.
        """

        def step(key: Key, at: int) -> int:
            if key != also or not self.text.startswith("[", at):
                return value_end(self.text, at)
            self._inside[at], end = spans(self.text, at)
            return end

        self._inside[start], end = spans(self.text, start, step)
        return end

    def find(self, way: Iterable[Key]) -> int:
        """Return where the value at the end of *way* starts, or the deepest on it."""
        start = self.start
        for key in way:
            named = self._named(start)
            if str(key) not in named:
                break
            start = named[str(key)]
        return start

    def keys_at(self, place: int) -> list[Key]:
        """Return the keys on the way to the value at *place*."""
        way: list[Key] = []
        start = self.start
        while inside := self.inside(start):
            before = bisect_right(inside, place, key=attrgetter("start")) - 1
            if before < 0:
                break
            way.append(inside[before].key)
            start = inside[before].start
        return way

    def line_column(self, place: int) -> tuple[int, int]:
        """Return line and column of a place, as `line_column` does."""
        line = bisect_left(self._breaks, place)
        return line + 1, place - (self._breaks[line - 1] if line else -1)

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def _named(self, start: int) -> dict[str, int]:
        if start not in self._starts:
            self._starts[start] = {str(s.key): s.start for s in self.inside(start)}
        return self._starts[start]


def flaws(text: str) -> Iterator[tuple[int, FlawCode, str]]:
    """Yield what JSON readers let through but a database does not keep.

    Yields:
        Place, code and a sentence of each.
    """
    for match in STRINGS_AND_NUMBERS.finditer(text):
        token = match[0]
        if token[0] == '"':
            yield from _text_flaws(token, match.start())
        elif token[-1] in "Ny":
            message = f"{token} is no JSON number: write null"
            yield match.start(), "not_a_number", message


def _text_flaws(token: str, start: int) -> Iterator[tuple[int, FlawCode, str]]:
    if not token.isascii():
        try:
            token.encode()
        except UnicodeEncodeError as error:
            message = "bytes that are not UTF-8: save the file as UTF-8"
            yield start + error.start, "bad_utf8", message
            return
    if _SURROGATE.search(token):
        try:
            json.loads(token).encode()
        except UnicodeEncodeError:
            message = (
                "half of a surrogate pair: write the character itself,"
                " or both halves as \\uD83D\\uDE00"
            )
            yield start, "lone_surrogate", message
