"""A line of samples, and what an aggregate claims, as records."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from promptlab.ingest.foreign.documents import integer, number
from promptlab.ingest.foreign.every_eval_ever.structs import Line, Result
from promptlab.ingest.foreign.records import Rule, Status
from promptlab.ingest.foreign.writing import CaseWriter, RoundWriter, TaskWriter


def write_case(line: Line, task: TaskWriter) -> CaseWriter:
    """A sample as a case, with what was expected."""
    raw, choices = line.input.get("raw"), line.input.get("choices")
    tags = (line.metadata or {}).get("tags")
    references = line.input.get("reference")
    golden = references if isinstance(references, list) and references else None
    return task.case(
        line.sample_id,
        {"input": raw} | ({} if choices is None else {"choices": choices}),
        golden=golden[0] if golden is not None and len(golden) == 1 else golden,
        golden_id="reference",
        tags=[] if tags is None else [each for each in str(tags).split(",") if each],
    )


def write_round(
    line: Line, case: CaseWriter, run_index: int, verdict: Status | None
) -> RoundWriter:
    """The answer that a line is about."""
    tokens, timing = line.token_usage or {}, line.performance or {}
    kept: dict[str, Any] = dict(line.metadata or {})
    kept.pop("round", None)
    kept.pop("verdict", None)
    if line.messages:
        kept["messages"] = line.messages
    if line.answer_attribution:
        kept["answer_attribution"] = line.answer_attribution
    return case.round(
        _answer(line),
        n=run_index,
        input_tokens=integer(tokens.get("input_tokens")),
        output_tokens=integer(tokens.get("output_tokens")),
        latency_ms=number(timing.get("latency_ms")),
        metadata=kept,
        error=line.error,
        status=verdict,
    )


def _answer(line: Line) -> str | None:
    """The first answer; of a conversation, what the model said last."""
    raw = (line.output or {}).get("raw")
    if isinstance(raw, list):
        return str(raw[0]) if raw else None
    said = (m.get("content") for m in reversed(line.messages or []) if m.get("content"))
    return next((str(each) for each in said), None)


def write_totals(
    results: Iterable[Result], task: TaskWriter, dimensions: Collection[str] = ()
) -> None:
    """What aggregates claim: each its score, and how sure it is.

    Args:
        results: The aggregates.
        task: The task that they are kept with.
        dimensions: Those of the task that have rows to recompute them from.
    """
    for result in results:
        details = result.score_details
        uncertainty = _object(details.get("uncertainty"))
        stderr = _object(uncertainty.get("standard_error")).get("value")
        is_mean = _object(details.get("details")).get("aggregation", "mean") == "mean"
        names = (result.metric, result.evaluation_result_id)
        known = next((name for name in names if name in dimensions), None)
        claims: dict[str, tuple[Rule, Any]] = {
            "score": ("mean_over_cases", details.get("score")),
            "standard_error": ("stderr_over_cases", stderr),
        }
        for name, (rule, value) in claims.items():
            if name == "score" or value is not None:
                task.total(
                    f"{result.evaluation_name}/{result.metric}.{name}",
                    _rule(rule, known, is_mean=is_mean),
                    value,
                    n=integer(uncertainty.get("num_samples")),
                    dimension=known,
                    scope="task" if dimensions else "run",
                )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rule(rule: Rule, known: str | None, *, is_mean: bool) -> Rule:
    if known is None:
        return "not_in_rows"
    return rule if is_mean else "own_formula"


def parsed(value: Any) -> Any:
    """A number that was written as text, as a number."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
