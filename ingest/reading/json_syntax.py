"""Where a whole file stops being JSON, in the same words as for records."""

from __future__ import annotations

import re
from json import JSONDecodeError

from promptlab.ingest.reading.json_messages import (
    SURROGATE,
    Want,
    byte_name,
    fix,
    printable,
    short,
    string_fault,
)
from promptlab.ingest.reading.json_places import line_column
from promptlab.ingest.reading.problems import Problem

_WANT = {
    "Expecting property name enclosed in double quotes": Want.KEY,
    "Expecting ':' delimiter": Want.COLON,
    "Expecting value": Want.VALUE,
    "Extra data": Want.NOTHING,
}
_WORD = re.compile(r"\w+")


def syntax_problem(error: JSONDecodeError, text: str) -> Problem:
    """Say what Python's JSON reader stumbled over, where, and what to do.

    Args:
        error: What it raised.
        text: What it read, decoded with `surrogateescape`.
    """
    code, place, message = _fault(error, text)
    line, column = line_column(text, place)
    message = f"{message} Nothing of the file was loaded."
    return Problem(code, printable(message), line=line, column=column)


def _fault(error: JSONDecodeError, text: str) -> tuple[str, int, str]:
    place = error.pos
    found = text[place : place + 1]
    if SURROGATE.match(found):
        message = f"{byte_name(found)} is not UTF-8. Save the file as UTF-8."
        return "bad_utf8", place, message
    if error.msg.startswith(("Unterminated string", "Invalid")):
        return string_fault(error, text)
    want = _WANT.get(error.msg, "a comma or what closes the object or list")
    if not text.strip():
        return "unexpected_end", place, f"the file is empty; expected {want}."
    if not found or error.msg.startswith("Unterminated"):
        message = f"the text ends here; expected {want}. Is the file cut off?"
        return "unexpected_end", len(text), message
    word = _WORD.match(text, place)
    found = word[0] if word else found
    advice = fix(want, text[place], found)
    return "syntax", place, f"found {short(found)}, expected {want}. {advice}"
