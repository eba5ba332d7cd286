"""What the page shows of a MemoryResult: the figures by their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlab.contracts.memory_result import (
    ComparedQuestion,
    ForgottenQuestion,
    MemoryAnswer,
    MemoryCategory,
    MemoryComparison,
    MemoryResult,
    MemoryRetention,
    MemoryScore,
    MemoryScoreComparison,
    MemoryTask,
)
from promptlab.reports.charts.curve import Curve, curve
from promptlab.reports.views.pieces import Bar
from promptlab.reports.views.task import bar

METRICS = ("locomo_f1", "token_f1", "exact_match", "contains_reference", "mem0_f1")
MOST_ANSWERS = 100
MOST_TASKS = 50
MOST_CHANGED = 50
MOST_COMPARED = 40
"""Categories, and other metrics, that a comparison lists."""


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
class ComparisonView:
    """The run against an earlier one."""

    comparison: MemoryComparison
    overall: MemoryScoreComparison
    categories: list[MemoryScoreComparison]
    """By the comparison's own metric."""
    others: list[MemoryScoreComparison]
    """All questions by the other metrics."""
    questions: Sequence[ComparedQuestion]
    n_questions_more: int


@dataclass(frozen=True)
class MemoryView:
    """The page of a memory run."""

    headline: MemoryScore | None
    bar: Bar
    previous: MemoryScore | None
    comparisons: list[ComparisonView]
    metrics: list[str]
    """Those that were scored, the run's own first."""
    categories: list[CategoryLine]
    rounds: list[ScoreLine]
    learning: Curve | None
    """The score of ``rounds`` over the dialogs that were inserted by then."""
    others: list[MemoryScore]
    """The headline metric over all questions under the other rules."""
    retention: list[RetentionLine]
    forgetting: Curve | None
    """The share still right over the rounds since."""
    tasks: Sequence[MemoryTask]
    n_tasks_more: int
    wrong: Sequence[MemoryAnswer]
    n_wrong_more: int
    forgotten: Sequence[ForgottenQuestion]
    n_forgotten_more: int
    names: dict[str, str]
    """Category to its name, where it has one."""


def arrange_memory(result: MemoryResult) -> MemoryView:
    """Return what a page lists of *result*."""
    own = result.run.right_metric
    headline = {
        (score.category, score.metric): score
        for score in result.scores
        if score.is_headline
    }
    metrics = [
        metric
        for metric in sorted(METRICS, key=lambda metric: metric != own)
        if any(
            score.metric == metric and score.score is not None
            for score in headline.values()
        )
    ]
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
        comparisons=[_compared(comparison) for comparison in result.comparisons],
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


def _compared(comparison: MemoryComparison) -> ComparisonView:
    own = [s for s in comparison.scores if s.is_right_metric]
    overall = next(s for s in own if s.subject == "all")
    questions = comparison.questions[:MOST_CHANGED]
    return ComparisonView(
        comparison=comparison,
        overall=overall,
        categories=[s for s in own if s is not overall][:MOST_COMPARED],
        others=[
            s
            for s in comparison.scores
            if not s.is_right_metric and s.subject == "all" and s.n_pairs
        ],
        questions=questions,
        n_questions_more=comparison.counts.changed - len(questions),
    )


def _bar(score: MemoryScore | None) -> Bar:
    return bar(None if score is None else score.score)
