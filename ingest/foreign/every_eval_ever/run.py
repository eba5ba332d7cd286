"""An aggregate with its samples: tasks, rounds, verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from ingest.foreign import prompts
from ingest.foreign.documents import (
    decode,
    integer,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.every_eval_ever.rows import case_of, parsed, round_of, totals_of
from ingest.foreign.every_eval_ever.structs import (
    SAMPLES,
    VERSIONS,
    Aggregate,
    Line,
    Metric,
    Result,
)
from ingest.foreign.files import lines
from ingest.foreign.identity import SameRun
from ingest.foreign.records import Check, Dimension, Record, Score, Status, Task
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

_Key = tuple[str, str, int]
"""Evaluation, sample, round."""


@dataclass
class _OpenEvaluation:
    """An evaluation whose samples are being read."""

    name: str
    task_id: str
    same_run: SameRun
    cases: set[str] = field(default_factory=set)
    rounds: set[tuple[str, int]] = field(default_factory=set)
    dimensions: dict[str, Metric] = field(default_factory=dict)


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
                yield from self._line(*line)
        for number_of, task in enumerate(self.open.values()):
            yield self._task(task)
            yield from self._closing(task, is_first=number_of == 0)

    def _lines(
        self, paths: Iterable[Path]
    ) -> Iterator[tuple[Line, str, int] | Problem]:
        """Each line with its dimension and its round's number."""
        seen: dict[tuple[str, str, str], int] = defaultdict(int)
        for path in paths:
            for place, written in lines(self._source, path):
                try:
                    line = decode(written, Line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
                    yield shape_problem(
                        e,
                        "Every Eval Ever",
                        VERSIONS,
                        line=place,
                        pointer=path.name,
                        raw=written,
                    )
                    continue
                if not self.aggregate.evaluation_id:
                    self.aggregate.evaluation_id = line.evaluation_id
                    self.aggregate.model_info = {"id": line.model_id}
                dimension = self._dimension(line)
                key = (line.evaluation_name, line.sample_id, dimension)
                seen[key] += 1
                numbered = integer(parsed((line.metadata or {}).get("round")))
                yield line, dimension, numbered or seen[key]

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
        told = (line.metadata or {}).get("verdict")
        if told in get_args(Status):
            self._verdicts[key] = told
        elif line.error is not None:
            self._verdicts[key] = "error"
        elif line.evaluation.is_correct is not None:
            before = self._verdicts.get(key)
            if before in (None, "pass"):
                self._verdicts[key] = "pass" if line.evaluation.is_correct else "fail"

    def _line(self, line: Line, dimension: str, run_index: int) -> Iterator[Record]:
        task = self._opened(line.evaluation_name)
        case_id, round_id = line.sample_id, f"{line.sample_id}-{run_index}"
        result = self._result(line)
        metric = Metric() if result is None else result.metric_config
        task.dimensions.setdefault(dimension, metric)
        value = number(line.evaluation.score)
        task.same_run.add(case_id, run_index, dimension, value)
        if case_id not in task.cases:
            task.cases.add(case_id)
            yield from case_of(line, task.task_id, len(task.cases) - 1)
        if (case_id, run_index) not in task.rounds:
            task.rounds.add((case_id, run_index))
            verdict = self._verdicts.get((line.evaluation_name, case_id, run_index))
            yield round_of(line, task.task_id, round_id, run_index, verdict)
        yield Score(
            task_id=task.task_id,
            case_id=case_id,
            round_id=round_id,
            dimension_id=dimension,
            value=value,
            score=on_scale(value) if metric.is_graded else None,
        )
        if result is not None and "verdict" not in (line.metadata or {}):
            yield Check(
                task_id=task.task_id,
                case_id=case_id,
                round_id=round_id,
                position=list(task.dimensions).index(dimension),
                name=dimension,
                type="is_correct",
                passed=line.evaluation.is_correct,
                score=value,
            )

    def _opened(self, name: str) -> _OpenEvaluation:
        if name not in self.open:
            task_id = f"{self.aggregate.evaluation_id}/{name}"
            same_run = SameRun("every_eval_ever", task_id)
            self.open[name] = _OpenEvaluation(name, task_id, same_run)
        return self.open[name]

    def _task(self, task: _OpenEvaluation) -> Task:
        aggregate = self.aggregate
        result = next(iter(self._by_name[task.name]), None)
        said = result.generation_config if result else {}
        details, arguments = (
            each if isinstance(each := said.get(name), dict) else {}
            for name in ("additional_details", "generation_args")
        )
        library = aggregate.eval_library
        return Task(
            task_id=task.task_id,
            source_kind="every_eval_ever",
            title=task.name,
            prompt_version=str(details.get("prompt_version", "unknown")),
            model=aggregate.model,
            created_at=self._when(),
            run_id=aggregate.evaluation_id,
            run_hash=task.same_run.hash(),
            tool_version=None if library.version == "unknown" else library.version,
            extras=text(
                prompts.about(
                    arguments.get("prompt_template"),
                    source=aggregate.source_metadata,
                    eval_library=library.name,
                )
            ),
        )

    def _when(self) -> Any:
        said = (self.aggregate.evaluation_timestamp, self.aggregate.retrieved_timestamp)
        times = (time(parsed(each)) for each in said)
        return next((each for each in times if each), self._source.modified_at)

    def _closing(self, task: _OpenEvaluation, *, is_first: bool) -> Iterator[Record]:
        graded = [n for n, metric in task.dimensions.items() if metric.is_graded]
        for position, (name, metric) in enumerate(task.dimensions.items()):
            yield Dimension(
                task_id=task.task_id,
                dimension_id=name,
                position=position,
                name=name,
                weight=_weight(metric, len(graded)) if name in graded else 0.0,
                is_graded=name in graded,
                direction="lower_better" if metric.lower_is_better else "higher_better",
            )
        places = count()
        for result in self._by_name[task.name]:
            yield from totals_of(result, task.task_id, places, set(task.dimensions))
        if is_first:  # evaluations without samples have no task to go to
            for name, results in self._by_name.items():
                for result in results if name not in self.open else ():
                    yield from totals_of(result, task.task_id, places, set())

    def totals_alone(self) -> Iterator[Record | Problem]:
        """One task that has totals and no cases."""
        aggregate = self.aggregate
        names = list(self._by_name)
        title = ", ".join(names[:3])
        if names[3:]:
            title += f" and {len(names) - 3} more"
        run_id = aggregate.evaluation_id
        task = _OpenEvaluation(
            title or "unknown", run_id, SameRun("every_eval_ever", run_id)
        )
        yield self._task(task)
        places = count()
        for result in aggregate.evaluation_results:
            yield from totals_of(result, run_id, places, set())
        yield Problem(
            "totals_only",
            f"{self._source.path.name} holds {len(aggregate.evaluation_results)} totals"
            " and no samples, so nothing can be compared by case. Give its"
            f" {self._source.path.stem}{SAMPLES} too",
            severity="warning",
            record_id=run_id,
        )


def _weight(metric: Metric, of: int) -> float:
    """Its share of an overall score: as promptlab wrote it, or equal shares."""
    told = number(parsed(metric.additional_details.get("weight")))
    return 1 / of if told is None or not 0 <= told <= 1 else told
