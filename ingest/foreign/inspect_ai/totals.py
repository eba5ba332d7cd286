"""Totals that Inspect reports for a run, and their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptlab.ingest.foreign.grading import Dimensions
from promptlab.ingest.foreign.inspect_ai.structs import Log, Metric, ScoreResult
from promptlab.ingest.foreign.records import Rule
from promptlab.ingest.foreign.writing import TaskWriter, category_tag

_RULES: dict[str, Rule] = {
    "accuracy": "mean_over_cases",
    "mean": "mean_over_cases",
    "stderr": "stderr_over_cases",
    "std": "sd_over_cases",
    "var": "variance_over_cases",
}
"""Metric → rule over cases; the reducer has combined their epochs."""


def write_totals(log: Log, task: TaskWriter) -> None:
    """Yield every total of the log: one per score, metric and reducer."""
    results = log.results
    if results is None:
        return
    if results.total_samples is not None:
        task.total("results.total_samples", "count_rounds", results.total_samples)
    completed = results.completed_samples
    if completed is not None:
        task.total("results.completed_samples", "count_completed_rounds", completed)
    for each in results.scores or []:
        dimension = _dimension(each, task.dimensions)
        for name, metric in (each.metrics or {}).items():
            written = "/".join(filter(None, (dimension, name, each.reducer)))
            rule, tag = _rule(name, metric)
            reducer = {"reducer": each.reducer or "mean"}
            task.total(
                f"results.scores.{written}",
                rule,
                metric.value,
                n=each.scored_samples if tag is None else None,
                dimension=dimension,
                parameters=reducer if tag is None else {**reducer, "tag": tag},
            )


def group_keys(log: Log) -> Sequence[str]:
    """Keys of the samples' metadata by which the log groups its numbers."""
    scores = (log.results and log.results.scores) or []
    metrics = [metric for each in scores for metric in (each.metrics or {}).values()]
    found = (metric.params.get("group_key") for metric in metrics)
    return list(dict.fromkeys(key for key in found if isinstance(key, str)))


def _rule(name: str, metric: Metric) -> tuple[Rule, str | None]:
    """Return the rule of a metric, and the tag of its cases.

    If two have the same name, Inspect numbers the key and not the name.
    """
    name, params = metric.name or name, metric.params
    if metric.group != "grouped":
        return _rule_of(name, params), None
    inner = params.get("metric")
    rule: Rule = "own_formula"
    if isinstance(inner, dict) and "name_template" not in params:
        rule = _rule_of(inner.get("name"), inner.get("params"))
    if rule == "own_formula":
        return rule, None
    if name != params.get("all_label", "all"):
        return rule, category_tag((str(params.get("group_key")), name))
    return (rule if params.get("all", "samples") == "samples" else "own_formula"), None


def _rule_of(name: Any, params: Any) -> Rule:
    """Return true if settings, such as clusters, change the formula."""
    is_plain = not params or all(each is None for each in params.values())
    return _RULES.get(str(name), "own_formula") if is_plain else "own_formula"


def _dimension(score: ScoreResult, dimensions: Dimensions) -> str:
    """Return the dimension of a result: a scorer, or one key of its value."""
    key = f"{score.scorer}.{score.name}"
    if key in dimensions or (score.scorer and score.scorer != score.name):
        return key
    return score.name or score.scorer or "score"
