"""Totals that promptfoo reports for a column and a run, and their rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from promptlab.ingest.foreign.documents import decode, is_there
from promptlab.ingest.foreign.promptfoo.columns import ROW_SCORE, PromptOnProvider
from promptlab.ingest.foreign.promptfoo.structs import Export
from promptlab.ingest.foreign.records import Rule

_COUNTS: dict[str, tuple[Rule, dict[str, Any]]] = {
    "testPassCount": ("count_rounds", {"status": "pass"}),
    "testFailCount": ("count_rounds", {"status": "fail"}),
    "testErrorCount": ("count_rounds", {"status": "error"}),
    "assertPassCount": ("count_checks", {"status": "pass"}),
    "assertFailCount": ("count_checks", {"status": "fail"}),
    "totalLatencyMs": ("sum_latency_ms", {}),
    "cost": ("sum_cost", {}),
}
_TOKENS: dict[str, Rule] = {
    "prompt": "sum_input_tokens",
    "completion": "sum_output_tokens",
    "total": "sum_total_tokens",
}
_NAMED: dict[str, Rule] = {
    "namedScores": "weighted_sum",
    "namedScoresCount": "sum_checks",
    "namedScoreWeights": "sum_weights",
}
_STATS = {
    "successes": "pass",
    "failures": "fail",
    "errors": "error",
}


def write_totals(export: Export, columns: Sequence[PromptOnProvider]) -> None:
    """Yield every total of the file.

    A column's score is a sum in which an error counts 0; named scores are sums of
    value times weight, and plain sums in files without weights (0.120).
    """
    for column in columns:
        for name, rule, value, dimension, about in _of_column(column):
            column.task.total(
                f"prompts[{column.index}].metrics.{name}",
                rule,
                value,
                dimension=dimension,
                parameters=about,
            )
    stats = export.results.stats
    if stats is not None:
        for name, status in _STATS.items() if columns else ():
            columns[0].task.total(
                f"stats.{name}",
                "count_rounds",
                getattr(stats, name),
                scope="run",
                parameters={"status": status},
            )


def _of_column(
    column: PromptOnProvider,
) -> Iterator[tuple[str, Rule, Any, str | None, dict[str, Any]]]:
    raw = column.prompt.metrics
    metrics = decode(raw, dict[str, msgspec.Raw]) if is_there(raw) else {}
    for name, written in metrics.items():
        value: Any = decode(written, Any)
        if name == "score":
            yield name, "weighted_sum", value, ROW_SCORE, {}
        elif name in _COUNTS:
            rule, about = _COUNTS[name]
            yield name, rule, value, None, about
        elif name in _NAMED and isinstance(value, dict):
            for metric, each in value.items():
                # a metric without rows is derived from others
                rule = (
                    _NAMED[name] if metric in column.task.dimensions else "own_formula"
                )
                yield f"{name}.{metric}", rule, each, metric, {}
        elif name == "tokenUsage" and isinstance(value, dict):
            for key, rule in _TOKENS.items():
                if key in value:
                    yield f"{name}.{key}", rule, value[key], None, {}
