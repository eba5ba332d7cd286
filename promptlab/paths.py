"""Bundled files: the dbt project, its seeds, examples, languages; and caches."""

from __future__ import annotations

import contextlib
import csv
import errno
import functools
import hashlib
import os
import shutil
import stat
import tempfile
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


def tidy_targets(target: Path, db: Path) -> None:
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


@functools.cache
def chat_services() -> tuple[str, ...]:
    """Return the chats that a digest can be posted to, sorted."""
    files = (PACKAGE / "reports" / "templates" / "chat").glob("*.json.j2")
    return tuple(sorted(file.name.partition(".")[0] for file in files))


# ---------- names that the seeds of the dbt project decide


def builtin_scorers() -> list[str]:
    """Return the scorers that need no entry point: those of SQL, and ``judge``."""
    return _column("promptlab_scorers", "scorer")


def default_dimensions() -> list[str]:
    """Return the ids of the dimensions of every task that was loaded from results."""
    return _column("promptlab_default_dimensions", "dimension_id")


def scorer(name: str) -> dict[str, str] | None:
    """Return the row of a built-in scorer: its unit, and if its metric is a share."""
    rows = _rows("promptlab_scorers")
    return next((row for row in rows if row["scorer"] == name), None)


def _column(seed: str, name: str) -> list[str]:
    return [row[name] for row in _rows(seed)]


@functools.cache
def _rows(seed: str) -> list[dict[str, str]]:
    file = dbt_project() / "seeds" / "scoring" / f"{seed}.csv"
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))
