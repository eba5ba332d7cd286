"""Forest plot of differences, and scores before and after, for SVG in table rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from promptlab.contracts.comparison import CaseChange, ScoreComparison

WIDTH = 220
HEIGHT = 18
_EDGE = 6
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Ends of the axis of differences, of the scale from 0 to 1."""


@dataclass(frozen=True)
class Forest:
    """The axis that all rows of one comparison share."""

    limit: float
    """The difference at the right end; the left end is its opposite."""
    width: int = WIDTH
    height: int = HEIGHT
    middle: float = WIDTH / 2

    def x(self, difference: float) -> float:
        """Return the position of a difference, limited to the ends of the axis."""
        share = max(-1.0, min(1.0, difference / self.limit))
        return round(self.middle + share * (self.middle - _EDGE), 1)


def forest(scores: Iterable[ScoreComparison]) -> Forest:
    """Return an axis on which the differences of *scores* and most intervals fit.

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
    return Forest(next((step for step in _STEPS if most <= step), 1.0))


def on_track(share: float) -> float:
    """Return the position of a share, 0 to 1, on a track of ``WIDTH``."""
    return round(_EDGE + share * (WIDTH - 2 * _EDGE), 1)


def before_after(case: CaseChange) -> tuple[float, float] | None:
    """Return the positions of a case's scores on a track of ``WIDTH``."""
    if case.baseline_score is None or case.candidate_score is None:
        return None
    return on_track(case.baseline_score), on_track(case.candidate_score)
