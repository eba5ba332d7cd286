"""``promptlab runs``: list the tasks of the warehouse."""

from __future__ import annotations

import click

from promptlab.cli.cells import day, ident, n_of, plain, score
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows
from promptlab.cli.titles import nothing_titled, titled

_TASKS = """
    select
        tasks.task_id, tasks.run_id, tasks.title, tasks.variant, tasks.prompt_version,
        tasks.model, tasks.branch, tasks.commit_sha, tasks.created_at,
        summaries.grade, summaries.overall_score, summaries.pass_rate,
        summaries.n_pass, summaries.n_fail, summaries.n_error,
        summaries.n_unevaluated, summaries.n_cases,
        summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged
    from marts.dim_tasks as tasks
    inner join marts.fct_task_summaries as summaries using (task_id)
    where
        tasks.role = 'full'
        and ($title is null or tasks.title = $title or tasks.task_id in $selected)
    order by tasks.created_at desc, tasks.task_id desc
    limit $limit
"""


_TABLE = Table(
    columns=(
        Column("title", plain, "title"),
        Column("variant", plain, "variant"),
        Column("version", plain, "prompt_version"),
        Column("passed", n_of, "n_pass", "n_judged"),
        Column("score", score, "overall_score"),
        Column("created", day, "created_at"),
    ),
    wide=(
        Column("task", ident, "task_id"),
        Column("run", ident, "run_id"),
        Column("model", plain, "model"),
        Column("branch", plain, "branch"),
        Column("commit", ident, "commit_sha"),
        Column("grade", plain, "grade"),
        Column("at", plain, "created_at"),
        Column("pass rate", score, "pass_rate"),
        Column("failed", plain, "n_fail"),
        Column("errors", plain, "n_error"),
        Column("unevaluated", plain, "n_unevaluated"),
        Column("cases", plain, "n_cases"),
    ),
)


@click.command("runs", short_help="List the tasks, newest first.")
@titled
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@common()
def command(call: Call, title: str | None, limit: int) -> int:
    """List the tasks of the warehouse, newest first: all, or those of TITLE.

    TITLE may also be a run, a file or folder that was loaded, or latest: then these are
    the tasks that the gate judges.
    """
    from promptlab.database.rows import fetched
    from promptlab.errors import NothingToDo, UsageError
    from promptlab.task_ids import selected_tasks

    with call.warehouse().built() as con:
        values = {"title": title, "selected": [""], "limit": limit}
        columns, rows = fetched(con, _TASKS, values)
        if not rows and title is not None:
            try:
                values["selected"] = selected_tasks(con, title)
            except (NothingToDo, UsageError):
                pass  # the message below suggests a title
            else:
                columns, rows = fetched(con, _TASKS, values)
        if not rows and call.format == "table":
            raise NothingToDo(f"runs: {nothing_titled(con, title)}")
    print_rows(columns, rows, call.format, _TABLE, wide=call.wide)
    return 0
