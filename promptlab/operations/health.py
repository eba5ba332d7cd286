"""Health checks of a warehouse file, one line each, and the consistency of its tables.

Each query of a consistency check returns the violations.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from promptlab.database import resolve
from promptlab.errors import DatabaseLocked, PromptlabError
from promptlab.ingest.raw.catalogue import (
    BY_NAME,
    RAW_TABLES,
    RawTable,
    count_records,
)
from promptlab.ingest.raw.live import is_live
from promptlab.relations import StoredTable, tables_of

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
    yield _schema(con)
    if any(str(table) == "raw.redactions" for table in tables):
        yield from _redactions(con)
    schemas = {table.schema for table in tables}
    if "live" in schemas:
        yield _dead(con)
    if "raw" in schemas:
        yield from (_check(con, check) for check in RAW_CHECKS)
    if "marts" in schemas:
        yield from (_check(con, check) for check in BUILT_CHECKS)
    else:
        yield Finding(
            "check", "last build", "warn", "nothing is built yet", "`promptlab build`"
        )


def _dead(con: duckdb.DuckDBPyConnection) -> Finding:
    """The rows of earlier versions of files, and the size of their texts."""
    import duckdb

    try:
        dead = [
            con.execute(
                "select count(*), coalesce(sum(strlen(t::varchar)), 0)"
                f" from raw.{table.name} as t where not ({is_live(table)})"
            ).fetchall()[0]
            for table in RAW_TABLES
        ]
    except duckdb.IOException as error:  # raw tables as Parquet that have changed
        return Finding("rows", "do not count", "warn", _one_line(error))
    rows, size = map(sum, zip(*dead, strict=True))
    value = f"{rows}, {size / 1e6:.1f} MB"
    fix = "`promptlab purge --compact` deletes them" if rows else None
    return Finding("rows", "do not count", "ok", value, fix)


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


def _schema(con: duckdb.DuckDBPyConnection) -> Finding:
    from promptlab.ingest.raw import OTHER_VERSION, SCHEMA_VERSION, schema_version

    version = schema_version(con)
    if version == SCHEMA_VERSION:
        return Finding("check", "schema version", "ok", str(version))
    if version is None:
        return Finding(
            "check",
            "schema version",
            "warn",
            "the file holds no raw tables",
            "`promptlab ingest PATH` makes them",
        )
    value = f"{version}, this promptlab works with {SCHEMA_VERSION}"
    return Finding("check", "schema version", "fail", value, OTHER_VERSION)


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
    examples = ", ".join(str(row[0]) for row in rows[: check.n_shown])
    value = f"{len(rows)}: {examples}{', …' if rows[check.n_shown :] else ''}"
    return Finding("check", check.name, check.state, value, check.fix)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


@dataclass(frozen=True)
class Invariant:
    """A sentence that is true if *query* returns no rows."""

    name: str
    query: str
    """Returns a row for each violation, named by the first column."""
    state: Literal["warn", "fail"]
    fix: str
    n_shown: int = 3
    """Maximum number of violations that are named."""


_REBUILD = "`promptlab build --full-refresh` computes every mart from the raw tables"
_RELOAD = "load the file into a new warehouse, and tell us: this must not happen"


def _has_its_parents(table: RawTable) -> Invariant:
    """Check that every row of a table has its parent, and that row its own."""
    missing: list[str] = []
    parents: list[str] = []
    child = table
    while child.parent:
        parent = BY_NAME[child.parent]
        missing.append(
            f"select distinct {child.row_key[0]} from raw.{child.name}"
            f" anti join raw.{parent.name} using ({', '.join(parent.row_key)})"
        )
        parents.insert(0, _one(parent).removeprefix("memory "))
        child = parent
    return Invariant(
        f"every {_one(table)} has its {' and '.join(parents)}",
        " union ".join(missing),
        "fail",
        _RELOAD,
    )


def _one(table: RawTable) -> str:
    """Name of a row of a table."""
    return table.name.removesuffix("s").replace("_", " ")


_PARENTS = {table.parent for table in RAW_TABLES}
_LAST_CHILDREN = [t for t in RAW_TABLES if t.parent and t.name not in _PARENTS]

RAW_CHECKS = (
    *map(_has_its_parents, _LAST_CHILDREN),
    Invariant(
        "every score has its task",
        """
        select distinct task_id from live.scores
        where
            task_id not in (select task_id from live.tasks)
            and task_id not in (select run_id from raw.memory_runs)
        """,
        "warn",
        "ingest the task; scores of a task that was purged go with"
        " `promptlab purge --task ID`",
    ),
    Invariant(
        "every score of a task has its round",
        """
        select distinct concat_ws(' ', task_id, case_id, round_id) from live.scores
        semi join live.tasks using (task_id)
        anti join live.rounds using (task_id, case_id, round_id)
        """,
        "warn",
        "they count nowhere: correct the ids of case and round, load the file again",
    ),
    Invariant(
        "every task belongs to a load",
        """
        select task_id from raw.tasks where load_id not in (
            select load_id from raw.loads where status = 'loaded'
        )
        """,
        "fail",
        _RELOAD,
    ),
    Invariant(
        "every file and record was loaded",
        """
        with newest as (
            select * from raw.loads
            qualify load_id = max(load_id) over (partition by file_uri)
        )

        select file_uri || case
            when status = 'rejected' then ''
            else ' (' || rows_rejected || ' of '
                || rows_loaded + rows_rejected || ' records)'
        end
        from newest where status = 'rejected' or rows_rejected > 0 order by load_id
        """,
        "warn",
        "`promptlab validate FILE` says why: correct the file and load it again",
        n_shown=20,
    ),
    Invariant(
        "no run is dated after today",
        """
        select task_id
        from live.tasks
        where created_at >= current_timestamp + interval 1 day
        union all
        select run_id
        from raw.memory_runs semi join live.objects using (load_id)
        where started_at >= current_timestamp + interval 1 day
        """,
        "warn",
        "until then it is the newest run of its title: correct the time and load the"
        " file again",
    ),
    Invariant(
        "every load has as many records as it says",
        f"""
        select loads.source_name
        from raw.loads left join ({count_records()}) as records using (load_id)
        where loads.status = 'loaded' and loads.rows_loaded <> coalesce(records.n, 0)
        """,
        "fail",
        _RELOAD,
    ),
)
"""Checks of every warehouse with loaded files."""

BUILT_CHECKS = (
    Invariant(
        "the last build saw the newest load",
        """
        select max(load_id) from raw.loads
        having max(load_id) > coalesce((select max(last_load_id) from raw.builds), 0)
        """,
        "warn",
        "`promptlab build`",
    ),
    Invariant(
        "every task is built as it is",
        """
        select task_id
        from staging.stg_tasks__tasks anti join raw.task_builds using (task_id)
        """,
        "warn",
        "`promptlab build`; after a purge it brings trends and comparisons up to date",
    ),
    Invariant(
        "every round is in fct_rounds",
        """
        select distinct task_id from (
            (
                select task_id, case_id, round_id from staging.stg_tasks__rounds
                except all
                select task_id, case_id, round_id from marts.fct_rounds
            )
            union all
            (
                select task_id, case_id, round_id from marts.fct_rounds
                except all
                select task_id, case_id, round_id from staging.stg_tasks__rounds
            )
        )
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "every task has one summary",
        """
        select task_id
        from staging.stg_tasks__tasks as tasks
        full join marts.fct_task_summaries as summaries using (task_id)
        group by task_id
        having count(tasks.task_id) <> 1 or count(summaries.task_id) <> 1
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "totals that files claim are what their rows give",
        """
        select task_id || ' ' || code
        from marts.fct_alerts where code in ('totals_differ', 'partial_task')
        """,
        "warn",
        "`promptlab report TASK` lists them: ask for the whole file, or believe the"
        " rows",
    ),
    Invariant(
        "every case has one status",
        """
        select task_id || ' ' || case_id
        from staging.stg_tasks__cases as cases
        full join marts.fct_case_results as results using (task_id, case_id)
        group by task_id, case_id
        having
            count(cases.case_id) <> 1 or count(results.case_id) <> 1
            or count(results.status) <> 1
        """,
        "fail",
        _REBUILD,
    ),
    Invariant(
        "every memory answer is in fct_memory_answers",
        """
        select run_id
        from (
            select run_id, count(*) as n from staging.stg_memory__answers group by all
        ) as raw
        full join (
            select run_id, count(*) as n from marts.fct_memory_answers group by all
        ) as marts using (run_id)
        where raw.n is distinct from marts.n
        """,
        "fail",
        _REBUILD,
    ),
)
"""Checks after a build of everything that was loaded."""
