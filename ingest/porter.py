"""The stemmer of the published LoCoMo score; the only place that knows the library."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer

_LONGEST = 200
# No word of a language is longer; the stemmer's time and recursion grow with it.


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Porter stem of a lower-case word; very long ones stay as they are."""
    if len(word) > _LONGEST:
        return word
    result: str = _stemmer().stem(word)
    return result


@cache
def _stemmer() -> PorterStemmer:
    # Lazily: the import takes a fifth of a second. Default mode (nltk's extensions of
    # Porter's algorithm), since that is what the published figures were made with.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
