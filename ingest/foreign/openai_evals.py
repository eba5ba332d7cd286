"""OpenAI evals: the JSONL that ``oaieval --record_path`` writes.

Tried on 3.0.1.post1. The first line holds the spec, the second the final report, and
events follow in no order. One file is one task. Sample ids are positions in one data
set, so a case is known by its prompt. A round is a sample: where it took several calls,
their tokens are added up and the first answer is shown.

Verdicts are its ``match`` events; ``metrics`` events are scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign import prompts
from ingest.foreign.documents import (
    ABSENT,
    Refused,
    answer,
    decode,
    integer,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import lines
from ingest.foreign.heads import Head
from ingest.foreign.identity import Occurrences, SameRun, content_id, natural_key
from ingest.foreign.records import (
    Baseline,
    Case,
    Check,
    Dimension,
    Record,
    Round,
    Rule,
    Score,
    Status,
    Task,
    Total,
)
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("jsonl",)
VERSIONS = "3.0.1"

_MATCH = "match"
_GRADED = frozenset({_MATCH, "accuracy", "f1_score", "exact_match"})
"""What lies on the scale 0 to 1 by its definition."""
_TOKENS: dict[str, Rule] = {
    "usage_prompt_tokens": "sum_input_tokens",
    "usage_completion_tokens": "sum_output_tokens",
    "usage_total_tokens": "sum_total_tokens",
}
_BOOTSTRAP = "boostrap_std"
"""As it is spelt."""


class Spec(msgspec.Struct):
    """The first line."""

    run_id: str
    eval_name: str
    base_eval: str | None = None
    completion_fns: list[Any] = []
    created_at: str | None = None
    run_config: Any = None


class LogLine(msgspec.Struct):
    """Any line: the spec, the final report, an event."""

    spec: Spec | None = None
    final_report: dict[str, Any] | None = None
    sample_id: str | None = None
    event_id: int = 0
    type: str | None = None
    data: msgspec.Raw = ABSENT
    created_at: str | None = None


def recognise(head: Head) -> str | None:
    """A first line with a spec that names completion functions."""
    below = head.keys_below("spec")
    return "jsonl" if {"completion_fns", "run_id", "eval_name"} <= below else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """The run as records; a sample is complete when all lines are read."""
    run = _Run()
    for line, written in lines(source):
        try:
            run.add(decode(written, LogLine))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield shape_problem(error, "OpenAI evals", VERSIONS, line=line, raw=written)
    if run.spec is None:
        raise Refused(Problem("unexpected_shape", "no line holds the run's `spec`"))
    yield from run.records(run.spec, source)


@dataclass
class _Sample:
    """The events of one sample."""

    id: str
    prompt: Any = None
    outputs: list[Any] = field(default_factory=list)
    tokens: list[tuple[int | None, int | None]] = field(default_factory=list)
    matches: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    executed_at: str | None = None

    def add(self, event: LogLine) -> None:
        """Add one event."""
        data: Any = decode(event.data, Any) if bytes(event.data) else {}
        data = data if isinstance(data, dict) else {"data": data}
        if event.type == "sampling":
            if not self.outputs:
                self.prompt = data.get("prompt")
                self.executed_at = event.created_at
            self.outputs.append(data.get("sampled"))
            usage = data.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            names = ("prompt_tokens", "completion_tokens")
            given, made = (integer(usage.get(name)) for name in names)
            self.tokens.append((given, made))
        elif event.type == _MATCH:
            self.matches.append(data)
        elif event.type == "metrics":
            self.metrics |= data
        elif event.type == "error":
            self.error = str(data.get("message") or data.get("type") or "error")

    @property
    def status(self) -> Status | None:
        """All of its matches are right; none: nothing is said."""
        if self.error is not None:
            return "error"
        if not self.matches:
            return None
        return (
            "pass"
            if all(each.get("correct") is True for each in self.matches)
            else "fail"
        )


class _Run:
    """One file."""

    def __init__(self) -> None:
        self.spec: Spec | None = None
        self.report: dict[str, Any] = {}
        self.samples: dict[str, _Sample] = {}
        self.names: list[str] = []

    def add(self, line: LogLine) -> None:
        if line.spec is not None:
            self.spec = line.spec
        elif line.final_report is not None:
            self.report = line.final_report
        elif line.sample_id is not None:
            sample = self.samples.setdefault(line.sample_id, _Sample(line.sample_id))
            sample.add(line)

    def records(self, spec: Spec, source: Source) -> Iterator[Record | Problem]:
        same_run = SameRun("openai_evals", spec.run_id)
        seen = Occurrences()
        for position, sample in enumerate(_in_order(self.samples.values())):
            same_run.add(sample.id)
            asked = sample.prompt if sample.prompt is not None else sample.id
            case_id = content_id(asked, _last_words(asked))
            case_id = seen.named(case_id, seen.next(case_id))
            yield from self._sample(sample, spec.run_id, case_id, position)
        yield _task(spec, same_run, source, _opening(self.samples.values()))
        for position, name in enumerate(self.names):
            yield Dimension(
                task_id=spec.run_id,
                dimension_id=name,
                position=position,
                name=name,
                # accuracy says of a sample what its match says
                weight=float(name == next((n for n in self.names if n in _GRADED), "")),
                is_graded=name in _GRADED,
                direction="higher_better" if name in _GRADED else None,
            )
        yield from self._totals(spec.run_id)
        if spec.created_at and "+" not in spec.created_at:
            yield Problem(
                "time_without_zone",
                f"created_at {spec.created_at} names no zone: it is read as UTC",
                severity="warning",
                record_id=spec.run_id,
            )

    def _sample(
        self, sample: _Sample, task_id: str, case_id: str, position: int
    ) -> Iterator[Record]:
        round_id = f"{case_id}-1"
        yield Case(task_id, case_id, position, text({"input": sample.prompt}))
        expected = [each["expected"] for each in sample.matches if "expected" in each]
        if expected:
            golden = text({"answer": expected[0]})
            yield Baseline(task_id, case_id, "expected", 0, golden)
        output = sample.outputs[0] if sample.outputs else None
        if isinstance(output, list) and len(output) == 1:
            output = output[0]
        raw_output, parsed = answer(output)
        yield Round(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            position=0,
            run_index=1,
            raw_output=raw_output,
            parsed_output=parsed,
            input_tokens=_sum(given for given, _ in sample.tokens),
            output_tokens=_sum(made for _, made in sample.tokens),
            metadata=text({"sample_id": sample.id, "calls": len(sample.outputs)}),
            executed_at=time(sample.executed_at),
            error=sample.error,
            reported_status=sample.status,
        )
        for place, match in enumerate(sample.matches):
            correct = match.get("correct")
            yield Check(
                task_id=task_id,
                case_id=case_id,
                round_id=round_id,
                position=place,
                name=_MATCH,
                type=_MATCH,
                passed=correct if isinstance(correct, bool) else None,
                score=number(correct),
                expected=text(match["expected"]) if "expected" in match else None,
                reason=f"picked {text(match['picked'])}" if "picked" in match else None,
            )
        values = {_MATCH: sample.matches[0].get("correct")} if sample.matches else {}
        for name, value in {**values, **sample.metrics}.items():
            if name not in self.names:
                self.names.append(name)
            as_number = number(value)
            yield Score(
                task_id=task_id,
                case_id=case_id,
                round_id=round_id,
                dimension_id=name,
                value=as_number,
                score=on_scale(as_number) if name in _GRADED else None,
                payload=text({"given": value}) if as_number is None else "{}",
            )

    def _totals(self, task_id: str) -> Iterator[Total]:
        for position, (name, value) in enumerate(self.report.items()):
            rule, dimension = _TOKENS.get(name, "own_formula"), None
            if name == _BOOTSTRAP:
                rule = "random_draws"
            if name in self.names:
                rule, dimension = "mean_over_rounds", name
            elif name == "accuracy" and _MATCH in self.names:
                rule, dimension = "mean_over_rounds", _MATCH
            yield Total(
                task_id=task_id,
                position=position,
                name=f"final_report.{name}",
                rule=rule,
                value=number(value),
                dimension_id=dimension,
            )


def _task(spec: Spec, same_run: SameRun, source: Source, opening: list[Any]) -> Task:
    version = spec.eval_name.removeprefix(spec.base_eval or "").strip(".")
    return Task(
        task_id=spec.run_id,
        source_kind="openai_evals",
        title=spec.eval_name,
        prompt_version=version or spec.eval_name,
        model=", ".join(str(each) for each in spec.completion_fns) or "unknown",
        created_at=time(spec.created_at) or source.modified_at,
        run_id=spec.run_id,
        run_hash=same_run.hash(),
        extras=text(prompts.about(opening, run_config=spec.run_config)),
    )


def _in_order(samples: Collection[_Sample]) -> list[_Sample]:
    """By the numbers in their ids, so that equal prompts keep their order."""
    return sorted(samples, key=lambda each: natural_key(each.id))


def _opening(samples: Collection[_Sample]) -> list[Any]:
    """The system messages that all samples begin with."""
    asked = [each.prompt for each in samples]
    if len(asked) < 2 or not all(isinstance(each, list) for each in asked):
        return []
    turns = takewhile(
        lambda turn: turn.count(turn[0]) == len(turn) and _is_system(turn[0]),
        zip(*asked, strict=False),
    )
    return [turn[0] for turn in turns]


def _is_system(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "system"


def _last_words(prompt: Any) -> str | None:
    """What a person would know a prompt by: the last message of it."""
    if isinstance(prompt, list) and prompt:
        prompt = prompt[-1]
    if isinstance(prompt, dict):
        prompt = prompt.get("content")
    return prompt if isinstance(prompt, str) else None


def _sum(counts: Iterator[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None
