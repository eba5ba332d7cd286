"""Outside scores (JSONL): one line, one score of one round on one dimension."""

from __future__ import annotations

from typing import cast

import polars as pl

from ingest.columns import (
    Doubtful,
    doubles,
    integers,
    json_objects,
    names,
    texts,
)
from ingest.faults import Fault, nearest, shown
from ingest.garbage import no_garbage_collection
from ingest.reading import Reading
from ingest.rows import Columns
from ingest.struct_records import StructRecords, Table
from promptlab.contracts.scores import ScoreRecord

_KEY = ("task_id", "case_id", "round_id", "dimension_id", "scorer")


def read_scores(data: bytes, name: str) -> Reading:
    """Read a file of scores; each line stands for itself.

    Args:
        data: The file: JSONL (a JSON list will do), UTF-8.
        name: What the file is called; it owns the scores that it brings.

    Returns:
        Rows of ``scores``. A record that its contract refuses, or whose round was
        scored before by the same scorer on the same dimension, is left out by name.
    """
    records = StructRecords(ScoreRecord, "round_id")
    with no_garbage_collection():
        records.read(data)
        table = records.build(_columns)
        twins = _twins(table)
        for row in twins:
            _note_twin(records, row)
        if twins:
            records.refused += len(twins)
            records.drop(twins)
            table = records.build(_columns)
    _note_unknown_keys(records)
    return Reading(
        rows={"scores": cast("Columns", table)} if not records.broken else {},
        problems=records.sorted_problems(),
        records_loaded=len(records.structs),
        records_rejected=records.refused,
        rejected=records.broken,
        keys=[] if records.broken else [("scores", name)],
    )


def _columns(records: StructRecords) -> Table:
    each = records.each
    table = {
        "line": integers([records.line(row) for row in range(len(records.structs))]),
        **{key: names(each(key)) for key in _KEY[:4]},
        "score": doubles(each("score")),
        "scale": doubles(each("scale")),
        "summary": texts(each("summary")),
        "payload": json_objects(each("payload")),
        "scorer": names(each("scorer")),
        "scorer_version": texts(each("scorer_version")),
    }
    above = table["score"] > table["scale"]
    if above.any():
        raise Doubtful(above.arg_true().to_list())
    return table


def _twins(table: Table) -> list[int]:
    """Return the rows whose round, dimension and scorer stood before."""
    frame = pl.DataFrame([table[key].alias(key) for key in _KEY])
    if frame.n_unique() == frame.height:
        return []
    first = frame.select(pl.struct(_KEY).is_first_distinct()).to_series()
    return (~first).arg_true().to_list()


def _note_twin(records: StructRecords, row: int) -> None:
    twin = records.structs[row]
    message = (
        f"{twin.scorer} scored round {shown(twin.round_id)} on"
        f" {shown(twin.dimension_id)} before in this file: the first score counts"
    )
    records.note(row, Fault((), "duplicate_score", message), "reject")


def _note_unknown_keys(records: StructRecords) -> None:
    rows: dict[str, list[int]] = {}
    for row, unknown in enumerate(records.unknown):
        for key in unknown:
            rows.setdefault(key, []).append(row)
    for key, found in rows.items():
        often = "" if len(found) == 1 else f" (here and in {len(found) - 1} more)"
        advice = nearest(key, list(ScoreRecord.model_fields))
        advice = advice or "; put it into `payload`"
        message = f"unknown key {shown(key)}{often} is not stored{advice}"
        records.note(found[0], Fault((key,), "unknown_key", message))
