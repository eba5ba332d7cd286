"""Charts: points and bars for inline SVG, which templates draw."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlab.contracts.comparison import ScoreComparison

if TYPE_CHECKING:
    from promptlab.contracts.pages import RunVariant

# ---------- differences, in table rows


_STEPS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Ends of the axis of differences, of the scale from 0 to 1."""


def axis_of(scores: Iterable[ScoreComparison]) -> float:
    """Return the end of an axis for the differences of *scores* and most intervals.

    An interval of a few cases may be as wide as the scale: it is cut at the end of the
    axis, so that the others can be read.
    """
    compared = [score for score in scores if score.delta is not None]
    most = max((abs(score.delta or 0) for score in compared), default=0.0)
    ends = sorted(
        max(abs(score.ci_low), abs(score.ci_high))
        for score in compared
        if score.ci_low is not None and score.ci_high is not None
    )
    if ends:
        most = max(most, ends[math.ceil(len(ends) * 0.75) - 1])
    return next((step for step in _STEPS if most <= step), 1.0)


# ---------- numbers over runs, with axes, intervals and marks


MOST_DOTS = 120
"""Maximum number of points with dots and links."""
_LEAST_SPAN = 0.2
"""Minimum range of an axis of shares, so that noise does not look large."""
_LABEL_GAP = 44
"""Minimum distance of two labels below the chart."""
MARK_LENGTH = 12
"""Maximum number of letters of a label above the chart."""
MARK_END = 80
"""Distance from the right edge within which such a label ends at its line."""
_LETTER = 7
"""Width of a letter there."""


@dataclass(frozen=True)
class Point:
    """A value of one run."""

    run: int
    """Column of the run, the oldest being 0."""
    value: float
    low: float | None = None
    """Lower end of the interval of the value."""
    high: float | None = None
    label: str = ""
    """The run and its value as text."""
    href: str | None = None


@dataclass(frozen=True)
class Dot:
    """A drawn point."""

    x: float
    y: float
    label: str
    href: str | None


@dataclass(frozen=True)
class Line:
    """One drawn series."""

    name: str
    path: str
    intervals: str
    """Path of a stroke per interval; empty without any."""
    dots: Sequence[Dot]
    """Empty if there are too many points."""
    end: Dot


@dataclass(frozen=True)
class LineChart:
    """Lines in a box; ``left`` and ``bottom`` are the places of the axes."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    lines: Sequence[Line]
    rows: Sequence[tuple[float, str]]
    """Height and label of each grid line."""
    columns: Sequence[tuple[float, str]]
    """Place and label of the runs that are named below the axis."""
    marks: Sequence[tuple[float, str]] = field(default=())
    """Place and label of each change of the prompt or the model."""
    mark_length: int = MARK_LENGTH
    mark_end: int = MARK_END


def line_chart(
    series: Mapping[str, Sequence[Point]],
    runs: Sequence[str],
    *,
    form: Callable[[float], str],
    is_share: bool,
    marks: Mapping[int, str] | None = None,
    width: int = 440,
    height: int = 190,
    left: int = 46,
    ticks: int = 4,
    digits: int = 1,
) -> LineChart | None:
    """Return the chart of some series over the same runs; ``None`` without a point.

    A number that is not finite has no point.

    Args:
        series: Points by name, in the order of their runs.
        runs: Labels of the runs below the axis, the oldest first.
        form: Formats a value on the axis.
        is_share: Whether the values are shares: the axis then spans whole tenths, at
            least two of them. It begins at 0 otherwise.
        marks: Changes with a run, by its column.
        width: Width of the box.
        height: Height of the box.
        left: Width for the labels of the vertical axis.
        ticks: Maximum number of grid lines.
        digits: Decimals of the coordinates.
    """
    drawn = {
        name: known
        for name, points in series.items()
        if (known := [p for p in points if math.isfinite(p.value)])
    }
    if not drawn:
        return None
    is_small = digits == 0
    right, bottom = width - (4 if is_small else 12), height - (5 if is_small else 24)
    top = 5 if is_small else 18
    floor, ceiling, step = _scale(
        [
            end
            for points in drawn.values()
            for p in points
            for end in (p.value, p.low, p.high)
            if end is not None and math.isfinite(end)
        ],
        is_share=is_share,
        ticks=ticks,
    )
    gap = (right - left) / max(1, len(runs) - 1)

    def x(run: int) -> float:
        at = left + run * gap if len(runs) > 1 else (left + right) / 2
        return round(at, digits or None)

    def y(value: float) -> float:
        share = (value - floor) / (ceiling - floor)
        return round(bottom - share * (bottom - top), digits or None)

    n_rows = round((ceiling - floor) / step)
    every = max(1, math.ceil(_LABEL_GAP * 1.6 / gap)) if gap else 1
    last = len(runs) - 1
    named = [run for run in range(0, len(runs), every) if last - run >= every]
    return LineChart(
        width=width,
        height=height,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        lines=[
            _line(name, points, x, y, with_intervals=not is_small)
            for name, points in drawn.items()
        ],
        rows=[
            (y(floor + at * step), form(floor + at * step)) for at in range(n_rows + 1)
        ],
        columns=[(x(run), runs[run]) for run in [*named, last]],
        marks=_spaced(
            [(x(run), text) for run, text in sorted((marks or {}).items())], right
        ),
    )


def _line(
    name: str,
    points: Sequence[Point],
    x: Callable[[int], float],
    y: Callable[[float], float],
    *,
    with_intervals: bool,
) -> Line:
    dots = [Dot(x(p.run), y(p.value), p.label, p.href) for p in points]
    intervals = [
        f"M{x(p.run)} {y(p.low)}V{y(p.high)}"
        for p in points
        if with_intervals
        and p.low is not None
        and p.high is not None
        and math.isfinite(p.low)
        and math.isfinite(p.high)
    ]
    return Line(
        name=name,
        path="M" + "L".join(f"{dot.x} {dot.y}" for dot in dots),
        intervals="".join(intervals),
        dots=dots if len(dots) <= MOST_DOTS and with_intervals else [],
        end=dots[-1],
    )


def _scale(
    ends: Sequence[float], *, is_share: bool, ticks: int
) -> tuple[float, float, float]:
    """Return the lowest and the highest label of an axis, and the step between them."""
    if is_share:
        floor = min(max(0.0, math.floor(round(min(ends) * 10, 6)) / 10), 0.8)
        ceiling = max(math.ceil(round(max(ends) * 10, 6)) / 10, floor + _LEAST_SPAN)
        tenths = round((ceiling - floor) * 10)
        step = next(n for n in (1, 2, 5, 10) if tenths / n <= ticks)
        ceiling = floor + math.ceil(tenths / step) * step / 10
        if ceiling > 1:
            floor, ceiling = floor - (ceiling - 1), 1.0
        return max(0.0, round(floor, 6)), ceiling, step / 10
    most = max([*ends, 0.0])
    if most < sys.float_info.min:
        return 0.0, 1.0, 1.0
    if most > sys.float_info.max / 20:  # a round number above it may be infinite
        return 0.0, most, most
    size = 10.0 ** math.floor(math.log10(most / ticks))
    width = next(size * n for n in (1, 2, 5, 10, 20) if most / (size * n) <= ticks)
    return 0.0, width * math.ceil(round(most / width, 9)), width


def _spaced(
    marks: Sequence[tuple[float, str]], right: float
) -> list[tuple[float, str]]:
    """Leave out labels that would lie on the next one; keep the lines.

    A label begins at its line, close to the right edge it ends there.
    """
    spaced: list[tuple[float, str]] = []
    free = math.inf
    for at, text in reversed(marks):
        width = _LETTER * min(len(text), MARK_LENGTH) + _LETTER
        start = at - width if at > right - MARK_END else at
        fits = start + width <= free
        spaced.append((at, text if fits else ""))
        if fits:
            free = start
    return spaced[::-1]


# ---------- quality and cost: variants and the Pareto front


PARETO_WIDTH = 640
PARETO_HEIGHT = 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 24, 14, 34
_ALIKE = 0.02
"""Costs that differ by less than this share are not drawn."""
_LOGARITHMIC_FROM = 20
"""Costs that differ by more than this factor are drawn on a logarithmic axis."""


_NUMBER = 32
"""The room that a number takes."""


@dataclass(frozen=True)
class PricedPoint:
    """Position of a variant, and its interval."""

    number: int
    """Its number in the table of variants."""
    of: RunVariant
    x: float
    y: float
    y_low: float
    y_high: float
    label_x: float
    """The start of its number; the end, if another point is to the right."""
    label_y: float
    """Its base line: above the point, or below it if another point is above."""


@dataclass(frozen=True)
class Pareto:
    """Points in a box of ``WIDTH`` by ``HEIGHT``; cheap is left, good is above."""

    points: list[PricedPoint]
    front: str
    """The line through the front, ``x,y x,y …``."""
    rules: list[tuple[float, int]]
    """Heights of scores, and the scores of 100."""
    ticks: list[tuple[float, float]]
    """Places of costs, and the costs."""
    is_logarithmic: bool
    left: int = _LEFT
    right: int = PARETO_WIDTH - _RIGHT
    bottom: int = PARETO_HEIGHT - _BOTTOM
    width: int = PARETO_WIDTH
    height: int = PARETO_HEIGHT


def pareto(variants: Sequence[tuple[int, RunVariant]]) -> Pareto | None:
    """Return the drawing of variants by cost and score; ``None`` for fewer than two.

    Also ``None`` if all cost about the same. A variant comes with its number.
    """
    priced = [
        (number, variant, variant.cost_total, variant.overall_score)
        for number, variant in variants
        if variant.overall_score is not None
        and variant.cost_total is not None
        and math.isfinite(variant.cost_total)
    ]
    if len(priced) < 2:
        return None
    costs = [cost for _, _, cost, _ in priced]
    least, most = min(costs), max(costs)
    if most - least <= _ALIKE * abs(most):  # no choice between quality and cost
        return None
    is_logarithmic = least > 0 and most / least >= _LOGARITHMIC_FROM
    start, end = (math.log(least), math.log(most)) if is_logarithmic else (0.0, most)
    lowest = min(variant.ci_low or score for _, variant, _, score in priced)
    floor = 10 * math.floor(10 * lowest)

    def x(cost: float) -> float:
        place = ((math.log(cost) if is_logarithmic else cost) - start) / (end - start)
        return round(_LEFT + 10 + place * (PARETO_WIDTH - _LEFT - _RIGHT - 20), 1)

    def y(score: float) -> float:
        place = (100 * score - floor) / (100 - floor) if floor < 100 else 1.0
        height = place * (PARETO_HEIGHT - _TOP - _BOTTOM)
        return round(PARETO_HEIGHT - _BOTTOM - height, 1)

    points = []
    places = [(x(cost), y(score)) for _, _, cost, score in priced]
    for (number, variant, _, score), (left, top) in zip(priced, places, strict=True):
        label = left - 8 if _is_crowded(left, top, places) else left + 8
        y_low, y_high = (
            y(score if end is None else end)
            for end in (variant.ci_low, variant.ci_high)
        )
        base = top + 16 if _is_below(left, top, places) else top - 7
        points.append(
            PricedPoint(number, variant, left, top, y_low, y_high, label, base)
        )
    front = sorted((p.x, p.y) for p in points if p.of.is_on_front)
    shown = (least, most) if is_logarithmic else (0.0, most / 2, most)
    return Pareto(
        points=points,
        front=" ".join(f"{left},{top}" for left, top in front),
        rules=[
            (y(percent / 100), percent)
            for percent in sorted({floor, (floor + 100) // 2, 100})
        ],
        ticks=[(x(cost), cost) for cost in shown],
        is_logarithmic=is_logarithmic,
    )


def _is_crowded(x: float, y: float, places: Sequence[tuple[float, float]]) -> bool:
    """Return true if another point is where the number would be."""
    return any(
        0 < left - x < _NUMBER and abs(top - y) < _NUMBER for left, top in places
    )


def _is_below(x: float, y: float, places: Sequence[tuple[float, float]]) -> bool:
    """Return true if another point is so close above that the numbers would touch."""
    return any(
        abs(left - x) < _NUMBER and 0 < y - top < _NUMBER for left, top in places
    )
