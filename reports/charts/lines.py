"""Line chart of numbers over runs, with axes, intervals and marks, for inline SVG."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MOST_DOTS = 120
"""Maximum number of points with dots and links."""
_LEAST_SPAN = 0.2
"""Minimum range of an axis of shares, so that noise does not look large."""
_LABEL_GAP = 44
"""Minimum distance of two labels below or above the chart."""


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
        marks=_spaced([(x(run), text) for run, text in sorted((marks or {}).items())]),
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
        return max(0.0, floor), ceiling, step / 10
    most = max([*ends, 0.0])
    if most < sys.float_info.min:
        return 0.0, 1.0, 1.0
    if most > sys.float_info.max / 20:  # a round number above it may be infinite
        return 0.0, most, most
    size = 10.0 ** math.floor(math.log10(most / ticks))
    width = next(size * n for n in (1, 2, 5, 10, 20) if most / (size * n) <= ticks)
    return 0.0, width * math.ceil(round(most / width, 9)), width


def _spaced(marks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out overlapping labels of marks; keep the lines."""
    spaced: list[tuple[float, str]] = []
    free = -math.inf
    for at, text in marks:
        spaced.append((at, text if at >= free else ""))
        if at >= free:
            free = at + _LABEL_GAP
    return spaced
