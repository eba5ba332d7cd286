"""Runs of other tools that are loaded: which file has which version of them.

A run may be in several files: exported again, or copied. Equal hashes are one version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from promptlab.ingest.files.dates import differ_in_numbers


class _Run(NamedTuple):
    hash: str
    """That of its version."""
    uri: str
    """The file that it was loaded from."""
    written_at: datetime | None
    """When the tool wrote this version, if the file says so."""


class KnownRuns:
    """Task → its loaded run of another tool."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._tasks: dict[str, list[str]] = {}  # of a hash; some may be replaced

    def add(
        self, runs: Mapping[str, str], uri: str, written: Mapping[str, datetime]
    ) -> None:
        """Record the runs (task → hash) of a file that was just loaded."""
        for task_id, run_hash in runs.items():
            self._runs[task_id] = _Run(run_hash, uri, written.get(task_id))
            self._tasks.setdefault(run_hash, []).append(task_id)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._runs

    def file_of(self, task_id: str) -> str | None:
        """Return the file that a task was loaded from."""
        run = self._runs.get(task_id)
        return run and run.uri

    def copy_of(self, runs: Mapping[str, str], uri: str) -> str | None:
        """Return another file that contains all these runs, if any.

        Runs without ids are the same only on one night.
        """
        files = [self._file_with(task_id, runs[task_id], uri) for task_id in runs]
        return files[0] if files and all(files) else None

    def are_live(self, runs: Mapping[str, str]) -> bool:
        """Return true if exactly these versions of runs are loaded, from any file."""
        return all(self._file_with(task, runs[task], "") for task in runs)

    def _file_with(self, own_id: str, run_hash: str, other_than: str) -> str | None:
        for task_id in self._tasks.get(run_hash, ()):
            run = self._runs[task_id]
            is_same = task_id == own_id or not differ_in_numbers(run.uri, other_than)
            if run.hash == run_hash and run.uri != other_than and is_same:
                return run.uri
        return None

    def newer_of(self, runs: Mapping[str, str], written: Mapping[str, datetime]) -> str:
        """Return the file with newer versions of all these runs, or ``""``."""
        newer = ""
        for task_id in runs:
            run, moment = self._runs.get(task_id), written.get(task_id)
            before = run and run.written_at
            if run is None or before is None or moment is None or before <= moment:
                return ""
            newer = run.uri
        return newer

    def replaced_by(self, runs: Mapping[str, str], uri: str) -> dict[str, str]:
        """Return task → the other file that contained it, with other content."""
        files = {task_id: self.file_of(task_id) for task_id in runs}
        return {task: other for task, other in files.items() if other and other != uri}
