"""Read planned files one by one in batches; skip known ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.contracts.base import plain_name
from promptlab.encoding import without_comments
from promptlab.ingest.files.dates import numbers_of
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.input_file import (
    BLOCK_BYTES,
    ChangedWhileRead,
    InputFile,
)
from promptlab.ingest.files.redaction import Mode, Redactor
from promptlab.ingest.foreign.identity import (
    copy_problem,
    older_problem,
    replaced_problems,
)
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.formats import LINE_KINDS, read_batches
from promptlab.ingest.overrides import Overrides
from promptlab.ingest.raw.load_log import (
    Known,
    has_tasks,
    read_with,
    version_of,
)
from promptlab.ingest.raw.rows import FileLoad, ReadBatch, Reading
from promptlab.ingest.reading.problems import Problem, lone_surrogate_warning, warning
from promptlab.ingest.reading.source import (
    LIMIT_CODES,
    Limits,
    Source,
    place_of_lone_surrogate,
)
from promptlab.ingest.times_of_runs import (
    columns_of_times,
    date_runs,
    future_problem,
    load_starts,
    undated_problem,
)
from promptlab.json_text.places import BOM

if TYPE_CHECKING:
    from promptlab.contracts.testset import Pipeline


OnProgress = Callable[[Path, int], None]
"""Called after each file with its path and size."""

_NO_RUN = warning(
    "no_run",
    "holds no row of a run, so there is nothing to load; write it again when the run"
    " is over",
)


@dataclass
class FileReader:
    """Reads the files that are not in the warehouse yet."""

    known: Known
    """Versions to skip; those read here are added."""
    pipelines: list[Pipeline]
    """Known pipelines; those read here are added."""
    testset: str | None
    """Testset of every task, whatever the files say."""
    limits: Limits
    redact: Mode
    """The values to replace before any other processing."""
    loads: list[FileLoad] = field(default_factory=list)
    """One for each file, in the order they were read."""

    def read_all(
        self,
        planned: Iterable[tuple[FoundFile, str | None]],
        after: datetime | None = None,
        on_progress: OnProgress = lambda _path, _size: None,
    ) -> Iterator[ReadBatch]:
        """Read files in their order.

        Args:
            planned: Files and their kinds.
            after: The loads start after this time.
            on_progress: Called after each file.
        """
        for (file, kind), start in zip(planned, load_starts(after), strict=False):
            yield from self.read(file, kind, start)
            on_progress(file.path, file.size)

    def read(
        self, file: FoundFile, kind: str | None, start: datetime
    ) -> Iterator[ReadBatch]:
        """Read one file in batches of bounded size; skip a known file.

        A file that cannot be read to its end, or changes meanwhile, is left out. Its
        earlier batches are then withdrawn by one that is ``withdrawn``.
        """
        if file.fault:
            of_file = _File(self, file, kind, start)
            yield from of_file.left_out("unreadable", file.fault)
            return
        last: ReadBatch | None = None
        try:
            for last in _File(self, file, kind, start).batches():
                yield last
            return
        except OSError as error:
            code, reason = "unreadable", error.strerror or str(error)
        except ChangedWhileRead:
            code = "changed_while_read"
            reason = "it changed while it was read. Ingest it when it is done"
        if last is not None:
            yield replace(last, more=False, withdrawn=True)
        self.loads.pop()
        yield from _File(self, file, kind, start).left_out(code, reason)


class _File:
    """One file of a call."""

    def __init__(
        self, reader: FileReader, file: FoundFile, kind: str | None, start: datetime
    ) -> None:
        self._reader = reader
        self._file = file
        self._kind = kind
        self._redactor = Redactor(
            reader.redact, yaml=kind == "pipeline", is_utf8=kind != "labels"
        )
        self._undated: list[str] = []
        self._load = FileLoad(
            file.path,
            kind or "unknown",
            uri=file.uri,
            name=file.name,
            testset=reader.testset if has_tasks(kind or "unknown") else None,
            started_at=start,
            read_with=read_with(file, reader.redact),
        )
        reader.loads.append(self._load)

    def batches(self) -> Iterator[ReadBatch]:
        """Read the file.

        Raises:
            ChangedWhileRead: it was written while it was read.
            OSError: it cannot be read.
        """
        readings = self._readings(InputFile(self._file.path))
        if readings is not None:
            yield from self._as_batches(readings)

    def _readings(self, file: InputFile) -> Iterator[Reading] | None:
        """Return the readings of the file; ``None`` if it is known."""
        is_whole = self._is_read_whole(file)
        is_too_large = is_whole and file.size > self._reader.limits.max_file
        if self._kind in TOOLS:  # its reader opens a large one itself
            is_held = file.size <= BLOCK_BYTES
        else:
            is_held = is_whole and not is_too_large and self._kind is not None
        data = file.whole() if is_held else b""
        self._load.size = file.size
        self._load.sha256 = self._sha256(file, data)
        before = self._known_load()
        if before is not None:
            self._report_as_before(before)
            return None
        source = self._source(data)
        redact = self._redactor.redact
        if self._kind in TOOLS:
            return _unchanged(read_batches(self._kind, source), file)
        if is_too_large:
            return _rejected(self._reader.limits.file_too_large(file.size))
        if self._kind is None:
            self._load.status, self._load.message = "skipped", "of no known kind"
            return iter([Reading(rows={})])
        if is_whole:
            return read_batches(self._kind, replace(source, data=redact(data)))
        blocks = (
            redact(block) if isinstance(block, bytes) else block
            for block in file.blocks(self._reader.limits.max_record)
        )
        return read_batches(self._kind, replace(source, blocks=blocks))

    def left_out(self, code: str, reason: str) -> Iterator[ReadBatch]:
        """Yield one batch with the reason for leaving the file out, unless known.

        Every call reports it: the file may have changed, but cannot be read.
        """
        problem = Problem(code, f"cannot be read: {reason}")
        before = self._known_load()
        if before is not None:
            self._report_as_before(before)
            self._load.was_rejected = False
            self._load.add(next(_rejected(problem)))
        else:
            yield from self._as_batches(_rejected(problem))

    def _is_read_whole(self, file: InputFile) -> bool:
        if self._kind not in LINE_KINDS or file.size <= BLOCK_BYTES:
            return True
        if self._kind == "testset":
            return False
        # a JSON list has no lines to go by
        head = without_comments(file.head()).removeprefix(BOM)
        return head.lstrip()[:1] == b"["

    def _as_batches(self, readings: Iterator[Reading]) -> Iterator[ReadBatch]:
        load = self._load
        last: ReadBatch | None = None
        for reading, is_last in _marked(readings):
            reading = _overridden(reading, self._file.overrides)
            if is_last:
                reading = self._completed(reading)
                is_left_out = load.status == "skipped" or reading.rejected
                if last is not None and is_left_out:
                    # a copy, or refused at its end: none of it is loaded
                    yield replace(last, more=False, withdrawn=True)
                    load.problems, load.keys = [], []
                    load.records_loaded = load.records_rejected = 0
            reading.problems += self._dated(reading, is_last=is_last)
            load.add(reading)
            self._reader.pipelines += _pipelines_in(reading)
            if is_last:
                if any(problem.code in LIMIT_CODES for problem in load.problems):
                    load.read_with = self._read_with_limits()
                load.redacted = dict(self._redactor.counts)
                load.runs, load.written = reading.runs, reading.written
                load.finished_at = max(datetime.now(UTC), load.started_at)
                self._reader.known.add(load)
            last = ReadBatch(load, reading, more=not is_last)
            yield last

    def _completed(self, reading: Reading) -> Reading:
        """Return the last reading of a file, with what is only known at its end."""
        if self._kind in TOOLS:
            reading = self._loaded_once(reading)
        elif self._kind == "results":
            from promptlab.ingest.results import of_one_variant

            known = self._reader.known.variants
            reading = of_one_variant(reading, self._file.uri, known)
        elif self._kind == "testset" and self._redactor.counts:
            reading.problems.append(_redacted_expectations(self._redactor))
        if self._redactor.n_surrogates:
            blocks = InputFile(self._file.path).blocks(self._reader.limits.max_record)
            place = place_of_lone_surrogate(blocks)
            problem = lone_surrogate_warning(self._redactor.n_surrogates, **place)
            reading.problems.append(problem)
        return reading

    def _dated(self, reading: Reading, *, is_last: bool) -> Iterator[Problem]:
        """Give tasks without a time that of the load; yield warnings of their times."""
        load = self._load
        known = self._reader.known.first_load(load.uri, load.sha256)
        self._undated += date_runs(reading, known or load.started_at)
        if is_last and self._undated and not reading.rejected and reading.rows:
            columns = columns_of_times(reading) if load.kind == "table" else []
            yield undated_problem(load.kind, load.path.name, self._undated, columns)
        if (future := future_problem(reading, load.started_at)) is not None:
            yield future

    def _loaded_once(self, reading: Reading) -> Reading:
        """Leave out a run that another file brought; warn where one replaces it."""
        known = self._reader.known
        if not reading.runs and not reading.rejected:
            problems = reading.problems or [_NO_RUN]  # else its reader says why
            self._load.status, self._load.message = "skipped", problems[0].message
            # a run without any valid row rejects the whole file
            rejected = any(problem.severity == "reject" for problem in problems)
            return replace(reading, rows={}, problems=problems, rejected=rejected)
        uri = self._file.uri
        other = known.runs.copy_of(reading.runs, uri)
        newer = known.runs.newer_of(reading.runs, reading.written)
        if other is not None or (newer and newer != uri):
            problem = older_problem(uri, newer)
            if other is not None:
                problem = copy_problem(uri, other)
            self._load.status, self._load.message = "skipped", problem.message
            return Reading(rows={}, problems=[problem], runs=reading.runs)
        replaced = known.runs.replaced_by(reading.runs, uri)
        reading.problems += replaced_problems(uri, replaced)
        known.runs.add(reading.runs, uri, reading.written)
        former = known.former_tasks(uri, self._load.sha256, reading.runs)
        for path in self._file.companions:
            other_uri = os.path.realpath(path)
            if other_uri in known.paths:  # it was a run of its own
                sha256 = InputFile(path).sha256()
                former += known.former_tasks(other_uri, sha256, reading.runs)
        self._load.former_tasks = former
        return reading

    def _sha256(self, file: InputFile, data: bytes) -> str:
        """Return the hash of the file and its companions."""
        sha256 = hashlib.sha256(data).hexdigest() if data else file.sha256()
        companions = self._file.companions
        if not companions:
            return sha256
        hashes = [sha256, *(InputFile(path).sha256() for path in companions)]
        return hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    def _known_load(self) -> FileLoad | None:
        """Return the load of this content that need not be read again, if any."""
        version = version_of(self._load)
        limited = version._replace(read_with=self._read_with_limits())
        return self._reader.known.load_of([limited, version], self._load.uri)

    def _report_as_before(self, before: FileLoad) -> None:
        """Take the result of an earlier load for this one, which reads nothing."""
        load = self._load
        is_out = before.status in {"skipped", "purged"}
        load.status = before.status if is_out else "unchanged"
        load.was_rejected = before.status == "rejected"
        load.records_loaded = before.records_loaded
        load.records_rejected = before.records_rejected
        if is_out or load.was_rejected:
            return
        if self._kind in TOOLS and before.uri != load.uri:
            load.problems = [copy_problem(load.uri, before.uri)]
        load.keys = before.keys

    def _read_with_limits(self) -> str:
        return read_with(self._file, self._reader.redact, self._reader.limits)

    def _source(self, data: bytes) -> Source:
        run_key = ""
        if self._kind in TOOLS:
            again = self._reader.known.returns(self._file.uri, self._load.sha256)
            run_key = numbers_of(self._file.uri) + (f"~{again}" if again else "")
        return Source.from_file(
            self._file,
            data=data,
            pipelines=self._reader.pipelines,
            size=self._load.size,
            limits=self._reader.limits,
            run_key=run_key,
            redact=self._redactor.redact,
            mend=self._redactor.mend,
        )


_NAMES = frozenset({"title", "variant", "provider", "prompt_name", "model"})
"""Columns of tasks by which runs are paired."""


def _overridden(reading: Reading, overrides: Overrides) -> Reading:
    """Add the options of the call to the tasks of a file; make their names plain.

    A re-check must not replace another task, neither a run nor the re-check of another
    one: such a file is rejected.
    """
    table = "memory_runs" if "memory_runs" in reading.rows else "tasks"
    tasks, values = reading.rows.get(table), overrides.columns()
    if tasks is None:
        return reading
    if table == "memory_runs" and "recheck_of" in values:
        problem = Problem(
            "recheck_of_memory",
            "a run of a memory benchmark cannot be the re-check of another one: its"
            " memory is not the same; load it as a new run, without --recheck-of",
        )
        return Reading(rows={}, rejected=True, problems=[problem])
    known_ids = sorted(overrides.other_ids.intersection(tasks["task_id"]))
    if known_ids:
        problem = Problem(
            "recheck_with_a_known_id",
            f"{known_ids[0]}: a re-check must not have the id of a run, or of the"
            " re-check of another one; give the new rounds an id of their own",
            record_id=known_ids[0],
        )
        return Reading(rows={}, rejected=True, problems=[problem])
    n = len(tasks["task_id"])
    columns = {**tasks, **{name: [value] * n for name, value in values.items()}}
    if overrides.local_commit and table == "tasks":
        known = columns.get("commit_sha") or [None] * n
        sources = columns.get("revision_source") or [None] * n
        columns["commit_sha"] = [commit or overrides.local_commit for commit in known]
        columns["revision_source"] = [
            source if commit else "git"
            for source, commit in zip(sources, known, strict=True)
        ]
    for name in _NAMES & columns.keys():
        columns[name] = [cell and plain_name(cell) for cell in columns[name]]
    reading.rows[table] = columns
    return reading


def _marked(readings: Iterator[Reading]) -> Iterator[tuple[Reading, bool]]:
    """Yield each reading of a file, and whether it is the last."""
    reading = next(readings)
    for following in readings:
        yield reading, False
        reading = following
    yield reading, True


def _rejected(problem: Problem) -> Iterator[Reading]:
    yield Reading(rows={}, problems=[problem], rejected=True)


def _unchanged(readings: Iterator[Reading], file: InputFile) -> Iterator[Reading]:
    """Yield the readings of a file that its reader opens, if it did not change.

    Raises:
        ChangedWhileRead: before the last reading is yielded.
    """
    yield from readings
    file.check_unchanged()


def _redacted_expectations(redactor: Redactor) -> Problem:
    count = redactor.counts.total()
    message = (
        f"{count} value(s) of this testset were redacted: a check that expects one of"
        " them passes for every value that is redacted by the same rule. Set redact to"
        " off to compare the values themselves."
    )
    return Problem("redacted_expectation", message, severity="warning", line=1)


def _pipelines_in(reading: Reading) -> list[Pipeline]:
    written = reading.rows.get("pipelines")
    if written is None:
        return []
    from promptlab.contracts.testset import Pipeline

    return [Pipeline.model_validate_json(raw_data) for raw_data in written["raw_data"]]
