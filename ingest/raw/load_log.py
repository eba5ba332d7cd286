"""The load log: which versions of files were read, with their status.

`Known.load_of` is the only place that answers "was this file read before?". The views
of the schema `live` contain the rows of a load that still count.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from promptlab.ingest.files.dates import differ_in_numbers
from promptlab.ingest.raw.known_runs import KnownRuns
from promptlab.ingest.raw.rows import EPOCH, FileLoad
from promptlab.ingest.reading.source import Limits

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.testset import Pipeline
    from promptlab.ingest.files.finding import FoundFile
    from promptlab.ingest.files.redaction import Mode

# Kinds of files whose meaning depends on their name or path.
_MEANT_BY_NAME = {"testset", "results"}
_MEANT_BY_PATH = {"memory", "unknown"}  # the folders of a memory file name its run
_WITHOUT_TASKS = {"testset", "pipeline", "scores", "labels", "memory", "unknown"}
_OUR_KINDS = _WITHOUT_TASKS | {"analysis", "results", None}


class Version(NamedTuple):
    """Everything that determines what is loaded from a file."""

    kind: str
    place: str
    """The part of its path that affects the meaning of its content."""
    sha256: str
    testset: str | None
    read_with: str


class _Content(NamedTuple):
    sha256: str
    started_at: datetime
    """Start of the first load."""
    runs: frozenset[str]
    """Tasks of another tool."""


@dataclass
class Known:
    """The loads that decide how the files of a call are read."""

    paths: dict[str, list[FileLoad]] = field(default_factory=dict)
    """Path → its loads before this call, in their order."""
    contents: dict[Version, FileLoad] = field(default_factory=dict)
    """Version → its newest load of which everything is live, or nothing was loaded."""
    holders: dict[str, list[str]] = field(default_factory=dict)
    """SHA-256 → the paths that had this content."""
    purged: set[str] = field(default_factory=set)
    """SHA-256 of purged files, which are not loaded again, whatever their path."""
    runs: KnownRuns = field(default_factory=KnownRuns)
    variants: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    """Task of evaluation results → its file, and the pipeline and variant it is of."""

    def load_of(self, versions: Iterable[Version], uri: str) -> FileLoad | None:
        """Return the load of a file that need not be read again, if any.

        A file is known while it stays as it was read last from its path, and anywhere
        else while all that its content brought is live: the later of two files of one
        task counts, and reading the same folder again must not undo that. A run of
        another tool that was left out as a copy is read when the run is gone.
        """
        versions = tuple(versions)
        for last in self.paths.get(uri, ())[-1:]:
            before = version_of(last)
            if before not in {v._replace(place=before.place) for v in versions}:
                continue
            was_copy = last.status == "skipped" and last.runs
            if not was_copy or any(task in self.runs for task in last.runs):
                return last
        other = next((self.contents[v] for v in versions if v in self.contents), None)
        if other is not None and other.runs and other.status != "rejected":
            again = differ_in_numbers(uri, other.uri) or self.returns(uri, other.sha256)
            other = other if self.runs.are_live(other.runs) and not again else None
        if other is None and any(version.sha256 in self.purged for version in versions):
            return FileLoad(Path(), versions[0].kind, status="purged")
        return other

    def add(self, load: FileLoad) -> None:
        """Record a load of this call."""
        self.contents[version_of(load)] = load

    def add_logged(self, load: FileLoad, *, is_live: bool) -> None:
        """Record a load of an earlier call; *is_live*: all of its objects are."""
        self.paths.setdefault(load.uri, []).append(load)
        self.holders.setdefault(load.sha256, []).append(load.uri)
        if is_live:
            self.add(load)

    def _contents_of(self, uri: str) -> list[_Content]:
        """Return the contents that a path had, one after the other."""
        contents: list[_Content] = []
        for load in self.paths.get(uri, ()):
            sha256, runs = load.sha256, frozenset(load.runs)
            if contents and contents[-1].sha256 == sha256:  # read with other settings
                contents[-1] = contents[-1]._replace(runs=runs)
            else:
                contents.append(_Content(sha256, load.started_at, runs))
        return contents

    def returns(self, uri: str, sha256: str) -> int:
        """Return how often the path had this content before, and then another run."""
        contents = self._contents_of(uri)
        runs = list(dict.fromkeys(c.runs for c in contents if c.sha256 == sha256))
        newest = contents[-1].runs if contents else None
        return runs.index(newest) if newest in runs else len(runs)

    def former_tasks(self, uri: str, sha256: str, runs: Iterable[str]) -> list[str]:
        """Return the tasks that a path had with this content under other ids.

        They change with the mapping and with options of the call for the file.
        """
        contents = self._contents_of(uri)
        if not contents or contents[-1].sha256 != sha256:
            return []
        tasks = {task for task in contents[-1].runs if self.runs.file_of(task) == uri}
        return sorted(tasks - {*runs})

    def first_load(self, uri: str, sha256: str) -> datetime | None:
        """Return when the path was first loaded with this content, which it still has.

        For a new path it is the time of the file that was moved or copied; ``None`` for
        new content, and for that of another night.
        """
        if contents := self._contents_of(uri):
            newest = contents[-1]
            return newest.started_at if newest.sha256 == sha256 else None
        for other in self.holders.get(sha256, ()):
            if not differ_in_numbers(uri, other):
                contents = self._contents_of(other)
                return next(c.started_at for c in contents if c.sha256 == sha256)
        return None


def version_of(load: FileLoad) -> Version:
    """Return the version of a file that was read, or is about to be."""
    place = "anywhere"
    if load.kind in _MEANT_BY_PATH:
        place = f"path:{load.uri}"
    elif load.kind in _MEANT_BY_NAME:
        place = f"name:{load.name}"
    return Version(load.kind, place, load.sha256, load.testset, load.read_with)


def has_tasks(kind: str) -> bool:
    """Return true if files of a kind contain tasks, to which a testset applies."""
    return kind not in _WITHOUT_TASKS


def read_with(file: FoundFile, mode: Mode, limits: Limits | None = None) -> str:
    """Return the settings that affect the reading of a file, for the load log.

    Limits only matter if one was exceeded: then the file is read again when they
    change. A file within all limits stays the same version.
    A table is read again when its mapping changes.
    """
    words = [f"redact={mode}"]
    if file.mapping is not None:
        name, mapping = file.mapping
        words.append(f"mapping={name}:{mapping.digest()}")
    options = repr(file.labels) if file.labels else file.overrides.identity
    if options is not None:
        digest = hashlib.sha256(options.encode()).hexdigest()[:16]
        words.append(f"overrides={digest}")
    if limits is not None:
        words += [f"{name}={value}" for name, value in asdict(limits).items()]
    return " ".join(words)


# Loads of the paths of a call, and of files of equal size: only these can be the same.
_LOADS = """
    with loads as (
        select *
        from raw.loads
        where
            file_uri in (select unnest($1))
            or bytes in (select unnest($2))
            or status = 'purged'
    ),

    contents as (
        select
            objects.load_id,
            list(objects.object_id order by objects.object_id)
                filter (not objects.is_gone) as object_ids,
            list(objects.run_hash order by objects.object_id)
                filter (not objects.is_gone) as run_hashes,
            bool_and(live.object_id is not null) filter (not objects.is_gone) as is_live
        from raw.objects as objects
        left join live.objects as live
            on
                objects.kind = live.kind
                and objects.object_id = live.object_id
                and (
                    objects.load_id = live.load_id
                    or objects.content_hash = live.content_hash
                )
        where objects.load_id in (select load_id from loads)
        group by objects.load_id
    )

    select
        kind, source_name, file_uri, sha256, testset_override, read_with, status,
        rows_loaded, rows_rejected, epoch_us(started_at), object_ids, run_hashes,
        coalesce(status <> 'loaded' or is_live, true)
    from loads
    left join contents using (load_id)
    order by load_id
"""

_RUNS = """
    select live.object_id, live.run_hash, loads.file_uri, epoch_us(objects.written_at)
    from live.objects as live
    inner join raw.loads as loads using (load_id)
    inner join raw.objects as objects
        on
            live.load_id = objects.load_id
            and live.kind = objects.kind
            and live.object_id = objects.object_id
    where live.run_hash is not null
    order by live.load_id
"""

_VARIANTS = """
    select task_id, file_uri, extras ->> 'entity_id', extras ->> 'variant'
    from live.tasks
    inner join raw.loads using (load_id)
    where source_kind = 'results'
"""


def known_files(
    con: duckdb.DuckDBPyConnection,
    planned: Sequence[tuple[FoundFile, str | None]],
    *,
    purged_too: bool = False,
    variants_too: bool = True,
) -> Known:
    """Read the earlier loads of files from the load log.

    Args:
        con: A connection to raw tables and live views.
        planned: The files and their kinds.
        purged_too: Purged files are not known.
        variants_too: Also read which variants evaluation results are of.
    """
    known = Known()
    uris = {file.uri for file, _ in planned}
    uris.update(os.path.realpath(path) for f, _ in planned for path in f.companions)
    sizes = {file.size for file, _ in planned}
    for *row, is_live in con.execute(_LOADS, [list(uris), list(sizes)]).fetchall():
        load = _logged_load(row)
        if load.status != "purged":
            known.add_logged(load, is_live=is_live)
        elif not purged_too:
            known.purged.add(load.sha256)
    kinds = {kind for _, kind in planned}
    if kinds - _OUR_KINDS:
        for task_id, run_hash, uri, moment in con.execute(_RUNS).fetchall():
            written = {} if moment is None else {task_id: _time(moment)}
            known.runs.add({task_id: run_hash}, uri, written)
    if variants_too and "results" in kinds:
        for task_id, uri, *variant in con.execute(_VARIANTS).fetchall():
            known.variants[task_id] = uri, variant
    return known


def _logged_load(row: Sequence[Any]) -> FileLoad:
    """Return a load from a row of `_LOADS`."""
    kind, name, uri, sha256, testset, settings, status = row[:7]
    loaded, rejected, start, object_ids, run_hashes = row[7:]
    objects = object_ids or []
    runs = dict(zip(objects, run_hashes or (), strict=True))
    owner = "task" if has_tasks(kind) else kind
    return FileLoad(
        Path(uri),
        kind,
        uri=uri,
        name=name,
        sha256=sha256,
        testset=testset,
        read_with=settings,
        started_at=_time(start),
        status=status,
        records_loaded=loaded,
        records_rejected=rejected,
        keys=[(owner, object_id) for object_id in objects if status == "loaded"],
        runs={task: run for task, run in runs.items() if run is not None},
    )


def _time(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def known_pipelines(con: duckdb.DuckDBPyConnection) -> list[Pipeline]:
    """Return the pipelines for checking testsets."""
    rows = con.execute(
        "select raw_data from raw.pipelines semi join live.objects using (load_id)"
        " order by pipeline_id"
    ).fetchall()
    if not rows:
        return []
    from promptlab.contracts.testset import Pipeline

    return [Pipeline.model_validate_json(raw_data) for (raw_data,) in rows]
