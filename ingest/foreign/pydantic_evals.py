"""Pydantic Evals: a report as ``EvaluationReportAdapter.dump_json`` writes it.

Tried on 2.62.0. A file is an experiment and one task without id and time, so it is
identified by its content and dated when it is loaded. A case is identified by its name,
or by its input if Pydantic Evals numbered it (``Case 5``); ``[2/3]`` in a name is
a repeat, and so a round. Failures of the task are rounds with errors.

Assertions are checks and scores, scores are scores of any range, labels are texts
without a value. An evaluator that raised is missing from its row: it is a check that
was not judged. Rows have no pass rule. What an evaluator of single cases was given is
what its assertion expects; without an assertion it is a part of the case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_object,
    first_member,
)
from promptlab.ingest.foreign.documents import ToolFiles, decode
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    is_given,
)
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.registry import Head
from promptlab.ingest.foreign.results import verdict, write_score
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
        """Its name."""
        name = as_object(self.source).get("name")
        return name if isinstance(name, str) else "evaluator"

    @property
    def judge(self) -> tuple[str, str | None, str | None] | None:
        """The model that judged, what else it was told, and what it was asked.

        ``None``: another evaluator.
        """
        given = as_object(self.source).get("arguments")
        is_judge = self.evaluator == "LLMJudge"
        if is_judge and isinstance(given, list):  # one argument without its name
            given = {"rubric": given[0]} if given else {}
        about = as_object(given)
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
        """Return what another evaluator than a judge was given, as JSON."""
        given = as_object(self.source).get("arguments")
        return compact(given) if given and self.judge is None else None

    @property
    def expected(self) -> str | None:
        """Return what it asks of an answer, as JSON: its rubric, or its arguments."""
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
        """Its name, as in the results that it gives elsewhere."""
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
    same_run = SameRun("pydantic_evals", report.name, source=source)
    rows: list[Any] = [decode(each, Any) for each in (*report.cases, *report.failures)]
    rows = [row for row in rows if isinstance(row, dict)]
    of_cases, no_asserters = _of_cases(rows), _no_asserters(rows)
    for said in _own_rows(rows):
        same_run.add(said)
    task_id = content_id(same_run.hash(), report.name)
    task = TaskWriter("pydantic_evals", task_id, source, same_run)
    models: set[str | None] = set()
    arguments: dict[str, set[str | None]] = defaultdict(set)
    evaluators: dict[str, set[tuple[str, str]]] = defaultdict(set)
    ids = OwnIds("span")
    del rows
    for key, given in (("/cases", report.cases), ("/failures", report.failures)):
        for row in _FILES.items(given, Row, key):
            if isinstance(row, Problem):
                yield row
            elif not ids.again(row.span_id, row.trace_id):
                _write(row, task, of_cases, no_asserters)
                for name, result in row.results.items():
                    arguments[name].add(result.arguments)
                    version = _words(result.evaluator_version) or ""
                    evaluators[name].add((result.evaluator, version))
                    if result.judge is not None:
                        task.judge(name, *result.judge)
                models.add(setting(row.attributes, "model", "model name"))
                yield from task.written()
    _describe(report, models - {None}, task)
    parameters: dict[str, dict[str, Any]] = {
        name: {"evaluators": [" ".join(each).strip() for each in sorted(of)]}
        for name, of in evaluators.items()
        if of != {(name, "")}
    }
    # arguments that differ between the cases say what is expected of each
    for name, of in arguments.items():
        if len(of) == 1 and (same := next(iter(of))) is not None:
            about = parameters.setdefault(name, {})
            about["arguments"] = decode(same.encode(), Any)
    task.grade(parameters=parameters)
    yield from (*task.written(), *ids.problems())


def _of_cases(rows: list[dict[str, Any]]) -> set[str]:
    """Return the scores whose evaluators were given something else in some cases."""
    given: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, result in as_object(row.get("scores")).items():
            given[name].add(compact(first_member(result, "source.arguments")))
    return {name for name, of in given.items() if len(of) > 1}


def _no_asserters(rows: list[dict[str, Any]]) -> set[str]:
    """Return the evaluators that give scores or labels, and nowhere an assertion."""
    gives: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for kind in ("scores", "labels", "assertions"):
            for result in as_object(row.get(kind)).values():
                gives[str(first_member(result, "source.name"))].add(kind)
    return {name for name, kinds in gives.items() if "assertions" not in kinds}


def _own_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Return the content that identifies the run: its spans, or its durations.

    Both stay the same when a run is judged again; without them whole rows identify the
    run.
    """
    if not any(
        is_given(row.get("span_id")) or row.get("task_duration") for row in rows
    ):
        return list(map(compact, rows))
    names = ("name", "inputs", "output", "error_message", "task_duration")
    return [
        compact({name: row.get(name) for name in (*names, "trace_id", "span_id")})
        for row in rows
    ]


def _write(
    row: Row, task: TaskWriter, of_cases: set[str], no_asserters: set[str]
) -> None:
    """Write a case that ran or failed, and the results of evaluators."""
    repeat = _REPEAT.search(row.name)
    n = int(repeat[1]) if repeat else 1
    evaluators = {
        name: decode(result.expected.encode(), Any)
        for name, result in row.scores.items()
        if name in of_cases and result.expected is not None
    }
    asked = {
        "inputs": row.inputs,
        "metadata": row.metadata,
        "evaluators": evaluators or None,
    }
    case = task.case(
        task.distinct(_case_id(row, repeat), str(n)),
        {key: value for key, value in asked.items() if value is not None},
        golden=row.expected_output,
        categories=row.metadata,
    )
    metrics = row.metrics
    asserted = [each.value for each in row.assertions.values()]
    broken = {each.evaluator for each in row.evaluator_failures} - no_asserters
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
        metadata={key: each for key, each in about.items() if each},
        error=row.error_message,
        status=None
        if row.error_message is not None
        else verdict([*asserted, *dict.fromkeys(broken).values()]),
    )
    _write_checks(row, answer)
    for name, result in row.results.items():
        write_score(answer, name, result.value, why=result.reason)


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


def _describe(report: Report, models: set[str | None], task: TaskWriter) -> None:
    about = report.experiment_metadata
    settings = as_object(about)
    only = next(iter(models)) if len(models) == 1 else None
    task.describe(
        report.dataset_name or report.name,
        prompt_version=setting(settings, "prompt version", "prompt"),
        model=setting(settings, "model", "model name") or only,
        env=env_of(settings),
        settings=model_settings(settings),
        extras=prompts.about(prompts.in_settings(settings), experiment=report.name),
    )
