"""A stored task as its contract has it, read back from the raw tables.

Nothing here needs the marts: a task can be scored before it is built.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlab.contracts.analysis_input import (
    BaselineSpec,
    DimensionConfig,
    RoundRun,
    TestCaseBundle,
)
from promptlab.database.rows import Row, dictionaries
from promptlab.errors import UsageError
from promptlab.task_ids import STORED, resolve_task

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class StoredTask:
    """The data of a task that scorers need."""

    task_id: str
    dimensions: list[DimensionConfig]
    """As the task configures them, in its order."""
    cases: list[TestCaseBundle]
    """With their rounds and baselines, in its order."""


def read_task(con: duckdb.DuckDBPyConnection, wanted: str) -> StoredTask:
    """Read one task.

    Args:
        con: a connection to a warehouse; it may be read-only.
        wanted: as `promptlab.task_ids.resolve_task` takes it.

    Raises:
        NothingToDo: the warehouse holds no task, or not the one that a word means.
        UsageError: no task, or several, begin with ``wanted``, or it is a memory run.
    """
    memory_run = con.execute(
        "select run_id from raw.memory_runs where run_id = ? limit 1", [wanted]
    ).fetchone()
    if memory_run is not None:
        raise UsageError(
            f"{wanted} is a memory run: its files hold the scores of its answers, and"
            " scorers do not run on it; name another task (`promptlab runs` lists them)"
        )
    task_id = resolve_task(con, wanted, tasks=STORED)
    return StoredTask(task_id, _dimensions(con, task_id), _cases(con, task_id))


def _dimensions(con: duckdb.DuckDBPyConnection, task_id: str) -> list[DimensionConfig]:
    return [
        DimensionConfig(
            **row
            | {
                "target": json.loads(row["target"]),
                "parameters": json.loads(row["parameters"]),
            }
        )
        for row in dictionaries(
            con,
            "select dimension_id, name, weight, target, parameters, scoring_mode"
            " from raw.dimension_configs where task_id = ? order by position",
            [task_id],
        )
    ]


def _cases(con: duckdb.DuckDBPyConnection, task_id: str) -> list[TestCaseBundle]:
    rounds = _by_case(
        con,
        "select case_id, round_id, run_index, input_tokens, output_tokens,"
        " latency_ms, metadata, parsed_output,"
        # a result of the evaluator has outputs where a run has the model's text
        " coalesce(raw_output, final_output ->> '$', parsed_output ->> '$', '')"
        " as raw_output,"
        # it may lack the time, too; the task's time replaces it
        " coalesce(rounds.executed_at, tasks.created_at) as executed_at"
        " from raw.rounds as rounds join raw.tasks as tasks using (task_id)"
        " where task_id = ? order by position",
        task_id,
    )
    baselines = _by_case(
        con,
        "select case_id, baseline_id, type, payload, owner, confidence"
        " from raw.baselines where task_id = ? order by position",
        task_id,
    )
    return [
        TestCaseBundle(
            case_id=row["case_id"],
            context=json.loads(row["context"]),
            tags=json.loads(row["tags"]),
            cluster=row["cluster"],
            rounds=[_round(each) for each in rounds[row["case_id"]]],
            baselines=[
                BaselineSpec(**each | {"payload": json.loads(each["payload"])})
                for each in baselines[row["case_id"]]
            ],
        )
        for row in dictionaries(
            con,
            "select case_id, context, tags, cluster from raw.cases"
            " where task_id = ? order by position",
            [task_id],
        )
    ]


def _round(row: Row) -> RoundRun:
    parsed = json.loads(row["parsed_output"]) if row["parsed_output"] else None
    latency = row["latency_ms"]
    return RoundRun(
        **row
        | {
            "parsed_output": parsed if isinstance(parsed, dict) else None,
            "metadata": json.loads(row["metadata"]),
            "latency_ms": None if latency is None else round(latency),
        }
    )


def _by_case(
    con: duckdb.DuckDBPyConnection, query: str, task_id: str
) -> defaultdict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in dictionaries(con, query, [task_id]):
        found[row.pop("case_id")].append(row)
    return found
