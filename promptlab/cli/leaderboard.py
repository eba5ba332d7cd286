"""``promptlab leaderboard``: models and prompt versions by score."""

from __future__ import annotations

import click

from promptlab.cli.cells import Cell, ident, interval, plain, score
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows
from promptlab.cli.titles import nothing_titled, titled

_LEADERBOARD = """
    select
        title, score_rank as rank, variant, model, prompt_version, overall_score,
        ci_low, ci_high, overlaps_leader, is_partial, pass_rate, pass_rate_low,
        pass_rate_high,
        n_cases, n_tasks, task_id, testset_id
    from marts.fct_leaderboard
    where $title is null or title = $title
    order by title, testset_id, score_rank nulls last, variant, prompt_version
"""


def _against_leader(rank: int | None, overlaps: bool | None, is_partial: bool) -> Cell:
    """Whether the order may be chance; unknown where there is no interval."""
    if is_partial:
        return Cell(spoken("not ranked: a part of its rows"))
    if rank == 1:
        return Cell(spoken("leads"))
    return Cell(spoken({None: "–", True: "? may be chance", False: "behind"}[overlaps]))


_TABLE = Table(
    columns=(
        Column("rank", plain, "rank"),
        Column("variant", plain, "variant"),
        Column("version", plain, "prompt_version"),
        Column("score", score, "overall_score"),
        Column("95% interval", interval, "ci_low", "ci_high"),
        Column("order", _against_leader, "rank", "overlaps_leader", "is_partial"),
    ),
    wide=(
        Column("model", plain, "model"),
        Column("pass rate", score, "pass_rate"),
        Column("its interval", interval, "pass_rate_low", "pass_rate_high"),
        Column("cases", plain, "n_cases"),
        Column("tasks", plain, "n_tasks"),
        Column("newest task", ident, "task_id"),
    ),
    by=("title", "testset_id"),
)


@click.command("leaderboard", short_help="Models and prompt versions, ranked.")
@titled
@common()
def command(call: Call, title: str | None) -> int:
    """Rank models and prompt versions within each title, by their newest task.

    The order may be chance where an interval reaches the leader's (`overlaps_leader`):
    compare the two.
    """
    from promptlab.database.rows import fetched
    from promptlab.errors import NothingToDo

    with call.warehouse().built() as con:
        columns, rows = fetched(con, _LEADERBOARD, {"title": title})
        if not rows and call.format == "table":
            raise NothingToDo(f"leaderboard: {nothing_titled(con, title)}")
    print_rows(columns, rows, call.format, _TABLE, wide=call.wide)
    return 0
