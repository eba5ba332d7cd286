"""How case scores, or their differences, are spread: columns for inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 100
HEIGHT = 24
_GAP = 1
_LEAST = 1.5  # one case of a hundred thousand is still visible


@dataclass(frozen=True)
class HistogramColumn:
    """The cases of one step of the scale."""

    x: float
    y: float
    width: float
    height: float
    low: int
    """Where the step begins."""
    high: int
    n: int


@dataclass(frozen=True)
class Histogram:
    """Columns in a box of ``WIDTH`` by ``HEIGHT``; empty steps have none."""

    columns: list[HistogramColumn]
    width: int = WIDTH
    height: int = HEIGHT


def histogram(counts: Sequence[int], low: int = 0, high: int = 100) -> Histogram | None:
    """Return the drawing of the cases in each step; ``None`` where there are none.

    The tallest column fills the box, whatever it counts.

    Args:
        counts: Cases of each step, the lowest first; all steps are equally wide.
        low: Where the scale begins.
        high: Where it ends.
    """
    most = max(counts, default=0)
    if not most:
        return None
    step = WIDTH / len(counts)
    columns = []
    for at, n in enumerate(counts):
        if n:
            height = round(max(_LEAST, HEIGHT * n / most), 2)
            columns.append(
                HistogramColumn(
                    x=round(at * step + _GAP / 2, 2),
                    y=round(HEIGHT - height, 2),
                    width=round(step - _GAP, 2),
                    height=height,
                    low=round(low + at * (high - low) / len(counts)),
                    high=round(low + (at + 1) * (high - low) / len(counts)),
                    n=n,
                )
            )
    return Histogram(columns)
