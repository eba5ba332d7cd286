"""``promptlab memory``: the figures of a memory run, or of two side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    import duckdb

_SCORES = """
    pivot (
        select
            scores.run_id,
            scores.category,
            categories.name_en as name,
            scores.metric,
            scores.score,
            max(scores.n_questions) over (
                partition by scores.run_id, scores.category
            ) as n_questions,
            max(scores.n_failed) over (
                partition by scores.run_id, scores.category
            ) as n_failed
        from marts.fct_memory_scores as scores
        left join marts.dim_memory_categories as categories using (run_id, category)
        where
            scores.run_id = $run
            and scores.view = $view
            and scores.failed_calls = $failed_calls
            and scores.average = $average
            and scores.test_index is null
    )
    on metric in (
        'locomo_f1', 'token_f1', 'mem0_f1', 'exact_match', 'contains_reference'
    )
    using max(score)
    order by category
"""


@click.command("memory", short_help="The figures of one memory run, or of two.")
@click.argument("runs", nargs=-1, metavar="[RUN] [RUN]")
@click.option(
    "--view", type=click.Choice(("last_round", "pooled")), default="last_round"
)
@click.option(
    "--failed-calls", type=click.Choice(("as_zero", "left_out")), default="as_zero"
)
@click.option("--average", type=click.Choice(("micro", "macro")), default="micro")
@common()
def command(
    call: Call, runs: tuple[str, ...], view: str, failed_calls: str, average: str
) -> int:
    """Print the scores of a memory run by category, or of two runs side by side.

    RUN is an id or a unique part of one; by default the newest run. Every figure is of
    the view, the rule for failed calls and the average that the options name: the
    last round, failed calls as 0, over questions.
    """
    from promptlab.cli.output import print_rows
    from promptlab.errors import UsageError
    from promptlab.pipeline import Warehouse

    if len(runs) > 2:
        raise UsageError("one run, or two to compare")
    with Warehouse(call.settings.db, settings=call.settings).built() as con:
        chosen = [_resolve(con, run) for run in runs] or [_newest(con)]
        rows = []
        for run in chosen:
            found = con.execute(
                _SCORES,
                {
                    "run": run,
                    "view": view,
                    "failed_calls": failed_calls,
                    "average": average,
                },
            )
            columns = [column[0] for column in found.description or ()]
            rows += found.fetchall()
    call.say(f"{view}, failed calls {failed_calls}, {average} average")
    if len(chosen) == 2:
        rows.sort(key=lambda row: (row[columns.index("category")] or "", row[0]))
    print_rows(columns, rows, call.format)
    return 0


def _newest(con: duckdb.DuckDBPyConnection) -> str:
    from promptlab.errors import NothingToDo

    row = con.execute(
        "select run_id from marts.dim_memory_runs"
        " order by started_at desc nulls last, run_id desc limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no memory run; `promptlab run PATH`")
    return str(row[0])


def _resolve(con: duckdb.DuckDBPyConnection, wanted: str) -> str:
    from promptlab.errors import UsageError

    ids = [
        row[0]
        for row in con.execute(
            "select run_id from marts.dim_memory_runs where contains(run_id, $1)"
            " order by run_id",
            [wanted],
        ).fetchall()
    ]
    if wanted in ids or len(ids) == 1:
        return wanted if wanted in ids else str(ids[0])
    if ids:
        raise UsageError(f"{wanted}: {len(ids)} runs match: {', '.join(ids[:5])}")
    raise UsageError(f"{wanted}: there is no such memory run")
