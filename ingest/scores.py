"""Outside scores (JSONL): each line is one score of one round on one dimension."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from promptlab.contracts.analysis_input import ScoreRecord
from promptlab.ingest.raw.rows import Columns, Key, Reading, Reference
from promptlab.ingest.reading.records import (
    Id,
    SeenIds,
    StructRecords,
    Table,
    UnknownKeys,
    not_stored,
    record_batches,
    twins,
)
from promptlab.ingest.reading.source import Source, no_garbage_collection
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown

_KEY = ("task_id", "case_id", "round_id", "dimension_id", "scorer")


def read(source: Source) -> Iterator[Reading]:
    """Read a file of scores, JSONL or a JSON list; each line is independent.

    Yields:
        Batch by batch, rows of ``scores``. A record that violates its contract, or
        repeats a score of the same round, scorer and dimension, is rejected.
    """
    ids = SeenIds()
    unknown = UnknownKeys(lambda model, key, _: not_stored(model, key, "`payload`"))
    dimensions: dict[Id, Reference] = {}
    tasks: set[str] = set()  # of which the file has scores
    for records in record_batches(ScoreRecord, "round_id", source):
        with no_garbage_collection():
            _refuse_above_scale(records)
            table = _columns(records)
            repeated = twins(_ids(table), ids)
            if repeated:
                structs = records.structs
                records.leave_out(
                    {row: _duplicate_score(structs[row]) for row in repeated}
                )
                table = _columns(records)
            if not records.is_last:
                for score_id in _ids(table):
                    ids.add(score_id)
        unknown.count(records)
        _note_dimensions(records, dimensions)
        if records.is_last:
            records.problems += unknown.problems()
        yield Reading(
            rows={"scores": cast("Columns", table)} if not records.broken else {},
            problems=records.sorted_problems(),
            records_loaded=len(records.structs),
            records_rejected=records.refused,
            rejected=records.broken,
            keys=[] if records.broken else _keys(table["task_id"], tasks),
            references=list(dimensions.values()) if records.is_last else [],
        )


def _columns(records: StructRecords) -> Table:
    lines = [records.line(row) for row in range(len(records.structs))]
    return {"line": lines} | {
        name: records.values(name) for name in ScoreRecord.model_fields
    }


def _refuse_above_scale(records: StructRecords) -> None:
    """Reject scores above their scale: the only rule of the contract for two fields."""
    above = [
        row
        for row, score in enumerate(records.structs)
        if score.score is not None and score.score > score.scale
    ]
    if above:
        records.refuse(above, "")


def _keys(task_ids: Iterable[str], known: set[str]) -> list[Key]:
    """Return the new objects of a batch, each the scores of one task in a file."""
    new = [task_id for task_id in dict.fromkeys(task_ids) if task_id not in known]
    known.update(new)
    return [("scores", task_id) for task_id in new]


def _ids(table: Table) -> Iterator[tuple[str, ...]]:
    return zip(*(table[key] for key in _KEY), strict=True)


def _duplicate_score(record: Any) -> Fault:
    message = (
        f"{record.scorer} scored round {shown(record.round_id)} on"
        f" {shown(record.dimension_id)} before in this file: the first score counts"
    )
    return Fault((), "duplicate_score", message)


def _note_dimensions(records: StructRecords, references: dict[Id, Reference]) -> None:
    """Record the first place of each dimension of each task."""
    for row, record in enumerate(records.structs):
        if (record.task_id, record.dimension_id) not in references:
            place = Fault(("dimension_id",), "unknown_dimension", "")
            problem = records.problem(row, place)
            references[record.task_id, record.dimension_id] = (
                record.dimension_id,
                record.task_id,
                problem,
            )
