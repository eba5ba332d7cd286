"""Normalise answers and references like LoCoMo's published F1.

The published rules: remove commas, lower-case, remove ASCII punctuation and a / an /
the / and, apply the Porter stemmer. Category 1 (multi-hop) compares the parts between
commas, category 3 (open-domain) cuts the reference at its first semicolon. SQL computes
the score; texts are prepared here because DuckDB has no such stemmer.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from promptlab.ingest.memory.porter import stem

_LONGEST = 200
"""Real words are shorter; longer ones are their own stems."""

MULTI_HOP, OPEN_DOMAIN = "1", "3"

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_parts(answer: str, category: str | None) -> list[str]:
    """Return the compared parts of an answer: between commas, or all of it.

    Each part is its stems joined by spaces; equal parts are returned once, since only
    the best one counts.
    """
    if category != MULTI_HOP:
        return [stems(answer)]
    return list(dict.fromkeys(stems(part) for part in answer.split(",")))


def reference_parts(reference: str, category: str | None) -> list[str]:
    """Return the compared parts of one reference, as stems joined by spaces.

    The published score is the mean over these parts, so equal parts are kept.
    """
    if category == MULTI_HOP:
        return [stems(part) for part in reference.split(",")]
    if category == OPEN_DOMAIN:
        return [stems(reference.split(";")[0])]
    return [stems(reference)]


def stems(text: str) -> str:
    """Return the stems of a text's words, joined by spaces.

    Words are independent of each other, so each word is normalised once.
    """
    return " ".join(filter(None, map(_stems_of_word, text.split())))


@lru_cache(maxsize=30_000)  # in languages without spaces a word may be a sentence
def _stems_of_word(word: str) -> str:
    """Return the stems of a word: one, of "the" none, of "here—and—there" two."""
    bare = word.replace(",", "").lower().translate(_PUNCTUATION)
    words = _ARTICLES.sub(" ", bare).split()
    return " ".join(stem(w) if len(w) <= _LONGEST else w for w in words)
