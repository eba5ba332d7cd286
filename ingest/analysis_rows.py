"""The rows of one task: checked structs in, columns of the raw tables out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, cast

import msgspec
import polars as pl

from ingest.columns import (
    doubles,
    integers,
    json_objects,
    texts,
    times,
)
from ingest.rows import Columns, Rows


@dataclass
class CaseRows:
    """Columns of the cases and of all below them."""

    rows: Rows
    zoneless: list[int] = field(default_factory=list)
    """Places, among all rounds, of times that name no zone."""


def case_rows(task_id: str, cases: Sequence[Any], places: Sequence[int]) -> CaseRows:
    """Turn cases into columns, without a Python object per row.

    Args:
        task_id: Of the task they belong to.
        cases: Structs of ``TestCaseBundle``; round ids are unique in each.
        places: The place of each case in the file.

    Raises:
        Doubtful: Some value is not what the contract asks for.
    """
    rounds = [one for case in cases for one in case.rounds]
    baselines = [one for case in cases for one in case.baselines]
    executed_at, zoneless = times(_each("executed_at", rounds))
    tables: dict[str, dict[str, pl.Series]] = {
        "cases": {
            "case_id": texts(_each("case_id", cases)),
            "position": integers(places),
            "context": json_objects(_each("context", cases)),
            "tags": texts(_json_lists(_each("tags", cases))),
        },
        "rounds": {
            "case_id": texts([case.case_id for case in cases for _ in case.rounds]),
            "round_id": texts(_each("round_id", rounds)),
            "position": integers([n for case in cases for n in range(len(case.rounds))]),
            "run_index": integers(_each("run_index", rounds)),
            "raw_output": texts(_each("raw_output", rounds)),
            "parsed_output": json_objects(
                _each("parsed_output", rounds), nullable=True
            ),
            "input_tokens": integers(_each("input_tokens", rounds)),
            "output_tokens": integers(_each("output_tokens", rounds)),
            "latency_ms": doubles(_each("latency_ms", rounds)),
            "metadata": json_objects(_each("metadata", rounds)),
            "executed_at": executed_at,
        },
        "baselines": {
            "case_id": texts([case.case_id for case in cases for _ in case.baselines]),
            "baseline_id": texts(_each("baseline_id", baselines)),
            "position": integers(
                [n for case in cases for n in range(len(case.baselines))]
            ),
            "type": texts(_each("type", baselines)),
            "payload": json_objects(_each("payload", baselines)),
            "owner": texts(_each("owner", baselines)),
            "confidence": doubles(_each("confidence", baselines)),
        },
    }
    return CaseRows(
        {table: _of_task(task_id, columns) for table, columns in tables.items()},
        zoneless,
    )


def _each(name: str, structs: Sequence[Any]) -> list[Any]:
    return list(map(attrgetter(name), structs))


def _json_lists(lists: Sequence[list[str]]) -> list[str]:
    return [msgspec.json.encode(each).decode() for each in lists]


def _of_task(task_id: str, columns: dict[str, pl.Series]) -> Columns:
    """Put the task's id in front of every row."""
    height = len(next(iter(columns.values())))
    ids = texts([task_id]).new_from_index(0, height)
    return cast("Columns", {"task_id": ids, **columns})
