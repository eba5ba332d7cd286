"""Rows for the raw tables: those of a reading, and those of a batch that is written.

Rows are kept column by column. Column names are those of ``raw.sql``, which stays the
only schema; ``load_id``, and ``file_uri`` where a table has it, are added when the rows
are written. The same rows are written to DuckDB tables and to Parquet files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from promptlab.ingest.raw.catalogue import BY_NAME
from promptlab.ingest.reading.problems import Problem

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Columns = Mapping[str, Sequence[Any]]
"""Column → its values, one per row; all of one length."""

Rows = dict[str, Columns]
"""Raw table → its columns. A table without rows may be absent."""


MOST_PROBLEMS = 1000
"""Maximum number of problems of one load in memory."""

Key = tuple[str, ...]
"""Key of an object: its kind, then the parts of its id."""


Reference = tuple[str, str, Problem]
"""The name of a testset or a dimension that another file must define, the task that
uses it, and the warning if nothing defines it, without its message."""


@dataclass
class Reading:
    """The content of one file: rows of its valid records, problems of the others.

    The loader adds ``load_id`` (and ``file_uri`` where a table has it) to the rows.
    """

    rows: Rows
    """Raw table → its columns, as ``raw.sql`` names them, without ``load_id``."""

    problems: list[Problem] = field(default_factory=list)
    """In the order of the file; a rejected record has at least one ``reject``."""

    records_loaded: int = 0
    """Records (cases, results, scores, answers) whose rows are in ``rows``."""

    records_rejected: int = 0
    """Records left out; ``problems`` says why."""

    rejected: bool = False
    """The whole file is unusable: ``rows`` is empty, nothing may be loaded."""

    keys: list[Key] = field(default_factory=list)
    """The objects that this file has, as (kind, id, …): ``("task", "run-1")``,
    ``("testset", "x")``, ``("pipeline", "p")``, ``("memory", "run", "task")``,
    ``("scores", task_id)``, ``("labels", uri)``.
    """

    references: list[Reference] = field(default_factory=list)
    """Ids that the file uses and other files define."""

    runs: dict[str, str] = field(default_factory=dict)
    """Task → hash of its run and of its answers, for files of other tools: equal for
    copies of one version of a run.
    """

    written: dict[str, datetime] = field(default_factory=dict)
    """Task → time at which the tool wrote this version of its run, if known."""


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Turn rows into columns.

    Raises:
        ValueError: A row does not have one value per name.
    """
    columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
    if len(columns) != len(names):
        raise ValueError(f"rows of {len(columns)} values for the columns {names}")
    return dict(zip(names, columns, strict=True))


def columns_of_rows(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Turn rows of the same columns into columns; no rows into no columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def height(columns: Columns) -> int:
    """Return how many rows the columns have."""
    return len(next(iter(columns.values()))) if columns else 0


@dataclass
class FileLoad:
    """A load: one version of one file, and its outcome."""

    path: Path
    kind: str
    load_id: int = 0
    """Its number in ``raw.loads``; 0 if it is not written."""
    uri: str = ""
    """Its whole path."""
    name: str = ""
    """The part of its path that may be its id."""
    size: int = 0
    """Its bytes."""
    testset: str | None = None
    """The testset named on the command line, if the kind supports it."""
    read_with: str = ""
    """The settings that affect the reading of the file."""
    started_at: datetime = EPOCH
    finished_at: datetime = EPOCH
    status: str = "loaded"
    """loaded, unchanged, rejected, skipped or purged."""
    was_rejected: bool = False
    """An earlier call rejected these bytes; they are not read again."""
    problems: list[Problem] = field(default_factory=list)
    """The first ``MOST_PROBLEMS`` of a file that this call read; ``raw.rejects`` has
    all, also those of earlier calls."""
    records_loaded: int = 0
    records_rejected: int = 0
    keys: list[Key] = field(default_factory=list)
    """The objects in it, like in a `Reading`; of an unchanged file with joined ids."""
    runs: dict[str, str] = field(default_factory=dict)
    """Task → hash of its run, for files of other tools; also if it was left out."""
    written: dict[str, datetime] = field(default_factory=dict)
    """Task → time at which the tool wrote this version of its run, if known."""
    former_tasks: list[str] = field(default_factory=list)
    """Tasks that the file had before under ids that it does not have now."""
    sha256: str = ""
    """Hash of the file's bytes; empty if it could not be read."""
    message: str | None = None
    redacted: dict[str, int] = field(default_factory=dict)
    """Rule → values that were redacted."""

    def add(self, reading: Reading) -> None:
        """Add the counts, keys and problems of one batch of the file."""
        room = max(0, MOST_PROBLEMS - len(self.problems)) if self.problems else None
        self.problems = self.problems + reading.problems[:room]
        self.records_loaded += reading.records_loaded
        self.records_rejected += reading.records_rejected
        self.keys = self.keys + reading.keys
        if reading.rejected:
            self.status = "rejected"
            rejects = (p.message for p in self.problems if p.severity == "reject")
            self.message = next(rejects, "nothing could be read")


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Rows and problems of a file, or of a part of a large file, to be written."""

    load: FileLoad
    """The whole file; complete with its last batch."""
    reading: Reading
    more: bool = False
    """More batches of this file follow."""
    withdrawn: bool = False
    """The file is left out after all: its earlier batches must be deleted."""


def with_load(table: str, columns: Columns, load: FileLoad) -> Columns:
    """Return rows of a raw table with ``load_id``, and ``file_uri`` if it has one."""
    n = height(columns)
    file_uri = {"file_uri": [load.uri] * n} if BY_NAME[table].has_file else {}
    return {"load_id": [load.load_id] * n, **file_uri, **columns}


def problem_columns(rows: Sequence[tuple[FileLoad, Problem]]) -> Columns:
    """Return rows of ``raw.rejects``."""
    return {
        "load_id": [load.load_id for load, _ in rows],
        "file_uri": [load.uri for load, _ in rows],
        **{name: [getattr(p, name) for _, p in rows] for name in Problem.__slots__},
    }


def redaction_columns(loads: Sequence[FileLoad]) -> Columns:
    """Return rows of ``raw.redactions``: replaced values per rule and load."""
    rows = [
        (load.load_id, rule, count)
        for load in loads
        for rule, count in sorted(load.redacted.items())
    ]
    return columns_of(("load_id", "rule", "n_values"), rows)


def load_columns(
    files: Sequence[FileLoad], ingest_version: str, ingest_id: int
) -> Columns:
    """Return rows of ``raw.loads``."""
    return {
        "load_id": [one.load_id for one in files],
        "file_uri": [one.uri for one in files],
        "kind": [one.kind for one in files],
        "source_name": [one.name for one in files],
        "sha256": [one.sha256 for one in files],
        "bytes": [one.size for one in files],
        "status": [one.status for one in files],
        "rows_loaded": [one.records_loaded for one in files],
        "rows_rejected": [one.records_rejected for one in files],
        "testset_override": [one.testset for one in files],
        "message": [one.message for one in files],
        "started_at": [one.started_at for one in files],
        "finished_at": [one.finished_at for one in files],
        "ingest_version": [ingest_version] * len(files),
        "read_with": [one.read_with for one in files],
        "ingest_id": [ingest_id] * len(files),
    }


def object_columns(loads: Sequence[FileLoad], *, with_scores: bool = False) -> Columns:
    """Return rows of ``raw.objects``: what each file brought.

    Those of scores are without the hash of their content.
    """
    rows: list[tuple[int, str, str, str | None, datetime | None, bool]] = []
    for load in loads:
        load_id, runs, written = load.load_id, load.runs, load.written
        if load.status == "skipped":  # a copy of these runs
            rows += [(load_id, "task", task, runs[task], None, False) for task in runs]
        elif load.status == "loaded":
            keys = ((kind, "|".join(parts)) for kind, *parts in load.keys)
            for kind, object_id in keys:
                if kind == "scores" and not with_scores:
                    continue
                run_hash = runs.get(object_id) if kind == "task" else None
                moment = written.get(object_id) if kind == "task" else None
                rows.append((load_id, kind, object_id, run_hash, moment, False))
            rows += [
                (load_id, "task", task, None, None, True) for task in load.former_tasks
            ]
    names = ("load_id", "kind", "object_id", "run_hash", "written_at", "is_gone")
    return columns_of(names, rows)
