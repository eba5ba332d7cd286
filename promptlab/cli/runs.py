"""``promptlab runs``: the tasks of the warehouse."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common

_TASKS = """
    select
        tasks.task_id, tasks.title, tasks.prompt_version, tasks.model, tasks.created_at,
        summaries.grade, summaries.overall_score, summaries.pass_rate,
        summaries.n_pass, summaries.n_fail, summaries.n_error,
        summaries.n_unevaluated, summaries.n_cases
    from marts.dim_tasks as tasks
    inner join marts.fct_task_summaries as summaries using (task_id)
    where $title is null or tasks.title = $title
    order by tasks.created_at desc, tasks.task_id desc
    limit $limit
"""


@click.command("runs")
@click.option("--title", help="Only tasks of this title.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@common()
def command(call: Call, title: str | None, limit: int) -> int:
    """List the tasks of the warehouse, newest first."""
    from promptlab.cli.output import print_rows
    from promptlab.errors import NothingToDo
    from promptlab.pipeline import Warehouse

    with Warehouse(call.settings.db, settings=call.settings).built() as con:
        result = con.execute(_TASKS, {"title": title, "limit": limit})
        columns = [column[0] for column in result.description or ()]
        rows = result.fetchall()
    if not rows and call.format == "table":
        raise NothingToDo("no task yet; `promptlab run PATH`")
    print_rows(columns, rows, call.format)
    return 0
