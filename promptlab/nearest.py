"""The known name that a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A clause for the end of a message; empty where nothing known is near."""
    folded = {name.casefold(): name for name in known}
    near = get_close_matches(wrong.casefold(), folded, n=1)
    return f"; did you mean `{folded[near[0]]}`?" if near else ""
