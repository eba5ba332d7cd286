"""Rows of ``raw`` that are not from files: requests, reported runs, the config.

Requests and builds have the time of their transaction: a build in the transaction of a
request has processed it.
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from promptlab.contracts.base import plain_name
from promptlab.ingest.raw.rows import EPOCH
from promptlab.messages import warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import duckdb

    from promptlab.settings import Settings

SettingRow = tuple[str, str, str | None, float | None, float | None, date | None]
"""A row of ``raw.settings`` without its file and time."""

_NEWEST = """
    select max(moment)
    from (
        select max(finished_at) as moment from raw.loads
        union all select max(built_at) from raw.builds
        union all select max(accepted_at) from raw.accepts
        union all select max(set_at) from raw.settings
        union all select max(requested_at) from raw.requested_comparisons
    )
"""
_NOW = f"greatest(current_timestamp, ({_NEWEST}) + interval 1 microsecond)"
"""Later than every load, build, setting and request, whatever the clock."""


def newest_moment(con: duckdb.DuckDBPyConnection) -> datetime | None:
    """Return when the newest load, build, setting or request was, in UTC."""
    [(moment,)] = con.execute(f"select epoch_us(({_NEWEST}))").fetchall()
    return None if moment is None else EPOCH + timedelta(microseconds=moment)


def request_comparison(
    con: duckdb.DuckDBPyConnection, baseline: str, candidate: str
) -> None:
    """Request a comparison of two tasks, in this and every later build."""
    con.execute(
        f"insert into raw.requested_comparisons select ?, ?, {_NOW}",
        [baseline, candidate],
    )


def note_reported(con: duckdb.DuckDBPyConnection, began_at: datetime) -> None:
    """Record that everything built before *began_at* has its report."""
    con.execute("insert into raw.reported_runs values (?)", [began_at])


def accept(
    con: duckdb.DuckDBPyConnection, cases: Mapping[str, Sequence[str]], reason: str
) -> None:
    """Accept tasks: for these cases of each, history starts there.

    A task that was accepted before keeps its cases too.
    """
    for task_id, ids in cases.items():
        [(before,)] = con.execute(
            "select coalesce(list(cases), []) from raw.accepts where task_id = ?",
            [task_id],
        ).fetchall()
        every = {*ids, *(case for text in before for case in json.loads(text))}
        undo_accept(con, [task_id])
        con.execute(
            f"insert into raw.accepts select ?, {_NOW}, ?, ?",
            [task_id, reason, json.dumps(sorted(every), ensure_ascii=False)],
        )


def undo_accept(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> None:
    """Delete what was accepted of these tasks."""
    con.execute(
        "delete from raw.accepts where task_id in (select unnest($1))", [list(tasks)]
    )


def keep_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Store the titles, variants, prices and memory of the config file for builds.

    Only rows of this file are replaced: without one nothing changes, so that a command
    in another folder, or with the config of another project, changes nothing. A row
    keeps its time while it stays the same. If another file sets the same otherwise, a
    warning names both.
    """
    file, rows = _file_of(settings), _rows_of(settings)
    if rows is None:
        return
    stored = _stored_rows(con, file)
    for row in stored - rows:
        con.execute(
            "delete from raw.settings where file = ? and setting = ? and name = ?"
            " and value is not distinct from ?",
            [file, *row[:3]],
        )
    for row in sorted(rows - stored, key=str):
        con.execute(
            f"insert into raw.settings select ?, ?, ?, ?, ?, ?, ?, {_NOW}",
            [file, *row],
        )
    _warn_of_others(con, file)


def are_settings_kept(con: duckdb.DuckDBPyConnection, settings: Settings) -> bool:
    """Return true if ``raw.settings`` is equal to the config file."""
    rows = _rows_of(settings)
    return rows is None or _stored_rows(con, _file_of(settings)) == rows


def _file_of(settings: Settings) -> str:
    """Return the key of a config file, which a move of the whole folder keeps."""
    if settings.file is None:
        return ""
    file, folder = settings.file.resolve(), settings.db.resolve().parent
    return (
        file.relative_to(folder) if file.is_relative_to(folder) else file
    ).as_posix()


def _stored_rows(con: duckdb.DuckDBPyConnection, file: str) -> set[SettingRow]:
    rows = con.execute(
        "select * exclude (file, set_at) from raw.settings where file = ?", [file]
    ).fetchall()
    return set(rows)


_OTHERS = """
    select
        mine.setting,
        mine.name,
        if(mine.set_at >= theirs.set_at, mine.file, theirs.file) as newer,
        if(mine.set_at >= theirs.set_at, theirs.file, mine.file) as older
    from raw.settings as mine
    inner join raw.settings as theirs
        on
            mine.file <> theirs.file
            and mine.setting = theirs.setting
            and mine.name = theirs.name
            and (
                mine.setting not in ('known_flaky', 'known_outage')
                or mine.value = theirs.value
            )
            and (mine.value, mine.input_price, mine.output_price, mine.ends_on)
            is distinct from
            (theirs.value, theirs.input_price, theirs.output_price, theirs.ends_on)
    where mine.file = ?
    order by all
"""


def _warn_of_others(con: duckdb.DuckDBPyConnection, file: str) -> None:
    """Warn of settings with another value in another config file."""
    for setting, name, *files in con.execute(_OTHERS, [file]).fetchall():
        newer, older = (path or "a program" for path in files)
        warn(
            f"{_WORDS[setting].format(name=name)} is set by {newer} and otherwise by"
            f" {older}; the former counts, as it was set last: delete one of them",
            "settings_differ",
        )


_WORDS = {
    "title": "the alias {name!r}",
    "primary": "`primary` of the title {name!r}",
    "owner": "`owner` of the title {name!r}",
    "known_flaky": "`known_flaky` of the title {name!r}",
    "known_outage": "`known_outage` of the title {name!r}",
    "variant": "the new name of the variant {name!r}",
    "price": "the price of {name!r}",
    "memory": "`{name}` of [memory]",
    "memory_abstention": "the abstention {name!r}",
}


def _rows_of(settings: Settings) -> set[SettingRow] | None:
    """Return the rows of a config file; ``None`` if there is none."""
    stored = {"titles", "variants", "prices", "memory"}
    if settings.file is None and not stored & settings.model_fields_set:
        return None
    none = (None, None, None)
    rows: set[SettingRow] = set()
    for title, about in settings.titles.items():
        name = plain_name(title)
        rows.update(("title", plain_name(old), name, *none) for old in about.alias)
        for setting, value in (("primary", about.primary), ("owner", about.owner)):
            if value is not None:
                rows.add((setting, name, value, *none))
        rows.update(
            ("known_flaky", name, plain_name(flaky.case), None, None, flaky.until)
            for flaky in about.known_flaky
        )
        rows.update(
            ("known_outage", name, plain_name(run), *none) for run in about.known_outage
        )
    rows.update(
        ("variant", plain_name(old), plain_name(new), *none)
        for old, new in settings.variants.items()
    )
    rows.update(
        ("price", _like(model), None, price.input, price.output, None)
        for model, price in settings.prices.items()
    )
    memory = settings.memory
    for name in ("right_metric", "right_threshold"):
        if (chosen := getattr(memory, name)) is not None:
            rows.add(("memory", name, str(chosen), *none))
    rows.update(
        ("memory_abstention", phrase.lower(), None, *none)
        for phrase in memory.abstentions
    )
    return rows


def _like(pattern: str) -> str:
    """Convert a pattern with ``*`` to SQL ``like``, with ``!`` as escape."""
    plain = re.sub(r"([!%_])", r"!\1", pattern.lower())
    return plain.replace("*", "%")
