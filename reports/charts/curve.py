"""Line chart of scores along an axis, for inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 600
HEIGHT = 160
_EDGE = 6


@dataclass(frozen=True)
class Curve:
    """A line in a box of ``WIDTH`` by ``HEIGHT``; 0 is left, a score of 0 below."""

    points: str
    """``x,y x,y …``"""
    dots: list[tuple[float, float]]
    lines: list[float]
    """Heights of the scores 1, 0.5 and 0."""
    most: float
    """End of the axis."""
    width: int = WIDTH
    height: int = HEIGHT


def curve(pairs: Sequence[tuple[float | None, float | None]]) -> Curve | None:
    """Return the line through *pairs* of a place (0 or more) and a score (0–1).

    A pair without place or score has no point; a line needs at least two points.
    """
    known = [
        (x, y) for x, y in pairs if x is not None and y is not None and math.isfinite(x)
    ]
    most = max((x for x, _ in known), default=0)
    if len(known) < 2 or not most:
        return None
    dots = [
        (round(_EDGE + x / most * (WIDTH - 2 * _EDGE), 1), _height(y)) for x, y in known
    ]
    return Curve(
        points=" ".join(f"{x},{y}" for x, y in dots),
        dots=dots,
        lines=[_height(1), _height(0.5), _height(0)],
        most=most,
    )


def _height(score: float) -> float:
    return round(_EDGE + (1 - score) * (HEIGHT - 2 * _EDGE), 1)
