"""Outside scores (JSONL): each line is one score of one round on one dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import polars as pl

from promptlab.contracts.analysis_input import ScoreRecord
from promptlab.ingest.raw.rows import Columns, Key, Reading, Reference
from promptlab.ingest.reading.checked_columns import (
    Doubtful,
    doubles,
    integers,
    json_objects,
    names,
    texts,
)
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
    seen = SeenIds()
    unknown = UnknownKeys(lambda model, key, _: not_stored(model, key, "`payload`"))
    dimensions: dict[Id, Reference] = {}
    tasks: set[str] = set()  # of which the file has scores
    for records in record_batches(ScoreRecord, "round_id", source):
        with no_garbage_collection():
            table = records.build(_columns)
            repeated = twins(_ids(table), seen)
            if repeated:
                structs = records.structs
                records.leave_out(
                    {row: _duplicate_score(structs[row]) for row in repeated}
                )
                table = records.build(_columns)
            if not records.is_last:
                for ids in _ids(table).iter_rows():
                    seen.add(ids)
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
    values = records.each
    table = {
        "line": integers([records.line(row) for row in range(len(records.structs))]),
        **{key: names(values(key)) for key in _KEY[:4]},
        "score": doubles(values("score")),
        "scale": doubles(values("scale")),
        "summary": texts(values("summary")),
        "payload": json_objects(values("payload")),
        "scorer": names(values("scorer")),
        "scorer_version": texts(values("scorer_version")),
    }
    too_large = table["score"] > table["scale"]
    if too_large.any():
        raise Doubtful(too_large.arg_true().to_list())
    return table


def _keys(task_ids: pl.Series, known_tasks: set[str]) -> list[Key]:
    """Return the objects that begin in a batch: a file's scores of one task each."""
    new = [
        task_id
        for task_id in task_ids.unique(maintain_order=True)
        if task_id not in known_tasks
    ]
    known_tasks.update(new)
    return [("scores", task_id) for task_id in new]


def _ids(table: Table) -> pl.DataFrame:
    return pl.DataFrame([table[key].alias(key) for key in _KEY])


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
