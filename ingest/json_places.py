"""Where things stand in a JSON text: spans of values, lines, columns, and flaws.

Used only once something is wrong: the good case never pays for it. Places are indices
into the text; a text from bytes that are not UTF-8 is decoded with `surrogateescape`,
so that the record with the bad bytes can be told from the others.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json.decoder import JSONDecodeError, scanstring
from math import inf
from typing import Literal

_SPACE = re.compile(r"[ \t\n\r]*")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)|-?[0-9][0-9.eE+-]*', re.DOTALL
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# Numbers are only stepped over: one with a million digits need not become an int.
_STEP = json.JSONDecoder(parse_int=bool, parse_float=bool)

Key = str | int
FlawCode = Literal["bad_utf8", "lone_surrogate", "not_a_number", "number_out_of_range"]


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
    for match in _BRACKET.finditer(text, start):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    raise JSONDecodeError("Unterminated array or object", text, start)


def members(
    text: str, start: int, value_end: Callable[[str, int], int] | None = None
) -> tuple[list[Span], int]:
    """Return the members of the object at *start*, and where the object ends.

    Args:
        text: The JSON text.
        start: Where its ``{`` stands.
        value_end: Given key and start of a value, returns its end.

    Raises:
        JSONDecodeError: The object is broken, outside its values or inside.
    """
    step = value_end or (lambda _key, at: _value_end(text, at))
    spans: list[Span] = []
    at = after_space(text, start + 1)
    if text.startswith("}", at):
        return spans, at + 1
    while True:
        if not text.startswith('"', at):
            message = "Expecting property name enclosed in double quotes"
            raise JSONDecodeError(message, text, at)
        key, at = scanstring(text, at + 1, True)
        at = after_space(text, at)
        if not text.startswith(":", at):
            raise JSONDecodeError("Expecting ':' delimiter", text, at)
        at = after_space(text, at + 1)
        spans.append(Span(key, at, step(key, at)))
        at = after_space(text, spans[-1].end)
        if text.startswith("}", at):
            return spans, at + 1
        if not text.startswith(",", at):
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = after_space(text, at + 1)


_value_end = value_end


def elements(text: str, start: int) -> tuple[list[Span], int]:
    """Return the elements of the array at *start*, and where the array ends.

    Raises:
        JSONDecodeError: The array is broken, outside its elements or inside.
    """
    spans: list[Span] = []
    at = after_space(text, start + 1)
    if text.startswith("]", at):
        return spans, at + 1
    while True:
        spans.append(Span(len(spans), at, value_end(text, at)))
        at = after_space(text, spans[-1].end)
        if text.startswith("]", at):
            return spans, at + 1
        if not text.startswith(",", at):
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = after_space(text, at + 1)


def after_space(text: str, start: int) -> int:
    """Return the place of the first character from *start* that is no white space."""
    match = _SPACE.match(text, start)
    return start if match is None else match.end()


def locate(text: str, start: int, keys: Sequence[Key]) -> int:
    """Return where the value below *keys* starts, or the deepest one on the way there.

    Of equal keys the last one counts, as it does for the readers.
    """
    for key in keys:
        inside: list[Span] = []
        if text.startswith("{", start):
            inside, _ = members(text, start)
        elif text.startswith("[", start):
            inside, _ = elements(text, start)
        starts = [span.start for span in inside if span.key == key]
        if not starts:
            break
        start = starts[-1]
    return start


def keys_at(text: str, start: int, place: int) -> list[Key]:
    """Return the keys on the way from the value at *start* to the one at *place*."""
    keys: list[Key] = []
    while text.startswith(("{", "["), start):
        walk = members if text.startswith("{", start) else elements
        inside, _ = walk(text, start)
        around = [span for span in inside if span.start <= place < span.end]
        if not around:
            break
        keys.append(around[0].key)
        start = around[0].start
    return keys


def pointer(keys: Sequence[Key]) -> str:
    """Write *keys* as a JSON Pointer (RFC 6901); "" is the whole document."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


class Lines:
    """Finds line and column, both from 1 and in characters, of many places."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def place(self, index: int) -> tuple[int, int]:
        """Return (line, column) of the character at *index*."""
        line = bisect_left(self._breaks, index)
        before = self._breaks[line - 1] if line else -1
        return line + 1, index - before


def flaws(text: str) -> Iterator[tuple[int, FlawCode, str]]:
    """Yield what JSON readers let through but a database does not keep.

    Yields:
        Place, code and a sentence of each.
    """
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token[0] == '"':
            yield from _text_flaws(token, match.start())
        elif token[-1] in "Ny":
            message = f"{token} is no JSON number: write null"
            yield match.start(), "not_a_number", message
        elif abs(float(token)) == inf:
            shown = token if len(token) < 40 else f"{token[:36]}…"
            message = f"{shown} is beyond the range of a double (1.8e308)"
            yield match.start(), "number_out_of_range", message


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
