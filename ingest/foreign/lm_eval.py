"""lm-evaluation-harness: ``results_<time>.json``, ``samples_<task>_<time>.jsonl``.

Tried on 0.4.13, and on totals of 0.3. A run is a folder: the time in the names groups
its files, and the results lead. Each harness task is a task; one without samples has
totals and no cases. Results without any samples are one such task.

There is one row per document and filter. A case is a document, identified by
``doc_hash`` and a number for duplicates, and has one round: the harness scores all
responses of a document together, so that they are one observation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    ToolFiles,
    decode,
    lines,
    members,
    number,
    on_scale,
    text,
    time,
)
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    content_id,
    first_text,
    joined_texts,
    some_of,
)
from promptlab.ingest.foreign.prompts import model_settings
from promptlab.ingest.foreign.registry import Files, Head, Run
from promptlab.ingest.foreign.writing import (
    Direction,
    Record,
    RoundWriter,
    Rule,
    TaskWriter,
)
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

FILES = ToolFiles("lm-eval", "0.4.13 and 0.3")


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
    system_instruction: str | None = None
    date: Any = None
    git_hash: str | None = None
    lm_eval_version: str | None = None
    model_name: str | None = None
    task_hashes: dict[str, Any] = {}


class Row(msgspec.Struct):
    """One document under one filter; metrics are further fields."""

    doc_id: Any = None
    doc: Any = None
    target: Any = None
    resps: Any = None
    filtered_resps: Any = None
    filter: str | None = None
    """Not in files before 0.4.5, which have the rows of one filter after another."""
    metrics: list[str] | None = None
    """Names of the fields that are metrics; not in those files either."""
    doc_hash: str | None = None


_GRADED = frozenset(
    {
        *("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em"),
        *("f1", "contains", "pass@1", "prompt_level_strict_acc"),
        *("prompt_level_loose_acc", "pass_at_1", "math_verify"),
        *("bleu_acc", "rouge1_acc", "rouge2_acc", "rougeL_acc"),
    }
)
"""Metrics of a document defined on the scale 0 to 1."""
_NOT_METRICS = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
        *("metrics", "doc_hash", "prompt_hash", "target_hash"),
    }
)
_STDERR = "_stderr"
_NO_METRICS = frozenset({"name", "alias", "sample_len", "sample_count", " "})

_NO_OPTIONS = frozenset({"metric", "aggregation", "higher_is_better"})
"""Of an entry of ``metric_list``: what does not change the result of a document, or is
said elsewhere."""


class HarnessTask:
    """One harness task."""

    def __init__(self, task: TaskWriter, name: str, results: Results | None) -> None:
        self.task = task
        self._name = name
        self._results = results or Results(results={})
        self._ids = OwnIds("document and filter")
        self._cases: dict[str, str] = {}  # of each document
        self._n_rows: dict[str, int] = defaultdict(int)  # of each document
        told = (each.rpartition(",") for each in self._results.results.get(name, {}))
        self._filters = list(dict.fromkeys(own for _, comma, own in told if comma))
        self._rounds: dict[str, RoundWriter] = {}  # of each case
        # the results of some versions say it in the configuration only
        listed = _metric_list(self._results.configs.get(name))
        self._higher = {
            str(each.get("metric")): each.get("higher_is_better") for each in listed
        }
        self._higher |= self._results.higher_is_better.get(name, {})

    def rows(self, source: Source, path: Path) -> Iterator[Record | Problem]:
        """Write the cases, rounds and scores of a samples file."""
        for line, written in lines(source, path):
            try:
                members = decode(written, dict[str, Any])
                self._write(msgspec.convert(members, Row), members)
            except UNREADABLE as error:
                where = path.name
                yield FILES.problem(error, line=line, pointer=where, raw=written)
            yield from self.task.written()
        yield from self._ids.problems()

    def _write(self, row: Row, members: dict[str, Any]) -> None:
        task = self.task
        # a position, but the same document has the same one under every filter
        document = text(row.doc_id)
        is_known = row.doc_id is not None
        filter_ = row.filter if row.filter is not None else self._filter_of(document)
        own_id = f"{document} ({filter_})" if is_known else None
        if self._ids.again(own_id, row.doc_hash):
            return
        case_id = self._cases.get(document) if is_known else None
        if case_id is None:
            texts = row.doc.values() if isinstance(row.doc, dict) else [str(row.doc)]
            content = content_id(row.doc_hash or row.doc, first_text(texts))
            case_id = self._cases[document] = task.distinct(content)
            golden = None if row.target == "" else row.target
            case = task.case(
                case_id, {"doc": row.doc}, golden=golden, golden_id="target"
            )
            self._rounds[case_id] = case.round(_answer(row))
        task.same_run.add(case_id, filter_)
        metrics = row.metrics if row.metrics is not None else _metrics_of(members)
        for metric in metrics:
            value = number(members.get(metric))
            score = on_scale(value) if self._is_graded(metric) else None
            payload = {"filtered": row.filtered_resps}
            if value is None:
                payload["given"] = members.get(metric)
            name = f"{metric},{filter_}"
            self._rounds[case_id].score(name, value, score, payload=payload)

    def _filter_of(self, document: str) -> str:
        """Return the filter of a document's next row, by the order of the results."""
        number_of_row = self._n_rows[document]
        self._n_rows[document] += 1
        if number_of_row < len(self._filters):
            return self._filters[number_of_row]
        return "none"

    def close(self, run_id: str, model: str) -> None:
        """Write the task, its dimensions and its totals."""
        results, name = self._results, self._name
        version, shots = results.versions.get(name), results.n_shot.get(name)
        named = [
            None if version is None else f"version {version}",
            None if shots is None else f"{shots}-shot",
        ]
        self.task.describe(
            name,
            prompt_version=joined_texts(named, ", "),
            model=model,
            created_at=time(results.date),
            run_id=run_id,
            tool_version=results.lm_eval_version,
            settings=self._settings(results),
            extras=prompts.about(
                self._prompt(results),
                git_hash=results.git_hash,
                task_hash=results.task_hashes.get(name),
                config=results.config,
            ),
        )
        metrics = {each: each.rpartition(",")[0] for each in self.task.dimensions}
        directions = {each: self._direction(metric) for each, metric in metrics.items()}
        self.task.grade(
            [each for each, metric in metrics.items() if self._is_graded(metric)],
            directions,
            parameters={
                each: self._parameters(each, direction)
                for each, direction in directions.items()
            },
        )
        samples = results.n_samples.get(name, {}).get("effective")
        if samples is not None:
            rule: Rule = "count_cases" if self._rounds else "not_in_rows"
            self.task.total(f"n-samples.{name}.effective", rule, samples)
        self._write_totals(samples if isinstance(samples, int) else None)

    def _settings(self, results: Results) -> dict[str, Any]:
        """Return the seed, and how answers are generated: for the task, for the run."""
        config = results.configs.get(self._name)
        of_task = members(config).get("generation_kwargs")
        about = results.config
        return model_settings(
            {"seed": about.get("random_seed")}, of_task, about.get("gen_kwargs")
        )

    def _prompt(self, results: Results) -> Any:
        """Return the prompt: system message, description and template of a document."""
        config = members(results.configs.get(self._name))
        asked = [config.get("description"), config.get("doc_to_text")]
        return prompts.messages(
            ("system", results.system_instruction),
            ("user", "".join(each for each in asked if isinstance(each, str))),
        )

    def _write_totals(self, n: int | None) -> None:
        """Write the totals of the task, which has *n* documents."""
        aggregations = _aggregations(self._results.configs.get(self._name))
        for claim in claims(self._name, self._results.results.get(self._name, {})):
            known = claim.dimension if claim.dimension in self.task.dimensions else None
            is_mean = aggregations.get(claim.metric, "mean") == "mean"
            rule = claim.rule if is_mean else "own_formula"
            self.task.total(
                claim.name,
                "not_in_rows" if known is None else rule,
                claim.value,
                n=n,
                dimension=known,
            )

    def _parameters(
        self, dimension: str, direction: Direction | None
    ) -> dict[str, Any]:
        """Return what decides about an answer: filter, metric, and what is better."""
        found: dict[str, Any] = {}
        config = members(self._results.configs.get(self._name))
        filters = config.get("filter_list")
        for each in filters if isinstance(filters, list) else ():
            steps = members(each)
            if (
                steps.get("filter")
                and steps.get("name") == dimension.rpartition(",")[2]
            ):
                found["filter"] = steps["filter"]
        metric = dimension.rpartition(",")[0]
        for said in _metric_list(config):
            options = {k: each for k, each in said.items() if k not in _NO_OPTIONS}
            if said.get("metric") == metric and options:
                found["metric"] = options
        scored_by = config.get("process_results")
        # a function without its source is written with its address in memory
        if isinstance(scored_by, str) and " at 0x" not in scored_by:
            found["process_results"] = scored_by
        if direction == "lower_better":
            found["higher_is_better"] = False
        return found

    def _is_graded(self, metric: str) -> bool:
        """Return true for a share of which 1 is best: a task may want a low one."""
        return metric in _GRADED and self._direction(metric) == "higher_better"

    def _direction(self, metric: str) -> Direction | None:
        higher = self._higher.get(metric)
        if higher is None:
            return "higher_better" if metric in _GRADED else None
        return "higher_better" if higher else "lower_better"


def _metrics_of(members: Mapping[str, Any]) -> list[str]:
    """Return the fields of a row that are metrics, where it does not name them."""
    return [
        name
        for name, value in members.items()
        if name not in _NOT_METRICS and number(value) is not None
    ]


def _answer(row: Row) -> str | None:
    """Return the response; of several, or of log-likelihoods of choices, their JSON."""
    resps = row.resps
    if not isinstance(resps, list) or not resps:
        return None
    first = resps[0]
    if len(resps) == 1 and isinstance(first, list):
        if not first:
            return None
        if all(isinstance(each, str) for each in first):
            return first[0] if len(first) == 1 else text(first)
    return text(row.filtered_resps)


class Claim(NamedTuple):
    """A number of the results, over all documents."""

    name: str
    metric: str
    dimension: str
    rule: Rule
    value: Any


def claims(name: str, metrics: Mapping[str, Any]) -> Iterator[Claim]:
    """Return the totals of one harness task."""
    for key, value in metrics.items():
        if key in _NO_METRICS or isinstance(value, str | dict):
            continue
        metric, comma, filter_name = key.partition(",")
        rule: Rule = "mean_over_cases"
        if metric.endswith(_STDERR):
            rule, metric = "stderr_over_cases", metric.removesuffix(_STDERR)
        dimension = f"{metric}{comma}{filter_name}"
        yield Claim(f"results.{name}.{key}", metric, dimension, rule, value)


def _aggregations(config: Any) -> dict[str, str]:
    return {
        str(each.get("metric")): str(each.get("aggregation", "mean"))
        for each in _metric_list(config)
    }


def _metric_list(config: Any) -> list[dict[str, Any]]:
    """Return what the configuration of a task says of its metrics."""
    metrics = members(config).get("metric_list")
    return [
        each
        for each in (metrics if isinstance(metrics, list) else ())
        if isinstance(each, dict)
    ]


FORMS = ("results", "samples")

_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_TIME = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]+)\.json")

_LAST = 10_000
"""Position of the first total of the run, after those of tasks."""


def recognise(head: Head) -> str | None:
    """Recognise results with ``versions`` and ``config(s)``, or rows with ``resps``."""
    if {"doc_id", "doc", "resps"} <= head.keys and head.has(b'"filtered_resps"'):
        return "samples"
    if "results" not in head.keys:
        return None
    if not head.keys & {"configs", "config", "lm_eval_version"}:
        return None
    keys = {"versions", "n-samples", "group_subtasks", "lm_eval_version"}
    return "results" if head.keys & keys else None


def gather(files: Files) -> Iterator[Run]:
    """Group results with the samples of the same folder and time."""
    samples: dict[tuple[Path, str], list[FoundFile]] = defaultdict(list)
    for file in files:
        named = _NAME.fullmatch(file.path.name)
        if file.form == "samples" and named:
            samples[file.path.parent, named["time"]].append(file)
    taken: set[Path] = set()
    for file in files:
        found = _TIME.search(file.path.name)
        if file.form == "results":
            own = samples.get((file.path.parent, found[1]), []) if found else []
            taken |= {each.path for each in own}
            yield file, own
    for file in files:
        if file.form == "samples" and file.path not in taken:
            yield file, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield every harness task of the run: its documents, then its totals."""
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
    rest: list[Claim] = []
    for name, metrics in results.results.items():
        found = [] if name in files else list(claims(name, metrics))
        if results.group_subtasks.get(name):
            rest += found  # a group repeats its subtasks
        elif found:
            yield from _without_samples(source, results, name, run_id, model)
    for place, each in enumerate(rest, start=_LAST):
        first.total(each.name, "several_tasks", each.value, scope="run", place=place)
    yield from first.written()


def _without_samples(
    source: Source, results: Results, name: str, run_id: str, model: str
) -> Iterable[Record | Problem]:
    """Return a task of totals: other tasks of the run have samples, and it has none."""
    task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
    HarnessTask(task, name, results).close(run_id, model)
    task.warn(
        "totals_only",
        f"{source.path.name} holds totals of {name}, and its samples are not beside it"
        f" (samples_{name}_….jsonl): nothing of it can be compared by case. Give the"
        " whole folder",
    )
    return task.written()


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
    same = SameRun("lm_eval", source=source)
    for _, line in lines(source):
        same.add(line.decode("utf-8", "replace"))
    task = TaskWriter("lm_eval", f"{name}-{same.hash_of_night()[:12]}", source, same)
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
    # its name is made of the arguments, or is a hash without arguments
    config = results.config
    arguments = config.get("model_args")
    if arguments and results.model_name:
        return results.model_name
    named = arguments if isinstance(arguments, str) else config.get("model")
    return str(named or results.model_name or "unknown")
