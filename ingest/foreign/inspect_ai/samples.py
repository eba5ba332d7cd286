"""Read one sample of Inspect: its input, output and scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from promptlab.ingest.foreign.documents import (
    decode,
    is_there,
    milliseconds,
    number,
    on_scale,
    text,
    time,
)
from promptlab.ingest.foreign.inspect_ai.structs import Sample, Score
from promptlab.ingest.foreign.writing import CaseWriter, RoundWriter

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_ATTACHMENT = "attachment://"


class Value(NamedTuple):
    """The result of one scorer, or of one key of it."""

    name: str
    value: float | None
    is_letter: bool
    """A letter or a boolean, which Inspect maps to the scale 0 to 1."""
    explanation: str | None
    payload: dict[str, Any]

    @property
    def is_on_scale(self) -> bool:
        """It is used as a score without conversion."""
        return on_scale(self.value) is not None


def context_of(sample: Sample) -> dict[str, Any]:
    """Return the question."""
    context: dict[str, Any] = {"input": _resolved(sample.input, sample)}
    if sample.choices:
        context["choices"] = sample.choices
    if is_there(sample.metadata):
        context["metadata"] = decode(sample.metadata, Any)
    return context


def expected_of(sample: Sample) -> Any:
    """Return the target as a golden answer; several are alternatives."""
    return None if sample.target in ("", []) else sample.target


def write_round(
    sample: Sample, case: CaseWriter, name: str | int, model: str
) -> RoundWriter:
    """Write the answer of one epoch."""
    usages = sample.model_usage or {}
    # a judge's tokens are next to the model's own
    usage = usages.get(model)
    if usage is None and len(usages) == 1 and not _judged(sample):
        usage = next(iter(usages.values()))
    error = sample.error
    about = {
        "uuid": sample.uuid,
        "working_time": sample.working_time,
        "cost": number(usage.total_cost) if usage else None,
    }
    return case.round(
        _completion(sample),
        n=sample.epoch,
        name=name,
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        latency_ms=milliseconds(sample.total_time),
        metadata={key: each for key, each in about.items() if each is not None},
        executed_at=time(sample.started_at),
        error=(error.message or "the sample broke") if error else None,
    )


def values_of(sample: Sample) -> Iterator[Value]:
    """Return the results of the scorers: a value each, or one per key."""
    scores = sample.scores
    if scores is None:
        scores = {"score": sample.score} if sample.score else {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            for key, value in score.value.items():
                yield _value(f"{name}.{key}", value, score)
        elif isinstance(score.value, list):
            for place, value in enumerate(score.value):
                yield _value(f"{name}.{place}", value, score)
        else:
            yield _value(name, score.value, score)


def _value(name: str, value: Any, score: Score) -> Value:
    as_number, is_letter = number(value), isinstance(value, bool)
    if isinstance(value, str):
        word = _LETTERS.get(value, _WORDS.get(value.lower()))
        as_number, is_letter = word, word is not None
        if word is None:
            as_number = _numeric(value)
    payload = {"given": value}
    if score.answer is not None:
        payload["answer"] = score.answer
    return Value(name, as_number, is_letter, score.explanation, payload)


def _numeric(value: str) -> float | None:
    try:
        return number(float(value))
    except ValueError:
        return None


def _completion(sample: Sample) -> str | None:
    output = sample.output
    if output is None:
        return None
    written: Any = output.completion
    if not written and output.choices and output.choices[0].message:
        written = output.choices[0].message.content
    if isinstance(written, list):
        parts = (each.get("text") for each in written if isinstance(each, dict))
        written = "\n".join(part for part in parts if isinstance(part, str))
    if not written and sample.error is not None:
        return None
    resolved = _resolved(written, sample)
    return resolved if isinstance(resolved, str) or resolved is None else text(resolved)


def _resolved(value: Any, sample: Sample) -> Any:
    """Return a value with the texts of attachments inserted."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return (sample.attachments or {}).get(value[len(_ATTACHMENT) :], value)
    if isinstance(value, list):
        return [_resolved(each, sample) for each in value]
    if isinstance(value, dict):
        return {key: _resolved(each, sample) for key, each in value.items()}
    return value


def _judged(sample: Sample) -> bool:
    return bool(sample.scores or sample.score)
