"""lm-evaluation-harness: ``results_<time>.json``, ``samples_<task>_<time>.jsonl``.

Tried on 0.4.13, and on totals of 0.3; 0.4.0 to 0.4.2, whose names have no time and
whose samples are one array, by their published shape. A run is a folder: the time in
the names groups its files, and the results lead. Each harness task is a task; one
without samples has totals and no cases. Results without any samples are one such task.

There is one row per document and filter. A case is a document, identified by
``doc_hash`` and a number for duplicates, and has one round: the harness scores all
responses of a document together, so that they are one observation.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.input_file import InputFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_list,
    as_object,
    as_share,
    as_time,
    joined_texts,
    some_of,
)
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    ToolFiles,
    decode,
    file_bytes,
    lines,
)
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
)
from promptlab.ingest.foreign.runs_of_files import Files, Run
from promptlab.ingest.foreign.writing import Direction, Record, RoundWriter, TaskWriter
from promptlab.ingest.foreign.yardstick import without_addresses, yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.places import BOM
from promptlab.json_text.writing import compact

FORMS = ("results", "samples")

_FILES = ToolFiles("lm-eval", "0.4.13 and 0.3")
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl?")
_TIME = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]+)\.json")


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
    """Group results with the samples of the same folder and time.

    Before 0.4.3 the names have no time: ``results.json``, ``<arguments>_<task>.jsonl``.
    """
    samples: dict[tuple[Path, str], list[FoundFile]] = defaultdict(list)
    for file in files:
        named = _NAME.fullmatch(file.path.name)
        if file.form == "samples":
            samples[file.path.parent, named["time"] if named else ""].append(file)
    used: set[Path] = set()
    for file in files:
        match = _TIME.search(file.path.name)
        if file.form == "results":
            of_run = samples.get((file.path.parent, match[1] if match else ""), [])
            used |= {sample.path for sample in of_run}
            yield file, of_run
    for file in files:
        if file.form == "samples" and file.path not in used:
            yield file, ()


class HarnessTask(msgspec.Struct):
    """The part of the results about one task; empty without results."""

    name: str
    config: dict[str, Any] = {}
    totals: dict[str, Any] = {}
    """``metric,filter`` → value; in 0.3 by the name of the metric."""
    version: Any = None
    n_shot: Any = None
    n_samples: Any = None
    hash: Any = None
    higher: dict[str, bool | None] = {}
    """Metric → true if more is better; in some versions only in ``metric_list``."""

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return the options of its metrics, from its configuration."""
        listed = self.config.get("metric_list")
        entries = map(as_object, as_list(listed))
        return {str(entry.get("metric")): entry for entry in entries if entry}

    @property
    def means(self) -> dict[str, Any]:
        """Return its totals that are means."""
        metrics = self.metrics
        return {
            key: value
            for key, value in self.totals.items()
            if as_float(value) is not None
            and metrics.get(key.partition(",")[0], {}).get("aggregation", "mean")
            == "mean"
        }

    @property
    def filters(self) -> list[str]:
        """Return the names of its filters, in their order."""
        named = (key.rpartition(",") for key in self.totals)
        return list(dict.fromkeys(filter_ for _, comma, filter_ in named if comma))

    @property
    def prompt_version(self) -> str:
        """Return its version, and the number of its examples."""
        version, shots = self.version, self.n_shot
        named = [
            None if version is None else f"version {version}",
            None if shots is None else f"{shots}-shot",
        ]
        return joined_texts(named, ", ")

    def direction(self, metric: str) -> Direction | None:
        """Return the direction of a metric."""
        higher = self.metrics.get(metric, {}).get("higher_is_better")
        higher = self.higher.get(metric, higher)
        if higher is None:
            return "higher_better" if metric in _GRADED else None
        return "higher_better" if higher else "lower_better"

    def is_graded(self, metric: str) -> bool:
        """Return true for a share of which 1 is best: a task may want a low one."""
        return metric in _GRADED and self.direction(metric) == "higher_better"

    def parameters(self, dimension: str) -> Any:
        """Return the yardstick of an answer: filter, metric and direction.

        The version of a task is another one when its results are no longer comparable.
        """
        metric, _, filter_ = dimension.rpartition(",")
        filters = self.config.get("filter_list")
        listed = map(as_object, as_list(filters))
        options = {
            key: value
            for key, value in self.metrics.get(metric, {}).items()
            if key not in _NO_OPTIONS
        }
        is_lower = self.direction(metric) == "lower_better"
        return yardstick(
            {
                "version": self.version,
                "filter": [e.get("filter") for e in listed if e.get("name") == filter_],
                "metric": options,
                "higher_is_better": False if is_lower else None,
                "task": yardstick(self.config, *_NO_YARDSTICK),
            }
        )


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
    chat_template_sha: str | None = None
    fewshot_as_multiturn: bool | None = None
    date: Any = None
    git_hash: str | None = None
    lm_eval_version: str | None = None
    model_name: str | None = None
    task_hashes: dict[str, Any] = {}

    def task(self, name: str) -> HarnessTask:
        """Return the part about one task."""
        return HarnessTask(
            name,
            config=as_object(self.configs.get(name)),
            totals=self.results.get(name, {}),
            version=self.versions.get(name),
            n_shot=self.n_shot.get(name),
            n_samples=self.n_samples.get(name, {}).get("effective"),
            hash=self.task_hashes.get(name),
            higher=self.higher_is_better.get(name, {}),
        )

    @property
    def model(self) -> str:
        """Return the model.

        Its name is one of the arguments, or a random one, which is new in every run.
        """
        arguments, name = self.config.get("model_args"), self.model_name
        if arguments and name and name in compact(arguments):
            return name
        named = arguments if isinstance(arguments, str) else self.config.get("model")
        return str(named or name or "unknown")

    def settings(self, task: HarnessTask) -> Any:
        """Return the settings of generation: of the task, then of the run."""
        run = {**self.config, "model_args": _arguments(self.config.get("model_args"))}
        return yardstick(
            {
                **{name: task.config.get(name) for name in _OF_PROMPT},
                "fewshot_as_multiturn": self.fewshot_as_multiturn,
                "chat_template_sha": self.chat_template_sha,
                **run,
                **as_object(task.config.get("generation_kwargs")),
                **_arguments(run.get("gen_kwargs")),
                "seed": run.get("random_seed"),
            },
            *_NO_SETTINGS,
        )

    def prompt(self, task: HarnessTask) -> Any:
        """Return the prompt: system message, description and template of a document."""
        parts = [task.config.get("description"), task.config.get("doc_to_text")]
        return prompts.messages(
            ("system", self.system_instruction),
            ("user", "".join(part for part in parts if isinstance(part, str))),
        )


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

    @property
    def answer(self) -> str | None:
        """Return the response; of several, or of log-likelihoods of choices, JSON."""
        resps = self.resps
        if not isinstance(resps, list) or not resps:
            return None
        first = resps[0]
        if len(resps) == 1 and isinstance(first, list):
            if not first:
                return None
            if all(isinstance(response, str) for response in first):
                return first[0] if len(first) == 1 else compact(first)
        return compact(self.filtered_resps)


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
_NO_OPTIONS = frozenset({"metric", "aggregation", "higher_is_better"})
"""Members of an entry of ``metric_list`` that do not change the result of a document,
or are read separately."""
_OF_PROMPT = (
    *("use_prompt", "gen_prefix", "target_delimiter", "fewshot_delimiter"),
    *("fewshot_config", "fewshot_split"),
)
"""Settings of a task for its prompt, except the template."""
_NO_YARDSTICK = (
    *("task", "task_alias", "tag", "group", "metadata", "unsafe_code"),
    # the rows have documents and targets, and the task has its prompt and its settings
    *("dataset_path", "dataset_name", "dataset_kwargs", "custom_dataset", "test_split"),
    *("training_split", "validation_split", "process_docs", "doc_to_target"),
    *("doc_to_text", "doc_to_image", "doc_to_audio", "description", "num_fewshot"),
    *("generation_kwargs", *_OF_PROMPT),
    # metrics of their own
    *("should_decontaminate", "doc_to_decontamination_query"),
    # read for each dimension
    *("metric_list", "filter_list"),
)
"""Settings of a task that do not change the result of an answer."""
_NO_SETTINGS = (
    *("model", "device", "batch_sizes", "limit", "bootstrap_iters", "gen_kwargs"),
    *("model_num_parameters", "pretrained", "doc_to_text", "doc_to_target"),
)
"""Settings of a run that are not settings of the model, or are read separately."""


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield every harness task of the run: its documents, then its claims."""
    if source.form == "samples":
        yield from _samples_alone(source)
        return
    results = _FILES.document(source, Results)
    run_id = content_id([results.results, results.date, results.config], results.model)
    files = {_task_of(path, results.results): path for path in source.companions}
    for name, path in files.items():
        task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
        yield from _records(results.task(name), results, run_id, task, path)
    if not files:
        yield from _totals_alone(source, results, run_id)
        return
    for name in results.results:
        harness_task = results.task(name)
        # a group repeats its subtasks
        is_task = name not in files and not results.group_subtasks.get(name)
        if is_task and harness_task.means:
            task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
            task.warn(
                "totals_only",
                f"{source.path.name} holds totals of {name}, and its samples are not"
                f" beside it (samples_{name}_….jsonl): nothing of it can be compared by"
                " case. Give the whole folder",
            )
            yield from _records(harness_task, results, run_id, task)


def _totals_alone(
    source: Source, results: Results, run_id: str
) -> Iterable[Record | Problem]:
    """Return one task for all totals of a run without samples."""
    shots = results.config.get("num_fewshot")
    task = TaskWriter("lm_eval", run_id, source)
    task.describe(
        some_of(results.results) or "lm-eval",
        prompt_version=None if shots is None else f"{shots}-shot",
        model=results.model,
        created_at=as_time(results.date) or _time_of(source.path),
        tool_version=results.lm_eval_version,
        extras={"config": results.config},
    )
    task.claim({})
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
    for _, line in _rows_of(source, source.path):
        same.add(line.decode("utf-8", "replace"))
    task = TaskWriter(
        "lm_eval", f"{name}-{same.hash_with_run_key()[:12]}", source, same
    )
    task.warn(
        "results_missing",
        f"{source.path.name} has no results file beside it, which names the model:"
        " give the whole folder",
    )
    nothing = Results(results={})
    yield from _records(HarnessTask(name), nothing, task.task_id, task, source.path)


def _records(
    harness_task: HarnessTask,
    results: Results,
    run_id: str,
    task: TaskWriter,
    samples: Path | None = None,
) -> Iterator[Record | Problem]:
    """Yield the documents of a task, then the task itself."""
    if samples is not None:
        yield from _Documents(harness_task, task).records(samples)
    task.describe(
        harness_task.name,
        prompt_version=harness_task.prompt_version,
        model=results.model,
        created_at=as_time(results.date) or _time_of(task.source.path),
        run_id=run_id,
        tool_version=results.lm_eval_version,
        settings=results.settings(harness_task),
        extras=prompts.about(
            results.prompt(harness_task),
            git_hash=results.git_hash,
            task_hash=harness_task.hash,
            config=results.config,
        ),
    )
    metrics = {dimension: dimension.rpartition(",")[0] for dimension in task.dimensions}
    task.grade(
        [
            dimension
            for dimension, metric in metrics.items()
            if harness_task.is_graded(metric)
        ],
        {
            dimension: harness_task.direction(metric)
            for dimension, metric in metrics.items()
        },
        parameters={
            dimension: harness_task.parameters(dimension) for dimension in metrics
        },
    )
    if harness_task.n_samples is not None or harness_task.totals:
        task.claim(harness_task.means, harness_task.n_samples)
    yield from task.written()


class _Documents:
    """Writes the rows of a samples file: each document is a case with one round."""

    def __init__(self, harness_task: HarnessTask, task: TaskWriter) -> None:
        self._about = harness_task
        self._task = task
        self._filters = harness_task.filters
        self._ids = OwnIds("document and filter")
        self._n_rows: Counter[str] = Counter()
        """Document → number of its rows so far."""
        self._rounds: dict[str, RoundWriter] = {}
        """Document → its round; the id of a document is the same under every filter."""

    def records(self, path: Path) -> Iterator[Record | Problem]:
        """Yield the records of a samples file."""
        for line, written in _rows_of(self._task.source, path):
            try:
                members = decode(written, dict[str, Any])
                if b" at 0x" in written:  # a picture is written as its address
                    doc = without_addresses(compact(members.get("doc")))
                    members |= {"doc": decode(doc.encode(), Any), "doc_hash": None}
                self._write(msgspec.convert(members, Row), members)
            except UNREADABLE as error:
                where = path.name
                yield _FILES.problem(error, line=line, pointer=where, raw=written)
            yield from self._task.written()
        yield from self._ids.problems()

    def _write(self, row: Row, members: dict[str, Any]) -> None:
        task = self._task
        document = compact(row.doc_id)
        filter_ = row.filter if row.filter is not None else self._filter_of(document)
        own_id = None if row.doc_id is None else f"{document} ({filter_})"
        if self._ids.again(own_id, row.doc_hash):
            return
        answer = None if row.doc_id is None else self._rounds.get(document)
        if answer is None:
            texts = row.doc.values() if isinstance(row.doc, dict) else [str(row.doc)]
            case_id = task.distinct(
                case_name(row.doc_hash or row.doc, first_text(texts))
            )
            golden = None if row.target == "" else row.target
            case = task.case(case_id, {"doc": row.doc}, golden=golden)
            answer = self._rounds[document] = case.round(row.answer)
        task.same_run.add(answer.case_id, filter_)
        metrics = _metrics_of(members) if row.metrics is None else row.metrics
        for metric in metrics:
            raw_value = members.get(metric)
            value = as_float(raw_value)
            payload = {"filtered": row.filtered_resps}
            if value is None:
                payload["given"] = raw_value
            is_graded = self._about.is_graded(metric)
            share = as_share(value) if is_graded else None
            answer.score(f"{metric},{filter_}", value, share, payload=payload)

    def _filter_of(self, document: str) -> str:
        """Return the filter of a document's next row, by the order of the results."""
        place = self._n_rows[document]
        self._n_rows[document] += 1
        return self._filters[place] if place < len(self._filters) else "none"


def _rows_of(source: Source, path: Path) -> Iterator[tuple[int | None, bytes]]:
    """Yield the rows of a samples file: a line each, or members of one array.

    Versions 0.4.0 to 0.4.2 write an array over many lines, some viewers on one.
    """
    head = InputFile(path).head()
    if head.removeprefix(BOM).lstrip()[:1] != b"[":
        yield from lines(source, path)
        return
    rows = _FILES.decoded(file_bytes(source, path), list[Raw])
    yield from ((None, source.redact(bytes(row))) for row in rows)


def _metrics_of(members: Mapping[str, Any]) -> list[str]:
    """Return the fields of a row that are metrics, where it does not name them."""
    return [
        name
        for name, value in members.items()
        if name not in _NOT_METRICS and as_float(value) is not None
    ]


def _arguments(arguments: Any) -> dict[str, Any]:
    """Return arguments of the command line: ``temperature=0,seed=1``."""
    if not isinstance(arguments, str):
        return as_object(arguments)
    named = (
        argument.partition("=") for argument in arguments.split(",") if "=" in argument
    )
    return {name.strip(): value for name, _, value in named}


def _task_of(path: Path, names: Iterable[str] = ()) -> str:
    """Return the harness task of a samples file, one of *names* if they are known."""
    named = _NAME.fullmatch(path.name)
    if named:
        return named["task"]
    matches = [name for name in names if path.stem.endswith(f"_{name}")]
    return max(matches, key=len, default=path.stem.removeprefix("samples_"))


def _time_of(path: Path) -> datetime | None:
    """Return the time in the name of a file, which is written without colons."""
    match = re.search(r"(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)", path.name)
    return as_time(f"{match[1]}{':'.join(match.groups()[1:])}") if match else None
