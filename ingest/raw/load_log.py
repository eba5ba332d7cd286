"""The load log: the versions of files that were read, and their outcomes.

A file that is ingested again with the same bytes changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from promptlab.ingest.files.dates import are_nights_apart
from promptlab.ingest.reading.source import Limits

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.testset import Pipeline
    from promptlab.ingest.files.redaction import Mode
    from promptlab.ingest.raw.rows import Key
    from promptlab.ingest.reading.source import Source

# Kinds of files whose meaning depends on their name or path.
_MEANT_BY_NAME = {"testset", "results"}
_MEANT_BY_PATH = {"memory", "unknown"}  # the folders of a memory file name its run
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WITHOUT_TASKS = {"testset", "pipeline", "scores", "labels", "memory", "unknown"}


class Version(NamedTuple):
    """Everything that determines what is loaded from a file."""

    kind: str
    place: str
    sha256: str
    testset: str | None
    read_with: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a version of a file."""

    status: str
    records_loaded: int
    records_rejected: int
    uri: str = ""
    """The file that was read."""
    objects: str | None = None
    """Ids of its objects, as JSON; ``None``: unknown."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """Task → hash of its run, for files of other tools; also if it was left out."""


class _Content(NamedTuple):
    sha256: str
    started_at: datetime
    """Start of the first load."""
    runs: frozenset[str]
    """Tasks of another tool."""


@dataclass
class Known:
    """Versions that need not be read again, and their outcomes.

    A version is known while all its rows are live or its rejects are stored, or while
    it is the last one read from its path: the later of two files with the same task is
    used, and reading the same folder again must not undo that.
    Only the hash of a purged file is left; that file is recognised at every path.
    """

    versions: dict[Version, Outcome] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    """SHA-256 of purged files, which are not loaded again."""
    runs: dict[str, tuple[str, str, datetime | None]] = field(default_factory=dict)
    """Task → the hash of its loaded run of another tool, the file, and the time at
    which the tool wrote it, if this call loaded it."""
    contents: dict[str, list[_Content]] = field(default_factory=dict)
    """Path → its contents, one after the other."""
    paths: dict[str, list[str]] = field(default_factory=dict)
    """SHA-256 → the paths that had this content, in the order of their loads."""
    last_start: datetime | None = None
    """Start of the last load."""
    variants: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    """Task of evaluation results → its file, and the pipeline and variant it is of."""
    _tasks: dict[str, list[str]] = field(default_factory=dict)
    """Hash of a run → tasks loaded from it; some may have been replaced."""

    def find(self, *versions: Version) -> Outcome | None:
        """Return the outcome of the first known version, if any."""
        for version in versions:
            if version in self.versions:
                return self.versions[version]
        if any(version.sha256 in self.purged for version in versions):
            return Outcome("purged", 0, 0)
        return None

    def add(self, versions: tuple[Version, ...], outcome: Outcome) -> None:
        """Record the outcome of versions that were just read."""
        self.versions.update(dict.fromkeys(versions, outcome))

    def add_load(
        self, uri: str, sha256: str, started_at: datetime, runs: Iterable[str]
    ) -> None:
        """Record the content of a path at the time of a load."""
        contents = self.contents.setdefault(uri, [])
        if not contents or contents[-1].sha256 != sha256:
            contents.append(_Content(sha256, started_at, frozenset(runs)))
            self.paths.setdefault(sha256, []).append(uri)
        else:  # read again in another way
            contents[-1] = contents[-1]._replace(runs=frozenset(runs))
        self.last_start = max(started_at, self.last_start or started_at)

    def returns(self, uri: str, sha256: str) -> int:
        """Return how often the path had this content before, and then another run."""
        contents = self.contents.get(uri, [])
        had = dict.fromkeys(each.runs for each in contents if each.sha256 == sha256)
        newest = contents[-1].runs if contents else None
        return list(had).index(newest) if newest in had else len(had)

    def stale_runs(self, uri: str, sha256: str, runs: Iterable[str]) -> list[str]:
        """Return the tasks that a path had with this content under other ids.

        They change with the mapping and with what the call says about the file.
        """
        contents = self.contents.get(uri)
        if not contents or contents[-1].sha256 != sha256:
            return []
        own = (each for each in contents[-1].runs if each in self.runs)
        return sorted({each for each in own if self.runs[each][1] == uri} - {*runs})

    def first_load(self, uri: str, sha256: str) -> datetime | None:
        """Return when the path was first loaded with this content, which it still has.

        For a new path it is the time of the file that was moved or copied; ``None`` for
        new content, and for that of another night.
        """
        contents = self.contents.get(uri)
        if contents:
            newest = contents[-1]
            return newest.started_at if newest.sha256 == sha256 else None
        for other in self.paths.get(sha256, ()):
            if not are_nights_apart(uri, other):
                had = (each for each in self.contents[other] if each.sha256 == sha256)
                return next(had).started_at
        return None

    def add_runs(
        self,
        runs: Mapping[str, str],
        uri: str,
        written: Mapping[str, datetime] | None = None,
    ) -> None:
        """Record the runs (task → hash) of a file that was just loaded."""
        for task_id, run_hash in runs.items():
            self.runs[task_id] = run_hash, uri, (written or {}).get(task_id)
            self._tasks.setdefault(run_hash, []).append(task_id)

    def copy_of(self, runs: Mapping[str, str], uri: str) -> str | None:
        """Return another file that contains all these runs, if any.

        Runs without ids are the same only on one night.
        """
        files = [self._file_with(task_id, runs[task_id], uri) for task_id in runs]
        return files[0] if files and all(files) else None

    def _file_with(self, own_id: str, run_hash: str, other_than: str) -> str | None:
        for task_id in self._tasks.get(run_hash, ()):
            now, uri, _ = self.runs[task_id]
            is_same = task_id == own_id or not are_nights_apart(uri, other_than)
            if now == run_hash and uri != other_than and is_same:
                return uri
        return None

    def are_live(self, runs: Mapping[str, str]) -> bool:
        """Return true if exactly these versions of runs are loaded, from any file."""
        return all(self._file_with(task, runs[task], "") for task in runs)

    def newer_of(self, runs: Mapping[str, str], written: Mapping[str, datetime]) -> str:
        """Return the file of this call with newer versions of these runs, or ``""``."""
        newer = ""
        for task_id in runs:
            _, uri, before = self.runs.get(task_id, ("", "", None))
            moment = written.get(task_id)
            if before is None or moment is None or before <= moment:
                return ""
            newer = uri
        return newer

    def replaced_by(self, runs: Mapping[str, str], uri: str) -> dict[str, str]:
        """Return task → the other file that contained it, with other content."""
        known = {
            task_id: self.runs[task_id][1] for task_id in runs if task_id in self.runs
        }
        return {task_id: other for task_id, other in known.items() if other != uri}


def versions_of(
    kind: str, source: Source, sha256: str, testset: str | None, read_with: str
) -> tuple[Version, Version]:
    """Return a file's version by its content, and its version by its path."""
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
    """Return the settings that affect the reading of a file, for the load log.

    Limits only matter if one was exceeded: then the file is read again when they
    change. A file within all limits stays the same version.
    A table is read again when its mapping changes.
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
    """Return the objects of a file that was read before, with joined ids."""
    of_kind = kind if kind in _WITHOUT_TASKS else "task"
    return [(of_kind, each) for each in json.loads(outcome.objects or "[]")]


def _place(kind: str, name: str, uri: str) -> str:
    """Return the part of a file's path that affects the meaning of its content."""
    if kind in _MEANT_BY_PATH:
        return f"path:{uri}"
    return f"name:{name}" if kind in _MEANT_BY_NAME else "anywhere"


# A load is whole until a later one replaces any of its objects: the same content then
# says something new.
_LOADS = """
    with loads as (
        select *, case when list_contains($1, kind) then kind else 'task' end as owner
        from raw.loads
    ),

    objects as (
        select load_id, owner, unnest(cast(objects as varchar[])) as id from loads
    ),

    replaced as (
        select owner, id, max(load_id) as load_id
        from (
            select owner, unnest(cast(replaced as varchar[])) as id, load_id from loads
        )
        group by owner, id
    ),

    thinned as (
        select distinct objects.load_id
        from objects
        inner join replaced using (owner, id)
        where replaced.load_id > objects.load_id
    )

    select
        kind, source_name, file_uri, sha256, testset_override, read_with,
        status, rows_loaded, rows_rejected, runs, objects,
        load_id not in (from thinned) as is_whole,
        load_id = max(load_id) over (partition by file_uri) as is_last,
        epoch_us(started_at)
    from loads
    order by load_id
"""


def known_files(con: duckdb.DuckDBPyConnection, *, purged_too: bool = False) -> Known:
    """Read the load log; with ``purged_too`` purged files are not known."""
    known = Known()
    for kind, name, uri, sha256, testset, settings, *outcome in con.execute(
        _LOADS, [list(_WITHOUT_TASKS)]
    ).fetchall():
        status, loaded, rejected, runs, objects, is_whole, is_last, start = outcome
        of_tool = {} if runs is None else json.loads(runs)
        known.add_load(uri, sha256, EPOCH + timedelta(microseconds=start), of_tool)
        if status == "purged":
            if not purged_too:
                known.purged.add(sha256)
            continue
        known_as = Outcome(status, loaded, rejected, uri, objects, of_tool)
        if status == "loaded":
            known.add_runs(of_tool, uri)
        if status != "replaced" and is_whole:
            place = _place(kind, name, uri)
            version = Version(kind, place, sha256, testset, settings)
            known.add((version,), known_as)
        if is_last:
            version = Version(kind, f"path:{uri}", sha256, testset, settings)
            known.add((version,), known_as)
    return known


def known_variants(
    con: duckdb.DuckDBPyConnection,
) -> dict[str, tuple[str, list[str]]]:
    """Return what the tasks of evaluation results are of, and their newest files."""
    rows = con.execute(
        "select task_id, file_uri, extras ->> 'entity_id', extras ->> 'variant'"
        " from raw.tasks inner join raw.loads using (load_id)"
        " where source_kind = 'results'"
    ).fetchall()
    return {task_id: (uri, own) for task_id, uri, *own in rows}


def known_pipelines(con: duckdb.DuckDBPyConnection) -> list[Pipeline]:
    """Return the pipelines for checking testsets."""
    rows = con.execute(
        "select raw_data from raw.pipelines order by pipeline_id"
    ).fetchall()
    if not rows:
        return []
    from promptlab.contracts.testset import Pipeline

    return [Pipeline.model_validate_json(raw_data) for (raw_data,) in rows]
