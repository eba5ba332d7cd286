"""lm-evaluation-harness: ``results_<time>.json``, ``samples_<task>_<time>.jsonl``.

Tried on 0.4.13, and on totals of 0.3. A run is a folder: the time in the names ties its
files, and the results lead. Each harness task is a task; results without any samples
are one task, which has totals and no cases.

Rows come one per document and filter. A case is a document, by ``doc_hash`` and how
often that was seen; a round is one of its responses. What a metric says of all
responses together stands at each of them: none of them lacks a score, and the mean of
a case is the metric.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.documents import time
from promptlab.ingest.foreign.files import lines
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.identity import SameRun, content_id, some_of
from promptlab.ingest.foreign.lm_eval.structs import FILES, Results
from promptlab.ingest.foreign.lm_eval.tasks import HarnessTask, claims
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.runs import Part, Run
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("results", "samples")

_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_TIME = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]+)\.json")

_LAST = 10_000
"""Place of the first total of the run: after those of any task."""


def recognise(head: Head) -> str | None:
    """Results with ``versions`` and ``configs`` or ``config``; rows with ``resps``."""
    if {"doc_id", "doc", "resps"} <= head.keys and head.has(b'"filtered_resps"'):
        return "samples"
    if "results" not in head.keys:
        return None
    if not head.keys & {"configs", "config", "lm_eval_version"}:
        return None
    keys = {"versions", "n-samples", "group_subtasks", "lm_eval_version"}
    return "results" if head.keys & keys else None


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """The results lead the samples of their folder and time; others stand alone."""
    samples: dict[tuple[Path, str], list[Part]] = defaultdict(list)
    for part in parts:
        named = _NAME.fullmatch(part.path.name)
        if part.form == "samples" and named:
            samples[part.path.parent, named["time"]].append(part)
    taken: set[Path] = set()
    for part in parts:
        found = _TIME.search(part.path.name)
        if part.form == "results":
            own = samples.get((part.path.parent, found[1]), []) if found else []
            taken |= {each.path for each in own}
            yield part, tuple(own)
    for part in parts:
        if part.form == "samples" and part.path not in taken:
            yield part, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """Every harness task of the run: its documents, then what the results claim."""
    if source.form == "samples":
        yield from _samples_alone(source)
        return
    results = FILES.document(source, Results)
    model = _model(results)
    run_id = content_id([results.results, results.date, results.config], model)
    files = {_task_of(path): path for path in source.companions}
    first: TaskWriter | None = None
    for name, path in files.items():
        task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
        first = first or task
        harness_task = HarnessTask(task, name, results)
        yield from harness_task.rows(source, path)
        harness_task.close(run_id, model)
        yield from task.written()
    if first is None:
        yield from _totals_alone(source, results, run_id, model)
        return
    # groups repeat their subtasks; tasks without samples have no rows to go by
    rest = [
        claim
        for name, metrics in results.results.items()
        if name not in files
        for claim in claims(name, metrics)
    ]
    for place, each in enumerate(rest, start=_LAST):
        first.total(each.name, "several_tasks", each.value, scope="run", place=place)
    yield from first.written()


def _totals_alone(
    source: Source, results: Results, run_id: str, model: str
) -> Iterable[Record | Problem]:
    shots = results.config.get("num_fewshot")
    task = TaskWriter("lm_eval", run_id, source)
    task.describe(
        some_of(results.results) or "lm-eval",
        prompt_version=None if shots is None else f"{shots}-shot",
        model=model,
        created_at=time(results.date),
        tool_version=results.lm_eval_version,
        extras={"config": results.config},
    )
    for name, metrics in results.results.items():
        for claim in claims(name, metrics):
            task.total(claim.name, "not_in_rows", claim.value)
    task.warn(
        "totals_only",
        f"{source.path.name} holds totals of {len(results.results)} tasks and no"
        " samples, so nothing can be compared by case. Run lm-eval with --log_samples"
        " and give the whole folder",
    )
    return task.written()


def _samples_alone(source: Source) -> Iterator[Record | Problem]:
    name = _task_of(source.path)
    same = SameRun("lm_eval")
    for _, line in lines(source):
        same.add(line.decode("utf-8", "replace"))
    task = TaskWriter("lm_eval", f"{name}-{same.hash()[:12]}", source)
    harness_task = HarnessTask(task, name, None)
    yield from harness_task.rows(source, source.path)
    harness_task.close(task.task_id, "unknown")
    task.warn(
        "results_missing",
        f"{source.path.name} has no results file beside it, which names the model:"
        " give the whole folder",
    )
    yield from task.written()


def _task_of(path: Path) -> str:
    named = _NAME.fullmatch(path.name)
    return named["task"] if named else path.stem.removeprefix("samples_")


def _model(results: Results) -> str:
    # its name is made of the arguments; without any it is a hash
    config = results.config
    arguments = config.get("model_args")
    if arguments and results.model_name:
        return results.model_name
    named = arguments if isinstance(arguments, str) else config.get("model")
    return str(named or results.model_name or "unknown")
