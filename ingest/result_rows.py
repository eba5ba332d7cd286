"""The rows of evaluation results: which task, case and round each belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Any

import msgspec
import polars as pl

from ingest.columns import (
    booleans,
    doubles,
    integers,
    json_objects,
    json_values_or_null,
    names,
    texts,
    times,
)
from ingest.struct_records import StructRecords, Table

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
)
"""What all results of one task have in common; of several values the first counts."""

_encode = msgspec.json.Encoder().encode


class ResultRows:
    """The columns of a file's results, in the order of the file.

    Args:
        records: Of ``EvaluationRecord``.
        stem: The file's name up to its first dot.

    Raises:
        Doubtful: Some value is not what the contract asks for.
    """

    def __init__(self, records: StructRecords, stem: str) -> None:
        each = records.each
        self._records = records
        for field in ("run_id", "entity_id", "variant"):
            names(each(field))
        self.executed_at, self.executed_zoneless = times(each("executed_at"))
        self.created_at, self.created_zoneless = times(each("created_at"))
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
        }

    def twins(self) -> list[int]:
        """Return the rows whose own round id stood before in their case."""
        key = pl.struct("task_id", "case_id", "given")
        is_twin = pl.col("given").is_not_null() & ~key.is_first_distinct()
        return self.ids.select(is_twin.arg_true()).to_series().to_list()

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
        if named.select(key.n_unique()).item() == named.height:
            return named["round_id"]
        # A number of ours is another round's own id: take the next free one.
        taken = set(named.select("task_id", "case_id", "given").iter_rows())
        ids = []
        for task_id, case_id, given, n in self.ids.iter_rows():
            options = (f"{case_id}-{k}" for k in count(n))
            free = (each for each in options if (task_id, case_id, each) not in taken)
            ids.append(given or next(free))
            taken.add((task_id, case_id, ids[-1]))
        return texts(ids)

    def cases(self) -> Table:
        """Return a row per sample, at its first place, with the tags of all rounds."""
        frame = self.ids.select("task_id", "case_id").unique(maintain_order=True)
        tags = self._tags()
        return {
            **frame.to_dict(),
            "position": frame.select(
                pl.int_range(pl.len()).over("task_id")
            ).to_series(),
            "context": texts(["{}"]).new_from_index(0, frame.height),
            "tags": _lists([list(tags.get(pair, ())) for pair in frame.iter_rows()]),
        }

    def _tags(self) -> dict[tuple[str, ...], dict[str, None]]:
        """Return the tags of all rounds of a case, each once, in order."""
        tags: dict[tuple[str, ...], dict[str, None]] = {}
        for row, one in enumerate(self._records.structs):
            if one.tags:
                pair = self.ids["task_id"][row], self.ids["case_id"][row]
                tags.setdefault(pair, {}).update(dict.fromkeys(one.tags))
        return tags

    def tasks(self) -> pl.DataFrame:
        """Return a row per task: its common fields, their first rows, its times.

        ``<field>`` is the first value, ``<field>_differs`` the row of the first other
        one; ``created_at`` is the earliest given, else the earliest ``executed_at``.
        """
        frame = self.ids.select(
            "task_id",
            created_at=self.created_at,
            executed_at=self.executed_at,
            **{name: texts(self._records.each(name)) for name in TASK_FIELDS},
        ).with_row_index("row")
        times = frame.group_by("task_id").agg(
            created_at=pl.coalesce(
                pl.col("created_at").min(), pl.col("executed_at").min()
            )
        )
        first = {name: pl.col(name).drop_nulls().first() for name in TASK_FIELDS}
        differs = {
            f"{name}_differs": pl.col("row").filter(pl.col(name) != first[name]).first()
            for name in TASK_FIELDS
        }
        # Very many results, but few that differ in what is their task's.
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


def task_columns(tasks: pl.DataFrame, modified_at: datetime) -> Table:
    """Return the rows of ``tasks``; *modified_at* is the time of those without any."""
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
        created_at=pl.col("created_at").fill_null(modified_at),
        testset_ref="testset",
        pipeline_ref=pl.coalesce("pipeline", pl.when(is_pipeline).then("entity_id")),
    ).to_dict()
    whose = tasks.select("entity_type", "entity_id", "variant").iter_rows(named=True)
    return {**columns, "extras": texts([_encode(each).decode() for each in whose])}


def _task_id(one: Any, stem: str) -> str:
    return one.run_id or f"{one.entity_id}/{one.variant}/{stem}"


def _milliseconds(seconds: Sequence[float | None]) -> pl.Series:
    return (doubles(seconds) * 1000).round(6)


def _error(error: Any) -> str | None:
    """Return an error as text; none for what says that there was none."""
    if not error:
        return None
    return error if isinstance(error, str) else _encode(error).decode()


def _lists(lists: Sequence[list[Any]]) -> pl.Series:
    return texts([_encode(each).decode() if each else "[]" for each in lists])
