"""Answers and references in the form in which LoCoMo's published F1 compares them.

Published: commas out, lower-case, ASCII punctuation out, a / an / the / and out, Porter
stems. Category 1 (multi-hop) compares comma parts, category 3 (open-domain) cuts the
reference at its first semicolon. The score itself is SQL's: here texts are only
prepared, once, since no stemmer runs inside the warehouse.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from promptlab.ingest.memory.porter import stem

MULTI_HOP, OPEN_DOMAIN = "1", "3"

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_parts(answer: str, category: str | None) -> list[str]:
    """Return what is compared of an answer: its comma parts, or all of it.

    Each part is its stems joined by blanks; equal parts are given once, since only the
    best one counts.
    """
    if category != MULTI_HOP:
        return [stems(answer)]
    return list(dict.fromkeys(stems(part) for part in answer.split(",")))


def reference_parts(reference: str, category: str | None) -> list[str]:
    """Return what is compared of one reference, in stems joined by blanks.

    The published score is the mean over these parts, so equal ones stay.
    """
    if category == MULTI_HOP:
        return [stems(part) for part in reference.split(",")]
    if category == OPEN_DOMAIN:
        return [stems(reference.split(";")[0])]
    return [stems(reference)]


def stems(text: str) -> str:
    """Return the stems of a text's words, joined by blanks.

    Nothing in the form looks beyond a blank, so each word is brought into it once.
    """
    return " ".join(filter(None, map(_stems_of_word, text.split())))


@lru_cache(maxsize=30_000)  # in languages without blanks each may be a sentence
def _stems_of_word(word: str) -> str:
    """Return the stems of a word: one, of "the" none, of "here—and—there" two."""
    bare = word.replace(",", "").lower().translate(_PUNCTUATION)
    return " ".join(map(stem, _ARTICLES.sub(" ", bare).split()))
