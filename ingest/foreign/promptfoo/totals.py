"""What promptfoo says of a column and of the run, and the rules it counts by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from ingest.foreign.documents import decode, is_there, number, text
from ingest.foreign.promptfoo.columns import ROW_SCORE, Columns, PromptOnProvider
from ingest.foreign.promptfoo.structs import Export
from ingest.foreign.records import Rule, Total

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


def totals(export: Export, columns: Columns) -> Iterator[Total]:
    """Every total of the file.

    A column's score is a sum in which an error counts 0; named scores are sums of
    value times weight, and plain sums in files without weights (0.120).
    """
    first = True
    for column in columns.in_order:
        places = count()
        task_id = column.task_id
        for name, rule, value, dimension, about in _of_column(column):
            yield Total(
                task_id=task_id,
                position=next(places),
                name=f"prompts[{column.index}].metrics.{name}",
                rule=rule,
                value=value,
                dimension_id=dimension,
                parameters=text(about),
            )
        stats = export.results.stats
        if first and stats is not None:
            for name, status in _STATS.items():
                yield Total(
                    task_id=task_id,
                    position=next(places),
                    name=f"stats.{name}",
                    rule="count_rounds",
                    value=number(getattr(stats, name)),
                    scope="run",
                    parameters=text({"status": status}),
                )
        first = False


def _of_column(
    column: PromptOnProvider,
) -> Iterator[tuple[str, Rule, float | None, str | None, dict[str, Any]]]:
    raw = column.prompt.metrics
    metrics = decode(raw, dict[str, msgspec.Raw]) if is_there(raw) else {}
    for name, written in metrics.items():
        value: Any = decode(written, Any)
        if name == "score":
            yield name, "weighted_sum", number(value), ROW_SCORE, {}
        elif name in _COUNTS:
            rule, about = _COUNTS[name]
            yield name, rule, number(value), None, about
        elif name in _NAMED and isinstance(value, dict):
            for metric, each in value.items():
                # a metric that no row has is derived from others
                rule = _NAMED[name] if metric in column.scores else "own_formula"
                yield f"{name}.{metric}", rule, number(each), metric, {}
        elif name == "tokenUsage" and isinstance(value, dict):
            for key, rule in _TOKENS.items():
                if key in value:
                    yield f"{name}.{key}", rule, number(value[key]), None, {}
