"""Builds that are cheap: of some marts alone, or into a file that has all tables.

A whole build of a few rounds takes a second, most of it to plan queries of marts that a
test asks nothing. A test or a fixture that asks some marts names them, as
``@only("dim_tasks")``; the others have no rows, or are not there.

A third of a first build creates tables and views and comments on them, so a new file is
a copy of a warehouse that was built of nothing. ``@from_nothing`` is for tests of what
a first build does. In a test that never builds, the copy has no marts: to open and
close hundreds of tables and views takes a third of a load.
"""

from __future__ import annotations

import ast
import functools
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import duckdb
import msgspec

from promptlab.build import plan
from promptlab.ingest.raw.live import ensure_live
from promptlab.warehouse import Warehouse
from promptlab.warehouse_file import WarehouseFile

GATE = (
    "dim_tasks",
    "dim_task_baselines",
    "fct_case_odds",
    "fct_corrected_pass_rates",
    "fct_dimension_scores",
    "fct_gaps",
    "fct_gate_facts",
    "fct_task_summaries",
    "fct_verdicts",
)
"""What the gate reads."""

_ALWAYS = ("fct_rounds", "fct_memory_answers")
"""What a build asks how much there is to build."""
_MARK = "fct_task_summaries"
"""What every reader asks whether there are marts; without rows where it is not named."""
_RELATION = re.compile(r'"\w+"\."\w+"')

_whole = plan.load
_asked: list[tuple[str, ...]] = []


def _load() -> plan.Plan:
    return _part(_asked[-1]) if _asked else _whole()


plan.load = _load


@contextmanager
def only(*marts: str) -> Iterator[None]:
    """Let builds make these marts alone; also a decorator of what returns at its end."""
    _asked.append(marts)
    try:
        yield
    finally:
        _asked.pop()


@functools.cache
def _part(marts: tuple[str, ...]) -> plan.Plan:
    found = _whole()
    reads = {
        node.relation: set(_RELATION.findall(node.query)) - {node.relation}
        for node in found.nodes
        if node.schema is not None
    }
    names = {f'"marts"."{name}"' for name in (*marts, *_ALWAYS)}
    assert names <= reads.keys(), names - reads.keys()
    for statement in (*found.forget, *found.remember):
        names |= set(_RELATION.findall(statement)) & reads.keys()
    names |= {node.relation for node in found.nodes if node.schema == "live"}
    while (
        more := {each for name in names for each in reads[name] & reads.keys()} - names
    ):
        names |= more
    mark = f'"marts"."{_MARK}"'
    kept = [
        node
        if node.relation in names or node.schema is None
        else msgspec.structs.replace(node, empty_if=[[]])
        for node in found.nodes
        if (
            set(_RELATION.findall(node.query)) & reads.keys() <= names
            if node.schema is None
            else node.relation in {*names, mark}
        )
    ]
    return msgspec.structs.replace(
        found,
        nodes=kept,
        comments=[each for each in found.comments if f'"marts"."{each.name}"' in names],
    )


# ---------- new files


_connect = WarehouseFile._connect
_new_files: list[Path | None] = [None]
"""What a new file is a copy of; ``None``: empty."""


@contextmanager
def new_files_are_copies_of(file: Path | None) -> Iterator[None]:
    """Let the first write to a file that is not there begin with a copy of *file*."""
    _new_files.append(file)
    try:
        yield
    finally:
        _new_files.pop()


def from_nothing() -> AbstractContextManager[None]:
    """Let a new file be empty; also a decorator of what returns at its end."""
    return new_files_are_copies_of(None)


_BUILDS = re.compile(r"\bbuild|\"run\"")
_WORD = re.compile(r"\w+")


@functools.cache
def builders(module: Path) -> frozenset[str]:
    """Return the functions of a module that build, or call another one that does."""
    text = module.read_text("utf-8")
    functions = {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    names = {name for name, code in functions.items() if _BUILDS.search(code)}
    words = {name: set(_WORD.findall(code)) for name, code in functions.items()}
    while more := {name for name in functions if words[name] & names} - names:
        names |= more
    return frozenset(names)


WITHOUT_MARTS, WITH_MARTS = "loaded.duckdb", "tables.duckdb"


def write_new_files(folder: Path) -> None:
    """Write warehouses without rows: one that was never built, and one that was."""
    with Warehouse(folder / WITHOUT_MARTS).writable() as con:
        ensure_live(con, plan.live_models())  # as the first load does
    shutil.copyfile(folder / WITHOUT_MARTS, folder / WITH_MARTS)
    Warehouse(folder / WITH_MARTS).build()


@contextmanager
def _connect_to_copy(
    self: WarehouseFile, *, read_only: bool, expected: int = 0
) -> Iterator[duckdb.DuckDBPyConnection]:
    file = _new_files[-1]
    is_new = not read_only and not self.builds_by_dbt and not self.settings.db.exists()
    if file is not None and is_new:
        with suppress(OSError):
            shutil.copyfile(file, self.settings.db)
    with _connect(self, read_only=read_only, expected=expected) as con:
        yield con


WarehouseFile._connect = _connect_to_copy
