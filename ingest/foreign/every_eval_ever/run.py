"""An aggregate with its samples: tasks, rounds, verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.copies import OwnIds
from promptlab.ingest.foreign.documents import integer, number, on_scale, time
from promptlab.ingest.foreign.every_eval_ever.rows import (
    parsed,
    write_case,
    write_round,
    write_totals,
)
from promptlab.ingest.foreign.every_eval_ever.structs import (
    FILES,
    SAMPLES,
    Aggregate,
    Line,
    Metric,
    Result,
)
from promptlab.ingest.foreign.identity import some_of
from promptlab.ingest.foreign.records import Direction, Record, Status
from promptlab.ingest.foreign.writing import RoundWriter, TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_Key = tuple[str, str, int]
"""Evaluation, sample, round."""


@dataclass
class _OpenEvaluation:
    """An evaluation whose samples are being read."""

    name: str
    task: TaskWriter
    rounds: dict[tuple[str, int], RoundWriter] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    """Dimension → what its numbers mean."""


class SampledRun:
    """One aggregate with its samples.

    Args:
        aggregate: The leading file, where there is one.
        source: The file that leads.
    """

    def __init__(self, aggregate: Aggregate | None, source: Source) -> None:
        self.aggregate = aggregate or Aggregate("", {}, [])
        self._source = source
        self.open: dict[str, _OpenEvaluation] = {}
        self._verdicts: dict[_Key, Status | None] = {}
        results = self.aggregate.evaluation_results
        self._by_id = {r.evaluation_result_id: r for r in results}
        self._by_name: dict[str, list[Result]] = defaultdict(list)
        for result in results:
            self._by_name[result.evaluation_name].append(result)

    def samples(self, paths: Iterable[Path]) -> Iterator[Record | Problem]:
        """Every line, read twice: the verdict of a round is over all of its lines."""
        paths = list(paths)
        for line in self._lines(paths):
            if not isinstance(line, Problem):
                self._see(*line)
        for line in self._lines(paths):
            if isinstance(line, Problem):
                yield line
            else:
                yield from self._write(*line)
        for place, opened in enumerate(self.open.values()):
            self._close(opened)
            if place == 0:  # evaluations without samples have no task to go to
                for name, results in self._by_name.items():
                    if name not in self.open:
                        write_totals(results, opened.task)
            yield from opened.task.written()

    def _lines(
        self, paths: Iterable[Path]
    ) -> Iterator[tuple[Line, str, int] | Problem]:
        """Each line with its dimension and its round's number."""
        seen: dict[tuple[str, str, str], int] = defaultdict(int)
        ids = OwnIds("sample, metric and round")
        for path in paths:
            for line in FILES.lines(self._source, Line, path):
                if isinstance(line, Problem):
                    yield line
                    continue
                if not self.aggregate.evaluation_id:
                    self.aggregate.evaluation_id = line.evaluation_id
                    self.aggregate.model_info = {"id": line.model_id}
                dimension = self._dimension(line)
                key = (line.evaluation_name, line.sample_id, dimension)
                numbered = integer(parsed((line.metadata or {}).get("round")))
                if numbered and ids.again(line.sample_id, *key, numbered):
                    continue
                seen[key] += 1
                yield line, dimension, numbered or seen[key]
        yield from ids.problems()

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
        return result.metric if len(same) == 1 else str(line.evaluation_result_id)

    def _see(self, line: Line, _dimension: str, run_index: int) -> None:
        key = (line.evaluation_name, line.sample_id, run_index)
        verdict = (line.metadata or {}).get("verdict")
        if verdict in get_args(Status):
            self._verdicts[key] = verdict
        elif line.error is not None:
            self._verdicts[key] = "error"
        elif line.evaluation.is_correct is not None:
            before = self._verdicts.get(key)
            if before in (None, "pass"):
                self._verdicts[key] = "pass" if line.evaluation.is_correct else "fail"

    def _write(
        self, line: Line, dimension: str, run_index: int
    ) -> Iterable[Record | Problem]:
        opened = self._opened(line.evaluation_name)
        task, result = opened.task, self._result(line)
        metric = Metric() if result is None else result.metric_config
        opened.metrics.setdefault(dimension, metric)
        value = number(line.evaluation.score)
        task.same_run.add(line.sample_id, run_index, dimension, value)
        key = (line.sample_id, run_index)
        if key not in opened.rounds:
            verdict = self._verdicts.get((line.evaluation_name, *key))
            case = task.known(line.sample_id) or write_case(line, task)
            opened.rounds[key] = write_round(line, case, run_index, verdict)
        answer = opened.rounds[key]
        answer.score(dimension, value, on_scale(value) if metric.is_graded else None)
        if result is not None and "verdict" not in (line.metadata or {}):
            correct = line.evaluation.is_correct
            place = list(opened.metrics).index(dimension)
            answer.check(dimension, "is_correct", correct, place=place, score=value)
        return task.written()

    def _opened(self, name: str) -> _OpenEvaluation:
        if name not in self.open:
            task_id = f"{self.aggregate.evaluation_id}/{name}"
            task = TaskWriter("every_eval_ever", task_id, self._source)
            self.open[name] = _OpenEvaluation(name, task)
        return self.open[name]

    def _describe(self, title: str, task: TaskWriter) -> None:
        aggregate = self.aggregate
        result = next(iter(self._by_name[title]), None)
        config = result.generation_config if result else {}
        details, arguments = (
            each if isinstance(each := config.get(name), dict) else {}
            for name in ("additional_details", "generation_args")
        )
        library = aggregate.eval_library
        task.describe(
            title,
            prompt_version=str(details.get("prompt_version", "unknown")),
            model=aggregate.model,
            created_at=self._when(),
            run_id=aggregate.evaluation_id,
            tool_version=None if library.version == "unknown" else library.version,
            extras=prompts.about(
                arguments.get("prompt_template"),
                source=aggregate.source_metadata,
                eval_library=library.name,
            ),
        )

    def _when(self) -> Any:
        about = self.aggregate
        stamps = (about.evaluation_timestamp, about.retrieved_timestamp)
        return next(filter(None, (time(parsed(each)) for each in stamps)), None)

    def _close(self, opened: _OpenEvaluation) -> None:
        task, metrics = opened.task, opened.metrics
        self._describe(opened.name, task)
        graded = [name for name, metric in metrics.items() if metric.is_graded]
        directions: dict[str, Direction] = {
            name: "lower_better" if metric.lower_is_better else "higher_better"
            for name, metric in metrics.items()
        }
        weights = {name: _weight(metrics[name], len(graded)) for name in graded}
        task.grade(graded, directions, weights)
        write_totals(self._by_name[opened.name], task, metrics)

    def totals_alone(self) -> Iterable[Record | Problem]:
        """One task that has totals and no cases."""
        aggregate = self.aggregate
        task = TaskWriter("every_eval_ever", aggregate.evaluation_id, self._source)
        self._describe(some_of(self._by_name) or "unknown", task)
        write_totals(aggregate.evaluation_results, task)
        task.warn(
            "totals_only",
            f"{self._source.path.name} holds {len(aggregate.evaluation_results)} totals"
            " and no samples, so nothing can be compared by case. Give its"
            f" {self._source.path.stem}{SAMPLES} too",
        )
        return task.written()


def _weight(metric: Metric, of: int) -> float:
    """Its share of an overall score: as promptlab wrote it, or equal shares."""
    weight = number(parsed(metric.additional_details.get("weight")))
    return 1 / of if weight is None or not 0 <= weight <= 1 else weight
