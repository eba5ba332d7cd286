"""Rows of evaluation results, and the state of a file between its batches.

A file of any size is read batch by batch. Tasks and cases of earlier batches stay in
memory, and a digest of each round id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

import msgspec
import polars as pl

from promptlab.ingest.raw.rows import Reference
from promptlab.ingest.reading.checked_columns import (
    booleans,
    doubles,
    integers,
    json_objects,
    json_values_or_null,
    names,
    texts,
    times,
    zone_message,
)
from promptlab.ingest.reading.problems import CountedProblems, Problem
from promptlab.ingest.reading.records import Id, SeenIds, StructRecords, Table


@dataclass
class TaskSoFar:
    """The common fields of one task's results so far."""

    fields: dict[str, str | None]
    created_at: datetime | None
    executed_at: datetime | None
    testset: Problem | None = None
    """First place that names a testset."""
    warned: set[str] = field(default_factory=set)
    """Fields with several values that were already reported."""


class ResultsSoFar:
    """The state of all earlier batches."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskSoFar] = {}
        self.rounds = SeenIds()
        self._counts: dict[str, dict[str, int]] = {}
        self._tags: dict[Id, dict[str, None]] = {}
        self._inputs: dict[Id, str] = {}
        self.zoneless = CountedProblems(
            lambda _name, _first, count: zone_message(count)
        )
        """Times without a zone, by their field."""

    def count(self, task_id: str, case_id: str) -> int:
        """Return the number of results of a case."""
        return self._counts.get(task_id, {}).get(case_id, 0)

    def add_case(self, task_id: str, case_id: str, results: int) -> None:
        """Count results of a case."""
        counts = self._counts.setdefault(task_id, {})
        counts[case_id] = counts.get(case_id, 0) + results

    def add_tags(self, task_id: str, case_id: str, tags: list[str]) -> None:
        """Add tags of one result to its case."""
        known = self._tags.setdefault((task_id, case_id), {})
        known.update(dict.fromkeys(tags))

    def add_inputs(self, task_id: str, case_id: str, inputs: str) -> None:
        """Use the inputs of the first result as the inputs of its case."""
        self._inputs.setdefault((task_id, case_id), inputs)

    def cases(self) -> Iterator[tuple[str, str, int, str, list[str]]]:
        """Yield task, case, position of the case, its inputs and its tags."""
        for task_id, counts in self._counts.items():
            for position, case_id in enumerate(counts):
                key = (task_id, case_id)
                inputs, tags = self._inputs.get(key, "{}"), self._tags.get(key, ())
                yield *key, position, inputs, list(tags)

    def references(self) -> list[Reference]:
        """The testset that each task names."""
        return [
            Reference("testset", str(each.fields["testset"]), task_id, each.testset)
            for task_id, each in self.tasks.items()
            if each.testset is not None
        ]

    def closing_problems(self) -> list[Problem]:
        """Problems that are known only at the end of the file."""
        return list(self.zoneless.problems())


TASK_FIELDS = (
    "entity_type",
    "entity_id",
    "variant",
    "title",
    "prompt_version",
    "model",
    "triggered_by",
    "testset",
    "pipeline",
    "prompt",
)
"""Fields that all results of one task share; if they differ, the first is used."""

_STATUSES = frozenset({"pass", "fail", "error", "unevaluated"})

_encode = msgspec.json.Encoder().encode


class ResultRows:
    """The columns of a batch of results, in the order of the file.

    Args:
        records: Records of ``EvaluationRecord``.
        stem: The file's name up to its first dot.
        so_far: State of earlier batches; unchanged until ``remember``.

    Raises:
        Doubtful: A value violates the contract.
    """

    def __init__(self, records: StructRecords, stem: str, so_far: ResultsSoFar) -> None:
        each = records.each
        self._records = records
        self._so_far = so_far
        for name in ("run_id", "entity_id", "variant"):
            names(each(name))
        self.executed_at, self.executed_zoneless = times(each("executed_at"))
        self.created_at, self.created_zoneless = times(each("created_at"))
        self._inputs = json_objects(each("inputs"))
        self.ids = pl.DataFrame(
            {
                "task_id": [_task_id(one, stem) for one in records.structs],
                "case_id": names(each("sample_id")),
                "given": names(each("round_id")),
            },
            schema={"task_id": pl.String, "case_id": pl.String, "given": pl.String},
        ).with_columns(
            pl.int_range(1, pl.len() + 1).over("task_id", "case_id").alias("n")
        )
        if so_far.tasks:
            self._count_on()
        self._values: Table = {
            "raw_output": texts(each("raw_output")),
            "input_tokens": integers(each("input_tokens")),
            "output_tokens": integers(each("output_tokens")),
            "latency_ms": _milliseconds(each("execution_time")),
            "metadata": json_objects(each("metadata")),
            "executed_at": self.executed_at,
            "error": texts([_error(one.error) for one in records.structs]),
            "final_output": json_values_or_null(each("final_output")),
            "step_outputs": json_objects(each("step_outputs")),
            "failed_steps": _lists(each("failed_steps")),
            "rule_violations": _lists(each("rule_violations")),
            "judge_feedback": texts(each("judge_feedback")),
            "overall_score": doubles(each("overall_score")),
            "reported_must_have_pass": booleans(each("must_have_pass")),
            "reported_status": texts(
                [one if one in _STATUSES else None for one in each("status")]
            ),
        }

    def _count_on(self) -> None:
        """Number the results of each case, continuing from earlier batches."""
        pairs = self.ids.select("task_id", "case_id").unique()
        before = [self._so_far.count(*pair) for pair in pairs.rows()]
        self.ids = self.ids.join(
            pairs.with_columns(integers(before).alias("before")),
            on=("task_id", "case_id"),
            how="left",
            maintain_order="left",
        ).select("task_id", "case_id", "given", pl.col("n") + pl.col("before"))

    def twins(self) -> list[int]:
        """Return the rows whose round id is already in their case."""
        key = pl.struct("task_id", "case_id", "given")
        is_twin = pl.col("given").is_not_null() & ~key.is_first_distinct()
        twins = self.ids.select(is_twin.arg_true()).to_series().to_list()
        if not self._so_far.tasks:
            return twins
        own = self.ids.select("task_id", "case_id", "given").rows()
        known = self._so_far.rounds
        earlier = [row for row, each in enumerate(own) if each[2] and each in known]
        return sorted({*twins, *earlier})

    def rounds(self) -> Table:
        """Return a row per result."""
        return {
            "task_id": self.ids["task_id"],
            "case_id": self.ids["case_id"],
            "round_id": self._round_ids(),
            "position": self.ids["n"] - 1,
            "run_index": self.ids["n"],
            **self._values,
        }

    def _round_ids(self) -> pl.Series:
        named = self.ids.with_columns(
            pl.coalesce("given", pl.format("{}-{}", "case_id", "n")).alias("round_id")
        )
        key = pl.struct("task_id", "case_id", "round_id")
        if named.select(key.n_unique()).item() == named.height and not any(
            map(self._so_far.rounds.__contains__, self._numbered(named))
        ):
            return named["round_id"]
        # A generated number is another round's own id: use the next free one.
        taken = set(named.select("task_id", "case_id", "given").iter_rows())
        known = self._so_far.rounds
        ids = []
        for task_id, case_id, given, n in self.ids.iter_rows():
            options = ((task_id, case_id, f"{case_id}-{k}") for k in count(n))
            free = (one for one in options if one not in taken and one not in known)
            ids.append(given or next(free)[2])
            taken.add((task_id, case_id, ids[-1]))
        return texts(ids)

    def _numbered(self, named: pl.DataFrame) -> Iterable[tuple[str, ...]]:
        """Return the generated ids that may be in earlier batches."""
        if not self._so_far.tasks:
            return ()
        ours = named.filter(pl.col("given").is_null())
        return ours.select("task_id", "case_id", "round_id").rows()

    def remember(self, round_ids: pl.Series) -> None:
        """Add the batch's cases and rounds to the state of the file.

        Args:
            round_ids: Ids of ``rounds``; not needed for the last batch.
        """
        so_far = self._so_far
        counts = self.ids.group_by("task_id", "case_id", maintain_order=True).len()
        for task_id, case_id, results in counts.iter_rows():
            so_far.add_case(task_id, case_id, results)
        for row, one in enumerate(self._records.structs):
            if one.tags:
                task_id, case_id, *_ = self.ids.row(row)
                so_far.add_tags(task_id, case_id, one.tags)
        asked = self.ids.select("task_id", "case_id", self._inputs.alias("inputs"))
        for each in asked.filter(pl.col("inputs") != "{}").iter_rows():
            so_far.add_inputs(*each)
        if not self._records.is_last:
            for pair, round_id in zip(
                self.ids.select("task_id", "case_id").iter_rows(),
                round_ids,
                strict=True,
            ):
                so_far.rounds.add((*pair, round_id))

    def tasks(self) -> pl.DataFrame:
        """Return a row per task: its first row, its common fields, its times.

        ``<field>`` is the first value, ``<field>_row`` its row, ``<field>_differs`` the
        row of the first other one; of both times it is the earliest.
        """
        frame = self.ids.select(
            "task_id",
            created_at=self.created_at,
            executed_at=self.executed_at,
            **{name: texts(self._task_field(name)) for name in TASK_FIELDS},
        ).with_row_index("row")
        times = frame.group_by("task_id").agg(pl.col("created_at", "executed_at").min())
        first = {name: pl.col(name).drop_nulls().first() for name in TASK_FIELDS}
        differs = {
            f"{name}_differs": pl.col("row").filter(pl.col(name) != first[name]).first()
            for name in TASK_FIELDS
        } | {
            f"{name}_row": pl.col("row").filter(pl.col(name).is_not_null()).first()
            for name in TASK_FIELDS
        }
        # Very many results, but few different values of task fields.
        common = ["task_id", *TASK_FIELDS]
        if frame.select(pl.max_horizontal(pl.col(common).n_unique()) > 1).item():
            few = frame.unique(common, keep="first", maintain_order=True)
        else:
            few = frame.head(1)
        return (
            few.group_by("task_id", maintain_order=True)
            .agg(pl.col("row").first(), **first, **differs)
            .join(times, on="task_id", how="left", maintain_order="left")
        )

    def _task_field(self, name: str) -> list[str | None]:
        values = self._records.each(name)
        if name != "prompt":
            return values
        return [None if each is None else _encode(each).decode() for each in values]


def case_columns(so_far: ResultsSoFar) -> Table:
    """Return a row per sample, in order of its first result, tags of all its rounds."""
    columns: list[Any] = list(zip(*so_far.cases(), strict=True)) or [[]] * 5
    task_ids, case_ids, positions, inputs, tags = columns
    return {
        "task_id": texts(task_ids),
        "case_id": texts(case_ids),
        "position": integers(positions),
        "context": texts(inputs),
        "tags": _lists(tags),
    }


def task_columns(so_far: ResultsSoFar) -> Table:
    """Return the rows of ``tasks``; one without a time has no ``created_at``."""
    tasks = pl.DataFrame(
        {
            "task_id": texts(list(so_far.tasks)),
            "created_at": pl.Series(
                [each.created_at or each.executed_at for each in so_far.tasks.values()],
                dtype=pl.Datetime("us", "UTC"),
            ),
            **{
                name: texts([each.fields[name] for each in so_far.tasks.values()])
                for name in TASK_FIELDS
            },
        }
    )
    is_pipeline = pl.col("entity_type") == "pipeline"
    unknown = pl.lit("unknown")
    columns = tasks.select(
        "task_id",
        source_kind=pl.lit("results"),
        title=pl.coalesce("title", "entity_id"),
        prompt_version=pl.coalesce("prompt_version", "variant"),
        model=pl.coalesce("model", unknown),
        triggered_by=pl.coalesce("triggered_by", unknown),
        env=pl.lit("{}"),
        created_at=pl.col("created_at"),
        testset_ref="testset",
        pipeline_ref=pl.coalesce("pipeline", pl.when(is_pipeline).then("entity_id")),
    ).to_dict()
    whose = tasks.select("entity_type", "entity_id", "variant", "prompt")
    return {
        **columns,
        "extras": texts([_extras(each) for each in whose.iter_rows(named=True)]),
    }


def _extras(whose: dict[str, str | None]) -> str:
    prompt = whose.pop("prompt")
    told = {} if prompt is None else {"prompt": msgspec.Raw(prompt.encode())}
    return _encode({**whose, **told}).decode()


def _task_id(one: Any, stem: str) -> str:
    return one.run_id or f"{one.entity_id}/{one.variant}/{stem}"


def _milliseconds(seconds: Sequence[float | None]) -> pl.Series:
    return (doubles(seconds) * 1000).round(6)


def _error(error: Any) -> str | None:
    """Return an error as text; ``None`` for a value that means "no error"."""
    if not error:
        return None
    return error if isinstance(error, str) else _encode(error).decode()


def _lists(lists: Sequence[list[Any]]) -> pl.Series:
    return texts([_encode(each).decode() if each else "[]" for each in lists])
