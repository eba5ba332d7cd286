"""Warnings of settings that name a case or run that the warehouse does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.contracts.base import plain_name
from promptlab.errors import nearest
from promptlab.messages import warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from promptlab.settings import Settings

_CASES = """
    select distinct cases.case_id
    from marts.fct_case_results as cases
    inner join marts.dim_tasks as tasks using (task_id)
    where tasks.title = $1
    order by all
"""
_RUNS = """
    select unnest([run_id, task_id]) as name
    from marts.dim_tasks
    where title = $1
    order by all
"""


def warn_of_unknown_names(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Warn of cases and runs that the config names and no loaded run has.

    A title without any run is not loaded yet: there is no warning.
    """
    for title, setting, name, query in _names_in(settings):
        names = [row[0] for row in con.execute(query, [plain_name(title)]).fetchall()]
        if names and plain_name(name) not in names:
            warn(
                f"`{setting}` of the title {title!r} names {name!r}, which none of"
                f" its runs has{nearest(name, names)}",
                "unknown_setting",
            )


def _names_in(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    for title, title_settings in settings.titles.items():
        for flaky in title_settings.known_flaky:
            yield title, "known_flaky", flaky.case, _CASES
        for run in title_settings.known_outage:
            yield title, "known_outage", run, _RUNS
