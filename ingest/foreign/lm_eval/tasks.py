"""One harness task: its documents, its metrics, and what the results claim of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ingest.foreign import prompts
from ingest.foreign.documents import (
    decode,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import lines
from ingest.foreign.grading import dimension_records
from ingest.foreign.identity import Occurrences, SameRun, content_id, joined_texts
from ingest.foreign.lm_eval.structs import Results, Row
from ingest.foreign.records import (
    Baseline,
    Case,
    Direction,
    Record,
    Round,
    Rule,
    Score,
    Task,
    Total,
)
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

VERSIONS = "0.4.13 and 0.3"

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


class HarnessTask:
    """One harness task.

    Args:
        task_id: Of the task that it becomes.
        name: As the harness knows it.
        results: The results of its run, where they are there.
    """

    def __init__(self, task_id: str, name: str, results: Results | None) -> None:
        self._task_id = task_id
        self._name = name
        self._results = results
        self._cases: dict[Any, str] = {}
        self._rounds: dict[str, list[str]] = {}  # of each case
        self._dimensions: dict[str, str] = {}
        self._seen = Occurrences()
        self._same_run = SameRun("lm_eval", task_id)

    def rows(self, source: Source, path: Path) -> Iterator[Record | Problem]:
        """Cases, rounds and scores of a samples file."""
        for line, written in lines(source, path):
            try:
                members = decode(written, dict[str, Any])
                yield from self._row(msgspec.convert(members, Row), members)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                yield shape_problem(
                    error,
                    "lm-eval",
                    VERSIONS,
                    line=line,
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
            self._rounds[case_id] = []
            for n, output in enumerate(_responses(row), start=1):
                self._rounds[case_id].append(f"{case_id}-{n}")
                yield Round(
                    task_id=task_id,
                    case_id=case_id,
                    round_id=self._rounds[case_id][-1],
                    position=n - 1,
                    run_index=n,
                    raw_output=output,
                )
        self._same_run.add(case_id, row.filter)
        for metric in row.metrics:
            name = f"{metric},{row.filter}"
            self._dimensions.setdefault(name, metric)
            value = number(members.get(metric))
            for round_id in self._rounds[case_id]:
                yield Score(
                    task_id=task_id,
                    case_id=case_id,
                    round_id=round_id,
                    dimension_id=name,
                    value=value,
                    score=on_scale(value) if metric in _GRADED else None,
                    payload=text({"filtered": row.filtered_resps}),
                )

    def task(self, source: Source, run_id: str, model: str) -> Task:
        """The task, when all its rows are read."""
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
                prompts.about(
                    self._prompt(results),
                    git_hash=results.git_hash,
                    task_hash=results.task_hashes.get(self._name),
                    config=results.config,
                )
            ),
        )

    def _prompt(self, results: Results) -> Any:
        """The template of a document after its description, and the system's words."""
        config = results.configs.get(self._name)
        config = config if isinstance(config, dict) else {}
        asked = [config.get("description"), config.get("doc_to_text")]
        return prompts.messages(
            ("system", results.system_instruction),
            ("user", "".join(each for each in asked if isinstance(each, str))),
        )

    def totals(self, metrics: dict[str, Any]) -> Iterator[Record]:
        """Dimensions, and the means that the results claim of them."""
        graded = [n for n, metric in self._dimensions.items() if metric in _GRADED]
        directions = {n: self._direction(m) for n, m in self._dimensions.items()}
        yield from dimension_records(
            self._task_id, self._dimensions, graded, directions
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
        yield from claims(
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
    is_generated = len(resps) == 1 and isinstance(first, list)
    if is_generated and all(isinstance(each, str) for each in first):
        return list(first) or [None]
    return [text(row.filtered_resps)]


def claims(
    task_id: str,
    name: str,
    metrics: dict[str, Any],
    places: Iterator[int],
    *,
    aggregations: dict[str, str] | None = None,
    dimensions: set[str] | None = None,
    n: int | None = None,
    scope: Literal["task", "run"] = "task",
) -> Iterator[Total]:
    """What the results claim of one harness task.

    Args:
        task_id: The task that the totals are kept with.
        name: Of the harness task.
        metrics: ``metric,filter`` → value.
        places: Numbers the totals.
        aggregations: Metric → how the harness makes one number of many.
        dimensions: Those that have rows to recompute a total from.
        n: Documents.
        scope: Whether the totals are the task's own.
    """
    for key, value in metrics.items():
        if key in _NO_METRICS or isinstance(value, str | dict):
            continue
        metric, comma, filter_name = key.partition(",")
        is_stderr = metric.endswith(_STDERR)
        metric = metric.removesuffix(_STDERR)
        dimension = f"{metric}{comma}{filter_name}"
        rule: Rule = "stderr_over_cases" if is_stderr else "mean_over_cases"
        if (aggregations or {}).get(metric, "mean") != "mean":
            rule = "own_formula"
        known = dimension in (dimensions or ())
        yield Total(
            task_id=task_id,
            position=next(places),
            name=f"results.{name}.{key}",
            rule=rule
            if known
            else "several_tasks"
            if scope == "run"
            else "not_in_rows",
            value=number(value),
            n=n,
            dimension_id=dimension if known else None,
            scope=scope,
        )


def _aggregations(config: Any) -> dict[str, str]:
    metrics = config.get("metric_list") if isinstance(config, dict) else None
    return {
        str(each.get("metric")): str(each.get("aggregation", "mean"))
        for each in metrics or []
        if isinstance(each, dict)
    }
