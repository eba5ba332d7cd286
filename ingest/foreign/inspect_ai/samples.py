"""The samples of an Inspect log: inputs, answers, steps and attachments."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_list,
    as_milliseconds,
    as_object,
    as_time,
)
from promptlab.ingest.foreign.documents import UNREADABLE, decode
from promptlab.ingest.foreign.inspect_ai.log import Events, Output, Sample
from promptlab.ingest.foreign.writing import CaseWriter, RoundWriter
from promptlab.ingest.foreign.yardstick import without_machine, yardstick
from promptlab.steps import steps_of

# ---------- inputs

_MEDIA = ("image", "audio", "video", "document")


def context_of(sample: Sample) -> dict[str, Any]:
    """Return the inputs of a case, without parts that differ in each run."""
    settings = {
        "choices": sample.choices,
        "files": _stable(sample.files, is_path=True),
        "setup": _stable(_resolved(sample.setup, sample), is_path=True),
        "sandbox": yardstick(sample.sandbox),
    }
    context = {"input": _stable(_resolved(sample.input, sample))}
    context |= {name: value for name, value in settings.items() if value}
    if sample.metadata is not None:
        context["metadata"] = sample.metadata
    return context


def _stable(value: Any, *, is_path: bool = False) -> Any:
    """Return an input without the parts that differ in each run.

    Inspect writes an id into messages without one, and absolute paths of pictures.
    """
    if isinstance(value, str):
        is_data = not is_path or value.startswith("data:")
        return value if is_data else without_machine(value)
    if isinstance(value, list):
        return [_stable(item, is_path=is_path) for item in value]
    if isinstance(value, dict):
        return {
            key: _stable(member, is_path=is_path or key in _MEDIA)
            for key, member in value.items()
            if key != "id" or "role" not in value
        }
    return value


_ATTACHMENT = "attachment://"


def _resolved(value: Any, sample: Sample) -> Any:
    """Return a value with the texts of attachments inserted."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return (sample.attachments or {}).get(value[len(_ATTACHMENT) :], value)
    if isinstance(value, list):
        return [_resolved(item, sample) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(member, sample) for key, member in value.items()}
    return value


# ---------- answers


def write_round(
    sample: Sample, case: CaseWriter, name: str | int, model: str, written: bytes
) -> RoundWriter:
    """Write the answer of one epoch; *written* is the whole sample."""
    usage = as_object(as_object(sample.model_usage).get(model))
    error = sample.error
    is_unjudged = error is not None and error.is_of_scorer
    metadata = {
        "scorer_error": error.message if error is not None and is_unjudged else None,
        "uuid": sample.uuid,
        "working_time": sample.working_time,
        "cost": as_float(usage.get("total_cost")),
        "invalidation": sample.invalidation,
        "limit": sample.limit,
    }
    message = None
    if error is not None and not is_unjudged:
        message = error.message or "the sample broke"
    return case.round(
        _completion(sample),
        n=sample.epoch,
        name=name,
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        latency_ms=as_milliseconds(sample.total_time),
        metadata=metadata,
        executed_at=as_time(sample.started_at),
        error=message,
        status="unevaluated" if is_unjudged else None,
        steps=_steps(sample, written),
    )


def _completion(sample: Sample) -> Any:
    output = sample.output
    if output is None:
        return None
    text = output.completion or output.message.content
    if isinstance(text, list):
        parts = (as_object(part).get("text") for part in text)
        text = "\n".join(part for part in parts if isinstance(part, str))
    if not text and sample.error is not None:
        return None
    return _resolved(text, sample)


# ---------- steps


def _steps(sample: Sample, written: bytes) -> str | None:
    """Return messages and tool calls, with the times and tokens of their events."""
    messages = decode(sample.messages, Any)
    if steps_of(messages) is None:
        return None
    messages, figures = _resolved(messages, sample), _figures(written)
    for message in map(as_object, messages):
        for step in map(as_object, (message, *as_list(message.get("tool_calls")))):
            step.update(figures.get(str(step.get("id")), {}))
    return steps_of(messages)


def _figures(written: bytes) -> dict[str, dict[str, Any]]:
    """Return latency and tokens by the id of the message or the call."""
    figures: dict[str, dict[str, Any]] = {}
    with suppress(*UNREADABLE):
        for event in decode(written, Events).events:
            key, usage = event.id, {}
            if event.event == "model":
                output = decode(event.output, Output)
                key, usage = output.message.id, as_object(output.usage)
            if event.event in ("model", "tool") and isinstance(key, str):
                figures[key] = {
                    "latency_ms": as_milliseconds(as_float(event.working_time)),
                    "input_tokens": as_int(usage.get("input_tokens")),
                    "output_tokens": as_int(usage.get("output_tokens")),
                }
    return figures
