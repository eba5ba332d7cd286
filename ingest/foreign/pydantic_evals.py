"""Pydantic Evals: a report as ``EvaluationReportAdapter.dump_json`` writes it.

Tried on 2.62.0. A file is an experiment and one task without id and time, so it is
identified by its content and dated when it is loaded. A case is identified by its name,
or by its input if Pydantic Evals numbered it (``Case 5``); ``[2/3]`` in a name is
a repeat, and so a round. Failures of the task are rounds with errors.

Assertions are checks and scores, scores are scores of any range, labels are texts
without a value. An evaluator that raised is missing from its row: it is a check that
was not judged. A round fails if an assertion fails, passes if all hold, and has no
verdict without assertions: the tool judges no row as a whole. The arguments of an
evaluator of single cases are what its assertion expects; without an assertion they are
a part of the case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import as_float, as_object, first_member
from promptlab.ingest.foreign.constant_settings import ConstantSettings
from promptlab.ingest.foreign.documents import ToolFiles, decode
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    is_id,
)
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.scorings import verdict, write_score
from promptlab.ingest.foreign.writing import Record, RoundWriter, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("json",)

_FILES = ToolFiles("Pydantic Evals", "2.62.0")
_REPEAT = re.compile(r" \[(\d+)/\d+\]$")
_NUMBERED = re.compile(r"Case \d+")


class Result(msgspec.Struct):
    """The result of one evaluator under one name."""

    value: Any = None
    reason: str | None = None
    source: Any = None
    evaluator_version: Any = None

    @property
    def evaluator(self) -> str:
        """Return the name of the evaluator."""
        name = as_object(self.source).get("name")
        return name if isinstance(name, str) else "evaluator"

    @property
    def judge(self) -> tuple[str, str | None, str | None] | None:
        """The model that judged, its other arguments, and its rubric.

        ``None``: another evaluator.
        """
        arguments = as_object(self.source).get("arguments")
        is_judge = self.evaluator == "LLMJudge"
        if is_judge and isinstance(arguments, list):  # one argument without its name
            arguments = {"rubric": arguments[0]} if arguments else {}
        about = as_object(arguments)
        if not is_judge and "rubric" not in about:
            return None
        other = yardstick({k: v for k, v in about.items() if k not in _NOT_SHOWN})
        return (
            _words(about.get("model")) or "default",
            compact(dict(sorted(other.items()))) if other else None,
            _words(about.get("rubric")),
        )

    @property
    def arguments(self) -> str | None:
        """Return the arguments of an evaluator that is not a judge, as JSON."""
        arguments = as_object(self.source).get("arguments")
        return compact(arguments) if arguments and self.judge is None else None

    @property
    def expected(self) -> str | None:
        """Return its rubric or its arguments, which an answer is to meet, as JSON."""
        if self.judge is None:
            return self.arguments
        *_, rubric = self.judge
        return None if rubric is None else compact(rubric)


_NOT_SHOWN = frozenset({"model", "rubric", "score", "assertion", "evaluation_name"})


def _words(value: Any) -> str | None:
    """Return a text, or the JSON of another value."""
    return value if isinstance(value, str | None) else compact(value)


class Broken(msgspec.Struct):
    """An evaluator that raised."""

    name: str
    error_message: str | None = None
    source: Any = None

    @property
    def evaluator(self) -> str:
        """Return the name of the evaluator, as in its results of other cases."""
        return str(as_object(self.source).get("name") or self.name)


class Row(msgspec.Struct):
    """One case that ran or failed."""

    name: str = ""
    inputs: Any = None
    metadata: Any = None
    expected_output: Any = None
    output: Any = None
    metrics: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    scores: dict[str, Result] = {}
    labels: dict[str, Result] = {}
    assertions: dict[str, Result] = {}
    task_duration: float | None = None
    source_case_name: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    evaluator_failures: list[Broken] = []
    error_message: str | None = None

    @property
    def results(self) -> dict[str, Result]:
        """The results of all evaluators."""
        return {**self.assertions, **self.scores, **self.labels}

    def identity(self, *, judged: bool) -> str:
        """Return a hash that differs from that of the row in another run."""
        answer = [self.output, self.error_message, self.task_duration]
        row = [self.name, self.inputs, *answer, self.trace_id, self.span_id]
        values = [(name, result.value) for name, result in self.results.items()]
        return content_id([*row, values] if judged else row)


class Report(msgspec.Struct):
    """A file; rows are decoded one by one."""

    name: str
    cases: list[msgspec.Raw]
    failures: list[msgspec.Raw] = []
    dataset_name: str | None = None
    experiment_metadata: Any = None
    analyses: list[Any] = []


def recognise(head: Head) -> str | None:
    """Recognise cases with assertions, scores and labels; also if all failed."""
    if not {"name", "cases"} <= head.keys:
        return None
    ran = head.has(b'"assertions"', b'"labels"', b'"task_duration"')
    failed = "failures" in head.keys and head.has(b'"source_case_name"')
    return "json" if ran or failed else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the experiment as records."""
    report = _FILES.document(source, Report)
    read = [
        *_FILES.items(report.cases, Row, "/cases"),
        *_FILES.items(report.failures, Row, "/failures"),
    ]
    yield from (item for item in read if isinstance(item, Problem))
    rows = [item for item in read if isinstance(item, Row)]
    # both stay the same when a run is judged again; without them all of it is the run
    is_known = any(is_id(row.span_id) or row.task_duration for row in rows)
    same_run = SameRun("pydantic_evals", report.name, source=source)
    for row in rows:
        same_run.add(row.identity(judged=not is_known))
    task_id = content_id(same_run.hash(), report.name)
    task = TaskWriter("pydantic_evals", task_id, source, same_run)
    with_arguments = _scores_with_arguments_of_cases(rows)
    no_assertions = _evaluators_without_assertions(rows)
    ids = OwnIds("span")
    for row in rows:
        if not ids.again(row.span_id, row.trace_id):
            _write(row, task, with_arguments, no_assertions)
            yield from task.written()
    _describe(report, rows, task)
    task.grade(parameters=_parameters(rows))
    yield from (*task.written(), *ids.problems())


def _parameters(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the evaluators of each dimension, and the arguments of all cases.

    Arguments that differ between the cases are what is expected in each case.
    """
    evaluators: dict[str, set[str]] = defaultdict(set)
    constant = ConstantSettings()
    for name, result in _results(rows):
        version = _words(result.evaluator_version) or ""
        evaluators[name].add(f"{result.evaluator} {version}".strip())
        constant.add(name, {"arguments": result.arguments})
    same = constant.parameters("same")
    parameters: dict[str, dict[str, Any]] = {}
    for name, names in evaluators.items():
        arguments = first_member(same.get(name), "same.arguments")
        about = {
            "evaluators": None if names == {name} else sorted(names),
            "arguments": arguments and decode(arguments.encode(), Any),
        }
        parameters[name] = {
            key: value for key, value in about.items() if value is not None
        }
    return parameters


def _results(rows: Sequence[Row]) -> Iterator[tuple[str, Result]]:
    return ((name, result) for row in rows for name, result in row.results.items())


def _scores_with_arguments_of_cases(rows: Sequence[Row]) -> set[str]:
    """Return the scores whose evaluators have other arguments in some cases."""
    arguments: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, result in row.scores.items():
            arguments[name].add(compact(as_object(result.source).get("arguments")))
    return {name for name, variants in arguments.items() if len(variants) > 1}


def _evaluators_without_assertions(rows: Sequence[Row]) -> set[str]:
    """Return the evaluators that only return scores or labels, never an assertion."""
    asserters = {result.evaluator for row in rows for result in row.assertions.values()}
    return {result.evaluator for _, result in _results(rows)} - asserters


def _write(
    row: Row, task: TaskWriter, with_arguments: set[str], no_assertions: set[str]
) -> None:
    """Write a case that ran or failed, and the results of evaluators."""
    repeat = _REPEAT.search(row.name)
    n = int(repeat[1]) if repeat else 1
    evaluators = {
        name: decode(result.expected.encode(), Any)
        for name, result in row.scores.items()
        if name in with_arguments and result.expected is not None
    }
    context = {
        "inputs": row.inputs,
        "metadata": row.metadata,
        "evaluators": evaluators or None,
    }
    case = task.case(
        task.distinct(_case_id(row, repeat), str(n)),
        {key: value for key, value in context.items() if value is not None},
        golden=row.expected_output,
        categories=row.metadata,
    )
    metrics = row.metrics
    asserted = [assertion.value for assertion in row.assertions.values()]
    broken = {failure.evaluator for failure in row.evaluator_failures} - no_assertions
    about = {
        "metrics": metrics,
        "attributes": row.attributes,
        "trace_id": row.trace_id,
        "cost": as_float(metrics.get("cost")),
    }
    answer = case.round(
        row.output,
        n=n,
        input_tokens=metrics.get("input_tokens"),
        output_tokens=metrics.get("output_tokens"),
        seconds=row.task_duration,
        metadata={key: value for key, value in about.items() if value},
        error=row.error_message,
        status=None
        if row.error_message is not None
        else verdict([*asserted, *dict.fromkeys(broken).values()]),
    )
    _write_checks(row, answer)
    for name, result in row.results.items():
        write_score(answer, name, result.value, why=result.reason)
        if result.judge is not None:
            task.judge(name, *result.judge)


def _case_id(row: Row, repeat: re.Match[str] | None) -> str:
    name = row.source_case_name or (row.name[: repeat.start()] if repeat else row.name)
    if name.strip() and not _NUMBERED.fullmatch(name):
        return name
    words = row.inputs if isinstance(row.inputs, str) else None
    return case_name([row.inputs, row.expected_output], words)


def _write_checks(row: Row, answer: RoundWriter) -> None:
    """Write assertions, and evaluators that raised as unjudged checks."""
    for name, result in row.assertions.items():
        answer.check(
            name,
            result.evaluator,
            result.value if isinstance(result.value, bool) else None,
            score=as_float(result.value),
            expected=result.expected,
            reason=result.reason,
        )
    for broken in row.evaluator_failures:
        why = broken.error_message or "the evaluator raised"
        answer.check(broken.name, broken.name, None, error=why)


def _describe(report: Report, rows: Sequence[Row], task: TaskWriter) -> None:
    settings = as_object(report.experiment_metadata)
    names = {setting(row.attributes, "model", "model name") for row in rows}
    models = sorted(filter(None, names))
    task.describe(
        report.dataset_name or report.name,
        prompt_version=setting(settings, "prompt version", "prompt"),
        model=setting(settings, "model", "model name")
        or (models[0] if len(models) == 1 else None),
        env=env_of(settings),
        settings=model_settings(settings),
        extras=prompts.about(prompts.in_settings(settings), experiment=report.name),
    )
