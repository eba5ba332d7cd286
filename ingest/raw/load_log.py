"""The load log: which versions of files were read before, and what came of each.

A file that is ingested again with the same bytes changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from promptlab.ingest.reading.limits import Limits
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.pipeline import Pipeline
    from promptlab.ingest.files.redaction_rules import Mode
    from promptlab.ingest.raw.rows import Key
    from promptlab.ingest.reading.source import Source

MOST_PROBLEMS = 1000
"""Maximum number of problems of one load in memory; they are shown again when the same
file is ingested again."""

# Kinds of files that mean something else under another name, or at another place; all
# other files mean the same wherever they lie.
_MEANT_BY_NAME = {"testset", "results"}
_MEANT_BY_PATH = {"memory", "unknown"}  # the folders above a memory file name its run
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WITHOUT_TASKS = {"testset", "pipeline", "scores", "labels", "memory", "unknown"}


class Version(NamedTuple):
    """Everything that decides what would be loaded of a file."""

    kind: str
    place: str
    sha256: str
    testset: str | None
    read_with: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a version of a file."""

    status: str
    problems: list[Problem]
    records_loaded: int
    records_rejected: int
    uri: str = ""
    """The file that was read."""
    objects: str | None = None
    """Ids of the objects that it brought, as JSON; ``None``: not known."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """Task → hash of its run, of a file of another tool; also where it was left out."""


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run of another tool that is loaded."""

    run_hash: str
    uri: str
    """The file that brought it."""
    written_at: datetime | None = None
    """Time at which the tool wrote it, for files of this call."""


@dataclass
class Known:
    """Versions that need not be read again, and what came of each.

    A version is known while its rows are live or its rejects are kept. It is also known
    while it is the last one read from its path: of two files that describe one task
    the later one wins, and reading the same folder again must not undo that.
    Only the hash of a purged file is left; that file is recognised at every path.
    """

    versions: dict[Version, Outcome] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    """SHA-256 of purged files, which are not loaded again."""
    runs: dict[str, KnownRun] = field(default_factory=dict)
    """Task → the run of another tool that it was loaded from."""
    undated: dict[str, datetime] = field(default_factory=dict)
    """SHA-256 of files whose runs have no time → when they were first loaded."""
    last_start: datetime | None = None
    """Start of the last load."""
    _tasks: dict[str, list[str]] = field(default_factory=dict)
    """Hash of a run → tasks that were loaded from it; some may have been replaced."""

    def find(self, *versions: Version) -> Outcome | None:
        """The outcome of the first known one of these versions, if any is known."""
        for version in versions:
            if version in self.versions:
                return self.versions[version]
        if any(version.sha256 in self.purged for version in versions):
            return Outcome("purged", [], 0, 0)
        return None

    def add(self, versions: tuple[Version, ...], outcome: Outcome) -> None:
        """Note the outcome of versions that were just read."""
        self.versions.update(dict.fromkeys(versions, outcome))

    def add_runs(
        self,
        runs: Mapping[str, str],
        uri: str,
        written: Mapping[str, datetime] | None = None,
    ) -> None:
        """Note the runs (task → hash) that a file has just brought."""
        for task_id, run_hash in runs.items():
            moment = (written or {}).get(task_id)
            self.runs[task_id] = KnownRun(run_hash, uri, moment)
            self._tasks.setdefault(run_hash, []).append(task_id)

    def copy_of(self, runs: Mapping[str, str], uri: str) -> str | None:
        """The other file that brought all these runs, if one did."""
        files = [self._file_with(run_hash, uri) for run_hash in runs.values()]
        return files[0] if files and all(files) else None

    def _file_with(self, run_hash: str, other_than: str) -> str | None:
        runs = map(self.runs.__getitem__, self._tasks.get(run_hash, ()))
        there = (run for run in runs if run.run_hash == run_hash)
        return next((run.uri for run in there if run.uri != other_than), None)

    def are_live(self, runs: Mapping[str, str]) -> bool:
        """Return whether exactly these versions of runs are loaded, from any file."""
        return all(self._file_with(run_hash, "") for run_hash in runs.values())

    def newer_of(self, runs: Mapping[str, str], written: Mapping[str, datetime]) -> str:
        """The file of this call that holds newer versions of all these runs, or ``""``.

        Args:
            runs: task → hash.
            written: task → when the tool wrote it; a run without a time is not older.
        """
        newer = ""
        for task_id in runs:
            before, moment = self.runs.get(task_id), written.get(task_id)
            if before is None or before.written_at is None or moment is None:
                return ""
            if before.written_at <= moment:
                return ""
            newer = before.uri
        return newer

    def replaced_by(self, runs: Mapping[str, str], uri: str) -> dict[str, str]:
        """Task → the other file that had brought it, with other content."""
        return {
            task_id: before.uri
            for task_id in runs
            if (before := self.runs.get(task_id)) and before.uri != uri
        }


def versions_of(
    kind: str, source: Source, sha256: str, testset: str | None, read_with: str
) -> tuple[Version, Version]:
    """A file's version by its content, and its version by its path."""
    testset = None if kind in _WITHOUT_TASKS else testset
    place = _place(kind, source.name, source.uri)
    return (
        Version(kind, place, sha256, testset, read_with),
        Version(kind, f"path:{source.uri}", sha256, testset, read_with),
    )


def read_with(
    mode: Mode,
    limits: Limits | None = None,
    mapping: str | None = None,
    given: str | None = None,
) -> str:
    """The settings that decide what of a file is read, as the load log keeps them.

    Limits count only where one was exceeded: a file within all limits is the same
    version under other limits, one that exceeds a limit is read again when they change.
    A table is read again when its mapping changes.

    Args:
        mode: which values are redacted.
        limits: those of the ingest, for a file that exceeds one.
        mapping: name and hash of the mapping, for a table.
        given: what the call says of title, variant and time.
    """
    words = [f"redact={mode}"]
    if mapping is not None:
        words.append(f"mapping={mapping}")
    if given is not None:
        words.append(f"given={hashlib.sha256(given.encode()).hexdigest()[:16]}")
    if limits is not None:
        words.append(_told(limits))
    return " ".join(words)


@cache
def _told(limits: Limits) -> str:
    return " ".join(f"{name}={value}" for name, value in asdict(limits).items())


def keys_of(kind: str, outcome: Outcome) -> list[Key]:
    """The objects of a file that was read before, each id as one part."""
    of_kind = kind if kind in _WITHOUT_TASKS else "task"
    return [(of_kind, each) for each in json.loads(outcome.objects or "[]")]


def _place(kind: str, name: str, uri: str) -> str:
    """The part of a file's path that decides what its bytes mean."""
    if kind in _MEANT_BY_PATH:
        return f"path:{uri}"
    return f"name:{name}" if kind in _MEANT_BY_NAME else "anywhere"


def known_files(con: duckdb.DuckDBPyConnection, *, purged_too: bool = False) -> Known:
    """Read the load log; with ``purged_too`` purged files do not count as known."""
    problems = _first_problems(con)
    known = Known()
    for (
        load_id,
        kind,
        name,
        uri,
        sha256,
        testset,
        settings,
        status,
        loaded,
        rejected,
        runs,
        objects,
        is_last,
    ) in con.execute(
        "select load_id, kind, source_name, file_uri, sha256, testset_override,"
        " read_with, status, rows_loaded, rows_rejected,"
        " runs, objects, load_id = max(load_id) over (partition by file_uri)"
        " from raw.loads order by load_id"
    ).fetchall():
        if status == "purged":
            if not purged_too:
                known.purged.add(sha256)
            continue
        of_load = problems.get(load_id, [])
        of_tool = {} if runs is None else json.loads(runs)
        outcome = Outcome(status, of_load, loaded, rejected, uri, objects, of_tool)
        if status == "loaded":
            known.add_runs(of_tool, uri)
        if status != "replaced":
            place = _place(kind, name, uri)
            version = Version(kind, place, sha256, testset, settings)
            known.add((version,), outcome)
        if is_last:
            version = Version(kind, f"path:{uri}", sha256, testset, settings)
            known.add((version,), outcome)
    _know_starts(con, known)
    return known


def _know_starts(con: duckdb.DuckDBPyConnection, known: Known) -> None:
    """Read the start of loads: the order of runs without a time."""
    for sha256, is_undated, first, last in con.execute(
        "select sha256, bool_or(load_id in"
        " (select load_id from raw.rejects where code = 'time_missing')),"
        " min(epoch_us(started_at)), max(epoch_us(started_at))"
        " from raw.loads group by sha256"
    ).fetchall():
        start = _EPOCH + timedelta(microseconds=last)
        known.last_start = max(start, known.last_start or start)
        if is_undated:
            known.undated[sha256] = _EPOCH + timedelta(microseconds=first)


def _first_problems(con: duckdb.DuckDBPyConnection) -> dict[int, list[Problem]]:
    """The first ``MOST_PROBLEMS`` problems of each load, by load id."""
    problems: dict[int, list[Problem]] = {}
    rows = con.execute(
        'select load_id, code, message, severity, "line", "column", record_id, pointer'
        " from raw.rejects order by load_id, rowid"
    )
    while some := rows.fetchmany(10_000):
        for load_id, *fields in some:
            of_load = problems.setdefault(load_id, [])
            if len(of_load) < MOST_PROBLEMS:
                of_load.append(Problem(*fields))
    return problems


def known_pipelines(con: duckdb.DuckDBPyConnection) -> list[Pipeline]:
    """The pipelines that testsets are checked against."""
    rows = con.execute(
        "select raw_data from raw.pipelines order by pipeline_id"
    ).fetchall()
    if not rows:
        return []
    from promptlab.contracts.pipeline import Pipeline

    return [Pipeline.model_validate_json(raw_data) for (raw_data,) in rows]
