"""A line of samples, and an aggregate, as records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.foreign.documents import integer, number, text
from ingest.foreign.every_eval_ever.structs import Line, Result
from ingest.foreign.records import Baseline, Case, Record, Round, Rule, Status, Total


def case_of(line: Line, task_id: str, position: int) -> Iterator[Record]:
    """A sample as a case, with what was expected."""
    raw, choices = line.input.get("raw"), line.input.get("choices")
    asked = {"input": raw} | ({} if choices is None else {"choices": choices})
    tags = (line.metadata or {}).get("tags")
    tags = [] if tags is None else [each for each in str(tags).split(",") if each]
    yield Case(task_id, line.sample_id, position, text(asked), text(tags))
    references = line.input.get("reference")
    if isinstance(references, list) and references:
        expected = references[0] if len(references) == 1 else references
        golden = text({"answer": expected})
        yield Baseline(task_id, line.sample_id, "reference", 0, golden)


def round_of(
    line: Line, task_id: str, round_id: str, run_index: int, verdict: Status | None
) -> Round:
    """The answer that a line is about."""
    tokens, timing = line.token_usage or {}, line.performance or {}
    kept: dict[str, Any] = dict(line.metadata or {})
    kept.pop("round", None)
    kept.pop("verdict", None)
    if line.messages:
        kept["messages"] = line.messages
    if line.answer_attribution:
        kept["answer_attribution"] = line.answer_attribution
    return Round(
        task_id=task_id,
        case_id=line.sample_id,
        round_id=round_id,
        position=max(run_index - 1, 0),
        run_index=run_index,
        raw_output=_answer(line),
        input_tokens=integer(tokens.get("input_tokens")),
        output_tokens=integer(tokens.get("output_tokens")),
        latency_ms=number(timing.get("latency_ms")),
        metadata=text(kept),
        error=line.error,
        reported_status=verdict,
    )


def _answer(line: Line) -> str | None:
    """The first answer; of a conversation, what the model said last."""
    raw = (line.output or {}).get("raw")
    if isinstance(raw, list):
        return str(raw[0]) if raw else None
    said = (m.get("content") for m in reversed(line.messages or []) if m.get("content"))
    return next((str(each) for each in said), None)


def totals_of(
    result: Result, task_id: str, places: Iterator[int], dimensions: set[str]
) -> Iterator[Total]:
    """What an aggregate claims: its score, and how sure it is.

    Args:
        result: The aggregate.
        task_id: The task that it is kept with.
        places: Numbers the totals.
        dimensions: Those of the task that have rows to recompute it from.
    """
    details = result.score_details
    uncertainty = details.get("uncertainty")
    uncertainty = uncertainty if isinstance(uncertainty, dict) else {}
    more = details.get("details")
    is_mean = not isinstance(more, dict) or more.get("aggregation", "mean") == "mean"
    known = next(
        (n for n in (result.metric, result.evaluation_result_id) if n in dimensions),
        None,
    )
    stderr = uncertainty.get("standard_error")
    stderr = stderr.get("value") if isinstance(stderr, dict) else None
    said: dict[str, tuple[Rule, Any]] = {
        "score": ("mean_over_cases", details.get("score")),
        "standard_error": ("stderr_over_cases", stderr),
    }
    for name, (rule, value) in said.items():
        if name == "score" or value is not None:
            yield Total(
                task_id=task_id,
                position=next(places),
                name=f"{result.evaluation_name}/{result.metric}.{name}",
                rule=_rule(rule, known, is_mean=is_mean),
                value=number(value),
                n=integer(uncertainty.get("num_samples")),
                dimension_id=known,
                scope="task" if dimensions else "run",
            )


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
