"""``promptlab trends``: a title's numbers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    import duckdb

_MEASURES = "select measure, label_en from policy.trend_measures order by measure"

# The newest tasks of the title, in the order of time; one row per task and subject.
_TRENDS = """
    select
        task_id, created_at, prompt_version, model, subject, value, ci_low, ci_high, n,
        change
    from marts.fct_trends
    where
        title = $title and measure = $measure
        and ($subject is null or subject = $subject)
    qualify dense_rank() over (order by task_number desc) <= $last
    order by subject nulls first, task_number
"""


@click.command("trends", short_help="One number of a title over time.")
@click.argument("title", required=False)
@click.option(
    "--measure",
    default="overall_score",
    show_default=True,
    help="What to follow, such as pass_rate, dimension_score, tag_score, cost_total.",
)
@click.option("--subject", help="Only this dimension, or tag.")
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, help="Tasks."
)
@common()
def command(
    call: Call, title: str | None, measure: str, subject: str | None, last: int
) -> int:
    """Follow one number of a title's tasks over time.

    TITLE is that of the latest task, when not given. Changes are from task to task and
    unpaired; `promptlab compare` says whether one is real.
    """
    from promptlab.cli.output import print_rows
    from promptlab.errors import NothingToDo
    from promptlab.pipeline import Warehouse

    with Warehouse(call.settings.db, settings=call.settings).built() as con:
        title = title or _latest_title(con)
        _check_measure(con, measure)
        result = con.execute(
            _TRENDS,
            {"title": title, "measure": measure, "subject": subject, "last": last},
        )
        columns = [column[0] for column in result.description or ()]
        rows = result.fetchall()
    if not rows and call.format == "table":
        of = f" of {subject!r}" if subject else ""
        raise NothingToDo(f"trends: no task titled {title!r} has {measure}{of}")
    print_rows(columns, rows, call.format)
    return 0


def _latest_title(con: duckdb.DuckDBPyConnection) -> str:
    from promptlab.errors import NothingToDo

    row = con.execute(
        "select title from marts.dim_tasks order by created_at desc, task_id desc"
        " limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    return str(row[0])


def _check_measure(con: duckdb.DuckDBPyConnection, measure: str) -> None:
    from promptlab.errors import UsageError

    measures = dict(con.execute(_MEASURES).fetchall())
    if measure not in measures:
        raise UsageError(
            f"trends: there is no measure {measure!r}; there are {', '.join(measures)}"
        )
