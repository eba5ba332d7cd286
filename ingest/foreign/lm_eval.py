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
from collections import defaultdict
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
    as_object,
    as_share,
    as_time,
)
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    ToolFiles,
    decode,
    file_bytes,
    lines,
)
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
    joined_texts,
    some_of,
)
from promptlab.ingest.foreign.registry import Files, Head, Run
from promptlab.ingest.foreign.writing import (
    Direction,
    Record,
    RoundWriter,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import without_addresses, yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.places import BOM
from promptlab.json_text.writing import compact

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
    chat_template_sha: str | None = None
    fewshot_as_multiturn: bool | None = None
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
_NO_METRICS = frozenset({"name", "alias", "sample_len", "sample_count", " "})

_NO_OPTIONS = frozenset({"aggregation", "higher_is_better"})
"""Of an entry of ``metric_list``: what does not change the result of a document, or is
said elsewhere."""
_OF_PROMPT = (
    *("use_prompt", "gen_prefix", "target_delimiter", "fewshot_delimiter"),
    *("fewshot_config", "fewshot_split"),
)
"""Of the configuration of a task: how its prompt is made, beside its template."""
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
"""Of the configuration of a task: what does not decide about an answer."""
_NO_SETTINGS = (
    *("model", "device", "batch_sizes", "limit", "bootstrap_iters", "gen_kwargs"),
    *("model_num_parameters", "pretrained", "doc_to_text", "doc_to_target"),
)
"""Of the configuration of a run: what is no setting of the model, or is said
elsewhere."""
_FUNCTION = re.compile(r"(?:def|<function)\s+(\w+)")


class HarnessTask:
    """One harness task."""

    def __init__(
        self, task: TaskWriter, name: str, results: Results | None, path: Path
    ) -> None:
        self.task = task
        self._named = _time_of(path)
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
            _metric_name(each): each.get("higher_is_better") for each in listed
        }
        self._higher |= self._results.higher_is_better.get(name, {})

    def rows(self, source: Source, path: Path) -> Iterator[Record | Problem]:
        """Write the cases, rounds and scores of a samples file."""
        for line, written in _rows_of(source, path):
            try:
                members = decode(written, dict[str, Any])
                if b" at 0x" in written:
                    _forget_addresses(members)
                self._write(msgspec.convert(members, Row), members)
            except UNREADABLE as error:
                where = path.name
                yield FILES.problem(error, line=line, pointer=where, raw=written)
            yield from self.task.written()
        yield from self._ids.problems()

    def _write(self, row: Row, members: dict[str, Any]) -> None:
        task = self.task
        # a position, but the same document has the same one under every filter
        document = compact(row.doc_id)
        is_known = row.doc_id is not None
        filter_ = row.filter if row.filter is not None else self._filter_of(document)
        own_id = f"{document} ({filter_})" if is_known else None
        if self._ids.again(own_id, row.doc_hash):
            return
        case_id = self._cases.get(document) if is_known else None
        if case_id is None:
            texts = row.doc.values() if isinstance(row.doc, dict) else [str(row.doc)]
            content = case_name(row.doc_hash or row.doc, first_text(texts))
            case_id = self._cases[document] = task.distinct(content)
            golden = None if row.target == "" else row.target
            case = task.case(case_id, {"doc": row.doc}, golden=golden)
            self._rounds[case_id] = case.round(_answer(row))
        task.same_run.add(case_id, filter_)
        metrics = row.metrics if row.metrics is not None else _metrics_of(members)
        for metric in metrics:
            value = as_float(members.get(metric))
            score = as_share(value) if self._is_graded(metric) else None
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
        """Write the task, its dimensions and its claims."""
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
            created_at=as_time(results.date) or self._named,
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
        claimed = results.results.get(name)
        config = results.configs.get(name)
        if samples is not None or claimed:
            self.task.claim(_means(claimed or {}, _aggregations(config)), samples)

    def _settings(self, results: Results) -> dict[str, Any]:
        """Return how answers are generated: for the task, for the run."""
        config = as_object(results.configs.get(self._name))
        about = {
            name: _arguments(each) if name == "model_args" else each
            for name, each in results.config.items()
        }
        said: dict[str, Any] = yardstick(
            {
                **{name: config.get(name) for name in _OF_PROMPT},
                "fewshot_as_multiturn": results.fewshot_as_multiturn,
                "chat_template_sha": results.chat_template_sha,
                **about,
                **as_object(config.get("generation_kwargs")),
                **_arguments(about.get("gen_kwargs")),
                "seed": about.get("random_seed"),
            },
            *_NO_SETTINGS,
        )
        return said

    def _prompt(self, results: Results) -> Any:
        """Return the prompt: system message, description and template of a document."""
        config = as_object(results.configs.get(self._name))
        asked = [config.get("description"), config.get("doc_to_text")]
        return prompts.messages(
            ("system", results.system_instruction),
            ("user", "".join(each for each in asked if isinstance(each, str))),
        )

    def _parameters(
        self, dimension: str, direction: Direction | None
    ) -> dict[str, Any]:
        """Return what decides about an answer: filter, metric, and what is better.

        The version of a task is another one when its results are no longer comparable.
        """
        config = as_object(self._results.configs.get(self._name))
        metric, _, filter_ = dimension.rpartition(",")
        filters = config.get("filter_list")
        steps = [
            as_object(each).get("filter")
            for each in (filters if isinstance(filters, list) else ())
            if as_object(each).get("name") == filter_
        ]
        options = [
            {k: each for k, each in said.items() if k not in _NO_OPTIONS}
            for said in _metric_list(config)
            if _metric_name(said) == metric
        ]
        said: dict[str, Any] = {
            "version": self._results.versions.get(self._name),
            "filter": steps,
            "metric": [each for each in options if each != {"metric": metric}],
            "higher_is_better": False if direction == "lower_better" else None,
            "task": yardstick(config, *_NO_YARDSTICK),
        }
        return yardstick(said)  # type: ignore[no-any-return]  # an object

    def _is_graded(self, metric: str) -> bool:
        """Return true for a share of which 1 is best: a task may want a low one."""
        return metric in _GRADED and self._direction(metric) == "higher_better"

    def _direction(self, metric: str) -> Direction | None:
        higher = self._higher.get(metric)
        if higher is None:
            return "higher_better" if metric in _GRADED else None
        return "higher_better" if higher else "lower_better"


def _rows_of(
    source: Source, path: Path | None = None
) -> Iterator[tuple[int | None, bytes]]:
    """Yield the rows of a samples file: a line each, or members of one array.

    Versions 0.4.0 to 0.4.2 write an array over many lines, some viewers on one.
    """
    head = InputFile(path or source.path).head()
    if head.removeprefix(BOM).lstrip()[:1] != b"[":
        yield from lines(source, path)
        return
    rows = FILES.decoded(file_bytes(source, path), list[Raw])
    yield from ((None, source.redact(bytes(row))) for row in rows)


def _metrics_of(members: Mapping[str, Any]) -> list[str]:
    """Return the fields of a row that are metrics, where it does not name them."""
    return [
        name
        for name, value in members.items()
        if name not in _NOT_METRICS and as_float(value) is not None
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
            return first[0] if len(first) == 1 else compact(first)
    return compact(row.filtered_resps)


def _means(
    metrics: Mapping[str, Any], aggregations: Mapping[str, str]
) -> dict[str, Any]:
    """Return the numbers of a harness task that are means, by ``metric,filter``."""
    return {
        key: value
        for key, value in metrics.items()
        if key not in _NO_METRICS
        and as_float(value) is not None
        and aggregations.get(key.partition(",")[0], "mean") == "mean"
    }


def _forget_addresses(row: dict[str, Any]) -> None:
    """Remove addresses in memory from a document, as of pictures, and so its hash."""
    written = compact(row.get("doc"))
    found = without_addresses(written)
    if found != written:
        row["doc"], row["doc_hash"] = decode(found.encode(), Any), None


def _arguments(given: Any) -> dict[str, Any]:
    """Return arguments of the command line: ``temperature=0,seed=1``."""
    if not isinstance(given, str):
        return as_object(given)
    named = (each.partition("=") for each in given.split(",") if "=" in each)
    return {name.strip(): value for name, _, value in named}


def _metric_name(said: Mapping[str, Any]) -> str:
    """Return the name of a metric; of a function its source or its text is written."""
    metric = str(said.get("metric"))
    named = _FUNCTION.search(metric)
    return named[1] if named and metric.lstrip()[:1] in "d<@" else metric


def _aggregations(config: Any) -> dict[str, str]:
    return {
        _metric_name(each): str(each.get("aggregation", "mean"))
        for each in _metric_list(config)
    }


def _metric_list(config: Any) -> list[dict[str, Any]]:
    """Return what the configuration of a task says of its metrics."""
    metrics = as_object(config).get("metric_list")
    return [
        each
        for each in (metrics if isinstance(metrics, list) else ())
        if isinstance(each, dict)
    ]


FORMS = ("results", "samples")

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
    taken: set[Path] = set()
    for file in files:
        found = _TIME.search(file.path.name)
        if file.form == "results":
            own = samples.get((file.path.parent, found[1] if found else ""), [])
            taken |= {each.path for each in own}
            yield file, own
    for file in files:
        if file.form == "samples" and file.path not in taken:
            yield file, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield every harness task of the run: its documents, then its claims."""
    if source.form == "samples":
        yield from _samples_alone(source)
        return
    results = FILES.document(source, Results)
    model = _model(results)
    run_id = content_id([results.results, results.date, results.config], model)
    files = {_task_of(path, results.results): path for path in source.companions}
    for name, path in files.items():
        task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
        harness_task = HarnessTask(task, name, results, source.path)
        yield from harness_task.rows(source, path)
        harness_task.close(run_id, model)
        yield from task.written()
    if not files:
        yield from _totals_alone(source, results, run_id, model)
        return
    for name, metrics in results.results.items():
        # a group repeats its subtasks
        is_task = name not in files and not results.group_subtasks.get(name)
        if is_task and _means(metrics, {}):
            yield from _without_samples(source, results, name, run_id, model)


def _without_samples(
    source: Source, results: Results, name: str, run_id: str, model: str
) -> Iterable[Record | Problem]:
    """Return a task of totals: other tasks of the run have samples, and it has none."""
    task = TaskWriter("lm_eval", f"{run_id}/{name}", source)
    HarnessTask(task, name, results, source.path).close(run_id, model)
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
    for _, line in _rows_of(source):
        same.add(line.decode("utf-8", "replace"))
    task = TaskWriter("lm_eval", f"{name}-{same.hash_of_night()[:12]}", source, same)
    harness_task = HarnessTask(task, name, None, source.path)
    yield from harness_task.rows(source, source.path)
    harness_task.close(task.task_id, "unknown")
    task.warn(
        "results_missing",
        f"{source.path.name} has no results file beside it, which names the model:"
        " give the whole folder",
    )
    yield from task.written()


def _task_of(path: Path, names: Iterable[str] = ()) -> str:
    """Return the harness task of a samples file, one of *names* if they are known."""
    named = _NAME.fullmatch(path.name)
    if named:
        return named["task"]
    found = [name for name in names if path.stem.endswith(f"_{name}")]
    return max(found, key=len, default=path.stem.removeprefix("samples_"))


def _time_of(path: Path) -> datetime | None:
    """Return the time in the name of a file, which is written without colons."""
    found = re.search(r"(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)", path.name)
    return as_time(f"{found[1]}{':'.join(found.groups()[1:])}") if found else None


def _model(results: Results) -> str:
    # its name is one of the arguments, or a random one, which is new in every run
    config = results.config
    arguments = config.get("model_args")
    name = results.model_name
    if arguments and name and name in compact(arguments):
        return name
    named = arguments if isinstance(arguments, str) else config.get("model")
    return str(named or name or "unknown")
