"""Evaluation results (pipeline-evaluation.md): each becomes a round of a case.

A file holds one or more tasks; results of one task id belong together, whatever their
order. Their dimensions are the same for all and come from a seed, so none are here.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

import msgspec
import polars as pl

from ingest.analysis_warnings import zone_message
from ingest.faults import Fault, shown
from ingest.garbage import no_garbage_collection
from ingest.reading import Reading
from ingest.result_rows import TASK_FIELDS, ResultRows, task_columns
from ingest.rows import Rows
from ingest.struct_records import Members, StructRecords
from promptlab.contracts.evaluation import EvaluationRecord


def read_results(data: bytes, name: str, modified_at: datetime) -> Reading:
    """Read a file of evaluation results.

    Args:
        data: The file: JSONL, one JSON object, or a JSON list; UTF-8.
        name: Path below the ingested folder; its last part up to the first dot is in
            the id of tasks without ``run_id``.
        modified_at: When the file was last written, UTC: the time of a task where
            none of its results has any.

    Returns:
        Rows of ``tasks``, ``cases`` and ``rounds``; a result that its contract
        refuses, or whose round id stood before in its case, is left out by name.
    """
    records = StructRecords(EvaluationRecord, "sample_id")
    stem = name.rsplit("/", 1)[-1].split(".", 1)[0]
    with no_garbage_collection():
        records.read(data)
        _keep_unknown_keys(records)
        rows = records.build(lambda good: ResultRows(good, stem))
        twins = rows.twins()
        if twins:
            _drop_twins(records, twins)
            rows = records.build(lambda good: ResultRows(good, stem))
        tasks = rows.tasks()
        _warn(records, rows, tasks, modified_at)
        tables = {
            "tasks": task_columns(tasks, modified_at),
            "cases": rows.cases(),
            "rounds": rows.rounds(),
        }
    return Reading(
        rows={} if records.broken else cast("Rows", tables),
        problems=records.sorted_problems(),
        records_loaded=len(records.structs),
        records_rejected=records.refused,
        rejected=records.broken,
        keys=[("task", task_id) for task_id in tasks["task_id"]],
    )


def _keep_unknown_keys(records: StructRecords) -> None:
    """Put what the contract does not know into ``metadata``, so that it is kept."""
    for one, unknown in zip(records.structs, records.unknown, strict=True):
        if unknown and bytes(one.metadata).startswith(b"{"):
            known = msgspec.json.decode(one.metadata, type=Members)
            one.metadata = msgspec.Raw(msgspec.json.encode({**unknown, **known}))


def _drop_twins(records: StructRecords, rows: list[int]) -> None:
    for row in rows:
        round_id = shown(records.structs[row].round_id)
        message = (
            f"round_id {round_id} stands twice for this sample: the first is kept,"
            " this one is left out"
        )
        records.note(row, Fault(("round_id",), "duplicate_round", message))
    records.drop(rows)


def _warn(
    records: StructRecords,
    rows: ResultRows,
    tasks: pl.DataFrame,
    modified_at: datetime,
) -> None:
    for field, zoneless in (
        ("created_at", rows.created_zoneless),
        ("executed_at", rows.executed_zoneless),
    ):
        if zoneless:
            message = zone_message(len(zoneless))
            fault = Fault((field,), "time_without_zone", message)
            records.note(zoneless[0], fault)
    for task in tasks.iter_rows(named=True):
        if task["created_at"] is None:
            message = (
                f"task {shown(task['task_id'])} has neither created_at nor"
                f" executed_at: the file's own time, {modified_at.isoformat()}, is used"
            )
            records.note(task["row"], Fault((), "time_missing", message))
        for field in TASK_FIELDS:
            row = task[f"{field}_differs"]
            if row is not None:
                message = (
                    f"task {shown(task['task_id'])} has more than one {field}: the"
                    f" first, {shown(task[field])}, counts. Give each run its own"
                    " run_id"
                )
                records.note(row, Fault((field,), "task_field_differs", message))
