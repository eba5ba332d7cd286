"""What the files of a call took the place of, for warnings.

Loading changes no row, so all of it is read from the tables after the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown

if TYPE_CHECKING:
    import duckdb


_FILES_NAMED = 3

Found = Iterator[tuple[int, Problem]]
"""Loads of the call, and problems of their files."""


def replacements(
    con: duckdb.DuckDBPyConnection, first_load_id: int, files: Sequence[str]
) -> Found:
    """Yield warnings about the loads of a call, and what counted before them.

    Args:
        con: A connection to raw tables and live views.
        first_load_id: The first load of the call.
        files: All files of the call: what they have in common is reported elsewhere.
    """
    kinds = {
        kind
        for (kind,) in con.execute(
            "select distinct kind from raw.loads where load_id >= ?", [first_load_id]
        ).fetchall()
    }
    if "results" in kinds:
        yield from _merged_runs(con, first_load_id)
    if kinds & {"results", "analysis"}:
        yield from _replaced_tasks(con, first_load_id, files)
    if "scores" in kinds:
        yield from _lost_scores(con, first_load_id)
        yield from _replaced_scores(con, first_load_id)


# Runs that the call loaded, and that are live in several files: how many rounds of the
# other files stay, and how many are replaced.
_MERGED = """
    with newest as (
        select object_id as task_id, load_id
        from live.objects
        where kind = 'task' and is_newest and n_loads > 1 and load_id >= $1
    ),

    others as (
        select
            newest.task_id,
            list(distinct loads.file_uri order by loads.file_uri) as files
        from newest
        inner join raw.loads as own on newest.load_id = own.load_id
        inner join live.objects as objects
            on newest.task_id = objects.object_id and objects.kind = 'task'
        inner join raw.loads as loads on objects.load_id = loads.load_id
        where loads.load_id < newest.load_id and loads.sha256 <> own.sha256
        group by newest.task_id
    ),

    kept as (
        select rounds.task_id, count(*) as n_kept
        from live.rounds as rounds
        inner join newest using (task_id)
        where rounds.load_id < newest.load_id
        group by rounds.task_id
    ),

    replaced as (
        select rounds.task_id, count(*) as n_replaced
        from raw.rounds as rounds
        inner join live.objects as live
            on
                rounds.load_id = live.load_id
                and rounds.task_id = live.object_id
                and live.kind = 'task'
                and not live.is_newest
        inner join newest on rounds.task_id = newest.task_id
        inner join raw.rounds as again
            on
                newest.load_id = again.load_id
                and rounds.task_id = again.task_id
                and rounds.case_id = again.case_id
                and rounds.round_id = again.round_id
        group by rounds.task_id
    )

    select
        newest.load_id,
        min(newest.task_id),
        count(*),
        list_sort(list_distinct(flatten(list(others.files)))),
        sum(coalesce(kept.n_kept, 0))::bigint,
        sum(coalesce(replaced.n_replaced, 0))::bigint
    from newest
    inner join others using (task_id)
    left join kept using (task_id)
    left join replaced using (task_id)
    group by newest.load_id
    order by newest.load_id
"""


def _merged_runs(con: duckdb.DuckDBPyConnection, first_load_id: int) -> Found:
    for load_id, task_id, n_runs, files, kept, replaced in con.execute(
        _MERGED, [first_load_id]
    ).fetchall():
        named = ", ".join(files[:_FILES_NAMED])
        if files[_FILES_NAMED:]:
            named += f" and {len(files) - _FILES_NAMED} more"
        runs, were = f"run {task_id}", "was"
        if n_runs > 1:
            runs, were = f"{runs} and {n_runs - 1} more", "were"
        yield (
            load_id,
            warning(
                "results_merged",
                f"{runs} {were} in {named} too: the rounds of this file are put to"
                f" those by case and round. Of those that were there, {kept} stay and"
                f" {replaced} are replaced. Give the file a run_id of its own if it is"
                " another run",
                record_id=task_id,
            ),
        )


# Tasks of analyses and results that are live in a file of this call, and were in a file
# that the call did not read; parts of one run replace nothing.
_TASKS = """
    with now as (
        select live.object_id as task_id, live.load_id, loads.file_uri, loads.kind
        from live.objects as live
        inner join raw.loads as loads using (load_id)
        where
            live.kind = 'task' and live.is_newest and live.load_id >= $1
            and loads.kind in ('analysis', 'results')
    ),

    before as (
        select
            objects.object_id as task_id, objects.load_id, loads.file_uri, loads.kind
        from raw.objects as objects
        inner join raw.loads as loads using (load_id)
        semi join now on objects.object_id = now.task_id
        where
            objects.kind = 'task' and objects.load_id < $1
            and loads.status = 'loaded'
        qualify objects.load_id = max(objects.load_id) over (
            partition by objects.object_id
        )
    ),

    n_cases as (
        select load_id, task_id, count(*) as n from raw.cases
        where load_id in (select load_id from before union select load_id from now)
        group by all
    )

    select
        now.load_id, now.task_id, before.file_uri, now.file_uri,
        coalesce(cases_before.n, 0), coalesce(cases_now.n, 0)
    from now
    inner join before using (task_id)
    left join n_cases as cases_before
        on before.load_id = cases_before.load_id and task_id = cases_before.task_id
    left join n_cases as cases_now
        on now.load_id = cases_now.load_id and task_id = cases_now.task_id
    where
        now.file_uri <> before.file_uri
        and before.kind in ('analysis', 'results')
        and not (now.kind = 'results' and before.kind = 'results')
        and not list_contains($2, before.file_uri)
    order by now.load_id, now.task_id
"""


def _replaced_tasks(
    con: duckdb.DuckDBPyConnection, first_load_id: int, files: Sequence[str]
) -> Found:
    for load_id, task_id, file, file_now, n_before, n_now in con.execute(
        _TASKS, [first_load_id, list(files)]
    ).fetchall():
        again = ""
        if n_now < n_before:
            again = f"; to have all cases back, load {file} again"
        yield (
            load_id,
            warning(
                "task_replaced",
                f"task {shown(task_id)} was loaded from {file} with {_cases(n_before)}:"
                f" {file_now} replaces it, and leaves {_cases(n_now)}. Give another run"
                f" a `task_id` of its own{again}",
                record_id=task_id,
            ),
        )


def _cases(n: int) -> str:
    return "1 case" if n == 1 else f"{n} cases"


_LOST_SCORES = """
    with files as (
        select load_id, file_uri
        from raw.loads
        where
            kind = 'scores'
            and file_uri in (select file_uri from raw.loads where load_id >= $1)
    ),

    counts as (
        select load_id, file_uri, task_id, count(*) as n
        from raw.scores
        inner join files using (load_id)
        group by all
    ),

    versions as (
        select
            *,
            lag(n) over (partition by file_uri, task_id order by load_id) as before
        from counts
    )

    select load_id, list((task_id, before, n) order by task_id)
    from versions
    where load_id >= $1 and n < before
    group by load_id
    order by load_id
"""


def _lost_scores(con: duckdb.DuckDBPyConnection, first_load_id: int) -> Found:
    for load_id, tasks in con.execute(_LOST_SCORES, [first_load_id]).fetchall():
        (task_id, before, now), *others = tasks
        more = f", and fewer of {len(others)} more" if others else ""
        yield (
            load_id,
            warning(
                "scores_lost",
                f"this version of the file has {now} scores of {task_id}{more}; the one"
                f" before had {before}: the others are gone. Keep the scores of"
                " different judges in files of their own",
            ),
        )


# Each file keeps its own scores; those of the newest load count.
_SCORES = """
    with newest as (
        select scores.*, loads.file_uri
        from live.scores as scores
        inner join raw.loads as loads using (load_id)
        where load_id >= $1
    ),

    pairs as (
        select
            newest.load_id,
            loads.file_uri,
            newest.score / newest.scale is distinct from earlier.score / earlier.scale
                as differs
        from newest
        inner join live.scores as earlier
            using (task_id, case_id, round_id, dimension_id, scorer)
        inner join raw.loads as loads on earlier.load_id = loads.load_id
        where earlier.load_id < newest.load_id and loads.file_uri <> newest.file_uri
        qualify row_number() over (
            partition by
                newest.load_id, task_id, case_id, round_id, dimension_id, scorer
            order by earlier.load_id desc
        ) = 1
    )

    select load_id, file_uri, count(*), count(*) filter (differs)
    from pairs
    group by all
    order by load_id, file_uri
"""


def _replaced_scores(con: duckdb.DuckDBPyConnection, first_load_id: int) -> Found:
    for load_id, file, count, n_different in con.execute(
        _SCORES, [first_load_id]
    ).fetchall():
        scores = "1 score replaces that"
        if count > 1:
            scores = f"{count} scores replace those"
        differ = f", {n_different} of them with another score" if n_different else ""
        yield (
            load_id,
            warning(
                "scores_replaced",
                f"{scores} of {file}{differ}: the same scorer scored the same rounds on"
                " the same dimension, and the file that is loaded last counts. Give"
                " another scorer a name of its own (`scorer`)",
            ),
        )
