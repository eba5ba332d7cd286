"""The commit of the local git repository, for results that were written in it.

It is the commit of a result if nothing else happened in between: no tracked file is
changed, the file is not a part of the repository, and it was written after the
repository moved to this commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LocalCommit:
    """The commit that is checked out."""

    top: Path
    """Top folder of the repository."""
    sha: str
    since: float
    """When it was checked out or made, in seconds since 1970."""
    tracked: frozenset[str]
    """Paths of tracked files below the top folder."""

    def sha_for(self, path: Path) -> str | None:
        """Return the commit if a file was written at it."""
        try:
            file = path.resolve()
            if not file.is_relative_to(self.top) or file.stat().st_mtime < self.since:
                return None
        except (OSError, RuntimeError):  # a link to itself
            return None
        is_tracked = file.relative_to(self.top).as_posix() in self.tracked
        return None if is_tracked else self.sha


def local_commit(folder: Path, files: Iterable[Path]) -> LocalCommit | None:
    """Return the commit of the repository of a folder, if no tracked file is changed.

    Also ``None`` if there is no repository, if none of *files* is in it, and if git is
    missing or fails.
    """
    folder = folder.resolve()
    here = (folder, *folder.parents)
    root = next((parent for parent in here if (parent / ".git").exists()), None)
    if root is None or not any(_is_below(file, root) for file in files):
        return None
    top, sha, changes = (
        _git(folder, *args)
        for args in (
            ("rev-parse", "--show-toplevel"),
            ("rev-parse", "--verify", "HEAD"),
            ("status", "--porcelain", "--untracked-files=no"),
        )
    )
    if not top or not sha or changes is None or changes:
        return None
    moved = _git(folder, "log", "--walk-reflogs", "-1", "--date=unix", "--format=%gd")
    since = (moved or "").rpartition("@{")[2].removesuffix("}")
    if not since.isdigit():  # a repository without a reflog
        since = _git(folder, "log", "-1", "--format=%ct") or ""
    tracked = _git(Path(top), "ls-files", "-z")
    if not since.isdigit() or tracked is None:
        return None
    names = frozenset(tracked.split("\0"))
    return LocalCommit(Path(top).resolve(), sha, float(since), names)


def _is_below(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a link to itself
        return False


def _git(folder: Path, *args: str) -> str | None:
    """Return what git prints; ``None`` if it fails."""
    quiet = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *args],
            cwd=folder, env=quiet, capture_output=True, check=True, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip("\n\0")
