"""EvalScope: the folder of a run, ``outputs/<time>`` with reviews and reports.

Tried on 1.14.1, 1.0.0 and 0.13.2. A data set of a model is a task, and its subsets
are in the names of its reviews, after its name in the report. Rows come in
the order in which requests end: a case is known by its subset and the user's id of the
question, else by its place in the data set; attempts are rounds.

``score.status`` is the status of scoring, not a verdict. A request that failed has no
row: the report has the number of requests, and the gap in the places identifies the
case. Resuming a run fills the gap in the same folder, so it is a newer version of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign.casts import (
    as_int,
    as_object,
    as_time,
    first_member,
    some_of,
)
from promptlab.ingest.foreign.documents import ToolFiles, decode, lines
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import SameRun
from promptlab.ingest.foreign.runs_of_files import Files, Run
from promptlab.ingest.foreign.scorings import write_score
from promptlab.ingest.foreign.writing import Record, TaskWriter
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source

FORMS = ("report", "review", "prediction")

_FILES = ToolFiles("EvalScope", "1.14.1, 1.0.0 and 0.13.2")


class Row(Struct):
    """A row of any version: all of them have its place in the data set."""

    index: int


class Report(Struct):
    """The totals of a data set."""

    dataset_name: str
    model_name: str
    metrics: list[dict[str, Any]] = []
    execution_summary: dict[str, Any] | None = None


Part = dict[str, Any]
Layout = Mapping[str, tuple[str, ...]]

_LAYOUT: Layout = {
    "group": ("sample_score.group_id", "index"),
    "n": ("sample_score.generation_index",),
    "question": ("sample_score.sample_metadata.id",),
    "target": ("target",),
    "output": ("last.content", "sample_score.score.prediction"),
    "values": ("sample_score.score.value",),
    "main": ("sample_score.score.main_score_name",),
    "status": ("sample_score.score.status",),
    "why": ("sample_score.score.explanation",),
    "model": ("last.model", "prediction.model"),
    "seconds": ("last.perf_metrics.latency", "prediction.time"),
    "input_tokens": ("last.perf_metrics.input_tokens", "prediction.usage.input_tokens"),
    "output_tokens": (
        *("last.perf_metrics.output_tokens", "prediction.usage.output_tokens"),
    ),
}
"""Part of a review of 1.0 and newer → its possible places; the first one counts.

``last`` is the message of the model, and ``prediction`` the part of it that only 1.0
has, in its other file.
"""
_LAYOUT_OF_0_13: Layout = {
    "group": ("index",),
    "question": ("raw_input.id",),
    "target": ("choice.review.gold",),
    "output": ("choice.message.content",),
    "values": ("choice.review.result",),
    "model": ("model",),
    "input_tokens": ("usage.prompt_tokens",),
    "output_tokens": ("usage.completion_tokens",),
    "created": ("created",),
}
"""The same in 0.13: the response of the model, with a review in each choice."""
_DEGRADED = "degraded"
"""The status of a score where the judge failed and other metrics replace it."""


def recognise(head: Head) -> str | None:
    """Recognise reviews, predictions and reports by their keys."""
    keys = head.keys
    if {"index", "sample_score"} <= keys:
        return "review"
    if {"choices", "model_spec", "raw_input"} <= keys:
        return "review" if "reviewed" in keys else "prediction"
    if {"index", "model_output", "messages"} <= keys:
        return "prediction"
    is_report = {"dataset_name", "model_name", "metrics"} <= keys
    return "report" if is_report and head.has(b'"categories"') else None


def gather(files: Files) -> Iterator[Run]:
    """Group the report of a data set with its reviews and predictions."""
    of_model: dict[tuple[Path, str], list[FoundFile]] = defaultdict(list)
    for file in files:
        above = file.path.parents
        of_model[above[min(2, len(above) - 1)], above[0].name].append(file)
    for listed in of_model.values():
        leads = {file.path.stem: file for file in listed if file.form == "report"}
        files_by_lead: dict[str, list[FoundFile]] = defaultdict(list)
        for file in listed:
            if file.form == "report":
                continue
            names = [name for name in leads if file.path.stem.startswith(f"{name}_")]
            files_by_lead[max(names, key=len, default=f"/{file.path.stem}")].append(
                file
            )
        for name, lead in leads.items():
            yield lead, files_by_lead.pop(name, [])
        for group in files_by_lead.values():
            group.sort(key=lambda file: FORMS.index(file.form or ""))
            yield group[0], group[1:]


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the task of a data set: its cases by place, then what is missing."""
    report = None
    if source.form == "report":
        report = _FILES.document(source, Report)
    paths = [*source.companions, *(() if report else (source.path,))]
    reviews = [
        path
        for path in paths
        if _is_in(path, "reviews") or (path == source.path and source.form == "review")
    ]
    others = {path.name: path for path in paths if path not in reviews}
    if not reviews:
        yield warning(
            "totals_only",
            f"{source.path.name} has no reviews beside it, so nothing can be compared"
            " by case. Give the whole folder of the run",
        )
    above = source.path.resolve().parents
    run, model = above[min(2, len(above) - 1)].name, above[0].name
    name = report.dataset_name if report else source.path.stem
    is_named = _TIME.fullmatch(run) is not None
    same = SameRun("evalscope", run, model, name)
    if not is_named:  # a folder of the user's, which may hold another run tomorrow
        same = SameRun("evalscope", model, name, source=source)
        for path in sorted(reviews):
            for _, line in lines(source, path):
                same.add(path.name, line.decode("utf-8", "replace"))
    of_run = run if is_named else same.hash_with_run_key()
    task_id = f"evalscope-{of_run}/{model}/{name}"
    task = TaskWriter("evalscope", task_id, source, same, is_share=_is_share)
    writing = _Writing(task, report, name)
    for path in sorted(reviews):
        attempts, problems = _attempts(source, path, others.get(path.name))
        yield from problems
        writing.add(attempts, writing.subset(path))
        yield from task.written()
    writing.close(run, model)
    yield from task.written()


def _is_in(path: Path, folder: str) -> bool:
    """Return true for a file of ``<folder>/<model>/``."""
    return len(path.parents) > 1 and path.parents[1].name == folder


class _Writing:
    """The writing of one task, subset by subset."""

    def __init__(self, task: TaskWriter, report: Report | None, name: str) -> None:
        self._task = task
        self._report = report
        self._name = name
        self._main: Counter[str] = Counter()
        self._model: str | None = None
        self._missing: list[str] = []
        self._n_broken = 0

    def subset(self, path: Path) -> str:
        """Return the subset of a review, which is only in the name of its file."""
        return path.stem.removeprefix(self._name).removeprefix("_") or "default"

    def add(self, attempts: list[Part], subset: str) -> None:
        """Write the cases of a subset in the order of the data set."""
        by_id: dict[str, set[int]] = defaultdict(set)
        for attempt in attempts:
            by_id[str(attempt.get("question"))].add(attempt["group"])
        # an id is one if every question has its own
        has_ids = all(attempt.get("question") is not None for attempt in attempts)
        has_ids &= all(len(groups) == 1 for groups in by_id.values())
        repeats = max((attempt["n"] for attempt in attempts), default=0) + 1
        for attempt in sorted(
            attempts, key=lambda attempt: (attempt["group"], attempt["n"])
        ):
            self._model = self._model or attempt.get("model")
            name_in_subset = (
                str(attempt["question"]) if has_ids else str(attempt["group"])
            )
            case = self._task.case(
                f"{subset}/{name_in_subset}",
                attempt["context"],
                golden=attempt["target"],
                tags=[f"subset:{subset}"],
            )
            is_judged = attempt.get("status") != _DEGRADED
            answer = case.round(
                attempt.get("output"),
                n=attempt["n"] + 1,
                executed_at=attempt.get("created"),
                seconds=attempt.get("seconds"),
                input_tokens=attempt.get("input_tokens"),
                output_tokens=attempt.get("output_tokens"),
                status=None if is_judged else "unevaluated",
            )
            self._n_broken += not is_judged
            main = attempt.get("main") or next(iter(attempt["values"]), None)
            if is_judged and main:
                self._main[main] += 1
            for name, value in attempt["values"].items():
                why = attempt.get("why")
                write_score(answer, name, value, why=why, is_share=is_judged)
        there = {attempt["index"] for attempt in attempts}
        n = self._requested(subset) or max(there, default=-1) + 1
        gaps = dict.fromkeys(i // repeats for i in range(n) if i not in there)
        self._missing += [f"{place} of {subset}" for place in gaps]

    def _requested(self, subset: str) -> int | None:
        summary = self._report and self._report.execution_summary
        return as_int(
            first_member(
                as_object(first_member(summary, "subsets")).get(subset), "requested"
            )
        )

    def close(self, run: str, model: str) -> None:
        """Write the task, its dimensions, and what is missing."""
        task, report = self._task, self._report
        named = _TIME.fullmatch(run)
        task.describe(
            self._name,
            model=(report.model_name if report else None) or self._model or model,
            created_at=as_time("{}-{}-{}T{}:{}:{}".format(*named.groups()))
            if named
            else None,
            run_id=run if named else None,
        )
        task.grade(order=[name for name, _ in self._main.most_common(1)])
        if report is not None:
            counts = [as_int(metric.get("num")) or 0 for metric in report.metrics]
            summary = as_object(report.execution_summary)
            requested = as_int(summary.get("requested"))
            task.claim({}, requested or max(counts, default=0) or None)
        if self._missing:
            n = len(self._missing)
            requests = "1 request has" if n == 1 else f"{n} requests have"
            task.warn(
                "rows_missing",
                f"{requests} no row, so these cases are missing: place"
                f" {some_of(self._missing, 10)}, from 0. EvalScope writes none where"
                " the API failed; resume the run with use_cache",
            )
        if n := self._n_broken:
            rows = "1 answer was" if n == 1 else f"{n} answers were"
            task.warn(
                "judge_broke",
                f"{rows} not judged, since the judge failed: other metrics stand in"
                " for its verdict, and do not count",
            )


def _attempts(
    source: Source, path: Path, predicted: Path | None
) -> tuple[list[Part], list[Problem]]:
    """Return the rows of a review, with the parts that are in its predictions."""
    known: dict[Any, Any] = {}
    for row in _FILES.lines(source, Any, predicted) if predicted else ():
        if not isinstance(row, Problem):  # a review says the rest
            known[first_member(row, "index")] = first_member(row, "model_output")
    attempts: dict[int, Part] = {}
    problems: list[Problem] = []
    for n, line in lines(source, path):
        read = _FILES.record(line, Row, line=n, pointer=path.name)
        if isinstance(read, Problem):
            problems.append(read)
        else:  # a resumed run writes a row again
            attempts[read.index] = _parts(read.index, decode(line, Part), known)
    return list(attempts.values()), problems


def _parts(index: int, row: Part, known: Mapping[Any, Any]) -> Part:
    """Return the parts of a row, of any version."""
    messages = [
        message for message in row.get("messages") or () if isinstance(message, dict)
    ]
    is_answered = bool(messages) and messages[-1].get("role") == "assistant"
    last = messages.pop() if is_answered else None
    choice = next(iter(row.get("choices") or ()), None)
    row |= {"last": last, "choice": choice, "prediction": known.get(index)}
    layout = _LAYOUT_OF_0_13 if "choices" in row else _LAYOUT
    parts = {name: first_member(row, *places) for name, places in layout.items()}
    target, values = parts["target"], parts["values"]
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    if not isinstance(values, dict):
        metrics = first_member(row, "reviewer_spec.metric")
        is_named = isinstance(metrics, list) and metrics
        values = {str(metrics[0]) if is_named else "result": values}
    question = [
        {key: message.get(key) for key in ("role", "content")} for message in messages
    ]
    if "choices" in row:
        context = {"raw_input": row.get("raw_input")}
    else:
        context = {"messages": question} if question else {"input": row.get("input")}
    return {
        **parts,
        "index": index,
        "group": as_int(parts["group"]) or 0,
        "n": as_int(parts.get("n")) or 0,
        "context": context,
        "target": None if target in ("", []) else target,
        "values": values,
    }


_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)")
_SHARES = re.compile(
    r"(mean_|average)?(acc(uracy)?|exact_match|em|f1|pass@\d+|rouge|bleu|prompt_level|inst"
    r"_level)([-_ ].*)?",
    re.IGNORECASE,
)


def _is_share(name: str) -> bool:
    """Return true for metrics of EvalScope from 0 to 1, 1 best."""
    return _SHARES.fullmatch(name) is not None
