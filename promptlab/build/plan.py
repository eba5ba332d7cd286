"""The plan: everything that a build runs, as dbt compiled it.

``make plan`` has dbt compile the project once, for DuckDB, into one file that travels
with it. Whoever runs the file resolves, templates and orders nothing: that was dbt's.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from promptlab.build.descriptions import Descriptions
from promptlab.paths import dbt_project

FORMAT = 2
# 1  first version
# 2  descriptions

_SOURCES = ("analyses", "macros", "models", "seeds", "tests")


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seed, model or data test, in the order in which dbt would run it."""

    name: str
    kind: Literal["seed", "view", "table", "incremental", "test"]
    sql: list[str]
    """Lines of its query; a test's gives the rows that break the rule."""
    schema: str | None = None
    """Where its table or view lies; a test has none."""
    batches: list[str] = []
    """Tables of keys to build: where all of them are empty, neither it nor what is made
    of it has anything to do. None: it runs in every build."""
    is_of_one_build: bool = False
    """Its rows are steps of one build, emptied as that ends."""
    contract: list[str] = []
    """Columns of a table with types and constraints; the query decides where there are
    none."""
    key: str | None = None
    """The column whose values a batch lists: whose the rows are."""
    batch: str | None = None
    """The batch that replaces them, as the project calls it."""
    mentions: list[str] = []
    """Columns that hold ids of others than the key's."""
    replaced: str | None = None
    """Of an incremental model: the condition on rows that a build replaces or drops."""

    @property
    def query(self) -> str:
        """The SQL as one text."""
        return "\n".join(self.sql)

    @property
    def relation(self) -> str:
        """Its quoted name."""
        return f'"{self.schema}"."{self.name}"'


class Plan(msgspec.Struct, frozen=True):
    """A build of the bundled project."""

    format: int
    sources_hash: str
    """Of the files that dbt compiled."""
    project_hash: str
    """Of the logic, as every build records it (``raw.builds``)."""
    batches: list[str]
    """Tables of keys to build."""
    forget: list[str]
    """Statements after which nothing counts as built."""
    remember: list[str]
    """Statements that record the build, with the parameters ``$is_full_refresh``,
    ``$promptlab_version`` and ``$build_id``."""
    nodes: list[Node]
    descriptions: Descriptions = Descriptions()


def file() -> Path:
    """Where the plan of the bundled project lies."""
    return dbt_project() / "plan.json"


def load() -> Plan:
    """The plan that was made of the project as it is now.

    Who works on the models builds what they say now: a plan of other files is compiled
    anew, which takes dbt some seconds, and is not kept.
    """
    stored = file()
    if stored.exists():
        plan = msgspec.json.decode(stored.read_bytes(), type=Plan)
        if plan.format == FORMAT and plan.sources_hash == sources_hash(dbt_project()):
            return plan
    from promptlab.build.compiling import compile_plan
    from promptlab.messages import say

    say(
        "the dbt project has changed since its plan was made; dbt compiles it"
        " (`make plan` keeps that) …",
        "plan_is_old",
    )
    return compile_plan(dbt_project())


def encode(plan: Plan) -> bytes:
    """The plan as the text of its file: indented, a line of SQL a line."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def sources_hash(project: Path) -> str:
    """A hash of the files that dbt compiles: their names and bytes."""
    digest = hashlib.sha256()
    files = [project / "dbt_project.yml"]
    for folder in _SOURCES:
        files += sorted(f for f in (project / folder).rglob("*") if f.is_file())
    for path in files:
        digest.update(path.relative_to(project).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def main() -> None:
    """Write the plan of the project as it is now: ``make plan``."""
    from promptlab.build.compiling import compile_plan

    file().write_bytes(encode(compile_plan(dbt_project())))


if __name__ == "__main__":
    main()
