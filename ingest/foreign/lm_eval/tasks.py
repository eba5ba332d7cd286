"""One harness task: its documents, its metrics, and what the results claim of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.copies import OwnIds
from promptlab.ingest.foreign.documents import decode, number, on_scale, text, time
from promptlab.ingest.foreign.files import lines
from promptlab.ingest.foreign.identity import content_id, first_text, joined_texts
from promptlab.ingest.foreign.lm_eval.structs import FILES, Results, Row
from promptlab.ingest.foreign.records import Direction, Record, Rule
from promptlab.ingest.foreign.tool_files import UNREADABLE
from promptlab.ingest.foreign.writing import RoundWriter, TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

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
        task: The task that it becomes.
        name: As the harness knows it.
        results: The results of its run, where they are there.
    """

    def __init__(self, task: TaskWriter, name: str, results: Results | None) -> None:
        self.task = task
        self._name = name
        self._results = results or Results(results={})
        self._ids = OwnIds("document and filter")
        self._cases: dict[str, str] = {}  # of each document
        self._rounds: dict[str, list[RoundWriter]] = {}  # of each case

    def rows(self, source: Source, path: Path) -> Iterator[Record | Problem]:
        """Cases, rounds and scores of a samples file."""
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
        own_id = f"{document} ({row.filter})" if is_known else None
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
            self._rounds[case_id] = [case.round(each) for each in _responses(row)]
        task.same_run.add(case_id, row.filter)
        for metric in row.metrics:
            value = number(members.get(metric))
            score = on_scale(value) if metric in _GRADED else None
            payload = {"filtered": row.filtered_resps}
            for answer in self._rounds[case_id]:
                name = f"{metric},{row.filter}"
                answer.score(name, value, score, payload=payload)

    def close(self, run_id: str, model: str) -> None:
        """The task, its dimensions, and what the results claim of them."""
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
            extras=prompts.about(
                self._prompt(results),
                git_hash=results.git_hash,
                task_hash=results.task_hashes.get(name),
                config=results.config,
            ),
        )
        metrics = {each: each.rpartition(",")[0] for each in self.task.dimensions}
        self.task.grade(
            [each for each, metric in metrics.items() if metric in _GRADED],
            {each: self._direction(metric) for each, metric in metrics.items()},
        )
        samples = results.n_samples.get(name, {}).get("effective")
        if samples is not None:
            self.task.total(f"n-samples.{name}.effective", "count_cases", samples)
        self._write_totals(samples if isinstance(samples, int) else None)

    def _prompt(self, results: Results) -> Any:
        """The template of a document after its description, and the system's words."""
        config = results.configs.get(self._name)
        config = config if isinstance(config, dict) else {}
        asked = [config.get("description"), config.get("doc_to_text")]
        return prompts.messages(
            ("system", results.system_instruction),
            ("user", "".join(each for each in asked if isinstance(each, str))),
        )

    def _write_totals(self, n: int | None) -> None:
        """What the results claim of the task, which has *n* documents."""
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

    def _direction(self, metric: str) -> Direction | None:
        higher = self._results.higher_is_better.get(self._name, {}).get(metric)
        if higher is None:
            return "higher_better" if metric in _GRADED else None
        return "higher_better" if higher else "lower_better"


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


class Claim(NamedTuple):
    """A number of the results, over all documents."""

    name: str
    metric: str
    dimension: str
    rule: Rule
    value: Any


def claims(name: str, metrics: Mapping[str, Any]) -> Iterator[Claim]:
    """What the results claim of one harness task.

    Args:
        name: Of the harness task.
        metrics: ``metric,filter`` → value.
    """
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
    metrics = config.get("metric_list") if isinstance(config, dict) else None
    return {
        str(each.get("metric")): str(each.get("aggregation", "mean"))
        for each in (metrics if isinstance(metrics, list) else ())
        if isinstance(each, dict)
    }
