"""Pydantic Evals: a report as ``EvaluationReportAdapter.dump_json`` writes it.

Tried on 2.62.0. A file is an experiment and one task; no id and no time stand in it, so
it is known by what it says, and its time is the file's. A case is known by its name, or
by what was asked where Pydantic Evals numbered it (``Case 5``); ``[2/3]`` in a name is
a repeat, and so a round. Failures of the task are rounds too, and errors.

Assertions are checks and scores, scores are scores of any range, labels are texts
without a value. An evaluator that raised is missing from its row: it is a check that
nobody judged. There is no pass rule over a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign import prompts
from ingest.foreign.documents import (
    answer,
    decode,
    decode_file,
    integer,
    number,
    on_scale,
    shape_problem,
    text,
)
from ingest.foreign.files import file_bytes
from ingest.foreign.grading import Dimensions
from ingest.foreign.heads import Head
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.records import (
    Baseline,
    Case,
    Check,
    Record,
    Round,
    Score,
    Task,
    Total,
)
from ingest.foreign.settings import env_of, setting
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("json",)
VERSIONS = "2.62.0"

_REPEAT = re.compile(r" \[(\d+)/\d+\]$")
_NUMBERED = re.compile(r"Case \d+")


class Result(msgspec.Struct):
    """What one evaluator said under one name."""

    value: Any = None
    reason: str | None = None
    source: Any = None

    @property
    def evaluator(self) -> str:
        """Its name."""
        name = self.source.get("name") if isinstance(self.source, dict) else None
        return name if isinstance(name, str) else "evaluator"


class Broken(msgspec.Struct):
    """An evaluator that raised."""

    name: str
    error_message: str | None = None


class Row(msgspec.Struct):
    """One case that ran, or that failed to."""

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
    evaluator_failures: list[Broken] = []
    error_message: str | None = None


class Report(msgspec.Struct):
    """A file; rows stay as written until their turn comes."""

    name: str
    cases: list[msgspec.Raw]
    failures: list[msgspec.Raw] = []
    dataset_name: str | None = None
    experiment_metadata: Any = None
    analyses: list[Any] = []


def recognise(head: Head) -> str | None:
    """Cases with assertions, scores and labels; also where every one of them failed."""
    if not {"name", "cases"} <= head.keys:
        return None
    ran = head.has(b'"assertions"', b'"labels"', b'"task_duration"')
    failed = "failures" in head.keys and head.has(b'"source_case_name"')
    return "json" if ran or failed else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """The experiment as records."""
    data = source.redact(file_bytes(source))
    report = decode_file(data, Report, "Pydantic Evals", VERSIONS)
    same_run = SameRun("pydantic_evals", report.name)
    for written in (*report.cases, *report.failures):
        same_run.add(text(decode(written, Any)))
    experiment = _ReportRows(content_id(same_run.hash(), report.name))
    yield from experiment.rows(report)
    yield _task(report, experiment, same_run.hash(), source)
    yield from experiment.dimensions.records()
    yield from _totals(report, experiment.task_id)


class _ReportRows:
    """Turns rows into records.

    Args:
        task_id: The task that they become.
    """

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.dimensions = Dimensions(task_id)
        self.models: set[str | None] = set()
        self._cases: dict[str, int] = {}
        self._seen = Occurrences()

    def rows(self, report: Report) -> Iterator[Record | Problem]:
        """Every case that ran and every one that failed to."""
        for key, rows in (("cases", report.cases), ("failures", report.failures)):
            for place, written in enumerate(rows):
                try:
                    row = decode(written, Row)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    pointer = f"/{key}/{place}"
                    yield shape_problem(
                        error,
                        "Pydantic Evals",
                        VERSIONS,
                        pointer=pointer,
                        raw=bytes(written),
                    )
                else:
                    yield from self._row(row)

    def _row(self, row: Row) -> Iterator[Record]:
        task_id = self.task_id
        repeat = _REPEAT.search(row.name)
        n = int(repeat[1]) if repeat else 1
        case_id = _case_id(row, repeat)
        case_id = Occurrences.named(case_id, self._seen.next(case_id, str(n)))
        if case_id not in self._cases:
            self._cases[case_id] = len(self._cases)
            asked = {"inputs": row.inputs, "metadata": row.metadata}
            said = {key: value for key, value in asked.items() if value is not None}
            yield Case(task_id, case_id, self._cases[case_id], text(said))
            if row.expected_output is not None:
                golden = text({"answer": row.expected_output})
                yield Baseline(task_id, case_id, "expected_output", 0, golden)
        place = (task_id, case_id, f"{case_id}-{n}")
        yield _round(row, place, n)
        self.models.add(setting(row.attributes, "model", "model name"))
        yield from _checks(row, place)
        for name, result in {**row.assertions, **row.scores, **row.labels}.items():
            score = _score(name, result, place)
            self.dimensions.see(name, score.value)
            yield score


def _case_id(row: Row, repeat: re.Match[str] | None) -> str:
    name = row.source_case_name or (row.name[: repeat.start()] if repeat else row.name)
    if name.strip() and not _NUMBERED.fullmatch(name):
        return name
    said = row.inputs if isinstance(row.inputs, str) else None
    return content_id([row.inputs, row.expected_output], said)


def _round(row: Row, place: tuple[str, str, str], n: int) -> Round:
    task_id, case_id, round_id = place
    output, parsed = answer(row.output)
    seconds, metrics = row.task_duration, row.metrics
    about = {
        "metrics": metrics,
        "attributes": row.attributes,
        "trace_id": row.trace_id,
        "cost": number(metrics.get("cost")),
    }
    return Round(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=n - 1,
        run_index=n,
        raw_output=output,
        parsed_output=parsed,
        input_tokens=integer(metrics.get("input_tokens")),
        output_tokens=integer(metrics.get("output_tokens")),
        latency_ms=None if seconds is None else round(seconds * 1000, 6),
        metadata=text({key: each for key, each in about.items() if each}),
        error=row.error_message,
        reported_status=None if row.error_message is None else "error",
    )


def _checks(row: Row, place: tuple[str, str, str]) -> Iterator[Check]:
    """Assertions, and evaluators that raised, which judged nothing."""
    task_id, case_id, round_id = place
    position = 0
    for name, result in row.assertions.items():
        passed = result.value if isinstance(result.value, bool) else None
        yield Check(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            position=position,
            name=name,
            type=result.evaluator,
            passed=passed,
            score=number(result.value),
            reason=result.reason,
        )
        position += 1
    for broken in row.evaluator_failures:
        yield Check(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            position=position,
            name=broken.name,
            type=broken.name,
            passed=None,
            error=broken.error_message or "the evaluator raised",
        )
        position += 1


def _score(name: str, result: Result, place: tuple[str, str, str]) -> Score:
    task_id, case_id, round_id = place
    given = result.value
    value = number(given)
    return Score(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        dimension_id=name,
        value=value,
        score=on_scale(value),
        summary=result.reason,
        payload=text({"given": given} if isinstance(given, str) else {}),
    )


def _task(
    report: Report, experiment: _ReportRows, run_hash: str, source: Source
) -> Task:
    about: Mapping[str, Any] = (
        report.experiment_metadata
        if isinstance(report.experiment_metadata, dict)
        else {}
    )
    models = {each for each in experiment.models if each is not None}
    model = setting(about, "model", "model name")
    if model is None and len(models) == 1:
        model = models.pop()
    return Task(
        task_id=experiment.task_id,
        source_kind="pydantic_evals",
        title=report.dataset_name or report.name,
        prompt_version=setting(about, "prompt version", "prompt") or "unknown",
        model=model or "unknown",
        created_at=source.modified_at,
        run_id=experiment.task_id,
        run_hash=run_hash,
        env=env_of(about),
        extras=text(prompts.about(prompts.in_settings(about), experiment=report.name)),
    )


def _totals(report: Report, task_id: str) -> Iterator[Total]:
    """Numbers that evaluators of the whole report computed by rules of their own."""
    for place, analysis in enumerate(report.analyses):
        if isinstance(analysis, dict) and analysis.get("type") == "scalar":
            title = analysis.get("title") or place
            yield Total(
                task_id=task_id,
                position=place,
                name=f"analyses.{title}",
                rule="own_formula",
                value=number(analysis.get("value")),
            )
