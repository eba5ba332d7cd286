"""The words of JSON faults: what was found, what was expected, one fix."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from json import JSONDecodeError
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")


class Want:
    """What the grammar allows next, in words for the message."""

    VALUE = "a value"
    FIRST_VALUE = 'a value or "]"'
    KEY = "a key in double quotes"
    FIRST_KEY = 'a key in double quotes or "}"'
    COLON = '":" after the key'
    OBJECT_NEXT = '"," or "}"'
    ARRAY_NEXT = '"," or "]"'
    NOTHING = "nothing more"


_VALUE_WANTED = (Want.VALUE, Want.FIRST_VALUE)
_KEY_WANTED = (Want.KEY, Want.FIRST_KEY)


def fix(want: str, char: str, found: str) -> str:
    """Return the likeliest correction of an unexpected token."""
    if want == Want.NOTHING:
        if char == ",":
            return "Records are not separated by commas: remove it."
        if char in "{[":
            return "Write each record on a line of its own."
        return "Remove what follows the record."
    if char in "/#":
        return "A comment stands on a line of its own that starts with //."
    if char == "'" or char in "“”‘’":
        return 'Write keys and texts in straight double quotes (").'
    if found in ("True", "False", "None"):
        return "JSON writes true, false and null."
    if char in "}]" and want in (Want.KEY, Want.VALUE):
        return "Remove the comma before it, or add what is missing."
    if want in (Want.OBJECT_NEXT, Want.ARRAY_NEXT):
        return "Add the missing comma or close what is open."
    if char in "+.-0123456789" and want in _VALUE_WANTED:
        return "A number has no plus sign, no leading zero and no bare point."
    if want in _KEY_WANTED:
        return 'Write keys in straight double quotes (").'
    return "Write texts in double quotes."


def string_fault(error: JSONDecodeError, text: str) -> tuple[str, int, str]:
    """Return code, place and message of a string that Python could not read."""
    if error.msg.startswith("Unterminated"):
        return (
            "unterminated_string",
            error.pos,
            "the text that opens here has no closing quote in its line. Add the "
            'quote; inside a text write " as \\" and a line break as \\n.',
        )
    found = text[error.pos : error.pos + 1]
    if error.msg.startswith("Invalid control"):
        escape = _ESCAPES.get(found, f"\\u{ord(found):04x}")
        return (
            "control_character",
            error.pos,
            f"a bare control character (U+{ord(found):04X}) in a text. "
            f"Write it as {escape}.",
        )
    start = text.rindex("\\", 0, error.pos + 1)  # Python points at the u of \\u12g4
    return (
        "bad_escape",
        start,
        f"{text[start : start + 2]} is no JSON escape. "
        "Write a backslash itself as \\\\.",
    )


def byte_name(surrogate: str) -> str:
    """Name what stands as a lone surrogate in a decoded text."""
    code = ord(surrogate)
    if 0xDC80 <= code <= 0xDCFF:  # how surrogateescape writes a byte
        return f"the byte 0x{code - 0xDC00:02X}"
    return f"the code point U+{code:04X}"


def short(text: str) -> str:
    """Quote a piece of the text, cut where it is long."""
    return repr(text) if len(text) <= 40 else repr(text[:40]) + "…"


def lone_escape(text: str, at: int, end: int) -> int:
    """Return where ``text[at:end]`` first has an escape of half a surrogate pair.

    Raises:
        ValueError: There is none.
    """
    pending = None  # a first half that waits for its second half right behind it
    for match in _ESCAPE.finditer(text, at, end):
        code = int(match[1], 16) if match[1] else 0
        if pending is not None:
            if 0xDC00 <= code <= 0xDFFF and match.start() == pending + 6:
                pending = None
                continue
            return pending
        if 0xD800 <= code <= 0xDBFF:
            pending = match.start()
        elif 0xDC00 <= code <= 0xDFFF:
            return match.start()
    if pending is None:
        raise ValueError("no lone surrogate")
    return pending


def printable(text: str) -> str:
    """Write bytes that were not UTF-8, and halves of surrogate pairs, as escapes."""
    return text if text.isascii() else SURROGATE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}"


def shown(value: Any) -> str:
    """Write a value for a message: as JSON, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}…"


def nearest(word: str, words: Sequence[str], *, cutoff: float = 0.6) -> str:
    """Return a question that names the nearest of *words*, or nothing."""
    close = get_close_matches(word, words, n=1, cutoff=cutoff)
    return f"; did you mean {shown(close[0])}?" if close else ""
