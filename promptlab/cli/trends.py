"""``promptlab trends``: show a title's numbers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import (
    day,
    ident,
    interval,
    milliseconds,
    plain,
    plain_interval,
    points,
    score,
)
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows, print_text
from promptlab.cli.titles import nothing_titled, titled

if TYPE_CHECKING:
    import duckdb

_MEASURES = "from policy.trend_measures select measure, unit order by measure"

# The newest tasks of the title, in the order of time; one row per task and subject.
_TRENDS = """
    select
        task_id, created_at, variant, prompt_version, model, subject, value, ci_low,
        ci_high, n, change
    from marts.fct_trends
    where
        title = $title and measure = $measure
        and ($subject is null or subject = $subject)
    qualify
        dense_rank() over (partition by variant order by task_number desc) <= $last
    order by variant, subject nulls first, task_number
"""


def _table(unit: str) -> Table:
    """Measures that are shares, shown as 0 to 100."""
    is_share = unit == "share"
    number = milliseconds if unit == "ms" else plain
    return Table(
        columns=(
            Column("task", ident, "task_id"),
            Column("version", plain, "prompt_version"),
            Column("created", day, "created_at"),
            Column("value", score if is_share else number, "value"),
            Column(
                "95% interval",
                interval if is_share else plain_interval,
                "ci_low",
                "ci_high",
            ),
            Column("change", points if is_share else number, "change"),
        ),
        wide=(
            Column("model", plain, "model"),
            Column("at", plain, "created_at"),
            Column("of", plain, "n"),
        ),
        by=("variant", "subject"),
    )


@click.command("trends", short_help="Show one number of a title over time.")
@titled
@click.option(
    "--measure",
    default="overall_score",
    show_default=True,
    help="Measure, such as pass_rate, dimension_score, tag_score, cost_total.",
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

    TITLE defaults to that of the latest task. Changes are from task to task and
    unpaired; `promptlab compare` tests whether a change is significant.
    """
    from promptlab.database.rows import fetched
    from promptlab.errors import NothingToDo
    from promptlab.reports.queries.history import drifts

    with call.warehouse().built() as con:
        title = title or _latest_title(con)
        unit = _unit(con, measure)
        asked = {"title": title, "measure": measure, "subject": subject, "last": last}
        columns, rows = fetched(con, _TRENDS, asked)
        # the newest run of each variant comes last
        task_ids = {row[2]: row[0] for row in rows}
        moved = drifts(con, list(task_ids.values()), measure).values()
        if not rows and call.format == "table":
            raise NothingToDo(f"trends: {_why_nothing(con, title, measure, subject)}")
    if call.format == "table":
        from promptlab.reports.texts import catalogue

        label = catalogue(call.settings.lang).label("trend_measure", measure)
        print_text(spoken("{title}: {label}", title=title, label=label))
    print_rows(columns, rows, call.format, _table(unit), wide=call.wide)
    for drift in moved if call.format == "table" else ():
        if drift["course"]:
            print_text(
                spoken(
                    "{variant}: {value}, {change} since {day},"
                    " more than chance explains",
                    variant=drift["variant"],
                    value=score(drift["value"]).text,
                    change=points(drift["change"]).text,
                    day=day(drift["since_at"]).text,
                )
            )
    return 0


def _latest_title(con: duckdb.DuckDBPyConnection) -> str:
    from promptlab.errors import NothingToDo

    row = con.execute(
        "select title from marts.dim_tasks where role = 'full'"
        " order by created_at desc, task_id desc"
        " limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    return str(row[0])


def _unit(con: duckdb.DuckDBPyConnection, measure: str) -> str:
    """Return the unit of a measure."""
    from promptlab.errors import UsageError, did_you_mean

    measures: dict[str, str] = dict(con.execute(_MEASURES).fetchall())
    if measure not in measures:
        hint = did_you_mean(measure, measures) or f"; there are {', '.join(measures)}"
        raise UsageError(f"trends: there is no measure {measure!r}{hint}")
    return measures[measure]


def _why_nothing(
    con: duckdb.DuckDBPyConnection, title: str, measure: str, subject: str | None
) -> str:
    of_title = con.execute("select 1 from marts.dim_tasks where title = ?", [title])
    if of_title.fetchone() is None:
        return nothing_titled(con, title)
    of = f" of {subject!r}" if subject else ""
    return f"no task titled {title!r} has {measure}{of}"
