"""``promptlab doctor``: versions, and the health of the warehouse file."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    import duckdb

_PACKAGES = ("duckdb", "polars", "dbt-core", "dbt-duckdb", "pydantic", "jinja2")

_IDENTITIES = {
    "every round is in fct_rounds": """
        select
            (select count(*) from raw.rounds) = (select count(*) from marts.fct_rounds)
    """,
    "every task has a summary": """
        select
            (select count(*) from raw.tasks)
            = (select count(*) from marts.fct_task_summaries)
    """,
    "every case has a result": """
        select
            (select count(*) from raw.cases)
            = (select count(*) from marts.fct_case_results)
    """,
    "every memory answer is in fct_memory_answers": """
        select
            (select count(*) from raw.memory_answers)
            = (select count(*) from marts.fct_memory_answers)
    """,
    "every task belongs to a live load": """
        select not exists (
            select 1 from raw.tasks
            where load_id not in (select load_id from raw.loads where status = 'loaded')
        )
    """,
}


@click.command("doctor", short_help="Versions, and the health of the warehouse.")
@common()
def command(call: Call) -> int:
    """Show versions, and check the warehouse file: rows in are rows out.

    Exits 70 if a check does not hold.
    """
    from ingest import raw
    from promptlab import __version__
    from promptlab.cli.output import print_rows
    from promptlab.pipeline import Warehouse

    rows: list[tuple[str, str, str]] = [
        ("version", "promptlab", __version__),
        ("version", "python", platform.python_version()),
        *(("version", name, version(name)) for name in _PACKAGES),
    ]
    db = call.settings.db
    healthy = True
    if db.exists():
        with Warehouse(db, settings=call.settings).connect() as con:
            found = raw.schema_version(con)
            rows.append(("warehouse", "file", str(db)))
            rows.append(("warehouse", "bytes", str(db.stat().st_size)))
            rows.append(("warehouse", "schema version", str(found)))
            if found is not None:
                rows += _counts(con)
                checks = list(_checks(con))
                healthy = all(verdict != "does not hold" for _, _, verdict in checks)
                rows += checks
    else:
        rows.append(("warehouse", "file", f"{db} (not there yet)"))
    print_rows(("what", "name", "value"), rows, call.format)
    return 0 if healthy else 70


def _counts(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    tables = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables()"
        " where schema_name in ('raw', 'marts') order by schema_name desc, table_name"
    ).fetchall()
    return [
        (
            "rows",
            name,
            str((con.execute(f"select count(*) from {name}").fetchone() or [0])[0]),
        )
        for (name,) in tables
    ]


def _checks(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    import duckdb

    verdicts = []
    for name, sql in _IDENTITIES.items():
        try:
            row = con.execute(sql).fetchone()
            verdict = "holds" if row and row[0] else "does not hold"
        except duckdb.CatalogException:
            verdict = "not built yet"
        verdicts.append(("check", name, verdict))
    return verdicts
