"""The plan: all statements of a build, compiled by dbt for DuckDB.

dbt has resolved the names, rendered the templates and ordered the nodes; running a plan
does none of that. It also holds the descriptions of the tables: a text is one line of
Markdown, words and code between backticks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from promptlab.paths import cache, dbt_project

# ---------- descriptions of tables


class DescribedColumn(msgspec.Struct, frozen=True):
    """A column: its name, its type and its description."""

    name: str
    type: str
    text: str


class DescribedTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table of the warehouse."""

    schema: str
    name: str
    text: str
    columns: list[DescribedColumn]
    folder: str = ""
    """Folder of its model; empty for seeds and raw tables."""
    keys: list[str] = []
    """Columns that form the key of a row."""
    rules: list[str] = []
    """Other constraints on its rows, a few words each."""

    @property
    def relation(self) -> str:
        """Its name in SQL."""
        return f"{self.schema}.{self.name}"

    @property
    def first_sentence(self) -> str:
        """A short description."""
        return sentence(self.text.split(". ")[0])


class Exposure(msgspec.Struct, frozen=True):
    """A reader of marts: a dbt exposure."""

    label: str
    text: str
    marts: list[str]


class Descriptions(msgspec.Struct, frozen=True):
    """The descriptions of the tables that builds create and read."""

    marts: list[DescribedTable] = []
    policy: list[DescribedTable] = []
    """The seeds: decisions, not measurements."""
    raw: dict[str, str] = {}
    """Raw table → description of a row."""
    readers: list[Exposure] = []
    """The readers of the marts: reports, commands, the gate."""


def sentence(text: str) -> str:
    """Return a description on one line, with a full stop."""
    text = " ".join(text.split()).replace("`None`", "null")
    return text if text.endswith((".", ":", "…")) or not text else text + "."


def read_descriptions(manifest: Any) -> Descriptions:
    """Read the descriptions from dbt's manifest, in the order of the YAML files."""
    keys = {
        test.attached_node: test.test_metadata.kwargs
        for test in manifest.nodes.values()
        if test.resource_type == "test" and _is_of_keys(test)
    }
    described = [
        _described(manifest.nodes[node_id], keys.get(node_id, {}))
        for _, file in sorted(manifest.files.items())
        for node_id in getattr(file, "node_patches", ())
        if manifest.nodes[node_id].schema in ("marts", "policy")
    ]
    return Descriptions(
        marts=[table for table in described if table.schema == "marts"],
        policy=[table for table in described if table.schema == "policy"],
        raw={s.name: sentence(s.description) for s in manifest.sources.values()},
        readers=[
            Exposure(one.label, sentence(one.description), [r.name for r in one.refs])
            for one in manifest.exposures.values()
        ],
    )


def _is_of_keys(test: Any) -> bool:
    """Return true for a data test of a table's key and its parents."""
    made_of = getattr(test, "test_metadata", None)
    return made_of is not None and made_of.name == "keys"


def _described(node: Any, keys: dict[str, Any]) -> DescribedTable:
    types = getattr(node.config, "column_types", {})
    columns = [
        DescribedColumn(
            column.name,
            column.data_type or types.get(column.name, ""),
            sentence(column.description),
        )
        for column in node.columns.values()
    ]
    return DescribedTable(
        node.schema,
        node.name,
        sentence(node.description),
        columns,
        folder=node.fqn[-2] if node.resource_type == "model" else "",
        keys=keys.get("key", []),
        rules=list(_rules(node, keys)),
    )


def _rules(node: Any, keys: dict[str, Any]) -> Iterator[str]:
    for rule in keys.get("belongs_to", ()):
        columns = ", ".join(f"`{name}`" for name in rule["columns"])
        yield f"{columns} is in `{rule['parent']}`"
    for constraint in getattr(node, "constraints", ()):
        if constraint.name:
            yield constraint.name.replace("_", " ")


# ---------- the plan


SHIPPED = "plan.json"
"""The plan's file in the project folder of an installed wheel."""

CACHED = 10
"""Number of plans kept in the user's cache folder."""

LOCK_SECONDS = 60
"""Longest wait for another process that compiles."""

_SOURCES = ("analyses", "macros", "models", "seeds", "tests")
_SUFFIXES = {".csv", ".md", ".sql", ".yml"}
_CODE = ("dbt", "plan")


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seed, model or data test, in the order of dbt."""

    name: str
    kind: Literal["seed", "view", "table", "incremental", "test"]
    sql: list[str]
    """Lines of its query; a test returns the rows that violate the rule."""
    schema: str | None = None
    """The schema of its table or view; ``None`` for a test."""
    empty_if: list[list[str]] = []
    """Sets of tables: its query returns no rows if all tables of one set are empty."""
    is_of_one_build: bool = False
    """True if its rows are intermediate results, deleted at the end of a build."""
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
    descriptions: Descriptions = Descriptions()


def load() -> Plan:
    """Return the plan of the current dbt project.

    The wheel contains it. In a checkout dbt compiles the project after each change,
    and the plan is kept in the user's cache folder.
    """
    project = dbt_project()
    digest = sources_hash(project)
    cached = cache("plans") / f"{digest[:32]}.json"
    for path in (project / SHIPPED, cached):
        if plan := _read(path, digest):
            return plan
    with _lock(cached.parent):
        if plan := _read(cached, digest):
            return plan
        from promptlab.build.dbt import compile_plan
        from promptlab.messages import say

        say("dbt compiles the models (once after each change of them) …", "compiling")
        plan = compile_plan(project)
        with contextlib.suppress(OSError):
            _keep(plan, cached)
    return plan


def _read(path: Path, digest: str) -> Plan | None:
    """Return the plan in a file; ``None`` if it is missing or stale."""
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError):
        return None
    return plan if plan.sources_hash == digest else None


def _keep(plan: Plan, path: Path) -> None:
    """Write a cached plan and delete all but the newest ``CACHED``."""
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
            while not _is_taken(lock) and time.monotonic() < end:
                time.sleep(0.1)
        yield


def _is_taken(lock: IO[str]) -> bool:
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
    found = (file for folder in _SOURCES for file in (project / folder).rglob("*.*"))
    files = [file.relative_to(project) for file in found if file.suffix in _SUFFIXES]
    code = Path(__file__).parent
    paths = [project / "dbt_project.yml", *(code / f"{name}.py" for name in _CODE)]
    paths += [project / file for file in sorted(files)]
    digest = hashlib.sha256("\n".join(f.as_posix() for f in sorted(files)).encode())
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
