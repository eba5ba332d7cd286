"""Langfuse: dataset runs, as the public API returns them.

Checked with the classes of the SDKs 3.10 and 5.0. ``datasets/<name>/runs/<run>`` has
ids alone: scores hang on its traces, questions are dataset items, and answers are
traces. So a run is several files of one folder. Experiment items of the newer API have
all of it. A case is a dataset item; ids of run items and of traces are new in each run.

A number has no scale here. A category is a label, whose ``value`` is a place in a list;
a score of a run without a trace is a claimed mean.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptlab.ingest.files.dates import without_date
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import (
    ToolFiles,
    beginning,
    integer,
    members,
    milliseconds,
    number,
    time,
    values_in,
)
from promptlab.ingest.foreign.registry import Files, Head, Run, pages_of_runs
from promptlab.ingest.foreign.results import write_score
from promptlab.ingest.foreign.writing import Record, RoundWriter, TaskWriter
from promptlab.ingest.foreign.yardstick import SaidOfScorers
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source

FORMS = ("experiment", "run", "items", "traces", "scores")

_FILES = ToolFiles("Langfuse", "the public API of 2025 and 2026")
_MARKS: dict[str, tuple[bytes, ...]] = {
    "experiment": (b'"experimentItemId"', b'"experimentId"'),
    "items": (b'"sourceTraceId"', b'"expectedOutput"', b'"datasetId"'),
    "traces": (b'"htmlPath"', b'"timestamp"', b'"output"'),
    "scores": (b'"dataType"', b'"traceId"', b'"timestamp"'),
}
_WHOSE = re.compile(
    rb'"(?:id|traceId|datasetId|datasetRunId|experimentId|experimentDatasetId)"'
    rb'\s*:\s*"([^"\\]+)"'
)
_EXPERIMENT = re.compile(rb'"experimentId"\s*:\s*"([^"\\]+)"')
_MEAN = re.compile(r"(?:avg|average|mean)[ _-]|[ _-](?:avg|average|mean)$", re.I)


class Score(Struct, rename="camel"):
    """What an evaluator or a person said."""

    name: str
    data_type: str | None = None
    value: Any = None
    string_value: str | None = None
    trace_id: str | None = None
    observation_id: str | None = None
    dataset_run_id: str | None = None
    comment: Any = None
    timestamp: Any = None
    config_id: str | None = None


class Link(Struct, rename="camel"):
    """An item of a run: which question, and in which trace its answer is."""

    dataset_item_id: str
    trace_id: str | None = None
    observation_id: str | None = None
    created_at: Any = None


class DatasetRun(Struct, rename="camel"):
    """A run of the API before experiments."""

    id: str
    dataset_run_items: list[Link]
    name: Any = None
    metadata: Any = None
    dataset_id: str | None = None
    dataset_name: str | None = None
    created_at: Any = None


class DatasetItem(Struct, rename="camel"):
    """A question."""

    id: str
    input: Any = None
    expected_output: Any = None
    metadata: Any = None
    dataset_id: str | None = None
    dataset_name: str | None = None


class Trace(Struct, rename="camel"):
    """An answer."""

    id: str
    input: Any = None
    output: Any = None
    latency: Any = None
    total_cost: Any = None


class ExperimentItem(Struct, rename="camel"):
    """A question with its answer and scores."""

    experiment_id: str
    experiment_item_id: str
    experiment_name: Any = None
    experiment_metadata: Any = None
    experiment_dataset_id: str | None = None
    start_time: Any = None
    end_time: Any = None
    level: str | None = None
    status_message: Any = None
    input: Any = None
    output: Any = None
    expected_output: Any = None
    scores: list[Score] | None = None


class Answer(Struct):
    """One answer, of either API."""

    item: DatasetItem
    scores: list[Score]
    output: Any = None
    at: Any = None
    error: str | None = None
    latency_ms: float | None = None
    cost: float | None = None
    trace_id: str | None = None


def recognise(head: Head) -> str | None:
    """Recognise a run, and pages, lists or lines by the keys of their objects."""
    if not head.is_json:
        return None
    if "datasetRunItems" in head.keys:
        return "run"
    for form, marks in _MARKS.items():
        first = marks[0].decode().strip('"')
        if ("data" in head.keys or first in head.keys) and head.has(*marks):
            return form
    return None


def gather(files: Files) -> Iterator[Run]:
    """Group each run with the pages of the same folder that say something of it.

    A page of questions or scores may say something of several runs.
    """
    ids, runs = (partial(_ids, each) for each in (_WHOSE, _EXPERIMENT))
    return pages_of_runs(files, ("experiment", "run"), runs, ids, _item_ids)


def _ids(named: re.Pattern[bytes], file: FoundFile) -> list[str]:
    found = named.findall(beginning(file.path))
    return [each.decode("utf-8", "replace") for each in found]


def _item_ids(file: FoundFile) -> set[str]:
    rows = (row for value in values_in(file.path) for row in _rows(value))
    return {str(members(row).get("id")) for row in rows}


def _rows(value: Any) -> list[Any]:
    """Return the objects of a page, or of a list; else the object itself."""
    listed = members(value).get("data", value)
    return listed if isinstance(listed, list) else [listed]


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the runs of a file and of the pages beside it as records."""
    pages = _Pages()
    for path in (source.path, *source.companions):
        yield from pages.read(source, path)
    yield from pages.missing()
    if not (pages.runs or pages.experiments):
        yield warning(
            "totals_only",
            f"{source.path.name} says what a run was asked or scored, and no run is"
            " beside it. Export …/datasets/<name>/runs/<run> or experiment items too",
        )
    for run in pages.runs:
        yield from _records(run, pages.answers(run), pages, source)
    for items in pages.experiments.values():
        first = items[0]
        run = DatasetRun(
            id=first.experiment_id,
            dataset_run_items=[],
            name=first.experiment_name,
            metadata=first.experiment_metadata,
            dataset_id=first.experiment_dataset_id,
        )
        answers = list(map(_of_experiment, items))
        yield from _records(run, answers, pages, source)


class _Pages:
    """What the files of a run say."""

    def __init__(self) -> None:
        self.runs: list[DatasetRun] = []
        self.experiments: dict[str, list[ExperimentItem]] = defaultdict(list)
        self.items: dict[str, DatasetItem] = {}
        self.traces: dict[str, Trace] = {}
        self.scores: dict[str, list[Score]] = defaultdict(list)
        self.of_runs: list[Score] = []
        self.names: dict[str, str] = {}
        """Name of each data set that is known."""
        self._n_rows: dict[tuple[str, int], int] = defaultdict(int)

    def read(self, source: Source, path: Path) -> Iterator[Problem]:
        """Read a file: a page, a list, lines of objects or of pages."""
        for value in _FILES.values(source, path):
            if isinstance(value, Problem):
                yield value
                continue
            listed = _rows(value)
            found = [_kind(each) for each in listed]
            total = integer(members(members(value).get("meta")).get("totalItems"))
            if total is not None and found:
                self._n_rows[(found[0] or DatasetRun).__name__, total] += len(listed)
            for each, kind in zip(listed, found, strict=True):
                if kind is not None:
                    one = _FILES.converted(each, kind, path.name)
                    yield from (one,) if isinstance(one, Problem) else self._keep(one)

    def _keep(self, one: Struct) -> Iterator[Problem]:
        if isinstance(one, DatasetRun):
            self.runs.append(one)
            if one.dataset_id and one.dataset_name:
                self.names[one.dataset_id] = one.dataset_name
        elif isinstance(one, ExperimentItem):
            self.experiments[one.experiment_id].append(one)
        elif isinstance(one, DatasetItem):
            self.items[one.id] = one
            if one.dataset_id and one.dataset_name:
                self.names[one.dataset_id] = one.dataset_name
        elif isinstance(one, Trace):
            self.traces[one.id] = one
        elif isinstance(one, Score):
            if one.trace_id:
                self.scores[one.trace_id].append(one)
            else:
                self.of_runs.append(one)
        yield from ()

    def missing(self) -> Iterator[Problem]:
        """Return a warning for each page that is missing."""
        for (kind, total), n in self._n_rows.items():
            if n < total:
                yield warning(
                    "rows_missing",
                    f"the pages hold {n} of {total} objects ({kind}): export the"
                    " others too, and give all of them",
                )

    def answers(self, run: DatasetRun) -> list[Answer]:
        """Return the answers of a run of the older API."""
        found = []
        for link in run.dataset_run_items:
            trace = self.traces.get(link.trace_id or "")
            item = self.items.get(link.dataset_item_id)
            if item is None:
                item = DatasetItem(link.dataset_item_id, trace.input if trace else None)
            given = [
                each
                for each in self.scores.get(link.trace_id or "", ())
                if each.observation_id in (None, link.observation_id)
            ]
            # what an evaluator said of a step counts where it says nothing of the whole
            named = {each.name for each in given}
            others = self.scores.get(link.trace_id or "", ())
            given += [each for each in others if each.name not in named]
            found.append(
                Answer(
                    item,
                    given,
                    output=trace.output if trace else None,
                    at=link.created_at,
                    latency_ms=milliseconds(number(trace.latency)) if trace else None,
                    cost=number(trace.total_cost) if trace else None,
                    trace_id=link.trace_id,
                )
            )
        return found


def _kind(value: Any) -> type[Struct] | None:
    """Return what an object is, by its keys."""
    keys = members(value).keys()
    for key, kind in (
        ("datasetRunItems", DatasetRun),
        ("experimentItemId", ExperimentItem),
        ("sourceTraceId", DatasetItem),
        ("htmlPath", Trace),
        ("dataType", Score),
    ):
        if key in keys:
            return kind
    return None


def _of_experiment(item: ExperimentItem) -> Answer:
    began, ended = time(item.start_time), time(item.end_time)
    error = None
    if item.level == "ERROR":
        error = str(item.status_message or "level ERROR")
    asked = DatasetItem(item.experiment_item_id, item.input, item.expected_output)
    return Answer(
        asked,
        item.scores or [],
        output=item.output,
        at=item.start_time,
        error=error,
        latency_ms=(ended - began).total_seconds() * 1000 if began and ended else None,
    )


def _records(
    run: DatasetRun, answers: list[Answer], pages: _Pages, source: Source
) -> Iterator[Record | Problem]:
    task = TaskWriter("langfuse", run.id, source)
    said = SaidOfScorers()
    booleans: dict[str, None] = {}
    answers.sort(key=lambda each: str(each.at))  # lists begin with the newest
    for each in answers:
        case = task.case(
            each.item.id,
            {"input": each.item.input},
            golden=each.item.expected_output,
            golden_id="expectedOutput",
            categories=each.item.metadata,
        )
        about = {"cost": each.cost, "trace_id": each.trace_id}
        answer = case.round(
            each.output,
            latency_ms=each.latency_ms,
            metadata={k: v for k, v in about.items() if v is not None},
            executed_at=time(each.at),
            error=each.error,
            status=None if each.error or each.scores else "unevaluated",
        )
        newest = sorted(each.scores, key=lambda score: str(score.timestamp))
        for score in {each.name: each for each in newest}.values():
            said.see(score.name, {"config": score.config_id, "type": score.data_type})
            if score.data_type == "BOOLEAN":
                booleans[score.name] = None
            _write(score, answer)
        yield from task.written()
    about_run = members(run.metadata)
    name = run.name if isinstance(run.name, str) else None
    version = prompts.setting(about_run, "prompt version", "prompt name", "prompt")
    task.describe(
        run.dataset_name or pages.names.get(run.dataset_id or "") or run.dataset_id,
        model=prompts.setting(about_run, "model", "model name", "model id"),
        prompt_version=version or (without_date(name) if name else None),
        created_at=time(run.created_at),
        settings=prompts.model_settings(about_run),
        extras=prompts.about(prompts.in_settings(about_run), run_name=name),
    )
    task.grade(order=list(booleans), parameters=said.parameters("scorer_of"))
    means = {
        _MEAN.sub("", each.name): each.value
        for each in pages.of_runs
        if each.dataset_run_id == run.id and each.name not in task.dimensions
    }
    if means:
        task.claim(means)
    if answers and not any(each.output is not None or each.error for each in answers):
        task.warn(
            "answers_missing",
            "the files hold no answers, which are in the traces: export …/traces of the"
            " run too, and put them beside it, to see them",
        )
    yield from task.written()


def _write(score: Score, answer: RoundWriter) -> None:
    label = score.string_value if score.string_value is not None else score.value
    value = None
    if score.data_type in ("NUMERIC", "BOOLEAN"):
        value = number(score.value)
        label = score.value
    write_score(
        answer, score.name, label if value is None else value, why=score.comment
    )
