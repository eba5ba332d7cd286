"""A run of ``mlflow.genai.evaluate``: its traces, and what scorers said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ingest.foreign import prompts
from ingest.foreign.documents import answer, integer, number, on_scale, text, time
from ingest.foreign.grading import Dimensions
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.mlflow.structs import Assessment, Trace
from ingest.foreign.records import (
    Baseline,
    Case,
    Record,
    Round,
    Rule,
    Score,
    Task,
    Total,
)
from ingest.foreign.settings import env_of, setting

if TYPE_CHECKING:
    from ingest.reading.source import Source

VERSIONS = "3.17.2"

_WORDS = {"yes": 1.0, "no": 0.0}
"""MLflow takes means of these as of numbers."""
_ANSWER = "expected_response"


def run_records(
    run_id: str, traces: Sequence[Trace], metrics: Mapping[str, Any], source: Source
) -> Iterator[Record]:
    """The records of one run.

    Args:
        run_id: MLflow's own id of it.
        traces: Its questions and answers.
        metrics: What it claims of them.
        source: Its file.
    """
    traces = sorted(traces, key=_began)  # duplicates are numbered alike in all forms
    settings = _settings(traces)
    same_run = SameRun("mlflow", run_id)
    dimensions, seen = Dimensions(run_id), Occurrences()
    for position, trace in enumerate(traces):
        same_run.add(trace.trace_id)
        asked = _asked(trace, settings)
        case_id = content_id(asked, _said(asked))
        case_id = seen.named(case_id, seen.next(case_id))
        place = (run_id, case_id, f"{case_id}-1")
        yield Case(run_id, case_id, position, text({"request": asked}))
        expected = trace.expected()
        if expected:
            golden = expected.get(_ANSWER, expected)
            payload = text({"answer": golden})
            yield Baseline(run_id, case_id, "expectations", 0, payload)
        yield _round(trace, place)
        for said in trace.judged():
            score = _score(said, place)
            dimensions.see(score.dimension_id, score.value)
            yield score
    models = (trace.model for trace in traces)
    yield Task(
        task_id=run_id,
        source_kind="mlflow",
        title=source.path.name.split(".", 1)[0],
        prompt_version=setting(settings, "prompt version", "prompt") or "unknown",
        model=next(filter(None, models), None)
        or setting(settings, "model", "llm", "model name")
        or "unknown",
        created_at=_time(traces[0]) or source.modified_at,
        run_id=run_id,
        run_hash=same_run.hash(),
        env=env_of(settings),
        extras=text(prompts.about(prompts.in_settings(settings))),
    )
    yield from dimensions.records()
    yield from totals(run_id, metrics, dimensions)


_RULES: dict[str, Rule] = {
    "mean": "mean_over_rounds",
    "min": "min_over_rounds",
    "max": "max_over_rounds",
    "p90": "p90_over_rounds",
    "variance": "population_variance_over_rounds",
}
"""Aggregation → rule."""


def totals(
    task_id: str, metrics: Mapping[str, Any], dimensions: Dimensions
) -> Iterator[Total]:
    """What a run claims: means skip rows that a scorer said nothing of.

    Args:
        task_id: The task.
        metrics: ``<scorer>/<aggregation>`` → value.
        dimensions: Those that have rows to recompute a mean from.
    """
    for position, (name, value) in enumerate(metrics.items()):
        of, _, aggregation = name.rpartition("/")
        known = next((each for each in (of, f"{of}/score") if each in dimensions), None)
        rule = _RULES.get(aggregation, "own_formula")
        yield Total(
            task_id=task_id,
            position=position,
            name=name,
            rule=rule if known is not None else "not_in_rows",
            value=number(value),
            dimension_id=known,
        )


def _settings(traces: Sequence[Trace]) -> dict[str, Any]:
    """Arguments that have one value in every row, beside others that have several."""
    first = traces[0].request
    if len(traces) == 1 or not isinstance(first, dict):
        return {}
    same = {
        name: value
        for name, value in first.items()
        if all(
            isinstance(trace.request, dict)
            and name in trace.request
            and trace.request[name] == value
            for trace in traces
        )
    }
    return same if len(same) < len(first) else {}


def _asked(trace: Trace, settings: Mapping[str, Any]) -> Any:
    if not isinstance(trace.request, dict):
        return trace.request
    return {
        name: value for name, value in trace.request.items() if name not in settings
    }


def _said(asked: Any) -> str | None:
    """What a person would know a request by."""
    if isinstance(asked, dict):
        messages = asked.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            asked = {"content": messages[-1].get("content")}
        values = (each for each in asked.values() if isinstance(each, str))
        return next(values, None)
    return asked if isinstance(asked, str) else None


def _round(trace: Trace, place: tuple[str, str, str]) -> Round:
    task_id, case_id, round_id = place
    output, parsed = answer(trace.response)
    broke = trace.state == "ERROR"
    usage = trace.usage
    return Round(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=0,
        run_index=1,
        raw_output=output,
        parsed_output=parsed,
        input_tokens=integer(usage.get("input_tokens")),
        output_tokens=integer(usage.get("output_tokens")),
        latency_ms=number(trace.execution_duration),
        metadata=text({"trace_id": trace.trace_id}),
        executed_at=_time(trace),
        error=(trace.error or "the trace has the state ERROR") if broke else None,
        reported_status="error" if broke else None,
    )


def _time(trace: Trace) -> datetime | None:
    written = trace.request_time
    milliseconds = number(written)
    return time(written if milliseconds is None else milliseconds / 1000)


def _began(trace: Trace) -> datetime:
    return _time(trace) or datetime.max.replace(tzinfo=UTC)


def _score(said: Assessment, place: tuple[str, str, str]) -> Score:
    task_id, case_id, round_id = place
    feedback = said.feedback
    given = feedback.value if feedback else None
    value = _WORDS.get(given.lower()) if isinstance(given, str) else number(given)
    about: dict[str, Any] = {}
    if given is not None and not isinstance(given, int | float):
        about["given"] = given
    if feedback and feedback.error:
        about["error"] = feedback.error.error_message or feedback.error.error_code
    return Score(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        dimension_id=said.assessment_name,
        value=value,
        score=on_scale(value),
        summary=said.rationale,
        payload=text(about),
    )
