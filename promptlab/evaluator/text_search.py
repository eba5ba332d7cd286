"""Searching a text with a pattern of a testset or a rule.

The dialect is ``promptlab.patterns``; the engine is RE2, as in the warehouse.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from promptlab.patterns import translate


def pattern_error(pattern: str) -> str | None:
    """Return why *pattern* cannot be used, or ``None``."""
    error: str | None = translate(pattern).error
    return error


def found_in(pattern: str, text: str) -> bool | None:
    """Say whether *pattern* occurs anywhere in *text*; ``None`` if it is invalid."""
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    for_ascii, for_any = compiled
    regex = for_ascii if text.isascii() else for_any
    return regex.search(text) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[Any, Any] | None:
    dialect = translate(pattern)
    if dialect.error is not None:
        return None
    options = re2.Options()
    options.log_errors = False
    return (
        re2.compile(dialect.ascii, options),
        re2.compile(dialect.translated, options),
    )
