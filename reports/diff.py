"""Compare two texts word by word: what the other text lacks is marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from promptlab.reports.printing import TextPiece, clip, marked_parts, parts

MOST_CHARS = 2_000
"""Maximum characters of each text that are shown and compared."""
_MOST_WORK = 400_000  # pairs of words, about a tenth of a second
_LEAST_ALIKE = 0.4
"""Minimum share of common words; below it, texts are not marked."""

_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+|\s+|[^\w\s]|_+")


@dataclass(frozen=True)
class Diff:
    """Both texts in pieces, with marked differences; an unknown one is ``None``."""

    before: list[TextPiece] | None
    after: list[TextPiece] | None
    is_same: bool


def word_diff(before: str | None, after: str | None) -> Diff:
    """Compare two texts."""
    if before is None or after is None:
        return Diff(
            None if before is None else parts(before),
            None if after is None else parts(after),
            is_same=False,
        )
    shown = [clip(text, MOST_CHARS) for text in (before, after)]
    if before == after:
        whole = marked_parts(shown[0], marked=False)
        return Diff(whole, whole, is_same=True)
    old, new = map(_TOKEN.findall, shown)
    blocks = _blocks(old, new)
    alike = sum(_words(old[i : i + n]) for i, _, n in blocks)
    if 2 * alike < _LEAST_ALIKE * (_words(old) + _words(new)):
        return Diff(_unmarked(old), _unmarked(new), is_same=False)
    return Diff(
        _marked(old, [(i, n) for i, _, n in blocks]),
        _marked(new, [(j, n) for _, j, n in blocks]),
        is_same=False,
    )


def _words(tokens: Sequence[str]) -> int:
    return sum(token[0].isalnum() for token in tokens)


def _blocks(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Return the common parts: position in both texts, and number of tokens."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    mid_old, mid_new = old[head : len(old) - tail], new[head : len(new) - tail]
    blocks = [(0, 0, head)]
    if len(mid_old) * len(mid_new) <= _MOST_WORK:
        matcher = SequenceMatcher(None, mid_old, mid_new, autojunk=False)
        blocks += [(head + i, head + j, n) for i, j, n in matcher.get_matching_blocks()]
    return [*blocks, (len(old) - tail, len(new) - tail, tail)]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal tokens at the beginning."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _unmarked(tokens: Sequence[str]) -> list[TextPiece]:
    return marked_parts("".join(tokens), marked=False)


def _marked(tokens: Sequence[str], same: Sequence[tuple[int, int]]) -> list[TextPiece]:
    """Return a text in pieces; tokens outside of the common parts are marked."""
    pieces: list[TextPiece] = []
    at = 0
    for start, n in same:
        pieces += marked_parts("".join(tokens[at:start]), marked=True)
        pieces += marked_parts("".join(tokens[start : start + n]), marked=False)
        at = start + n
    return pieces + marked_parts("".join(tokens[at:]), marked=True)
