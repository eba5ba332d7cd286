"""The stemmer of the published LoCoMo score; the only place that knows the library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

_LONGEST = 200
# No word of a language is longer; the stemmer's time and recursion grow with it.


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Porter stem of a lower-case word; very long ones stay as they are."""
    return word if len(word) > _LONGEST else _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    # Lazily: the import takes a fifth of a second. Default mode (nltk's extensions of
    # Porter's algorithm), since that is what the published figures were made with.
    from nltk.stem.porter import PorterStemmer

    untyped: Any = PorterStemmer
    stem_of: Callable[[str], str] = untyped().stem
    return stem_of
