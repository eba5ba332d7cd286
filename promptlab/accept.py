"""Accept a run: a person declares it to be correct.

An accepted task is a row of ``raw.accepts``: the history of its cases that are broken,
watched or not compared starts at that run. All other cases keep their history.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.build import build
from promptlab.errors import NothingToDo
from promptlab.ingest.raw import requests
from promptlab.messages import say
from promptlab.task_ids import require_built, selected_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from promptlab.warehouse_file import WarehouseFile

# A case is accepted if the run is refused or undecided for it; where the whole rate
# fell, all whose rate fell, and with scores alone all cases.
_CASES = """
    with cases as (
        select
            odds.task_id,
            odds.case_id,
            odds.is_newly_failing or odds.is_gap as is_wrong,
            verdicts.p_whole <= verdicts.p_whole_limit
            and (
                verdicts.measure = 'score'
                or odds.n_passed_now * odds.n_rounds_before
                < odds.n_passed_before * odds.n_rounds_now
            ) as has_fallen
        from marts.fct_case_odds as odds
        inner join marts.fct_verdicts as verdicts using (task_id)
        where odds.task_id in (select unnest($1))
    ),
    of_tasks as (
        select
            task_id,
            list(case_id order by case_id) filter (is_wrong or has_fallen) as cases
        from cases
        group by task_id
    )
    select
        verdicts.task_id,
        verdicts.title,
        verdicts.variant,
        coalesce(of_tasks.cases, []) as cases,
        (
            of_tasks.cases is not null
            or verdicts.p_whole <= verdicts.p_whole_limit
            or verdicts.n_cases_compared < verdicts.n_cases_before
        ) is true as has_any
    from marts.fct_verdicts as verdicts
    left join of_tasks using (task_id)
    where verdicts.task_id in (select unnest($1))
    order by verdicts.title, verdicts.variant, verdicts.task_id
"""

_ACCEPTED = """
    select
        accepts.task_id, tasks.title, tasks.variant,
        json_array_length(accepts.cases) as n_cases,
        accepts.accepted_at, accepts.reason
    from raw.accepts as accepts
    left join marts.dim_tasks as tasks using (task_id)
    order by accepts.accepted_at desc, accepts.task_id
"""

ACCEPTED: Sequence[str] = (
    "task_id", "title", "variant", "n_cases", "accepted_at", "reason",
)  # fmt: skip
"""Names of the values of an accepted task."""

AcceptedRow = tuple[str, str | None, str | None, int, datetime, str]


@dataclass(frozen=True)
class Accepted:
    """A task that was accepted."""

    task_id: str
    title: str
    variant: str
    cases: list[str]
    """Ids of the cases whose history starts at this run."""


def accept(warehouse: WarehouseFile, selection: str, reason: str) -> list[Accepted]:
    """Accept tasks, and rebuild the tables that depend on them.

    *selection* is as `selected_tasks` takes it; tasks without anything to accept are
    left out.

    Raises:
        UsageError: no such task.
        NothingToDo: no case newly fails, all are compared, and the whole rate did not
            fall.
    """
    with warehouse.built() as con:
        require_built(con)
        tasks = selected_tasks(con, selection)
        rows = con.execute(_CASES, [tasks]).fetchall()
    accepted = [Accepted(*row) for *row, has_any in rows if has_any]
    if not accepted:
        raise NothingToDo(
            f"{selection}: there is nothing to accept: no case newly fails, every case"
            " is compared, and the whole pass rate did not fall"
        )
    say("computing the verdicts again …")

    def request(con: duckdb.DuckDBPyConnection) -> None:
        cases = {task.task_id: task.cases for task in accepted}
        requests.accept(con, cases, reason)

    build(warehouse, request=request)
    return accepted


def undo(warehouse: WarehouseFile, selection: str) -> list[str]:
    """Undo the acceptance of a selection; return the ids of its tasks.

    *selection* is as `selected_tasks` takes it.

    Raises:
        UsageError: no such task.
        NothingToDo: none of it was accepted.
    """
    with warehouse.built() as con:
        tasks = selected_tasks(con, selection)
        rows = con.execute(
            "select task_id from raw.accepts where task_id in (select unnest($1))"
            " order by task_id",
            [tasks],
        ).fetchall()
    if not rows:
        raise NothingToDo(
            f"{selection}: it was not accepted; `promptlab accept --list` lists what"
            " was"
        )
    accepted = [str(row[0]) for row in rows]
    say("computing the verdicts again …")
    build(warehouse, request=lambda con: requests.undo_accept(con, accepted))
    return accepted


def accepted(con: duckdb.DuckDBPyConnection) -> list[AcceptedRow]:
    """Return the accepted tasks, newest first; ``ACCEPTED`` names the values."""
    return con.execute(_ACCEPTED).fetchall()
