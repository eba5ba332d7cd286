"""The trend of a title as a picture for a mail: SVG, converted to PNG.

There is no text in it: without the named font a renderer drops letters silently, and
with one the bytes would differ between machines. The text below the picture explains
the axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from promptlab.reports.queries.history import PastRun

WIDTH = 552
HEIGHT = 120
FEWEST = 3
"""Minimum number of scored runs; with fewer, nothing is drawn."""

_EDGE = 10
_SCALE = 2  # pixels per point, for sharp screens


@dataclass(frozen=True)
class Trend:
    """The scored runs of a title in a box of ``WIDTH`` by ``HEIGHT``, oldest first."""

    runs: Sequence[PastRun]
    baseline: str | None = None
    """Task id of the run that the last one is compared with."""

    @cached_property
    def floor(self) -> float:
        """The score at the bottom edge, a whole tenth of the scale."""
        wanted = math.floor(round(min(self._ends()) * 10, 6)) / 10
        return min(max(0.0, wanted), 0.8)

    @cached_property
    def top(self) -> float:
        """The score at the top edge; never less than two tenths above the floor."""
        wanted = math.ceil(round(max(self._ends()) * 10, 6)) / 10
        return min(1.0, max(wanted, self.floor + 0.2))

    @property
    def first(self) -> float:
        """The score of the oldest run."""
        return self._points()[0][1]

    @property
    def last(self) -> float:
        """The score of the newest scored run."""
        return self._points()[-1][1]

    @property
    def n(self) -> int:
        """Number of scored runs."""
        return len(self._points())

    def svg(self) -> str:
        """Return the picture: grid, intervals, line, the baseline's ring, the last."""
        points = [
            (self._x(at), self._y(score), self.runs[at]) for at, score in self._points()
        ]
        line = " ".join(f"{x},{y}" for x, y, _ in points)
        last_x, last_y, _ = points[-1]
        drawn = [
            f'<line x1="0" y1="{y}" x2="{WIDTH}" y2="{y}" stroke="#E5E7EB"/>'
            for y in (_EDGE, HEIGHT / 2, HEIGHT - _EDGE)
        ]
        drawn += [
            f'<line x1="{x}" y1="{self._y(run.ci_low)}" x2="{x}"'
            f' y2="{self._y(run.ci_high)}" stroke="#C3D9EC" stroke-width="6"'
            ' stroke-linecap="round"/>'
            for x, _, run in points
            if run.ci_low is not None and run.ci_high is not None
        ]
        drawn.append(
            f'<polyline points="{line}" fill="none" stroke="#0B5FA5"'
            ' stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round"/>'
        )
        drawn += [
            f'<circle cx="{x}" cy="{y}" r="4" fill="#FFFFFF" stroke="#1F2937"'
            ' stroke-width="2"/>'
            if run.task_id == self.baseline
            else f'<circle cx="{x}" cy="{y}" r="3" fill="#0B5FA5"/>'
            for x, y, run in points[:-1]
        ]
        drawn.append(
            f'<circle cx="{last_x}" cy="{last_y}" r="6" fill="#0B5FA5"'
            ' stroke="#FFFFFF" stroke-width="2"/>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}"'
            f' height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#FFFFFF"/>'
            f"{''.join(drawn)}</svg>"
        )

    def png(self) -> bytes | None:
        """Return the picture at twice its size; ``None`` without ``resvg_py``."""
        try:
            import resvg_py
        except ImportError:
            return None
        image = resvg_py.svg_to_bytes(
            svg_string=self.svg(), zoom=_SCALE, skip_system_fonts=True
        )
        return bytes(image)

    def _points(self) -> list[tuple[int, float]]:
        return [
            (at, run.overall_score)
            for at, run in enumerate(self.runs)
            if run.overall_score is not None
        ]

    def _ends(self) -> list[float]:
        """Return all drawn numbers."""
        ends = [score for _, score in self._points()]
        for run in self.runs:
            if run.overall_score is not None:
                ends += [e for e in (run.ci_low, run.ci_high) if e is not None]
        return ends

    def _x(self, at: int) -> float:
        return round(_EDGE + at * (WIDTH - 2 * _EDGE) / (len(self.runs) - 1), 1)

    def _y(self, score: float | None) -> float:
        share = ((score or 0.0) - self.floor) / (self.top - self.floor)
        return round(HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE), 1)


def trend(runs: Sequence[PastRun], baseline: str | None = None) -> Trend | None:
    """Return the trend of *runs*, oldest first; ``None`` under three scored ones."""
    drawn = Trend(runs, baseline)
    return drawn if drawn.n >= FEWEST else None
