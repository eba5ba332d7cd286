"""Scatter plot of quality and cost: variants and the Pareto front, for inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 640
HEIGHT = 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 24, 14, 34
_LOGARITHMIC_FROM = 20
"""Costs that differ by more than this factor are drawn on a logarithmic axis."""


_NUMBER = 32
"""The room that a number takes."""


@dataclass(frozen=True)
class Priced:
    """A variant with a score and a cost."""

    number: int
    """Its number in the table of variants."""
    name: str
    cost: float
    score: float
    low: float | None
    high: float | None
    is_on_front: bool
    """True if no other variant is both better and cheaper."""


@dataclass(frozen=True)
class Point:
    """Position of a variant, and its interval."""

    of: Priced
    x: float
    y: float
    y_low: float
    y_high: float
    label_x: float
    """Where its number begins; where it ends, if another point is to the right."""


@dataclass(frozen=True)
class Pareto:
    """Points in a box of ``WIDTH`` by ``HEIGHT``; cheap is left, good is above."""

    points: list[Point]
    front: str
    """The line through the front, ``x,y x,y …``."""
    rules: list[tuple[float, int]]
    """Heights of scores, and the scores of 100."""
    ticks: list[tuple[float, float]]
    """Places of costs, and the costs."""
    is_logarithmic: bool
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def pareto(variants: Sequence[Priced]) -> Pareto | None:
    """Return the drawing of variants with finite costs; ``None`` for fewer than two."""
    variants = [each for each in variants if math.isfinite(each.cost)]
    if len(variants) < 2:
        return None
    costs = [each.cost for each in variants]
    least, most = min(costs), max(costs)
    if most <= 0:
        return None
    is_logarithmic = least > 0 and most / least >= _LOGARITHMIC_FROM
    start, end = (math.log(least), math.log(most)) if is_logarithmic else (0.0, most)
    floor = 10 * math.floor(10 * min(each.low or each.score for each in variants))

    def x(cost: float) -> float:
        place = ((math.log(cost) if is_logarithmic else cost) - start) / (end - start)
        return round(_LEFT + 10 + place * (WIDTH - _LEFT - _RIGHT - 20), 1)

    def y(score: float) -> float:
        place = (100 * score - floor) / (100 - floor) if floor < 100 else 1.0
        return round(HEIGHT - _BOTTOM - place * (HEIGHT - _TOP - _BOTTOM), 1)

    places = [(x(each.cost), y(each.score)) for each in variants]
    points = [
        Point(
            each,
            left,
            top,
            y(each.score if each.low is None else each.low),
            y(each.score if each.high is None else each.high),
            left - 8 if _is_crowded(left, top, places) else left + 8,
        )
        for each, (left, top) in zip(variants, places, strict=True)
    ]
    front = sorted((p.x, p.y) for p in points if p.of.is_on_front)
    shown = (least, most) if is_logarithmic else (0.0, most / 2, most)
    return Pareto(
        points=points,
        front=" ".join(f"{left},{top}" for left, top in front),
        rules=[
            (y(each / 100), each) for each in sorted({floor, (floor + 100) // 2, 100})
        ],
        ticks=[(x(cost), cost) for cost in shown],
        is_logarithmic=is_logarithmic,
    )


def _is_crowded(x: float, y: float, places: Sequence[tuple[float, float]]) -> bool:
    """Return true if another point is where the number would be."""
    return any(
        0 < left - x < _NUMBER and abs(top - y) < _NUMBER for left, top in places
    )
