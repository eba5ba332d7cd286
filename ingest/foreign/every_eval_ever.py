"""Every Eval Ever: an aggregate JSON, and one JSONL line per sample and result.

Tried on schema version 0.3.0. The aggregate ``X.json`` leads the ``X_samples.jsonl``
next to it. A task is one evaluation name; a metric is a dimension, a sample a case, and
the lines of one sample on one metric are its rounds.

There is no pass rule: the format requires ``is_correct`` in every line, and converters
write false for every F1 (HELM's), or for every score below 1 (lm-evaluation-harness's).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_list,
    as_object,
    as_share,
    as_time,
    first_member,
    parse_float,
    some_of,
)
from promptlab.ingest.foreign.documents import ToolFiles, refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.runs_of_files import Files, Run
from promptlab.ingest.foreign.writing import CaseWriter, Record, RoundWriter, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source

FORMS = ("aggregate", "samples")

_FILES = ToolFiles("Every Eval Ever", "schema version 0.3.0")
_SAMPLES = "_samples.jsonl"
"""Suffix of the file of samples."""


def recognise(head: Head) -> str | None:
    """Results of a model; lines of samples that name an evaluation."""
    if head.has(b'"evaluation_results"'):
        keys = {"evaluation_results", "evaluation_id", "model_info"}
        return "aggregate" if keys <= head.keys else None
    keys = {"evaluation_id", "evaluation_name", "sample_id", "evaluation"}
    return "samples" if keys <= head.keys else None


def gather(files: Files) -> Iterator[Run]:
    """Group ``X_samples.jsonl`` with ``X.json``; all other files are separate runs."""
    samples = {file.path: file for file in files if file.form == "samples"}
    for file in files:
        if file.form == "aggregate":
            samples_file = samples.pop(
                file.path.with_name(file.path.stem + _SAMPLES), None
            )
            yield file, () if samples_file is None else (samples_file,)
    for file in samples.values():
        yield file, ()


class Metric(msgspec.Struct):
    """The meaning of a number."""

    lower_is_better: bool = False
    metric_id: str | None = None
    metric_name: str | None = None
    metric_parameters: Any = None
    score_type: str | None = None
    min_score: Any = None
    max_score: Any = None
    has_unknown_level: bool | None = None
    llm_scoring: Any = None

    @property
    def name(self) -> str:
        """Return its name among the metrics of its evaluation."""
        return self.metric_id or self.metric_name or "score"

    @property
    def with_parameters(self) -> str:
        """Return its name with its parameters, such as ``k=10``, if it has any."""
        parameters = as_object(self.metric_parameters)
        listed = ", ".join(f"{name}={value}" for name, value in parameters.items())
        return f"{self.name} ({listed})" if listed else self.name

    @property
    def judges(self) -> tuple[str, str]:
        """The models that judge, and their prompt."""
        judges = first_member(self.llm_scoring, "judges")
        listed = as_list(judges)
        models = [
            first_member(judge, "model_info.id", "model_info.name") for judge in listed
        ]
        template = first_member(self.llm_scoring, "input_prompt")
        return ", ".join(str(model) for model in models if model), str(template or "")

    def value_of(self, score: float | None) -> float | None:
        """Return a score; of levels -1 may be the unknown one."""
        return None if self.has_unknown_level and score == -1 else as_float(score)

    @property
    def is_graded(self) -> bool:
        """Its values are from 0 to 1, 1 best."""
        ends = (self.min_score, self.max_score)
        return not self.lower_is_better and (
            self.score_type == "binary" or ends in ((0, 1), (0.0, 1.0))
        )


class Result(msgspec.Struct):
    """One aggregate: a metric over an evaluation."""

    evaluation_name: str
    metric_config: dict[str, Any] = {}
    score_details: dict[str, Any] = {}
    evaluation_result_id: str | None = None
    evaluation_timestamp: Any = None
    generation_config: dict[str, Any] = {}
    metric: Metric = msgspec.field(name="", default_factory=Metric)
    """Read from the configuration, which is kept whole."""
    dimension: str = msgspec.field(name=" ", default="")

    def __post_init__(self) -> None:
        """Read the meaning of its number."""
        self.metric = msgspec.convert(self.metric_config, Metric)


class Aggregate(msgspec.Struct):
    """The leading file."""

    evaluation_id: str
    model_info: dict[str, Any]
    evaluation_results: list[Result]
    evaluation_timestamp: Any = None
    retrieved_timestamp: Any = None
    eval_library: dict[str, Any] = {}
    source_metadata: dict[str, Any] = {}
    detailed_evaluation_results: Any = None
    """Settings and size of the file of samples."""

    @property
    def when(self) -> datetime | None:
        """Return the time of the run, else of its last result, else of the file."""
        of_results = (_time(r.evaluation_timestamp) for r in self.evaluation_results)
        return (
            _time(self.evaluation_timestamp)
            or max(filter(None, of_results), default=None)
            or _time(self.retrieved_timestamp)
        )


def _time(value: Any) -> datetime | None:
    """Return a time: ISO 8601, or seconds since 1970, also as a text."""
    seconds = parse_float(value) if isinstance(value, str) else None
    return as_time(value if seconds is None else seconds)


class Judgement(msgspec.Struct):
    """The judgement of a line."""

    score: float | None = None
    is_correct: bool | None = None


class Line(msgspec.Struct):
    """One line: a sample with its result."""

    evaluation_id: str
    evaluation_name: str
    sample_id: str
    model_id: str = "unknown"
    evaluation_result_id: str | None = None
    input: dict[str, Any] = {}
    output: dict[str, Any] | None = None
    messages: list[dict[str, Any]] | None = None
    answer_attribution: list[dict[str, Any]] = []
    evaluation: Judgement = msgspec.field(default_factory=Judgement)
    token_usage: dict[str, Any] | None = None
    performance: dict[str, Any] | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def answer(self) -> str | None:
        """Return the first answer; in a conversation, the model's last message."""
        raw = (self.output or {}).get("raw")
        if isinstance(raw, list):
            return str(raw[0]) if raw else None
        messages = [
            message
            for message in reversed(self.messages or [])
            if message.get("content")
        ]
        of_model = [
            message for message in messages if message.get("role") == "assistant"
        ]
        return next((str(message["content"]) for message in of_model or messages), None)


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield each evaluation with samples; else one task of totals."""
    name = source.path.name
    if source.form == "samples":
        run = SampledRun(Aggregate("", {}, []), source)
        yield from run.samples([source.path])
        yield warning(
            "results_missing",
            f"{name} has no aggregate beside it, which says what its"
            f" numbers mean: give {name.removesuffix(_SAMPLES)}.json too",
            record_id=run.aggregate.evaluation_id,
        )
        return
    run = SampledRun(_FILES.document(source, Aggregate), source)
    yield from run.samples(source.companions)
    if not run.tasks:
        yield from run.totals_alone()


class SampledRun:
    """One aggregate with its samples."""

    def __init__(self, aggregate: Aggregate, source: Source) -> None:
        self.aggregate = aggregate
        self._source = source
        self._by_id = {r.evaluation_result_id: r for r in aggregate.evaluation_results}
        self._by_name: dict[str, list[Result]] = defaultdict(list)
        for result in aggregate.evaluation_results:
            self._by_name[result.evaluation_name].append(result)
        for results in self._by_name.values():
            _name_dimensions(results)
        self.tasks: dict[str, TaskWriter] = {}
        """The task of each evaluation with samples."""
        self._sampled: dict[str, dict[str, Result]] = defaultdict(dict)
        """Evaluation → dimension → its metric."""
        self._sampled_run = ""
        self._rounds: dict[tuple[str, str, int], RoundWriter] = {}
        """Evaluation, sample, number → round."""

    def samples(self, paths: Iterable[Path]) -> Iterator[Record | Problem]:
        """Yield the records of the samples, and their tasks."""
        n_lines = 0
        counts: Counter[tuple[str, str, str]] = Counter()
        for path in paths:
            for line in _FILES.lines(self._source, Line, path):
                n_lines += 1
                if isinstance(line, Problem):
                    yield line
                    continue
                self._check_run(line, path)
                result = self._result_of(line)
                key = (line.evaluation_name, line.sample_id, result.dimension)
                counts[key] += 1
                task = self._write(line, result, counts[key])
                yield from task.written()
        about = self.aggregate.detailed_evaluation_results
        total = as_int(first_member(about, "total_rows")) or 0
        samples = f"{self._source.path.stem}{_SAMPLES}"
        if self.tasks and total > n_lines:
            yield warning(
                "run_incomplete",
                f"{samples} has {n_lines} lines, and its aggregate says {total}: was it"
                " cut?",
            )
        for name, task in self.tasks.items():
            self._close(name, task)
        others = [name for name in self._by_name if name not in self.tasks]
        for task in self.tasks.values():
            if others:  # evaluations without samples have no task to go to
                task.warn(
                    "totals_only",
                    f"{self._source.path.name} holds totals of {some_of(others)}, and"
                    " the samples beside it have no line of that: nothing of it can be"
                    f" compared by case. Give all of {samples}",
                )
                others = []
            yield from task.written()

    def _check_run(self, line: Line, path: Path) -> None:
        """Refuse samples of two evaluations: they have the same ids."""
        about = self.aggregate
        if not about.evaluation_id:
            about.evaluation_id = line.evaluation_id
            about.model_info = {"id": line.model_id}
        self._sampled_run = self._sampled_run or line.evaluation_id
        if line.evaluation_id != self._sampled_run:
            raise refused(
                "two_runs",
                f"{path.name} holds samples of {self._sampled_run} and of"
                f" {line.evaluation_id}: give each a file of its own",
            )

    def _result_of(self, line: Line) -> Result:
        """Return the result of a line; one not in the aggregate has no scale."""
        own_id, named = line.evaluation_result_id, self._by_name[line.evaluation_name]
        if own_id and own_id in self._by_id:
            return self._by_id[own_id]
        if len(named) == 1:
            return named[0]
        return Result(line.evaluation_name, dimension=own_id or "score")

    def _write(self, line: Line, result: Result, n: int) -> TaskWriter:
        """Write a line: a score, and with the first of a round its answer."""
        name = line.evaluation_name
        if name not in self.tasks:
            task_id = f"{self.aggregate.evaluation_id}/{name}"
            self.tasks[name] = TaskWriter("every_eval_ever", task_id, self._source)
        task, dimension, metric = self.tasks[name], result.dimension, result.metric
        self._sampled[name].setdefault(dimension, result)
        value = metric.value_of(line.evaluation.score)
        task.same_run.add(line.sample_id, n, dimension, value)
        key = (name, line.sample_id, n)
        if key not in self._rounds:
            case = task.known(line.sample_id) or _case(line, task)
            self._rounds[key] = _round(line, case, n)
        self._rounds[key].score(
            dimension,
            value,
            as_share(value) if metric.is_graded else None,
            payload={"is_correct": line.evaluation.is_correct},
        )
        return task

    def _close(self, name: str, task: TaskWriter) -> None:
        """Write a task and its dimensions."""
        self._describe(name, self._by_name[name], task)
        sampled = self._sampled[name]
        for dimension, result in sampled.items():
            task.judge(dimension, *result.metric.judges)
        library = self.aggregate.eval_library.get("name", "unknown")
        task.grade(
            [name for name, result in sampled.items() if result.metric.is_graded],
            {
                name: "lower_better"
                if result.metric.lower_is_better
                else "higher_better"
                for name, result in sampled.items()
            },
            parameters={
                name: {
                    "metric": yardstick(result.metric_config, *_NO_YARDSTICK),
                    "library": library,
                }
                for name, result in sampled.items()
            },
        )
        _claim(self._by_name[name], task)

    def totals_alone(self) -> Iterable[Record | Problem]:
        """Write a task with totals and no cases."""
        aggregate = self.aggregate
        task = TaskWriter("every_eval_ever", aggregate.evaluation_id, self._source)
        self._describe(some_of(self._by_name) or "unknown", [], task)
        _claim(aggregate.evaluation_results, task)
        task.warn(
            "totals_only",
            f"{self._source.path.name} holds {len(aggregate.evaluation_results)} totals"
            " and no samples, so nothing can be compared by case. Give its"
            f" {self._source.path.stem}{_SAMPLES} too",
        )
        return task.written()

    def _describe(self, title: str, results: list[Result], task: TaskWriter) -> None:
        about = self.aggregate
        config = results[0].generation_config if results else {}
        model = about.model_info.get("id") or about.model_info.get("name")
        version = about.eval_library.get("version")
        details = as_object(config.get("additional_details"))
        arguments = as_object(config.get("generation_args"))
        settings = yardstick(
            {
                **as_object(about.model_info.get("additional_details")),
                "inference_platform": about.model_info.get("inference_platform"),
                **arguments,
                **details,
            },
            *_NO_SETTINGS,
        )
        task.describe(
            title,
            prompt_version=str(details.get("prompt_version", "unknown")),
            model=str(model or "unknown"),
            created_at=about.when,
            run_id=about.evaluation_id,
            settings=settings,
            tool_version=None if version in (None, "unknown") else str(version),
            extras=prompts.about(
                arguments.get("prompt_template"),
                source=about.source_metadata,
                eval_library=about.eval_library.get("name", "unknown"),
            ),
        )


def _name_dimensions(results: list[Result]) -> None:
    """Give each metric of an evaluation a name that no other one has.

    Their ids are the last choice: they may differ in every run.
    """
    names = Counter(result.metric.name for result in results)
    longer = Counter(result.metric.with_parameters for result in results)
    for result in results:
        metric = result.metric
        result.dimension = str(result.evaluation_result_id)
        if names[metric.name] == 1:
            result.dimension = metric.name
        elif longer[metric.with_parameters] == 1:
            result.dimension = metric.with_parameters


_NO_YARDSTICK = (
    *("evaluation_description", "metric_name", "level_metadata"),
    *("expert_baseline", "developer", "inference_platform", "inference_engine"),
    *("deployment_type", "model_availability"),
)
"""Members of a metric's configuration that do not change its results."""
_NO_SETTINGS = (
    *("prompt_template", "prompt_version", "execution_command"),
    *("deployment_type", "model_availability"),
)
_NO_INPUT = ("raw", "reference", "formatted")
"""The question and the golden answer, which are read separately, and the prompt as
the model sees it, which is not the case."""


def _case(line: Line, task: TaskWriter) -> CaseWriter:
    """Write a sample as a case, with the expected answer."""
    inputs = {"input": line.input.get("raw")} | {
        name: value
        for name, value in line.input.items()
        if name not in _NO_INPUT and value is not None
    }
    tags = (line.metadata or {}).get("tags")
    references = line.input.get("reference")
    golden = references if isinstance(references, list) and references else None
    return task.case(
        line.sample_id,
        inputs,
        golden=golden[0] if golden is not None and len(golden) == 1 else golden,
        tags=[] if tags is None else [tag for tag in str(tags).split(",") if tag],
    )


def _round(line: Line, case: CaseWriter, n: int) -> RoundWriter:
    """Write the answer of a line."""
    tokens, timing = line.token_usage or {}, line.performance or {}
    beside = {"messages": line.messages, "answer_attribution": line.answer_attribution}
    return case.round(
        line.answer,
        n=n,
        input_tokens=tokens.get("input_tokens"),
        output_tokens=tokens.get("output_tokens"),
        latency_ms=timing.get("latency_ms"),
        metadata={**(line.metadata or {}), **{k: v for k, v in beside.items() if v}},
        error=line.error,
    )


def _claim(results: Iterable[Result], task: TaskWriter) -> None:
    """Hand over the number of samples, and the scores that are means."""
    means, counts = {}, [0]
    for result in results:
        about = result.score_details
        counts.append(as_int(first_member(about, "uncertainty.num_samples")) or 0)
        if first_member(about, "details.aggregation") in (None, "mean"):
            means[result.dimension] = about.get("score")
    task.claim(means, max(counts) or None)
