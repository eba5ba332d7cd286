"""``promptlab leaderboard``: models and prompt versions by score."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common

_LEADERBOARD = """
    select
        title, score_rank as rank, model, prompt_version, overall_score, ci_low,
        ci_high, overlaps_leader, pass_rate, pass_rate_low, pass_rate_high, n_cases,
        n_tasks, task_id, testset_id
    from marts.fct_leaderboard
    where $title is null or title = $title
    order by title, testset_id, score_rank, model, prompt_version
"""


@click.command("leaderboard", short_help="Models and prompt versions, ranked.")
@click.argument("title", required=False)
@common()
def command(call: Call, title: str | None) -> int:
    """Rank models and prompt versions within each title, by their newest task.

    Where `overlaps_leader` says yes the order may be chance: compare the two.
    """
    from promptlab.cli.output import print_rows
    from promptlab.errors import NothingToDo
    from promptlab.pipeline import Warehouse

    with Warehouse(call.settings.db, settings=call.settings).built() as con:
        result = con.execute(_LEADERBOARD, {"title": title})
        columns = [column[0] for column in result.description or ()]
        rows = result.fetchall()
    if not rows and call.format == "table":
        of = f" titled {title!r}" if title else ""
        raise NothingToDo(f"leaderboard: there is no task{of}; `promptlab runs`")
    print_rows(columns, rows, call.format)
    return 0
