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
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_list,
    as_object,
    as_time,
    first_member,
)
from promptlab.ingest.foreign.constant_settings import ConstantSettings
from promptlab.ingest.foreign.documents import ToolFiles, beginning, values_in
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.runs_of_files import Files, Run, pages_of_runs
from promptlab.ingest.foreign.scorings import write_score
from promptlab.ingest.foreign.writing import Record, RoundWriter, TaskWriter
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


class Link(Struct, rename="camel"):
    """An item of a run: the ids of its question and of the trace with the answer."""

    dataset_item_id: str


class DatasetRun(Struct, rename="camel"):
    """A run of the API before experiments."""

    id: str
    dataset_run_items: list[Link]


class ExperimentItem(Struct, rename="camel"):
    """A question of an experiment, with its answer and scores."""

    experiment_id: str
    experiment_item_id: str


class DatasetItem(Struct):
    """A question."""

    id: str


class Trace(Struct):
    """An answer."""

    id: str


class Score(Struct):
    """A score by an evaluator or a person."""

    name: str


_KINDS: dict[str, type[Struct]] = {
    "datasetRunItems": DatasetRun,
    "experimentItemId": ExperimentItem,
    "sourceTraceId": DatasetItem,
    "htmlPath": Trace,
    "dataType": Score,
}
"""Key → the kind of an object with this key, and the members that it must have."""
Object = dict[str, Any]
_LAYOUT = {
    "case": ("datasetItemId", "experimentItemId"),
    "input": ("input", "item.input", "trace.input"),
    "expected": ("expectedOutput", "item.expectedOutput"),
    "metadata": ("item.metadata",),
    "output": ("output", "trace.output"),
    "began": ("startTime", "createdAt"),
    "ended": ("endTime",),
    "seconds": ("trace.latency",),
    "cost": ("trace.totalCost",),
    "trace_id": ("traceId",),
}
"""Part of an item → its possible places; the first one counts.

``item`` and ``trace`` are those of an item of an older run, which has ids alone.
"""


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
    """Group each run with the pages of the same folder that belong to it.

    A page of questions or scores may belong to several runs.
    """
    ids, runs = (partial(_ids, pattern) for pattern in (_WHOSE, _EXPERIMENT))
    return pages_of_runs(files, ("experiment", "run"), runs, ids, _item_ids)


def _ids(named: re.Pattern[bytes], file: FoundFile) -> list[str]:
    matches = named.findall(beginning(file.path))
    return [match.decode("utf-8", "replace") for match in matches]


def _item_ids(file: FoundFile) -> set[str]:
    rows = (row for value in values_in(file.path) for row in _rows(value))
    return {str(as_object(row).get("id")) for row in rows}


def _rows(value: Any) -> list[Any]:
    """Return the objects of a page, or of a list; else the object itself."""
    listed = as_object(value).get("data", value)
    return listed if isinstance(listed, list) else [listed]


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the runs of a file and of the pages in its folder as records."""
    pages = _Pages()
    for path in (source.path, *source.companions):
        yield from pages.read(source, path)
    yield from pages.missing()
    if not (pages.objects(DatasetRun) or pages.objects(ExperimentItem)):
        yield warning(
            "totals_only",
            f"{source.path.name} says what a run was asked or scored, and no run is"
            " beside it. Export …/datasets/<name>/runs/<run> or experiment items too",
        )
    for run in pages.objects(DatasetRun):
        yield from _records(run, pages.joined(run), pages, source)
    experiments: dict[str, list[Object]] = defaultdict(list)
    for item in pages.objects(ExperimentItem):
        experiments[item["experimentId"]].append(item)
    for items in experiments.values():
        yield from _records(items[0], items, pages, source)


class _Pages:
    """The objects in the files of a run."""

    def __init__(self) -> None:
        self._objects: dict[type[Struct], list[Object]] = defaultdict(list)
        self._n_rows: dict[tuple[str, int], int] = defaultdict(int)

    def objects(self, kind: type[Struct]) -> list[Object]:
        """Return the objects of a kind."""
        return self._objects[kind]

    def read(self, source: Source, path: Path) -> Iterator[Problem]:
        """Read a file: a page, a list, lines of objects or of pages."""
        for value in _FILES.values(source, path):
            if isinstance(value, Problem):
                yield value
                continue
            listed = _rows(value)
            kinds = [_kind(row) for row in listed]
            total = as_int(first_member(value, "meta.totalItems"))
            if total is not None and kinds:
                self._n_rows[(kinds[0] or DatasetRun).__name__, total] += len(listed)
            for row, kind in zip(listed, kinds, strict=True):
                if kind is not None:
                    one = _FILES.converted(row, kind, path.name)
                    if isinstance(one, Problem):
                        yield one
                    else:
                        self._objects[kind].append(row)

    def missing(self) -> Iterator[Problem]:
        """Return a warning for each page that is missing."""
        for (kind, total), n in self._n_rows.items():
            if n < total:
                yield warning(
                    "rows_missing",
                    f"the pages hold {n} of {total} objects ({kind}): export the"
                    " others too, and give all of them",
                )

    def title(self, run: Object) -> str | None:
        """Return the name of the data set of a run; its id, if none has its name."""
        own_id = first_member(run, "experimentDatasetId", "datasetId")
        named = (*self.objects(DatasetRun), *self.objects(DatasetItem))
        names = [e.get("datasetName") for e in named if e.get("datasetId") == own_id]
        listed = (run.get("datasetName"), *names, own_id)
        return next((name for name in listed if isinstance(name, str) and name), None)

    def joined(self, run: Object) -> list[Object]:
        """Return the items of an older run with question, answer and scores."""
        items, traces = (
            {entry["id"]: entry for entry in self.objects(kind)}
            for kind in (DatasetItem, Trace)
        )
        scores: dict[str, list[Object]] = defaultdict(list)
        for score in self.objects(Score):
            scores[str(score.get("traceId"))].append(score)
        joined = []
        for link in run["datasetRunItems"]:
            trace_id = str(link.get("traceId"))
            others = scores[trace_id] if link.get("traceId") else []
            places = (None, link.get("observationId"))
            chosen = [score for score in others if score.get("observationId") in places]
            # a score of a step counts if the trace has no score of that name
            named = {score["name"] for score in chosen}
            chosen += [score for score in others if score["name"] not in named]
            item, trace = items.get(link["datasetItemId"]), traces.get(trace_id)
            joined.append(link | {"item": item, "trace": trace, "scores": chosen})
        return joined


def _kind(value: Any) -> type[Struct] | None:
    """Return the kind of an object, by its keys."""
    keys = as_object(value).keys()
    return next((kind for key, kind in _KINDS.items() if key in keys), None)


def _records(
    run: Object, items: list[Object], pages: _Pages, source: Source
) -> Iterator[Record | Problem]:
    """Yield a run; *run* is an item of it, if it is an experiment."""
    run_id = first_member(run, "experimentId", "id")
    task = TaskWriter("langfuse", run_id, source)
    constant = ConstantSettings()
    booleans: dict[str, None] = {}
    has_answers = False
    parts = [
        e | {k: first_member(e, *names) for k, names in _LAYOUT.items()} for e in items
    ]
    parts.sort(key=lambda part: str(part["began"]))  # lists begin with the newest
    for part in parts:
        case = task.case(
            part["case"],
            {"input": part["input"]},
            golden=part["expected"],
            categories=part["metadata"],
        )
        error = None
        if part.get("level") == "ERROR":
            error = str(part.get("statusMessage") or "level ERROR")
        scores = [e for e in as_list(part.get("scores")) if first_member(e, "name")]
        seconds = as_float(part["seconds"])
        began, ended = as_time(part["began"]), as_time(part["ended"])
        if began and ended:
            seconds = (ended - began).total_seconds()
        about = {"cost": as_float(part["cost"]), "trace_id": part["trace_id"]}
        answer = case.round(
            part["output"],
            seconds=seconds,
            metadata=about,
            executed_at=began,
            error=error,
            status=None if error or scores else "unevaluated",
        )
        has_answers = has_answers or bool(error) or part["output"] is not None
        scores.sort(key=lambda score: str(score.get("timestamp")))
        for score in {str(score["name"]): score for score in scores}.values():
            name, kind = str(score["name"]), score.get("dataType")
            constant.add(name, {"config": score.get("configId"), "type": kind})
            if kind == "BOOLEAN":
                booleans[name] = None
            _write(name, score, answer)
        yield from task.written()
    _describe(run, pages, task)
    task.grade(order=list(booleans), parameters=constant.parameters("scorer_of"))
    means = {
        _MEAN.sub("", score["name"]): score.get("value")
        for score in pages.objects(Score)
        if score.get("datasetRunId") == run_id
        and not score.get("traceId")
        and score["name"] not in task.dimensions
    }
    if means:
        task.claim(means)
    if items and not has_answers:
        task.warn(
            "answers_missing",
            "the files hold no answers, which are in the traces: export …/traces of the"
            " run too, and put them beside it, to see them",
        )
    yield from task.written()


def _describe(run: Object, pages: _Pages, task: TaskWriter) -> None:
    is_older = "experimentId" not in run
    about = as_object(first_member(run, "experimentMetadata", "metadata"))
    name = first_member(run, "experimentName", "name")
    name = name if isinstance(name, str) else None
    version = prompts.setting(about, "prompt version", "prompt name", "prompt")
    task.describe(
        pages.title(run),
        model=prompts.setting(about, "model", "model name", "model id"),
        prompt_version=version or (without_date(name) if name else None),
        created_at=as_time(run.get("createdAt")) if is_older else None,
        settings=prompts.model_settings(about),
        extras=prompts.about(prompts.in_settings(about), run_name=name),
    )


def _write(name: str, score: Object, answer: RoundWriter) -> None:
    """Write a score; of a category the label counts, not its place in a list."""
    value = score.get("value")
    if score.get("dataType") not in ("NUMERIC", "BOOLEAN"):
        label = score.get("stringValue")
        value = label if label is not None else None if value is None else str(value)
    write_score(answer, name, value, why=score.get("comment"))
