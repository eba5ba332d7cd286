"""Names of cases without a name: the question, as its author wrote it."""

from __future__ import annotations

_LONGEST = 60
_CUT = 40


def is_short(text: str) -> bool:
    """Return whether a text is a name as it is: not empty, at most 60 characters."""
    return 0 < len(text) <= _LONGEST


def cut_name(text: str, digest: str) -> str:
    """Return the first 40 characters of a text and a hash of the whole.

    The name is the same in every run and differs from others that begin alike.

    Args:
        text: The readable part; the name of an empty one is the hash.
        digest: Hash of the whole question, of a few characters.
    """
    words = " ".join(text.split())[:_CUT].rstrip()
    return f"{words}… {digest}" if words else digest
