"""OpenAI evals: the JSONL that ``oaieval --record_path`` writes.

Tried on 3.0.1.post1. The first line contains the spec, the second the final report, and
events follow in any order. One file is one task. Sample ids are positions in one data
set, so a case is identified by its prompt. A round is a sample: the tokens of several
calls are added up, and the first answer is shown.

Verdicts are its ``match`` events; a sample with several scores the share that is right.
``metrics`` events are scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from promptlab.ingest.files.order import natural_key
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_object,
    as_time,
    first_member,
)
from promptlab.ingest.foreign.documents import ToolFiles, refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import OwnIds, case_name
from promptlab.ingest.foreign.scorings import unjudged_problems, verdict, write_score
from promptlab.ingest.foreign.writing import Record, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("jsonl",)

_FILES = ToolFiles("OpenAI evals", "3.0.1")
_MATCH = "match"
_GRADED = frozenset({_MATCH, "accuracy", "f1_score", "exact_match"})
"""Metrics on the scale 0 to 1 by definition."""
_CHOSEN = "score"
"""The number of a model-graded choice: any, by the eval's definition."""
_NO_CHOICE = "__invalid__"
_OF_PROMPTS = frozenset(
    {
        *("samples_jsonl", "few_shot_jsonl", "num_few_shot", "max_tokens"),
        *("sample_kwargs", "completion_fns", "seed"),
    }
)
"""Arguments of an eval about samples and prompts; others are about how it judges."""
_NO_SETTINGS = ("samples_jsonl", "few_shot_jsonl", "completion_fns")
_COMPLETION_ARGS = re.compile(r"--completion_args[ =]('[^']*'|\S+)")


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
    event_id: int | None = None
    type: str | None = None
    data: Any = {}
    created_at: str | None = None


def recognise(head: Head) -> str | None:
    """Recognise a first line with a spec that names completion functions."""
    below = head.keys_below("spec")
    return "jsonl" if {"completion_fns", "run_id", "eval_name"} <= below else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the run as records; samples are complete when all lines are read."""
    spec: Spec | None = None
    report: dict[str, Any] = {}
    samples: dict[str, _Sample] = {}
    ids = OwnIds("event id")
    for line in _FILES.lines(source, LogLine):
        if isinstance(line, Problem):
            yield line
        elif line.spec is not None:
            if spec is not None and line.spec.run_id != spec.run_id:
                # samples of two runs have the same ids
                raise refused(
                    "two_runs",
                    f"it holds two runs, {spec.run_id} and {line.spec.run_id}: give"
                    " each as a file of its own",
                )
            spec = line.spec
        elif line.final_report is not None:
            report = line.final_report
        elif line.sample_id is not None:
            own_id = None if line.event_id is None else str(line.event_id)
            if ids.again(own_id, line.sample_id, line.type):
                continue
            samples.setdefault(line.sample_id, _Sample(line.sample_id)).add(line)
    if spec is None:
        raise refused("unexpected_shape", "no line holds the run's `spec`")
    task = TaskWriter("openai_evals", spec.run_id, source)
    unjudged: list[str] = []
    # by the numbers in their ids, so that equal prompts keep their order
    for sample in sorted(samples.values(), key=lambda sample: natural_key(sample.id)):
        _write(sample, task)
        if sample.is_unjudged and sample.error is None:
            unjudged.append(sample.id)
        yield from task.written()
    _describe(spec, prompts.opening([e.prompt for e in samples.values()]), task)
    graded = [
        name
        for name in task.dimensions
        if name in _GRADED or (name == _CHOSEN and task.dimensions.is_graded(name))
    ]
    # accuracy repeats the match of a sample
    task.grade(
        graded,
        weights=dict.fromkeys(graded[:1], 1.0),
        parameters=dict.fromkeys(task.dimensions, _judged_by(spec)),
    )
    if report:
        # accuracy is the mean of the matches
        task.claim({_MATCH: report.get("accuracy")} | report)
    if spec.created_at and "+" not in spec.created_at:
        task.warn(
            "time_without_zone",
            f"created_at {spec.created_at} names no zone: it is read as UTC",
        )
    if not report:
        task.warn(
            "run_incomplete",
            f"{source.path.name} has no final_report: the run did not end, and may have"
            " had more samples",
        )
    yield from (*task.written(), *ids.problems())
    yield from unjudged_problems("correct", unjudged)


@dataclass
class _Sample:
    """The events of one sample."""

    id: str
    prompt: Any = None
    """That of its first call; without calls, of another event or the raw sample."""
    outputs: list[Any] = field(default_factory=list)
    tokens: list[tuple[int | None, int | None]] = field(default_factory=list)
    matches: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, list[Any]] = field(default_factory=dict)
    error: str | None = None
    executed_at: str | None = None

    def add(self, event: LogLine) -> None:
        """Add one event."""
        data = event.data if isinstance(event.data, dict) else {"data": event.data}
        if event.type != "sampling" and self.prompt is None:
            # where no model is sampled: choices, log-likelihoods, the raw sample
            self.prompt = data if event.type == "raw_sample" else data.get("prompt")
        if event.type == "sampling":
            if not self.outputs:
                self.prompt = data.get("prompt")
                self.executed_at = event.created_at
            self.outputs.append(data.get("sampled"))
            names = ("usage.prompt_tokens", "usage.completion_tokens")
            n_prompt, n_answer = (as_int(first_member(data, name)) for name in names)
            self.tokens.append((n_prompt, n_answer))
        elif event.type == _MATCH:
            self.matches.append(data)
        elif event.type == "metrics":
            # a judge named no choice: the score is then the lowest, and is not a result
            broke = data.get("choice") == _NO_CHOICE
            for name, value in data.items():
                self.metrics.setdefault(name, []).append(None if broke else value)
        elif event.type == "error":
            self.error = str(data.get("message") or data.get("type") or "error")

    @property
    def correct(self) -> Any:
        """Return the share of its matches that are right; of one match its value."""
        return _mean([match.get("correct") for match in self.matches])

    @property
    def is_unjudged(self) -> bool:
        """Return true if a match is neither right nor wrong."""
        return any(not isinstance(e.get("correct"), bool) for e in self.matches)


def _write(sample: _Sample, task: TaskWriter) -> None:
    task.same_run.add(sample.id)
    prompt = sample.prompt if sample.prompt is not None else sample.id
    matched = [match["expected"] for match in sample.matches if "expected" in match]
    expected = [answer for n, answer in enumerate(matched) if answer not in matched[:n]]
    case = task.case(
        task.distinct(case_name(prompt, _last_words(prompt))),
        {"input": sample.prompt},
        golden=expected if len(expected) > 1 else (expected or [None])[0],
    )
    output = sample.outputs[0] if sample.outputs else None
    answer = case.round(
        output[0] if isinstance(output, list) and len(output) == 1 else output,
        input_tokens=_sum(n_prompt for n_prompt, _ in sample.tokens),
        output_tokens=_sum(n_answer for _, n_answer in sample.tokens),
        metadata={"sample_id": sample.id, "calls": len(sample.outputs)},
        executed_at=sample.executed_at,
        error=sample.error,
        status=None
        if sample.error is not None
        else verdict(match.get("correct") for match in sample.matches),
    )
    for match in sample.matches:
        correct = match.get("correct")
        answer.check(
            _MATCH,
            _MATCH,
            correct if isinstance(correct, bool) else None,
            score=as_float(correct),
            expected=compact(match["expected"]) if "expected" in match else None,
            reason=f"picked {compact(match['picked'])}" if "picked" in match else None,
        )
    values = {_MATCH: sample.correct} if sample.matches else {}
    values |= {name: _mean(results) for name, results in sample.metrics.items()}
    for name, value in values.items():
        is_share = name in {*_GRADED, _CHOSEN}
        write_score(answer, name, value, is_share=is_share)


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean of the numbers among several values; a single value unchanged."""
    known = [value for item in values if (value := as_float(item)) is not None]
    return sum(known) / len(known) if len(values) > 1 and known else values[-1]


def _arguments(spec: Spec) -> dict[str, Any]:
    return as_object(first_member(spec.run_config, "eval_spec.args"))


def _judged_by(spec: Spec) -> dict[str, Any]:
    """Return the class that judges and its arguments, if the file has them."""
    judging = {
        name: value
        for name, value in _arguments(spec).items()
        if name not in _OF_PROMPTS
    }
    definition = {
        "cls": first_member(spec.run_config, "eval_spec.cls"),
        "arguments": judging,
    }
    return yardstick(definition)  # type: ignore[no-any-return]  # an object


def _models(spec: Spec) -> tuple[list[str], str | None]:
    """Return the models that answered, and the one that graded: the last of several."""
    models = [str(name) for name in spec.completion_fns]
    if not models or "modelgraded_spec" not in _arguments(spec):
        return models, None
    return models[:-1] or models, models[-1]


def _settings(spec: Spec) -> dict[str, Any]:
    """Return the settings of sampling; only the command has options of the model."""
    config = as_object(spec.run_config)
    arguments = {
        name: value for name, value in _arguments(spec).items() if name in _OF_PROMPTS
    }
    command = config.get("command")
    for options in _COMPLETION_ARGS.findall(
        command if isinstance(command, str) else ""
    ):
        named = (option.partition("=") for option in options.strip("'").split(","))
        arguments |= {name: value for name, _, value in named}
    settings: dict[str, Any] = yardstick(
        {**arguments, "seed": config.get("seed")}, *_NO_SETTINGS
    )
    return settings


def _describe(spec: Spec, opening: list[Any], task: TaskWriter) -> None:
    version = spec.eval_name.removeprefix(spec.base_eval or "").strip(".")
    models, judge = _models(spec)
    for name in task.dimensions if judge else ():
        task.judge(name, judge)
    task.describe(
        spec.eval_name,
        model=", ".join(models),
        prompt_version=version or spec.eval_name,
        created_at=as_time(spec.created_at),
        settings=_settings(spec),
        extras=prompts.about(opening, run_config=spec.run_config),
    )


def _last_words(prompt: Any) -> str | None:
    """Return the readable part of a prompt: its last message."""
    if isinstance(prompt, list) and prompt:
        prompt = prompt[-1]
    if isinstance(prompt, dict):
        prompt = prompt.get("content")
    return prompt if isinstance(prompt, str) else None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
