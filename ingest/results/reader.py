"""Evaluation results (pipeline-evaluation.md): each becomes a round of a case.

A file contains one or more tasks; results of one task id belong together, in any order.
The dimensions are the same for all tasks and are defined in a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, cast

import msgspec
from pydantic import BaseModel

from promptlab.contracts.analysis_input import EvaluationRecord
from promptlab.ingest.files.input_file import Block
from promptlab.ingest.raw.rows import Reading, Rows
from promptlab.ingest.reading.garbage import no_garbage_collection
from promptlab.ingest.reading.limits import DEFAULT, Limits
from promptlab.ingest.reading.records import StructRecords, UnknownKeys, record_batches
from promptlab.ingest.reading.structs import Members
from promptlab.ingest.results.rows import (
    TASK_FIELDS,
    ResultRows,
    ResultsSoFar,
    TaskSoFar,
    case_columns,
    task_columns,
)
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown


def result_batches(
    blocks: Iterable[Block],
    name: str,
    *,
    limits: Limits = DEFAULT,
) -> Iterator[Reading]:
    """Read a file of evaluation results.

    Args:
        blocks: The file in blocks of whole lines: JSONL, one JSON object, or a JSON
            list; UTF-8.
        name: Path below the ingested folder; its last part up to the first dot is in
            the id of tasks without ``run_id``.
        limits: Limits of a record.

    Yields:
        Batch by batch, rows of ``rounds``, and with the last one those of ``tasks`` and
        ``cases``; a result that violates its contract, or whose round id is repeated in
        its case, is rejected.
    """
    stem = name.rsplit("/", 1)[-1].split(".", 1)[0]
    so_far = ResultsSoFar()
    unknown = UnknownKeys(_advice)
    for records in record_batches(EvaluationRecord, "sample_id", blocks, limits):
        with no_garbage_collection():
            unknown.count(records)
            reading = _read_batch(records, stem, so_far)
            if records.is_last:
                reading.problems += unknown.problems()
        yield reading


def _read_batch(records: StructRecords, stem: str, so_far: ResultsSoFar) -> Reading:
    def build() -> ResultRows:
        return records.build(lambda good: ResultRows(good, stem, so_far))

    _keep_unknown_keys(records)
    rows = build()
    twins = rows.twins()
    if twins:
        _drop_twins(records, twins)
        rows = build()
    rounds = rows.rounds()
    tasks = rows.tasks()
    known_before = set(so_far.tasks)
    _note_zoneless(records, rows, so_far)
    for task in tasks.iter_rows(named=True):
        _add_task(records, task, so_far)
    rows.remember(rounds["round_id"])
    tables = {"rounds": rounds}
    if records.is_last:
        tables["tasks"] = task_columns(so_far)
        tables["cases"] = case_columns(so_far)
        records.problems += so_far.closing_problems()
    return Reading(
        rows={} if records.broken else cast("Rows", tables),
        problems=records.sorted_problems(),
        records_loaded=len(records.structs),
        records_rejected=records.refused,
        rejected=records.broken,
        keys=[("task", each) for each in so_far.tasks if each not in known_before],
        references=so_far.references() if records.is_last else [],
    )


_OUTPUTS = ("output", "outputs", "answer", "response", "prediction", "completion")
"""Names that other tools give the final output."""


def _advice(model: type[BaseModel], key: str, result: Any) -> str:
    """Return a hint about a misspelled key; most unknown keys go to ``metadata``."""
    meant = _meant(model, key)
    is_given = meant == "final_output" and (
        bytes(result.final_output) != b"null" or result.raw_output is not None
    )
    if meant is None or is_given:
        return ""
    return f"is only kept in metadata; did you mean {shown(meant)}?"


@lru_cache(maxsize=1024)
def _meant(model: type[BaseModel], key: str) -> str | None:
    close = get_close_matches(key, model.model_fields, n=1, cutoff=0.85)
    return next(iter(close), "final_output" if key in _OUTPUTS else None)


def _keep_unknown_keys(records: StructRecords) -> None:
    """Move unknown keys to ``metadata``, so that they are kept."""
    for row, unknown in records.unknown():
        one = records.structs[row]
        if bytes(one.metadata).startswith(b"{"):
            known = msgspec.json.decode(one.metadata, type=Members)
            added = {str(each.way[0]): each.value for each in unknown}
            one.metadata = msgspec.Raw(msgspec.json.encode({**added, **known}))


def _drop_twins(records: StructRecords, rows: list[int]) -> None:
    for row in rows:
        round_id = shown(records.structs[row].round_id)
        message = (
            f"round_id {round_id} stands twice for this sample: the first is kept,"
            " this one is left out"
        )
        records.note(row, Fault(("round_id",), "duplicate_round", message))
    records.drop(rows)


def _note_zoneless(
    records: StructRecords, rows: ResultRows, so_far: ResultsSoFar
) -> None:
    for name, zoneless in (
        ("created_at", rows.created_zoneless),
        ("executed_at", rows.executed_zoneless),
    ):
        if zoneless:
            fault = Fault((name,), "time_without_zone", "")
            first = partial(records.problem, zoneless[0], fault)
            so_far.zoneless.add(name, first, len(zoneless))


def _add_task(
    records: StructRecords, task: dict[str, Any], so_far: ResultsSoFar
) -> None:
    """Add a batch's results of one task to its common fields; warn about errors."""
    known = so_far.tasks.get(task["task_id"])
    if known is None:
        known = so_far.tasks[task["task_id"]] = TaskSoFar(
            {name: task[name] for name in TASK_FIELDS},
            task["created_at"],
            task["executed_at"],
        )
    if known.testset is None and task["testset"] is not None:
        place = Fault(("testset",), "unknown_testset", "")
        known.testset = records.problem(task["testset_row"], place)
    for time in ("created_at", "executed_at"):
        times = [each for each in (getattr(known, time), task[time]) if each]
        setattr(known, time, min(times, default=None))
    for name in TASK_FIELDS:
        first = known.fields[name]
        row = task[f"{name}_differs"]
        if first is None:
            known.fields[name] = task[name]
        elif task[name] not in (None, first):
            row = task[f"{name}_row"]
        if row is not None and name not in known.warned:
            known.warned.add(name)
            message = (
                f"task {shown(task['task_id'])} has more than one {name}: the"
                f" first, {shown(known.fields[name])}, counts. Give each run its own"
                " run_id"
            )
            records.note(row, Fault((name,), "task_field_differs", message))
