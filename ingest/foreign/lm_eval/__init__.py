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
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.foreign.documents import decode_file, text, time
from ingest.foreign.files import file_bytes, lines
from ingest.foreign.heads import Head
from ingest.foreign.identity import SameRun, content_id
from ingest.foreign.lm_eval.structs import Results
from ingest.foreign.lm_eval.tasks import VERSIONS, HarnessTask, claims
from ingest.foreign.records import Record, Task
from ingest.foreign.runs import Part, Run
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("results", "samples")

_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_TIME = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]+)\.json")


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
    data = source.redact(file_bytes(source))
    results = decode_file(data, Results, "lm-eval", VERSIONS)
    model = _model(results)
    run_id = content_id([results.results, results.date, results.config], model)
    files = {_task_of(path): path for path in source.companions}
    rest = {
        name: metrics for name, metrics in results.results.items() if name not in files
    }
    for name, path in files.items():
        task = HarnessTask(f"{run_id}/{name}", name, results)
        yield from task.rows(source, path)
        yield task.task(source, run_id, model)
        yield from task.totals(results.results.get(name, {}))
    if files:
        # groups repeat their subtasks; tasks without samples have no rows to go by
        first = f"{run_id}/{next(iter(files))}"
        places = count(10_000)
        for name, metrics in rest.items():
            yield from claims(first, name, metrics, places, scope="run")
    else:
        yield from _totals_alone(source, results, run_id, model)


def _totals_alone(
    source: Source, results: Results, run_id: str, model: str
) -> Iterator[Record | Problem]:
    names = list(results.results)
    title = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
    shots = results.config.get("num_fewshot")
    same_run = SameRun("lm_eval", run_id)
    yield Task(
        task_id=run_id,
        source_kind="lm_eval",
        title=title or "lm-eval",
        prompt_version="unknown" if shots is None else f"{shots}-shot",
        model=model,
        created_at=time(results.date) or source.modified_at,
        run_id=run_id,
        run_hash=same_run.hash(),
        tool_version=results.lm_eval_version,
        extras=text({"config": results.config}),
    )
    places = count()
    for name, metrics in results.results.items():
        yield from claims(run_id, name, metrics, places)
    yield Problem(
        "totals_only",
        f"{source.path.name} holds totals of {len(names)} tasks and no samples, so"
        " nothing can be compared by case. Run lm-eval with --log_samples and give the"
        " whole folder",
        severity="warning",
        record_id=run_id,
    )


def _samples_alone(source: Source) -> Iterator[Record | Problem]:
    name = _task_of(source.path)
    same = SameRun("lm_eval")
    for _, line in lines(source):
        same.add(line.decode("utf-8", "replace"))
    run_id = f"{name}-{same.hash()[:12]}"
    task = HarnessTask(run_id, name, None)
    yield from task.rows(source, source.path)
    yield task.task(source, run_id, "unknown")
    yield from task.totals({})
    yield Problem(
        "results_missing",
        f"{source.path.name} has no results file beside it, which names the model:"
        " give the whole folder",
        severity="warning",
        record_id=run_id,
    )


def _task_of(path: Path) -> str:
    named = _NAME.fullmatch(path.name)
    return named["task"] if named else path.stem.removeprefix("samples_")


def _model(results: Results) -> str:
    # its name is made of the arguments; without any it is a hash
    config = results.config
    arguments = config.get("model_args")
    if arguments and results.model_name:
        return results.model_name
    said = arguments if isinstance(arguments, str) else config.get("model")
    return str(said or results.model_name or "unknown")
