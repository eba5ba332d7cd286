"""Histogram of case scores: ten columns on the bar of a score, for inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 100
HEIGHT = 24
_GAP = 1
_LEAST = 1.5  # one case of a hundred thousand is still visible


@dataclass(frozen=True)
class HistogramColumn:
    """The cases of one tenth of the scale."""

    x: float
    y: float
    width: float
    height: float
    low: int
    """Start of the tenth, of 100."""
    high: int
    n: int


@dataclass(frozen=True)
class Histogram:
    """Columns in a box of ``WIDTH`` by ``HEIGHT``; empty tenths have none."""

    columns: list[HistogramColumn]
    width: int = WIDTH
    height: int = HEIGHT


def histogram(counts: Sequence[int]) -> Histogram | None:
    """Return the drawing of the cases in each tenth; ``None`` without cases.

    The tallest column fills the box.
    """
    most = max(counts, default=0)
    if not most:
        return None
    step = WIDTH / len(counts)
    columns = []
    for at, n in enumerate(counts):
        if n:
            height = round(max(_LEAST, HEIGHT * n / most), 2)
            low = round(at * step)
            columns.append(
                HistogramColumn(
                    x=low + _GAP / 2,
                    y=round(HEIGHT - height, 2),
                    width=step - _GAP,
                    height=height,
                    low=low,
                    high=round(low + step),
                    n=n,
                )
            )
    return Histogram(columns)
