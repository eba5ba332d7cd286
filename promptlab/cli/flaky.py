"""``promptlab flaky``: cases that pass and fail by chance."""

from __future__ import annotations

import click

from promptlab.cli.cells import ident, n_of, plain, score, words
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows
from promptlab.cli.titles import check_title, titled

_FLAKY = """
    with listed as (
        select *
        from marts.fct_flaky_cases
        where $title is null or title = $title
        order by
            abs(pass_rate - 0.5), n_rounds desc, title, case_id, variant, prompt_version
        limit $limit
    )

    select
        case_id, title, variant, prompt_version, model, flaky_across, pass_rate,
        n_pass, n_fail, n_error, n_rounds, n_tasks, n_flips, flip_rate
    from listed
    order by
        min(abs(pass_rate - 0.5)) over (partition by title, variant, prompt_version),
        title, variant, prompt_version, abs(pass_rate - 0.5), n_rounds desc, case_id
"""


_TABLE = Table(
    columns=(
        Column("case", ident, "case_id"),
        Column("passed", n_of, "n_pass", "n_rounds"),
        Column("across", words, "flaky_across"),
        Column("flips", plain, "n_flips"),
    ),
    wide=(
        Column("model", plain, "model"),
        Column("pass rate", score, "pass_rate"),
        Column("failed", plain, "n_fail"),
        Column("errors", plain, "n_error"),
        Column("tasks", plain, "n_tasks"),
        Column("flip rate", score, "flip_rate"),
    ),
    by=("title", "variant", "prompt_version"),
)


@click.command("flaky", short_help="List cases that pass and fail by chance.")
@titled
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@common()
def command(call: Call, title: str | None, limit: int) -> int:
    """List cases that passed and failed without any change.

    The prompt version, the model and the contents are the same: across the rounds of a
    task, or from one task to the next; for all tasks, or those of TITLE. Each title,
    variant and prompt version is a part. In each, cases with a pass rate near 50 %
    come first.
    """
    from promptlab.database.rows import fetched

    with call.warehouse().built() as con:
        columns, rows = fetched(con, _FLAKY, {"title": title, "limit": limit})
        if not rows and title is not None:
            check_title(con, title, "flaky")
    if not rows and call.format == "table":
        call.say("no case is flaky")
        return 0
    print_rows(columns, rows, call.format, _TABLE, wide=call.wide)
    return 0
