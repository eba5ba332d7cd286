"""View of a MemoryResult: the figures by their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlab.contracts.memory_result import (
    ForgottenQuestion,
    MemoryAnswer,
    MemoryCategory,
    MemoryResult,
    MemoryRetention,
    MemoryScore,
    MemoryTask,
)
from promptlab.reports.charts.curve import Curve, curve
from promptlab.reports.views.pieces import Bar
from promptlab.reports.views.task import bar

MOST_ANSWERS = 100
MOST_TASKS = 50


@dataclass(frozen=True)
class CategoryLine:
    """The headline figures of one category, in the order of ``metrics``."""

    category: MemoryCategory
    scores: list[MemoryScore | None]
    bar: Bar | None


@dataclass(frozen=True)
class ScoreLine:
    """One figure and its drawing."""

    score: MemoryScore
    bar: Bar


@dataclass(frozen=True)
class RetentionLine:
    """One lag and its drawing."""

    retention: MemoryRetention
    bar: Bar


@dataclass(frozen=True)
class MemoryView:
    """The page of a memory run."""

    headline: MemoryScore | None
    bar: Bar
    previous: MemoryScore | None
    metrics: list[str]
    """Scored metrics, the run's own first."""
    categories: list[CategoryLine]
    rounds: list[ScoreLine]
    learning: Curve | None
    """The score of ``rounds`` over the number of inserted dialogs."""
    others: list[MemoryScore]
    """The headline metric over all questions under the other rules."""
    retention: list[RetentionLine]
    forgetting: Curve | None
    """The share still right, by the number of rounds later."""
    tasks: Sequence[MemoryTask]
    n_tasks_more: int
    wrong: Sequence[MemoryAnswer]
    n_wrong_more: int
    forgotten: Sequence[ForgottenQuestion]
    n_forgotten_more: int
    names: dict[str, str]
    """Category to its name, if any."""


def arrange_memory(result: MemoryResult) -> MemoryView:
    """Return the view of *result*."""
    own = result.run.right_metric
    headline = {
        (score.category, score.metric): score
        for score in result.scores
        if score.is_headline
    }
    scored = {
        score.metric: None for score in headline.values() if score.score is not None
    }
    metrics = sorted(scored, key=lambda metric: metric != own)
    of_all = [s for s in result.scores if s.metric == own and s.category == "all"]
    main = headline.get(("all", own or ""))
    rounds = [
        ScoreLine(score, _bar(score))
        for score in of_all
        if score.view == "by_round"
        and score.failed_calls == "as_zero"
        and score.average == "micro"
    ]
    wrong = result.wrong[:MOST_ANSWERS]
    forgotten = result.forgotten[:MOST_ANSWERS]
    return MemoryView(
        headline=main,
        bar=_bar(main),
        previous=next((s for s in result.previous_headline if s.metric == own), None),
        metrics=metrics,
        categories=[
            CategoryLine(
                category,
                [headline.get((category.category, metric)) for metric in metrics],
                _bar(headline.get((category.category, own or ""))),
            )
            for category in result.categories
        ],
        rounds=rounds,
        learning=curve(
            [(r.score.mean_dialogs_inserted, r.score.score) for r in rounds]
        ),
        others=[
            score
            for score in of_all
            if score.view != "by_round" and not score.is_headline
        ],
        retention=[
            RetentionLine(line, bar(line.retention)) for line in result.retention
        ],
        forgetting=curve([(r.lag, r.retention) for r in result.retention]),
        tasks=result.tasks[:MOST_TASKS],
        n_tasks_more=max(0, len(result.tasks) - MOST_TASKS),
        wrong=wrong,
        n_wrong_more=result.n_wrong - len(wrong),
        forgotten=forgotten,
        n_forgotten_more=result.n_forgotten - len(forgotten),
        names={c.category: c.name for c in result.categories if c.name is not None},
    )


def _bar(score: MemoryScore | None) -> Bar:
    return bar(None if score is None else score.score)
