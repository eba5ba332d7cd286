"""The stemmer of the published LoCoMo score; the only module that uses nltk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec, module_from_spec
from typing import Any

_LONGEST = 200
# Real words are shorter; the stemmer's time and recursion grow with the length.


def stem(word: str) -> str:
    """Return the Porter stem of a lower-case word; very long words are unchanged."""
    return word if len(word) > _LONGEST else _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    with _nltk_as_folders():
        from nltk.stem.porter import PorterStemmer
    # Default mode (nltk's extensions of Porter's algorithm), since that is what the
    # published figures were made with.
    untyped: Any = PorterStemmer
    stem_of: Callable[[str], str] = untyped().stem
    return stem_of


@contextmanager
def _nltk_as_folders() -> Iterator[None]:
    """Import a module of nltk without running its package's imports.

    Those import all of nltk, and numpy and scipy if installed, which takes up to a
    second. A later import of nltk is complete.
    """
    if "nltk" in sys.modules:
        yield
        return
    try:
        for name in ("nltk", "nltk.stem"):
            spec = find_spec(name)
            assert spec is not None
            sys.modules[name] = module_from_spec(spec)
        yield
    finally:
        for name in [each for each in sys.modules if each.split(".")[0] == "nltk"]:
            del sys.modules[name]
