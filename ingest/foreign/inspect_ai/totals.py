"""What Inspect says of a whole run, and the rules it counts by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from ingest.foreign.documents import number, text
from ingest.foreign.inspect_ai.structs import Log, ScoreResult
from ingest.foreign.records import Total

_RULES = {
    "accuracy": "mean_over_cases",
    "mean": "mean_over_cases",
    "stderr": "stderr_over_cases",
    "std": "sd_over_cases",
    "var": "variance_over_cases",
}
"""Metric → rule; each over cases, whose epochs the reducer has made one value of."""


def totals(log: Log, task_id: str, dimensions: Sequence[str]) -> Iterator[Total]:
    """Every total of the log: one per score, metric and reducer."""
    results = log.results
    if results is None:
        return
    places = count()
    counted = {
        "total_samples": ("count_rounds", results.total_samples),
        "completed_samples": ("count_completed_rounds", results.completed_samples),
    }
    for name, (rule, value) in counted.items():
        if value is not None:
            yield Total(
                task_id=task_id,
                position=next(places),
                name=f"results.{name}",
                rule=rule,
                value=float(value),
            )
    for each in results.scores or []:
        dimension = _dimension(each, dimensions)
        reducer = each.reducer or "mean"
        for name, metric in (each.metrics or {}).items():
            written = "/".join(filter(None, (dimension, name, each.reducer)))
            yield Total(
                task_id=task_id,
                position=next(places),
                name=f"results.scores.{written}",
                rule=_RULES.get(name, "none"),
                value=number(metric.value),
                n=each.scored_samples,
                dimension_id=dimension,
                parameters=text({"reducer": reducer}),
            )


def _dimension(score: ScoreResult, dimensions: Sequence[str]) -> str:
    """The dimension that a result is about: a scorer, or one key of what it says."""
    key = f"{score.scorer}.{score.name}"
    if key in dimensions or (score.scorer and score.scorer != score.name):
        return key
    return score.name or score.scorer or "score"
