"""The plan: all statements of a build, compiled by dbt for DuckDB.

dbt has resolved the names, rendered the templates and ordered the nodes; running a plan
does none of that. It also holds the comments on the marts (`comments`).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import msgspec

from promptlab.build.comments import MartComments
from promptlab.paths import cache, dbt_project

SHIPPED = "plan.json"
"""The plan's file in the project folder of an installed wheel."""

CACHED = 10
"""Number of plans kept in the user's cache folder."""

LOCK_SECONDS = 60
"""Longest wait for another process that compiles."""

_SOURCES = ("analyses", "macros", "models", "seeds", "tests")
_SUFFIXES = {".csv", ".md", ".sql", ".yml"}
_CODE = ("comments", "dbt", "plan")


STEPS = "temp"
"""DuckDB's schema of temporary tables."""


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seed, model or data test, in the order of dbt."""

    name: str
    kind: Literal["seed", "view", "table", "incremental", "test"]
    sql: list[str]
    """Lines of its query; a test returns the rows that violate the rule."""
    schema: str | None = None
    """The schema of its table or view, ``temp`` for a step; ``None`` for a test."""
    empty_if: list[list[str]] = []
    """Sets of tables: its query returns no rows if all tables of one set are empty."""
    columns: list[str] = []
    """Columns of a table with their types, and the constraints of its contract."""
    key: str | None = None
    """The column whose values a batch lists: the owner of the rows."""
    batch: str | None = None
    """The name of the batch that replaces them."""
    mentions: list[str] = []
    """Columns with ids of other objects than the key's."""
    replaced: str | None = None
    """Condition on rows of an incremental model that a build replaces or deletes."""

    @property
    def query(self) -> str:
        """Return the SQL as one text."""
        return "\n".join(self.sql)

    @property
    def relation(self) -> str:
        """Return its quoted name."""
        return f'"{self.schema}"."{self.name}"'

    @property
    def is_step(self) -> bool:
        """Return true for an intermediate result, which the warehouse does not keep.

        A table is there while the build runs. A view is never created: its query is
        part of those that read it.
        """
        return self.schema == STEPS


class Plan(msgspec.Struct, frozen=True):
    """A build of the bundled project."""

    sources_hash: str
    """Hash of the files that the plan was compiled from."""
    project_hash: str
    """Hash of the models, as recorded by every build (``raw.builds``)."""
    forget: list[str]
    """Statements that mark everything as not built."""
    remember: list[str]
    """Statements that record the build, with the parameters ``$is_full_refresh``,
    ``$promptlab_version`` and ``$build_id``."""
    nodes: list[Node]
    comments: list[MartComments] = []

    @property
    def stored(self) -> dict[str, Node]:
        """``schema.table`` → the model of each table that the warehouse keeps."""
        return {
            f"{node.schema}.{node.name}": node
            for node in self.nodes
            if node.kind in ("table", "incremental") and not node.is_step
        }


def live_models() -> list[Node]:
    """Return the tables and views of the schema `live`, in their order."""
    return [
        node for node in load().nodes if node.schema == "live" and node.kind != "test"
    ]


def load() -> Plan:
    """Return the plan of the current dbt project, read once per process."""
    return _of_process(dbt_project())


@functools.cache
def _of_process(project: Path) -> Plan:
    return read(project)


def read(project: Path) -> Plan:
    """Return the plan of a dbt project.

    The wheel contains it. In a checkout dbt compiles the project after each change,
    and the plan is kept in the user's cache folder.
    """
    digest = sources_hash(project)
    cached = cache("plans") / f"{digest[:32]}.json"
    if plan := _read(project / SHIPPED, digest):
        return plan
    if plan := _read(cached, digest):
        with contextlib.suppress(OSError):
            cached.touch()  # the last to be deleted, see `_store`
        return plan
    with _lock(cached.parent):
        if plan := _read(cached, digest):
            return plan
        from promptlab.build.dbt import compile_plan
        from promptlab.messages import say

        say("dbt compiles the models (once after each change of them) …", "compiling")
        plan = compile_plan(project)
        with contextlib.suppress(OSError):
            _store(plan, cached)
    return plan


def _read(path: Path, digest: str) -> Plan | None:
    """Return the plan in a file; ``None`` if it is missing or stale."""
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError):
        return None
    return plan if plan.sources_hash == digest else None


def _store(plan: Plan, path: Path) -> None:
    """Write a cached plan and delete all but the ``CACHED`` that were used last."""
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(encode(plan))
    partial.replace(path)
    plans = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for old in plans[:-CACHED]:
        old.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one process at a time compile; the others wait for its plan, for a minute.

    A second compilation costs time only; a process that waits for itself would hang.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = stack.enter_context((folder / "lock").open("w"))
            end = time.monotonic() + LOCK_SECONDS
            while not _try_lock(lock) and time.monotonic() < end:
                time.sleep(0.1)
        yield


def _try_lock(lock: IO[str]) -> bool:
    """Take the lock; return false if another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def encode(plan: Plan) -> bytes:
    """Return the text of a plan's file: indented, with one line per line of SQL."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def sources_hash(project: Path) -> str:
    """Return a hash of dbt's files and of the code that compiles them."""
    candidates = (
        file for folder in _SOURCES for file in (project / folder).rglob("*.*")
    )
    files = [
        file.relative_to(project) for file in candidates if file.suffix in _SUFFIXES
    ]
    code = Path(__file__).parent
    paths = [project / "dbt_project.yml", *(code / f"{name}.py" for name in _CODE)]
    paths += [project / file for file in sorted(files)]
    digest = hashlib.sha256("\n".join(f.as_posix() for f in sorted(files)).encode())
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
