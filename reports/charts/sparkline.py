"""A trend drawn small: the points of one line, for inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 120
HEIGHT = 28
_EDGE = 4
FEWEST = 3
"""Fewer points are no trend; nothing is drawn."""


@dataclass(frozen=True)
class Sparkline:
    """A line in a box of ``WIDTH`` by ``HEIGHT``."""

    points: str
    """``x,y x,y …``"""
    last: tuple[float, float]
    n: int
    first: float
    """Score of the oldest run that has one."""
    newest: float
    """Score of the newest run that has one."""
    width: int = WIDTH
    height: int = HEIGHT


def sparkline(scores: Sequence[float | None]) -> Sparkline | None:
    """Return the line of *scores*, 0–1, oldest first; ``None`` under three.

    The box spans the scores themselves, but never less than a tenth of the scale:
    noise is not to look like news. A missing score has no point.
    """
    known = [(at, score) for at, score in enumerate(scores) if score is not None]
    if len(known) < FEWEST:
        return None
    low = min(score for _, score in known)
    high = max(score for _, score in known)
    span = max(high - low, 0.1)
    floor = (low + high - span) / 2
    step = (WIDTH - 2 * _EDGE) / (len(scores) - 1)
    points = [
        (
            round(_EDGE + at * step, 1),
            round(HEIGHT - _EDGE - (score - floor) / span * (HEIGHT - 2 * _EDGE), 1),
        )
        for at, score in known
    ]
    text = " ".join(f"{x},{y}" for x, y in points)
    return Sparkline(text, points[-1], len(points), known[0][1], known[-1][1])
