"""A run of ``mlflow.genai.evaluate``: its traces, and what scorers said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import integer, number, on_scale, time
from promptlab.ingest.foreign.identity import content_id, first_text
from promptlab.ingest.foreign.mlflow.structs import Assessment, Trace
from promptlab.ingest.foreign.records import Record, Rule
from promptlab.ingest.foreign.settings import env_of, setting
from promptlab.ingest.foreign.writing import CaseWriter, RoundWriter, TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_WORDS = {"yes": 1.0, "no": 0.0}
"""MLflow takes means of these as of numbers."""
_ANSWER = "expected_response"


def run_records(
    run_id: str, traces: Sequence[Trace], metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """The records of one run.

    Args:
        run_id: MLflow's own id of it.
        traces: Its questions and answers.
        metrics: What it claims of them.
        source: Its file.
    """
    traces = sorted(traces, key=_began)  # duplicates are numbered alike in all forms
    settings = _settings(traces)
    task = TaskWriter("mlflow", run_id, source)
    for trace in traces:
        task.same_run.add(trace.trace_id)
        asked = _asked(trace, settings)
        expected = trace.expected()
        case = task.case(
            task.distinct(content_id(asked, _words(asked))),
            {"request": asked},
            golden=expected.get(_ANSWER, expected) if expected else None,
            golden_id="expectations",
        )
        answer = _round(trace, case)
        for assessment in trace.judged():
            _write_score(assessment, answer)
        yield from task.written()
    task.describe(
        written_at=max(
            filter(
                None,
                (
                    _moment(each.last_update_time)
                    for trace in traces
                    for each in trace.assessments
                ),
            ),
            default=None,
        ),
        prompt_version=setting(settings, "prompt version", "prompt"),
        model=next((trace.model for trace in traces if trace.model), None)
        or setting(settings, "model", "llm", "model name"),
        env=env_of(settings),
        extras=prompts.about(prompts.in_settings(settings)),
    )
    task.grade()
    write_totals(metrics, task)
    yield from task.written()


_RULES: dict[str, Rule] = {
    "mean": "mean_over_rounds",
    "min": "min_over_rounds",
    "max": "max_over_rounds",
    "p90": "p90_over_rounds",
    "variance": "population_variance_over_rounds",
}
"""Aggregation → rule."""


def write_totals(metrics: Mapping[str, Any], task: TaskWriter) -> None:
    """What a run claims: means skip rows that a scorer said nothing of.

    Args:
        metrics: ``<scorer>/<aggregation>`` → value.
        task: The task; its dimensions have rows to recompute a mean from.
    """
    for name, value in metrics.items():
        of, _, aggregation = name.rpartition("/")
        names = (of, f"{of}/score")
        known = next((each for each in names if each in task.dimensions), None)
        rule = _RULES.get(aggregation, "own_formula")
        rule = rule if known is not None else "not_in_rows"
        task.total(name, rule, value, dimension=known)


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


def _words(asked: Any) -> str | None:
    """What a person would know a request by."""
    if isinstance(asked, dict):
        messages = asked.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            asked = {"content": messages[-1].get("content")}
        return first_text(asked.values())
    return asked if isinstance(asked, str) else None


def _round(trace: Trace, case: CaseWriter) -> RoundWriter:
    broke = trace.state == "ERROR"
    usage = trace.usage
    return case.round(
        trace.response,
        input_tokens=integer(usage.get("input_tokens")),
        output_tokens=integer(usage.get("output_tokens")),
        latency_ms=number(trace.execution_duration),
        metadata={"trace_id": trace.trace_id},
        executed_at=_time(trace),
        error=(trace.error or "the trace has the state ERROR") if broke else None,
    )


def _time(trace: Trace) -> datetime | None:
    return _moment(trace.request_time)


def _moment(written: Any) -> datetime | None:
    milliseconds = number(written)
    return time(written if milliseconds is None else milliseconds / 1000)


def _began(trace: Trace) -> datetime:
    return _time(trace) or datetime.max.replace(tzinfo=UTC)


def _write_score(assessment: Assessment, answer: RoundWriter) -> None:
    feedback = assessment.feedback
    given = feedback.value if feedback else None
    value = _WORDS.get(given.lower()) if isinstance(given, str) else number(given)
    about: dict[str, Any] = {}
    if given is not None and not isinstance(given, int | float):
        about["given"] = given
    if feedback and feedback.error:
        about["error"] = feedback.error.error_message or feedback.error.error_code
    answer.score(
        assessment.assessment_name,
        value,
        on_scale(value),
        summary=assessment.rationale,
        payload=about,
    )
