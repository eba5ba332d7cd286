"""What a JSON text is made of: a string, what opens and closes, an object's members."""

from __future__ import annotations

import re
from collections.abc import Iterator

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A string as a whole, line breaks included where ``.`` matches them (``re.DOTALL``).
Possessive, so that one of any length takes one step and no memory."""

STRINGS = re.compile(STRING, re.DOTALL)

# The closing quote may lack: a text that is cut off ends in a string.
STRINGS_AND_BRACKETS = re.compile(rf"{STRING}?|[][{{}}]", re.DOTALL)

STRINGS_AND_NUMBERS = re.compile(
    rf"{STRING}|-?(?:NaN|Infinity)|-?[0-9][0-9.eE+-]*", re.DOTALL
)
"""With what readers take for a number and JSON does not know."""

_OPENING = re.compile(rb"\{")
_KEY = re.compile(rf"\s*({STRING})\s*:".encode())
# Every byte that matters to nesting, and strings as wholes.
_STRUCTURE = re.compile(rf"{STRING}|[][{{}},]".encode())


def members(data: bytes | memoryview, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """Each key of the first object, as it is written, and where its value begins.

    Of a text that is cut off, the keys before its end.
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
        token = _STRUCTURE.search(data, position)
        if token is None:
            return
        position = token.end()
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif token[0] == b"," and depth == 1:
            expects_key = True
