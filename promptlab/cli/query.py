"""``promptlab query``: SQL over the warehouse."""

from __future__ import annotations

import sys

import click

from promptlab.cli.options import Call, common


@click.command("query", short_help="Run read-only SQL on the warehouse.")
@click.argument("sql")
@common()
def command(call: Call, sql: str) -> int:
    """Run one read-only SQL query over the whole warehouse.

    `promptlab query "select * from marts.fct_task_summaries"`; `-` reads the
    query from stdin. The tables are described in docs/tables.md.
    """
    from promptlab.cli.output import print_rows
    from promptlab.database.connection import run_query

    if sql == "-":
        sql = sys.stdin.read()
    with call.warehouse().connect() as con:
        columns, rows = run_query(con, sql)
    print_rows(columns, rows, call.format)
    return 0
