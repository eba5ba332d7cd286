"""How the patterns in a baseline's payload are spelled for SQL.

A rule of type ``regex`` is a pattern, and so is a golden answer of ``match_rule:
regex``. Which rule a text belongs to is read in SQL; here every text that could be a
pattern is looked at, and those are listed that RE2 would read otherwise than
:mod:`promptlab.patterns` does. Any other is RE2 as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import polars as pl

from promptlab.ingest.reading.checked_columns import texts
from promptlab.json_text.places import STRINGS
from promptlab.patterns import translate

# Only an escape or a named group has another spelling; in JSON, too, an escape has a
# backslash.
_SUSPECT = r"\\|\(\?<"
_SUSPECTED = re.compile(_SUSPECT)


def spellings(
    types: pl.Series, payloads: pl.Series, *, are_answers_patterns: bool
) -> pl.Series:
    """Return for each baseline the spellings of its patterns, as JSON.

    Args:
        types: ``golden_answer``, ``rules`` …
        payloads: JSON objects, as text.
        are_answers_patterns: Whether golden answers are patterns (``match_rule:
            regex``); translating long ones for nothing would take long.

    Returns:
        An object ``{"<as written>": {"unicode": "<RE2>", "ascii": "<RE2>"}}``: the
        pattern for every text, and the cheaper one for texts that are all ASCII. An
        invalid pattern has null. Null where there would be nothing in the object.
    """
    found: list[str | None] = [None] * len(payloads)
    may_have = types == "golden_answer"
    if not are_answers_patterns or not may_have.any():
        return texts(found)
    for row in (payloads.str.contains(_SUSPECT) & may_have).arg_true():
        spelled = dict(_spelled(set(_candidates(payloads[row]))))
        if spelled:
            found[row] = msgspec.json.encode(spelled).decode()
    return texts(found)


def _spelled(
    candidates: set[str],
) -> Iterator[tuple[str, dict[str, str | None] | None]]:
    """Yield the patterns that have another spelling, and that spelling."""
    for written in sorted(candidates):
        pattern = translate(written)
        if pattern.error is not None:
            yield written, None
        elif not written == pattern.translated == pattern.ascii:
            yield written, {"unicode": pattern.translated, "ascii": pattern.ascii}


def _candidates(payload: str) -> Iterator[str]:
    """Yield the texts that may be patterns, as SQL trims them."""
    for string in STRINGS.findall(payload):
        if not _SUSPECTED.search(string):
            continue
        try:
            text = msgspec.json.decode(string, type=str)
        except msgspec.DecodeError:  # half of a surrogate pair: no text in SQL either
            continue
        if _SUSPECTED.search(text):
            yield text.strip()
