"""Bundled files: the dbt project, examples, languages, chats; and caches."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def dbt_project() -> Path:
    """Return the dbt project: in the wheel, or next to the package in a checkout."""
    return _bundled("dbt_project")


def examples(lang: str) -> Path:
    """Return the example files of ``promptlab init``, ``zh`` or ``en``."""
    return _bundled("examples_zh" if lang == "zh" else "examples")


def _bundled(name: str) -> Path:
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else PACKAGE.parent / name


TARGETS_KEPT = 20
"""Number of databases whose parse cache is kept."""

_DATABASE = "database.txt"


def dbt_target(db: Path, engine: str = "duckdb") -> Path:
    """Return the folder for dbt's parse cache and logs, one per database and engine.

    Under the user's cache folder, so that neither an installed package nor the
    caller's working folder is written to; in a temporary folder if it does not exist.
    """
    name = hashlib.sha256(
        f"{dbt_project()}\n{db.resolve()}\n{engine}".encode()
    ).hexdigest()[:16]
    return cache(f"dbt/{name}")


def cache(name: str) -> Path:
    """Return a folder in the user's cache, or a temporary one."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "promptlab" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"promptlab-{os.getuid()}" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def kind_of_file(mode: int) -> str:
    """Return the name of a file type, such as ``a file`` or ``a pipe``."""
    kinds = (
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for is_one, name in kinds if is_one(mode)), "something else")


def check_regular(path: Path) -> os.stat_result:
    """Return the status of a regular file; opening a pipe would wait forever.

    Raises:
        OSError: it is another kind of file, or missing.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = kind_of_file(status.st_mode)
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    return status


def prune_dbt_targets(target: Path, db: Path) -> None:
    """Delete unused parse caches next to *target*; dbt recreates them.

    Deletes those of missing databases, and all but the newest ``TARGETS_KEPT``.
    """
    with contextlib.suppress(OSError):
        (target / _DATABASE).write_text(str(db.resolve()), "utf-8")
        folders = [d for d in target.parent.iterdir() if d.is_dir() and d != target]
        folders.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        for place, folder in enumerate(folders, 2):
            if place > TARGETS_KEPT or _database_is_gone(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _database_is_gone(target: Path) -> bool:
    try:
        return not Path((target / _DATABASE).read_text("utf-8")).exists()
    except OSError:
        return False  # created by an earlier version: deleted when it is old


# ---------- languages and chats: one file of ``reports`` each


TEXTS = PACKAGE / "reports" / "texts"


@functools.cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages, sorted: ``("en", "zh")``."""
    return tuple(sorted(file.stem for file in TEXTS.glob("*.toml")))


def language_of(environ: Mapping[str, str]) -> str:
    """Return the language of a locale, as POSIX reads it; English if it is unknown."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in names if environ.get(name)), "")
    return next((c for c in languages() if locale.lower().startswith(c)), "en")


@functools.cache
def chat_services() -> tuple[str, ...]:
    """Return the chats that a digest can be posted to, sorted."""
    files = (PACKAGE / "reports" / "templates" / "chat").glob("*.json.j2")
    return tuple(sorted(file.name.partition(".")[0] for file in files))
