"""``promptlab flaky``: cases that pass and fail by chance."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common

_FLAKY = """
    select
        case_id, title, prompt_version, model, flaky_across, pass_rate, n_pass, n_fail,
        n_error, n_rounds, n_tasks, n_flips, flip_rate
    from marts.fct_flaky_cases
    where $title is null or title = $title
    order by abs(pass_rate - 0.5), n_rounds desc, title, case_id, prompt_version, model
    limit $limit
"""


@click.command("flaky", short_help="Cases that flip on an unchanged setup.")
@click.option("--title", help="Only cases of tasks with this title.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@common()
def command(call: Call, title: str | None, limit: int) -> int:
    """List cases that passed and did not, though nothing had changed.

    Same prompt version, same model, same contents: across the rounds of a task, or from
    one task to the next. Those nearest to a coin's toss come first.
    """
    from promptlab.cli.output import print_rows
    from promptlab.pipeline import Warehouse

    with Warehouse(call.settings.db, settings=call.settings).built() as con:
        result = con.execute(_FLAKY, {"title": title, "limit": limit})
        columns = [column[0] for column in result.description or ()]
        rows = result.fetchall()
    if not rows and call.format == "table":
        call.say("no case is flaky")
        return 0
    print_rows(columns, rows, call.format)
    return 0
