"""View of a comparison: the changes, the worst first.

Like :mod:`promptlab.reports.views.task`, it selects and sorts; all numbers come from
the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from promptlab.contracts.comparison import CaseChange, Comparison, ScoreComparison
from promptlab.reports.charts.forest import before_after, forest
from promptlab.reports.charts.histogram import histogram
from promptlab.reports.views.pieces import CaseRef, ChangedCase, ChangesView, ScoreMove

MOST_SCORES = 40
"""Maximum number of listed dimensions, and of measures."""
MOST_TAGS = 20
"""Tags that are listed in addition to those with reliable changes."""
MOST_NOTES = 20
_MANY_PAIRS = 20
"""From so many pairs on the spread of their differences is drawn."""
_MOST_MOVES = 3
_RELIABLE = ("regressed", "improved")


def arrange_changes(
    comparison: Comparison,
    *,
    most: int | None,
    ref: Callable[[str], CaseRef],
    names: Mapping[str, str],
) -> ChangesView:
    """Return the view of *comparison*.

    Args:
        comparison: The task against its baseline.
        most: Maximum number of listed cases.
        ref: The position of a case on the page.
        names: Names of the task's dimensions by id.
    """
    cases = comparison.cases[:most]
    listed = [case for case in cases if _is_news(case)]
    n_listed = sum(case.change != "same" for case in listed)
    moved = [tag for tag in comparison.tags if tag.delta]
    other_tags = [tag for tag in moved if tag.verdict not in _RELIABLE]
    scores = comparison.dimensions[:MOST_SCORES]
    same = [score for score in scores if score.delta is not None and not _moved(score)]
    said = {score.conclusion.rstrip(".。") for score in scores}
    return ChangesView(
        comparison=comparison,
        notes=[note for note in comparison.notes if note not in said][:MOST_NOTES],
        dimensions=[score for score in scores if score not in same],
        same_dimensions=same,
        n_dimensions_more=max(0, len(comparison.dimensions) - MOST_SCORES),
        measures=comparison.measures[:MOST_SCORES],
        n_measures_more=max(0, len(comparison.measures) - MOST_SCORES),
        tags=[tag for tag in moved if tag.verdict in _RELIABLE],
        other_tags=other_tags[:MOST_TAGS],
        n_tags_more=max(0, len(other_tags) - MOST_TAGS),
        cases=[
            ChangedCase(
                case, ref(case.case_id), _moves(case, names), before_after(case)
            )
            for case in listed
        ],
        n_cases_more=comparison.counts.changed - n_listed,
        spread=histogram(comparison.differences, -105, 105)
        if comparison.overall.n_pairs >= _MANY_PAIRS
        else None,
        forest=forest([comparison.overall, *scores, *moved]),
    )


def _moved(score: ScoreComparison) -> bool:
    return bool(score.n_better or score.n_worse)


def _is_news(case: CaseChange) -> bool:
    """Return true if anything changed: must-haves may be lost at the same score."""
    return case.change != "same" or case.must_have_lost or case.must_have_gained


def _moves(case: CaseChange, names: Mapping[str, str]) -> list[ScoreMove]:
    """Return the dimensions on which a case changed most."""
    moved = [move for move in case.dimensions if move.delta]
    moved.sort(key=lambda move: (-abs(move.delta), move.dimension_id))
    return [
        ScoreMove(names.get(move.dimension_id, move.dimension_id), move)
        for move in moved[:_MOST_MOVES]
    ]
