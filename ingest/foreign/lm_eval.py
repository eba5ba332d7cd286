"""lm-evaluation-harness: ``results_<time>.json`` with its ``samples_<task>_<time>.jsonl``.

Tried on 0.4.13, and on totals of 0.3. A run is a folder: the time in the names ties its
files, and the results lead. Each harness task is a task; results without any samples are
one task, which has totals and no cases.

Rows come one per document and filter. A case is a document, by ``doc_hash`` and how
often that was seen; a round is one of its responses. What a metric says of all responses
together stands at the first round.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign.documents import (
    decode,
    decode_file,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import lines, whole
from ingest.foreign.heads import Head
from ingest.foreign.identity import Occurrences, SameRun, content_id, joined_texts
from ingest.foreign.records import (
    Baseline,
    Case,
    Dimension,
    Direction,
    Record,
    Round,
    Score,
    Task,
    Total,
)
from ingest.foreign.runs import Part, Run
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("results", "samples")
VERSIONS = "0.4.13 and 0.3"

_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_TIME = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]+)\.json")
_GRADED = frozenset(
    {
        "acc",
        "acc_norm",
        "acc_bytes",
        "acc_mutual_info",
        "exact_match",
        "em",
        "f1",
        "contains",
        "pass@1",
        "prompt_level_strict_acc",
        "prompt_level_loose_acc",
    }
)
"""Metrics of a document that lie on the scale 0 to 1 by their definition."""
_STDERR = "_stderr"
_NO_METRICS = frozenset({"name", "alias", "sample_len", "sample_count", " "})


class Results(msgspec.Struct, rename={"n_samples": "n-samples", "n_shot": "n-shot"}):
    """The aggregate file."""

    results: dict[str, dict[str, Any]]
    group_subtasks: dict[str, list[str]] = {}
    configs: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    n_shot: dict[str, Any] = {}
    n_samples: dict[str, dict[str, Any]] = {}
    higher_is_better: dict[str, dict[str, bool | None]] = {}
    config: dict[str, Any] = {}
    date: Any = None
    git_hash: str | None = None
    lm_eval_version: str | None = None
    model_name: str | None = None
    task_hashes: dict[str, Any] = {}


class Row(msgspec.Struct):
    """One document under one filter; metrics stand beside these by their names."""

    doc_id: Any = None
    doc: Any = None
    target: Any = None
    resps: Any = None
    filtered_resps: Any = None
    filter: str = "none"
    metrics: list[str] = []
    doc_hash: str | None = None


def recognise(head: Head) -> str | None:
    """Results with ``versions`` and ``configs`` or ``config``; rows with ``resps``."""
    if head.has(b'"filtered_resps"') and {"doc_id", "doc", "resps"} <= head.keys:
        return "samples"
    if not head.has(b'"results"') or "results" not in head.keys:
        return None
    if not head.keys & {"configs", "config", "lm_eval_version"}:
        return None
    told = {"versions", "n-samples", "group_subtasks", "lm_eval_version"}
    return "results" if head.keys & told else None


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
    data = source.redact(whole(source))
    results = decode_file(data, Results, "lm-eval", VERSIONS)
    model = _model(results)
    run_id = content_id([results.results, results.date, results.config], model)
    files = {_task_of(path): path for path in source.companions}
    rest = {
        name: metrics for name, metrics in results.results.items() if name not in files
    }
    for name, path in files.items():
        task = _HarnessTask(f"{run_id}/{name}", name, results)
        yield from task.rows(source, path)
        yield task.task(source, run_id, model)
        yield from task.totals(results.results.get(name, {}))
    if files:
        # groups repeat their subtasks; tasks without samples have no rows to go by
        first = f"{run_id}/{next(iter(files))}"
        places = count(10_000)
        for name, metrics in rest.items():
            yield from _claims(first, name, metrics, places, scope="run")
    else:
        yield from _totals_alone(source, results, run_id, model)


class _HarnessTask:
    """One harness task: the rows of its samples file."""

    def __init__(self, task_id: str, name: str, results: Results | None) -> None:
        self._task_id = task_id
        self._name = name
        self._results = results
        self._cases: dict[Any, str] = {}
        self._dimensions: dict[str, str] = {}
        self._seen = Occurrences()
        self._same_run = SameRun("lm_eval", task_id)

    def rows(self, source: Source, path: Path) -> Iterator[Record | Problem]:
        for number, written in lines(source, path):
            try:
                members = decode(written, dict[str, Any])
                yield from self._row(msgspec.convert(members, Row), members)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                yield shape_problem(
                    error,
                    "lm-eval",
                    VERSIONS,
                    line=number,
                    pointer=path.name,
                    raw=written,
                )

    def _row(self, row: Row, members: dict[str, Any]) -> Iterator[Record]:
        task_id = self._task_id
        # a position, but the same document has the same one under every filter
        case_id = self._cases.get(text(row.doc_id)) if row.doc_id is not None else None
        if case_id is None:
            case_id = self._case_id(row)
            self._cases[text(row.doc_id)] = case_id
            position = len(self._cases) - 1
            yield Case(task_id, case_id, position, text({"doc": row.doc}))
            if row.target not in (None, ""):
                golden = text({"answer": row.target})
                yield Baseline(task_id, case_id, "target", 0, golden)
            for n, output in enumerate(_responses(row), start=1):
                yield Round(
                    task_id=task_id,
                    case_id=case_id,
                    round_id=f"{case_id}-{n}",
                    position=n - 1,
                    run_index=n,
                    raw_output=output,
                )
        self._same_run.add(case_id, row.filter)
        for metric in row.metrics:
            name = f"{metric},{row.filter}"
            self._dimensions.setdefault(name, metric)
            value = number(members.get(metric))
            yield Score(
                task_id=task_id,
                case_id=case_id,
                round_id=f"{case_id}-1",
                dimension_id=name,
                value=value,
                score=on_scale(value) if metric in _GRADED else None,
                payload=text({"filtered": row.filtered_resps}),
            )

    def task(self, source: Source, run_id: str, model: str) -> Task:
        results = self._results or Results(results={})
        version, shots = (
            each.get(self._name) for each in (results.versions, results.n_shot)
        )
        return Task(
            task_id=self._task_id,
            source_kind="lm_eval",
            title=self._name,
            prompt_version=joined_texts(
                [
                    None if version is None else f"version {version}",
                    None if shots is None else f"{shots}-shot",
                ],
                ", ",
            )
            or "unknown",
            model=model,
            created_at=time(results.date) or source.modified_at,
            run_id=run_id,
            run_hash=self._same_run.hash(),
            tool_version=results.lm_eval_version,
            extras=text(
                {
                    "git_hash": results.git_hash,
                    "task_hash": results.task_hashes.get(self._name),
                    "config": results.config,
                }
            ),
        )

    def totals(self, metrics: dict[str, Any]) -> Iterator[Record]:
        """Dimensions, and the means that the results claim of them."""
        graded = [n for n, metric in self._dimensions.items() if metric in _GRADED]
        for position, (name, metric) in enumerate(self._dimensions.items()):
            yield Dimension(
                task_id=self._task_id,
                dimension_id=name,
                position=position,
                name=name,
                weight=1 / len(graded) if name in graded else 0.0,
                is_graded=name in graded,
                direction=self._direction(metric),
            )
        places = count()
        results = self._results or Results(results={})
        samples = results.n_samples.get(self._name, {}).get("effective")
        if samples is not None:
            yield Total(
                task_id=self._task_id,
                position=next(places),
                name=f"n-samples.{self._name}.effective",
                rule="count_cases",
                value=number(samples),
            )
        yield from _claims(
            self._task_id,
            self._name,
            metrics,
            places,
            aggregations=_aggregations(results.configs.get(self._name)),
            dimensions=set(self._dimensions),
            n=samples if isinstance(samples, int) else None,
        )

    def _direction(self, metric: str) -> Direction | None:
        results = self._results
        higher = results and results.higher_is_better.get(self._name, {}).get(metric)
        if higher is None:
            return "higher_better" if metric in _GRADED else None
        return "higher_better" if higher else "lower_better"

    def _case_id(self, row: Row) -> str:
        said = next(
            (each for each in row.doc.values() if isinstance(each, str))
            if isinstance(row.doc, dict)
            else iter([str(row.doc)]),
            None,
        )
        case_id = content_id(row.doc_hash or row.doc, said)
        return self._seen.named(case_id, self._seen.next(case_id))


def _responses(row: Row) -> list[str | None]:
    """One text per response; log-likelihoods, one pair per choice, are one answer."""
    resps = row.resps
    if not isinstance(resps, list) or not resps:
        return [None]
    first = resps[0]
    if len(resps) == 1 and isinstance(first, list):
        if all(isinstance(each, str) for each in first):
            return list(first) or [None]
    return [text(row.filtered_resps)]


def _claims(
    task_id: str,
    name: str,
    metrics: dict[str, Any],
    places: Iterator[int],
    *,
    aggregations: dict[str, str] | None = None,
    dimensions: set[str] | None = None,
    n: int | None = None,
    scope: str = "task",
) -> Iterator[Total]:
    for key, value in metrics.items():
        if key in _NO_METRICS or isinstance(value, str | dict):
            continue
        metric, comma, filter_name = key.partition(",")
        is_stderr = metric.endswith(_STDERR)
        metric = metric.removesuffix(_STDERR)
        dimension = f"{metric}{comma}{filter_name}"
        rule = "stderr_over_cases" if is_stderr else "mean_over_cases"
        is_mean = (aggregations or {}).get(metric, "mean") == "mean"
        known = dimension in (dimensions or ())
        yield Total(
            task_id=task_id,
            position=next(places),
            name=f"results.{name}.{key}",
            rule=rule if known and is_mean else "none",
            value=number(value),
            n=n,
            dimension_id=dimension if known else None,
            scope="run" if scope == "run" else "task",
        )


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
        yield from _claims(run_id, name, metrics, places)
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
    task = _HarnessTask(run_id, name, None)
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
    config = results.config
    arguments = config.get("model_args")
    said = results.model_name or (arguments if isinstance(arguments, str) else None)
    return said or str(config.get("model") or "unknown")


def _aggregations(config: Any) -> dict[str, str]:
    metrics = config.get("metric_list") if isinstance(config, dict) else None
    return {
        str(each.get("metric")): str(each.get("aggregation", "mean"))
        for each in metrics or []
        if isinstance(each, dict)
    }
