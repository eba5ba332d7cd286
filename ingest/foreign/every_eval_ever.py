"""Every Eval Ever: an aggregate JSON, and one JSONL line per sample and result.

Tried on schema version 0.3.0. The aggregate ``X.json`` leads the ``X_samples.jsonl``
next to it. A task is one evaluation name; a metric is a dimension, a sample a case, and
the lines of one sample on one metric are its rounds. The verdict of
a round is ``is_correct`` of its lines, without those of metrics that only grade.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_object,
    as_share,
    as_time,
    first_member,
)
from promptlab.ingest.foreign.documents import (
    ToolFiles,
    refused,
)
from promptlab.ingest.foreign.identity import some_of
from promptlab.ingest.foreign.registry import Files, Head, Run
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Direction,
    Record,
    RoundWriter,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source

FILES = ToolFiles("Every Eval Ever", "schema version 0.3.0")
SAMPLES = "_samples.jsonl"
"""Suffix of the file of samples."""


class Metric(msgspec.Struct):
    """The meaning of a number."""

    lower_is_better: bool = False
    metric_id: str | None = None
    metric_name: str | None = None
    score_type: str | None = None
    min_score: Any = None
    max_score: Any = None
    has_unknown_level: bool | None = None
    llm_scoring: Any = None
    said: dict[str, Any] = {}
    """All of its configuration."""

    @property
    def judges(self) -> tuple[str, str]:
        """The models that judge, and their prompt."""
        judges = first_member(self.llm_scoring, "judges")
        listed = judges if isinstance(judges, list) else ()
        models = [
            first_member(each, "model_info.id", "model_info.name") for each in listed
        ]
        template = first_member(self.llm_scoring, "input_prompt")
        return ", ".join(str(each) for each in models if each), str(template or "")

    @property
    def judging(self) -> dict[str, Any]:
        """All that decides, also of the models that judge."""
        return dict(yardstick(self.said, *_NO_YARDSTICK))

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


_NO_YARDSTICK = (
    *("evaluation_description", "metric_name", "level_metadata"),
    *("expert_baseline", "developer", "inference_platform", "inference_engine"),
    *("deployment_type", "model_availability"),
)
"""What decides nothing in the configuration of a metric."""


class Result(msgspec.Struct):
    """One aggregate: a metric over an evaluation."""

    evaluation_name: str
    config: dict[str, Any] = msgspec.field(name="metric_config")
    metric_config: Metric = msgspec.field(name="", default_factory=Metric)
    score_details: dict[str, Any] = {}
    evaluation_result_id: str | None = None
    evaluation_timestamp: Any = None
    generation_config: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Read the configuration, and keep all of it."""
        self.metric_config = msgspec.convert(self.config, Metric)
        self.metric_config.said = self.config

    @property
    def metric(self) -> str:
        """Return its name among the metrics of its evaluation."""
        config = self.metric_config
        return config.metric_id or config.metric_name or "score"

    @property
    def metric_with_parameters(self) -> str:
        """Return what tells it from another metric of its name: ``k=10``."""
        parameters = as_object(self.config.get("metric_parameters"))
        listed = ", ".join(f"{name}={each}" for name, each in parameters.items())
        return f"{self.metric} ({listed})" if listed else self.metric


class Library(msgspec.Struct):
    """The software that ran the evaluation."""

    name: str = "unknown"
    version: str = "unknown"


class Aggregate(msgspec.Struct):
    """The leading file."""

    evaluation_id: str
    model_info: dict[str, Any]
    evaluation_results: list[Result]
    evaluation_timestamp: Any = None
    retrieved_timestamp: Any = None
    eval_library: Library = msgspec.field(default_factory=Library)
    source_metadata: dict[str, Any] = {}
    detailed_evaluation_results: Any = None
    """What is said of the file of samples."""

    @property
    def model(self) -> str:
        """The public name of the model."""
        said = self.model_info.get("id") or self.model_info.get("name")
        return str(said or "unknown")


class Said(msgspec.Struct):
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
    evaluation: Said = msgspec.field(default_factory=Said)
    token_usage: dict[str, Any] | None = None
    performance: dict[str, Any] | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None


_NO_INPUT = ("raw", "reference", "formatted")
"""The golden answer, and the prompt as the model sees it, which is not the case."""


def write_case(line: Line, task: TaskWriter) -> CaseWriter:
    """Write a sample as a case, with the expected answer."""
    asked = {
        "choices": line.input.get("choices"),
        **{name: each for name, each in line.input.items() if name not in _NO_INPUT},
    }
    tags = (line.metadata or {}).get("tags")
    references = line.input.get("reference")
    golden = references if isinstance(references, list) and references else None
    return task.case(
        line.sample_id,
        {"input": line.input.get("raw")}
        | {name: each for name, each in asked.items() if each is not None},
        golden=golden[0] if golden is not None and len(golden) == 1 else golden,
        tags=[] if tags is None else [each for each in str(tags).split(",") if each],
    )


def write_round(
    line: Line, case: CaseWriter, run_index: int, verdict: Status | None
) -> RoundWriter:
    """Write the answer of a line."""
    tokens, timing = line.token_usage or {}, line.performance or {}
    kept: dict[str, Any] = dict(line.metadata or {})
    if line.messages:
        kept["messages"] = line.messages
    if line.answer_attribution:
        kept["answer_attribution"] = line.answer_attribution
    return case.round(
        _answer(line),
        n=run_index,
        input_tokens=as_int(tokens.get("input_tokens")),
        output_tokens=as_int(tokens.get("output_tokens")),
        latency_ms=as_float(timing.get("latency_ms")),
        metadata=kept,
        error=line.error,
        status=verdict,
    )


def _answer(line: Line) -> str | None:
    """Return the first answer; in a conversation, the model's last message."""
    raw = (line.output or {}).get("raw")
    if isinstance(raw, list):
        return str(raw[0]) if raw else None
    said = [each for each in reversed(line.messages or []) if each.get("content")]
    of_model = [each for each in said if each.get("role") == "assistant"]
    return next((str(each["content"]) for each in of_model or said), None)


def _claim(
    results: Iterable[Result], task: TaskWriter, dimensions: Collection[str] = ()
) -> None:
    """Hand over the number of samples, and the scores that are means."""
    means, counts = {}, []
    for result in results:
        details = result.score_details
        uncertainty = as_object(details.get("uncertainty"))
        counts.append(as_int(uncertainty.get("num_samples")) or 0)
        names = (
            result.metric,
            result.metric_with_parameters,
            result.evaluation_result_id,
        )
        known = next((name for name in names if name in dimensions), None)
        aggregation = as_object(details.get("details")).get("aggregation", "mean")
        if known is not None and aggregation == "mean":
            means[known] = details.get("score")
    task.claim(means, max(counts, default=0) or None)


def parsed(value: Any) -> Any:
    """Convert a number written as text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _time(value: Any) -> datetime | None:
    return as_time(parsed(value))


_Key = tuple[str, str, int]
"""Evaluation, sample, round."""
_Outcomes = frozenset[tuple[str, bool]]
"""The metrics of a round, each with its ``is_correct``."""


def _only_grades(said: Collection[tuple[float | None, bool]]) -> bool:
    """Return whether a metric has no pass rule: every line has to say ``is_correct``.

    HELM's converter says false of every F1 and ROUGE, that of lm-evaluation-harness of
    all below 1. A metric with a threshold calls something between correct.

    Args:
        said: Scores, 0, 1 or ``None`` for any other, with what is said of them.
    """
    if any(score is None for score, _ in said):
        return (None, True) not in said
    return {*said} == {(0, False), (1, False)}


class SampledRun:
    """One aggregate with its samples."""

    def __init__(self, aggregate: Aggregate | None, source: Source) -> None:
        self.aggregate = aggregate or Aggregate("", {}, [])
        self._source = source
        self.tasks: dict[str, TaskWriter] = {}
        """The task of each evaluation with samples."""
        self._metrics: dict[str, dict[str, Metric]] = defaultdict(dict)
        """Evaluation → dimension → the meaning of its numbers."""
        self._rounds: dict[_Key, RoundWriter] = {}
        self._errors: set[_Key] = set()
        self._outcomes: dict[_Key, _Outcomes] = {}
        self._same: dict[_Outcomes, _Outcomes] = {}
        """Each of them once: most rounds have the same."""
        self._said: dict[tuple[str, str], set[tuple[float | None, bool]]] = {}
        """Evaluation, dimension → its scores, each with its ``is_correct``."""
        results = self.aggregate.evaluation_results
        self._by_id = {r.evaluation_result_id: r for r in results}
        self._by_name: dict[str, list[Result]] = defaultdict(list)
        for result in results:
            self._by_name[result.evaluation_name].append(result)

    def samples(self, paths: Iterable[Path]) -> Iterator[Record | Problem]:
        """Yield records; lines are read twice, as a verdict covers several lines."""
        paths = list(paths)
        n_lines = 0
        for line in self._lines(paths):
            n_lines += not isinstance(line, Problem) or line.severity == "reject"
            if not isinstance(line, Problem):
                self._see(*line)
        of_file = as_object(self.aggregate.detailed_evaluation_results)
        total = as_int(of_file.get("total_rows")) or 0
        if total > n_lines:
            yield warning(
                "run_incomplete",
                f"{paths[0].name} has {n_lines} lines, and its aggregate says {total}:"
                " was it cut?",
            )
        for line in self._lines(paths):
            if isinstance(line, Problem):
                yield line
            else:
                yield from self._write(*line)
        for place, (name, task) in enumerate(self.tasks.items()):
            self._close(name, task)
            if place == 0:  # evaluations without samples have no task to go to
                self._name_others(task)
            yield from task.written()

    def _name_others(self, task: TaskWriter) -> None:
        """Name the evaluations without samples."""
        others = [name for name in self._by_name if name not in self.tasks]
        if others:
            task.warn(
                "totals_only",
                f"{self._source.path.name} holds totals of {some_of(others)}, and the"
                " samples beside it have no line of that: nothing of it can be compared"
                f" by case. Give all of {self._source.path.stem}{SAMPLES}",
            )

    def _lines(
        self, paths: Iterable[Path]
    ) -> Iterator[tuple[Line, str, int] | Problem]:
        """Yield each line with its dimension and its round's number."""
        seen: dict[tuple[str, str, str], int] = defaultdict(int)
        first: str | None = None
        for path in paths:
            for line in FILES.lines(self._source, Line, path):
                if isinstance(line, Problem):
                    yield line
                    continue
                first = first or line.evaluation_id
                if line.evaluation_id != first:
                    # samples of two evaluations have the same ids
                    raise refused(
                        "two_runs",
                        f"{path.name} holds samples of {first} and of"
                        f" {line.evaluation_id}: give each a file of its own",
                    )
                if not self.aggregate.evaluation_id:
                    self.aggregate.evaluation_id = line.evaluation_id
                    self.aggregate.model_info = {"id": line.model_id}
                dimension = self._dimension(line)
                key = (line.evaluation_name, line.sample_id, dimension)
                seen[key] += 1
                yield line, dimension, seen[key]

    def _result(self, line: Line) -> Result | None:
        if line.evaluation_result_id in self._by_id and line.evaluation_result_id:
            return self._by_id[line.evaluation_result_id]
        named = self._by_name[line.evaluation_name]
        return named[0] if len(named) == 1 else None

    def _dimension(self, line: Line) -> str:
        result = self._result(line)
        if result is None:
            return line.evaluation_result_id or "score"
        same = [
            each
            for each in self._by_name[result.evaluation_name]
            if each.metric == result.metric
        ]
        if len(same) == 1:
            return result.metric
        named = [each.metric_with_parameters for each in same]
        if len({*named}) == len(named):  # ids may be others in every run
            return result.metric_with_parameters
        return str(line.evaluation_result_id)

    def _see(self, line: Line, dimension: str, run_index: int) -> None:
        key = (line.evaluation_name, line.sample_id, run_index)
        if line.error is not None:
            self._errors.add(key)
        if (is_correct := line.evaluation.is_correct) is not None:
            seen = self._outcomes.get(key, frozenset()) | {(dimension, is_correct)}
            self._outcomes[key] = self._same.setdefault(seen, seen)
            result = self._result(line)
            metric = Metric() if result is None else result.metric_config
            score = metric.value_of(line.evaluation.score)
            if line.error is None and score is not None:
                said = self._said.setdefault((line.evaluation_name, dimension), set())
                said.add((score if score in (0, 1) else None, is_correct))

    def _counted(self, key: _Key) -> _Outcomes:
        """Return the outcomes of a round that are its verdict."""
        outcomes = self._outcomes.get(key, frozenset())
        counted = {
            (dimension, is_correct)
            for dimension, is_correct in outcomes
            if not _only_grades(self._said.get((key[0], dimension), ()))
        }
        return frozenset(counted) or outcomes

    def _verdict(self, key: _Key) -> Status | None:
        if key in self._errors:
            return "error"
        if not (counted := self._counted(key)):
            return None
        return "pass" if all(is_correct for _, is_correct in counted) else "fail"

    def _write(
        self, line: Line, dimension: str, run_index: int
    ) -> Iterable[Record | Problem]:
        name = line.evaluation_name
        if name not in self.tasks:
            task_id = f"{self.aggregate.evaluation_id}/{name}"
            self.tasks[name] = TaskWriter("every_eval_ever", task_id, self._source)
        task, result, metrics = (
            self.tasks[name],
            self._result(line),
            self._metrics[name],
        )
        metric = Metric() if result is None else result.metric_config
        metrics.setdefault(dimension, metric)
        value = metric.value_of(line.evaluation.score)
        task.same_run.add(line.sample_id, run_index, dimension, value)
        key = (name, line.sample_id, run_index)
        if key not in self._rounds:
            verdict = self._verdict(key)
            case = task.known(line.sample_id) or write_case(line, task)
            self._rounds[key] = write_round(line, case, run_index, verdict)
        answer = self._rounds[key]
        answer.score(dimension, value, as_share(value) if metric.is_graded else None)
        correct = line.evaluation.is_correct
        counts = correct is None or (dimension, correct) in self._counted(key)
        if result is not None and counts:
            place = list(metrics).index(dimension)
            answer.check(dimension, "is_correct", correct, place=place, score=value)
        return task.written()

    def _describe(self, title: str, task: TaskWriter) -> None:
        aggregate = self.aggregate
        result = next(iter(self._by_name[title]), None)
        config = result.generation_config if result else {}
        details = as_object(config.get("additional_details"))
        arguments = as_object(config.get("generation_args"))
        library = aggregate.eval_library
        task.describe(
            title,
            prompt_version=str(details.get("prompt_version", "unknown")),
            model=aggregate.model,
            created_at=self._when(),
            run_id=aggregate.evaluation_id,
            settings=_settings(aggregate, config),
            tool_version=None if library.version == "unknown" else library.version,
            extras=prompts.about(
                arguments.get("prompt_template"),
                source=aggregate.source_metadata,
                eval_library=library.name,
            ),
        )

    def _when(self) -> datetime | None:
        """Return the time of the run, else of its last result, else of the file."""
        about = self.aggregate
        of_results = (_time(r.evaluation_timestamp) for r in about.evaluation_results)
        return (
            _time(about.evaluation_timestamp)
            or max(filter(None, of_results), default=None)
            or _time(about.retrieved_timestamp)
        )

    def _close(self, name: str, task: TaskWriter) -> None:
        metrics = self._metrics[name]
        self._describe(name, task)
        graded = [each for each, metric in metrics.items() if metric.is_graded]
        directions: dict[str, Direction] = {
            each: "lower_better" if metric.lower_is_better else "higher_better"
            for each, metric in metrics.items()
        }
        for dimension, metric in metrics.items():
            task.judge(dimension, *metric.judges)
        task.grade(
            graded,
            directions,
            parameters={
                each: {
                    "metric": metric.judging,
                    "library": self.aggregate.eval_library.name,
                }
                for each, metric in metrics.items()
            },
        )
        _claim(self._by_name[name], task, metrics)

    def totals_alone(self) -> Iterable[Record | Problem]:
        """Write a task with totals and no cases."""
        aggregate = self.aggregate
        task = TaskWriter("every_eval_ever", aggregate.evaluation_id, self._source)
        self._describe(some_of(self._by_name) or "unknown", task)
        _claim(aggregate.evaluation_results, task)
        task.warn(
            "totals_only",
            f"{self._source.path.name} holds {len(aggregate.evaluation_results)} totals"
            " and no samples, so nothing can be compared by case. Give its"
            f" {self._source.path.stem}{SAMPLES} too",
        )
        return task.written()


def _settings(aggregate: Aggregate, config: dict[str, Any]) -> dict[str, Any]:
    """Return how answers are generated, and where the model runs."""
    about = aggregate.model_info
    said: dict[str, Any] = yardstick(
        {
            **as_object(about.get("additional_details")),
            "inference_platform": about.get("inference_platform"),
            **as_object(config.get("generation_args")),
            **as_object(config.get("additional_details")),
        },
        *("prompt_template", "prompt_version", "execution_command"),
        *("deployment_type", "model_availability"),
    )
    return said


FORMS = ("aggregate", "samples")


def recognise(head: Head) -> str | None:
    """Results of a model; lines of samples that name an evaluation."""
    if head.has(b'"evaluation_results"'):
        keys = {"evaluation_results", "evaluation_id", "model_info"}
        return "aggregate" if keys <= head.keys else None
    keys = {"evaluation_id", "evaluation_name", "sample_id", "evaluation"}
    return "samples" if keys <= head.keys else None


def gather(files: Files) -> Iterator[Run]:
    """``X.json`` leads ``X_samples.jsonl``; others stand alone."""
    samples = {file.path: file for file in files if file.form == "samples"}
    for file in files:
        if file.form == "aggregate":
            own = samples.pop(file.path.with_name(file.path.stem + SAMPLES), None)
            yield file, () if own is None else (own,)
    for file in samples.values():
        yield file, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield each evaluation with samples; else one task of totals."""
    if source.form == "samples":
        run = SampledRun(None, source)
        yield from run.samples([source.path])
        run_id = run.aggregate.evaluation_id
        yield warning(
            "results_missing",
            f"{source.path.name} has no aggregate beside it, which says what its"
            f" numbers mean: give {source.path.name.removesuffix(SAMPLES)}.json too",
            record_id=run_id,
        )
        return
    run = SampledRun(FILES.document(source, Aggregate), source)
    if source.companions:
        yield from run.samples(source.companions)
    if not run.tasks:
        yield from run.totals_alone()
