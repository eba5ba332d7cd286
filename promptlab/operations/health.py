"""Health checks of a warehouse file, one line each."""

from __future__ import annotations

import glob
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from promptlab.database.connection import resolve
from promptlab.database.copying import StoredTable, tables_of
from promptlab.errors import DatabaseLocked, PromptlabError
from promptlab.operations.health_sql import BUILT_CHECKS, RAW_CHECKS, Invariant

if TYPE_CHECKING:
    import duckdb

    from promptlab.warehouse_file import WarehouseFile

State = Literal["ok", "warn", "fail"]

_PACKAGES = ("duckdb", "polars", "dbt-core", "dbt-duckdb", "pydantic", "jinja2")
_RESTORE = (
    "put a backup in its place, or load the files into a new warehouse"
    " (docs/operations.md)"
)


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    what: str
    """version, file, rows or check"""
    name: str
    state: State
    value: str
    fix: str | None = None
    """The fix; null if none is needed."""


def examine(warehouse: WarehouseFile) -> Iterator[Finding]:
    """Check versions, file and contents.

    All tables are read completely: DuckDB only finds damaged blocks by reading them.
    """
    yield from _versions()
    db = warehouse.settings.db
    file = resolve(db)
    if not file.exists():
        fix = f"`promptlab run PATH --db {db}` makes it"
        yield Finding("file", "warehouse", "warn", f"{db}: not there yet", fix)
        return
    yield Finding("file", "warehouse", "ok", str(db))
    yield Finding("file", "bytes", "ok", str(file.stat().st_size))
    yield _log(file)
    yield from _beside(file)
    try:
        with warehouse.examining() as con:
            yield from _contents(con)
    except DatabaseLocked as error:
        yield Finding("file", "opens", "warn", str(error), "call again when it is free")
    except PromptlabError as error:
        yield Finding("file", "opens", "fail", _one_line(error), _RESTORE)


def _versions() -> Iterator[Finding]:
    from promptlab.version import __version__

    yield Finding("version", "promptlab", "ok", __version__)
    yield Finding("version", "python", "ok", platform.python_version())
    for name in _PACKAGES:
        yield Finding("version", name, "ok", version(name))


def _log(db: Path) -> Finding:
    log = db.with_name(f"{db.name}.wal")
    if not log.exists():
        return Finding("file", "write-ahead log", "ok", "none")
    return Finding(
        "file",
        "write-ahead log",
        "warn",
        f"{log.stat().st_size} bytes: a process writes now, or was killed",
        "nothing is lost; the next `promptlab ingest` or `build` takes it in. Never"
        " copy or delete one file without the other",
    )


def _beside(db: Path) -> Iterator[Finding]:
    for backup in sorted(db.parent.glob(f"{glob.escape(db.name)}.v*.bak")):
        yield Finding(
            "file",
            "copy before an upgrade",
            "ok",
            f"{backup}: {backup.stat().st_size} bytes",
        )


def _contents(con: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    tables = tables_of(con)
    unreadable = []
    for table in tables:
        finding = _rows(con, table)
        if finding.state == "fail":
            unreadable.append(finding)
        if finding.state == "fail" or table.schema in ("raw", "marts"):
            yield finding
    if unreadable:
        return  # the checks would read the same blocks
    yield from _schema(con)
    if any(str(table) == "raw.redactions" for table in tables):
        yield from _redactions(con)
    schemas = {table.schema for table in tables}
    if "raw" in schemas:
        yield from (_check(con, check) for check in RAW_CHECKS)
    if "marts" in schemas:
        yield from (_check(con, check) for check in BUILT_CHECKS)
    else:
        yield Finding(
            "check", "last build", "warn", "nothing is built yet", "`promptlab build`"
        )


def _redactions(con: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """The number of values that each rule redacted, over all loads."""
    for rule, count in con.execute(
        "select rule, sum(n_values) from raw.redactions group by rule order by rule"
    ).fetchall():
        yield Finding("redacted", rule, "ok", str(count))


def _rows(con: duckdb.DuckDBPyConnection, table: StoredTable) -> Finding:
    """Count a table's rows, reading every value of them."""
    import duckdb

    try:
        row = con.execute(
            f"select count(*), bit_xor(hash(t)) from {table.sql} as t"
        ).fetchone()
    except duckdb.Error as error:
        return Finding("rows", str(table), "fail", _one_line(error), _RESTORE)
    return Finding("rows", str(table), "ok", str(0 if row is None else row[0]))


def _schema(con: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    from promptlab.ingest.raw import SCHEMA_VERSION, schema_version

    found = schema_version(con)
    if found == SCHEMA_VERSION:
        yield Finding("check", "schema version", "ok", str(found))
    elif found is None:
        yield Finding(
            "check",
            "schema version",
            "warn",
            "the file holds no raw tables",
            "`promptlab ingest PATH` makes them",
        )
    elif found < SCHEMA_VERSION:
        yield Finding(
            "check",
            "schema version",
            "warn",
            f"{found}, this promptlab works with {SCHEMA_VERSION}",
            "`promptlab build` upgrades it",
        )
    else:
        yield Finding(
            "check",
            "schema version",
            "fail",
            f"{found}, this promptlab knows {SCHEMA_VERSION}",
            "install a newer promptlab",
        )


def _check(con: duckdb.DuckDBPyConnection, check: Invariant) -> Finding:
    import duckdb

    try:
        rows = con.execute(check.query).fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return Finding(
            "check", check.name, "warn", "cannot be judged", "`promptlab build`"
        )
    except duckdb.IOException as error:  # raw tables as Parquet that have changed
        fix = "`promptlab build --raw parquet://DIR`"
        return Finding("check", check.name, "warn", _one_line(error), fix)
    if not rows:
        return Finding("check", check.name, "ok", "holds")
    examples = ", ".join(str(row[0]) for row in rows[:3])
    value = f"{len(rows)}: {examples}{', …' if len(rows) > 3 else ''}"
    return Finding("check", check.name, check.state, value, check.fix)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
