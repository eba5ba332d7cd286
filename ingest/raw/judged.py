"""Note which answers scores and labels were given for; report those that are gone.

A score or a label is noted once, when its answer is there: with the answer that the
round has at the end of that call, or with that of the same score or label before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


_OUTDATED = """
    select 'scores' as kind, load_id, line, '' as labeler, task_id
    from raw.scores
    semi join (
        select load_id, object_id as task_id from live.objects where kind = 'scores'
    ) as live using (load_id, task_id)
    anti join live.scores using (load_id, line)
    union all
    select
        'labels', load_id, line, labeler || ' ' || coalesce(dimension_id, ''), task_id
    from (
        select labels.* replace (coalesce(labels.task_id, judged.task_id) as task_id)
        from raw.labels as labels
        semi join live.objects using (load_id)
        inner join raw.judged_answers as judged
            on
                labels.load_id = judged.load_id
                and labels.line = judged.line
                and labels.labeler = judged.labeler
                and coalesce(labels.dimension_id, '') = judged.dimension_id
    )
    where
        (load_id, line, labeler, coalesce(dimension_id, '')) not in (
            select (load_id, line, labeler, coalesce(dimension_id, '')) from live.labels
        )
"""


def note(
    con: duckdb.DuckDBPyConnection, first_load_id: int
) -> Iterator[tuple[int, Problem]]:
    """Note the answers after the loads of a call.

    Yields:
        Loads of the call, and warnings of scores and labels that came for answers that
        are gone, or of whose task the call loaded other answers.
    """
    has_scores = con.execute(_SCORES_CONCERNED, [first_load_id]).fetchone()
    has_labels = con.execute("from raw.labels limit 1").fetchone()
    if has_scores:
        con.execute(_NOTE_SCORES, [first_load_id])
    if has_labels:  # they may name a round alone, of any task
        con.execute(_NOTE_LABELS)
    if has_scores or has_labels:
        for kind, task_id, load_id, n in con.execute(
            _OUTDATED_NOW, [first_load_id]
        ).fetchall():
            outdated = _scores_outdated if kind == "scores" else _labels_outdated
            yield load_id, outdated(task_id, n)


_SCORES_CONCERNED = """
    from raw.scores
    where
        load_id >= $1
        or task_id in (
            select object_id from raw.objects where kind = 'task' and load_id >= $1
        )
    limit 1
"""

# That of the same score before, where all that were there of the task are the same
# and the round was not loaded again.
_NOTE_SCORES = """
    insert into raw.judged_answers
    with new_tasks as (
        select object_id from raw.objects where kind = 'task' and load_id >= $1
    ),

    waiting as (
        select scores.*
        from live.scores as scores
        anti join raw.judged_answers as judged using (load_id, line)
        where
            load_id >= $1
            or task_id in (from new_tasks)
    ),

    earlier as (
        select
            waiting.load_id,
            waiting.line,
            waiting.task_id,
            judged.answer_hash,
            (waiting.score, waiting.scale, waiting.summary, waiting.payload,
            waiting.scorer_version) is not distinct from
            (scores.score, scores.scale, scores.summary, scores.payload,
            scores.scorer_version) as is_same
        from waiting
        inner join raw.scores as scores
            using (task_id, case_id, round_id, dimension_id, scorer)
        inner join raw.judged_answers as judged
            on scores.load_id = judged.load_id and scores.line = judged.line
        where scores.load_id < waiting.load_id
        qualify row_number() over (
            partition by waiting.load_id, waiting.line order by scores.load_id desc
        ) = 1
    ),

    again as (
        select
            load_id, line, answer_hash,
            bool_and(is_same) over (partition by load_id, task_id) as are_same
        from earlier
    ),

    answers as (
        select rounds.load_id, answers.*
        from live.answers as answers
        inner join live.rounds as rounds using (task_id, case_id, round_id)
        where answers.task_id in (select task_id from waiting)
    )

    select
        waiting.load_id, waiting.line, '', '', waiting.task_id,
        case
            when again.are_same and coalesce(answers.load_id < $1, true)
                then again.answer_hash
            else answers.answer_hash
        end as hash
    from waiting
    left join again using (load_id, line)
    left join answers using (task_id, case_id, round_id)
    where hash is not null
"""

# Every run has rounds of these ids, so a label that names a round alone is of the
# newest run that is loaded now; of none where the round is in several titles, or in
# several variants of that run.
_NOTE_LABELS = """
    insert into raw.judged_answers
    with waiting as (
        select
            labels.*,
            coalesce(labels.dimension_id, '') as about,
            loads.file_uri
        from live.labels as labels
        inner join raw.loads as loads using (load_id)
        where labels.answer_hash is null and labels.output_hash is null
    ),

    candidates as (
        select distinct
            waiting.load_id, waiting.line, waiting.labeler, waiting.about,
            tasks.task_id, tasks.title, tasks.created_at,
            coalesce(tasks.run_id, tasks.task_id) as run_id
        from waiting
        inner join live.rounds as rounds
            on
                waiting.round_id = rounds.round_id
                and coalesce(waiting.case_id = rounds.case_id, true)
                and coalesce(waiting.task_id = rounds.task_id, true)
        inner join live.tasks as tasks on rounds.task_id = tasks.task_id
        where waiting.task_id is not null or tasks.recheck_of is null
    ),

    ordered as (
        select
            *,
            first_value(run_id) over newest_first as newest_run,
            first_value(created_at) over newest_first as newest_time
        from candidates
        window newest_first as (
            partition by load_id, line, labeler, about
            order by created_at desc, task_id
        )
    ),

    placed as (
        select load_id, line, labeler, about, max_by(task_id, created_at) as found
        from ordered
        group by all
        having
            count(distinct title) = 1
            and count(*) filter (
                where run_id = newest_run or created_at = newest_time
            ) = 1
    ),

    answered as (
        select
            load_id, line, labeler, about, found as task_id,
            min(answers.answer_hash) as answer_hash
        from placed
        inner join waiting using (load_id, line, labeler, about)
        inner join live.answers as answers
            on
                placed.found = answers.task_id
                and waiting.round_id = answers.round_id
                and coalesce(waiting.case_id = answers.case_id, true)
        where answers.task_id in (select found from placed)
        group by all
        having count(*) = 1
    ),

    earlier as (
        select
            waiting.load_id, waiting.line, waiting.labeler, waiting.about,
            judged.task_id, judged.answer_hash,
            loads.file_uri = waiting.file_uri as is_of_file,
            (waiting.label, waiting.grade, waiting.labeled_at) is not distinct from
            (labels.label, labels.grade, labels.labeled_at) as is_same
        from waiting
        inner join raw.labels as labels
            on
                waiting.round_id = labels.round_id
                and waiting.labeler = labels.labeler
                and waiting.about = coalesce(labels.dimension_id, '')
                and waiting.case_id is not distinct from labels.case_id
        inner join raw.judged_answers as judged
            on
                labels.load_id = judged.load_id
                and labels.line = judged.line
                and labels.labeler = judged.labeler
                and waiting.about = judged.dimension_id
        inner join raw.loads as loads on labels.load_id = loads.load_id
        where
            labels.load_id < waiting.load_id
            and coalesce(waiting.task_id = judged.task_id, true)
        qualify row_number() over (
            partition by waiting.load_id, waiting.line, waiting.labeler, waiting.about
            order by labels.load_id desc
        ) = 1
    ),

    again as (
        select
            *,
            is_same and (
                is_of_file or bool_and(is_same) over (partition by load_id, task_id)
            ) as is_again
        from earlier
    )

    select
        load_id, line, labeler, about,
        if(is_again, again.task_id, answered.task_id) as task,
        if(is_again, again.answer_hash, answered.answer_hash) as hash
    from waiting
    left join again using (load_id, line, labeler, about)
    left join answered using (load_id, line, labeler, about)
    where hash is not null
"""

_OUTDATED_NOW = f"""
    with outdated as ({_OUTDATED}),

    newest as (
        select object_id as task_id, max(load_id) as load_id
        from raw.objects
        where kind = 'task' and load_id >= $1
        group by object_id
    )

    select
        kind, task_id,
        case when outdated.load_id >= $1 then outdated.load_id
        else newest.load_id end as told_by,
        count(*)
    from outdated
    left join newest using (task_id)
    where told_by is not null
    group by all
    order by all
"""


def _scores_outdated(task_id: str, n: int) -> Problem:
    """Return a warning that outside scores of answers that are gone do not count."""
    task = shown(task_id)
    scores = "1 score" if n == 1 else f"{n} scores"
    return warning(
        "scores_outdated",
        f"task {task} has other answers than those that were loaded: {scores} from"
        " outside judged the answers of that run, and no longer count. Load the scores"
        " of these answers, or give another run a `task_id` of its own",
        record_id=task_id,
    )


def _labels_outdated(task_id: str, n: int) -> Problem:
    """Return a warning that labels of answers that are gone do not count."""
    task = shown(task_id)
    labels = "1 label names a round" if n == 1 else f"{n} labels name rounds"
    return warning(
        "labels_outdated",
        f"task {task} has other answers than those that were loaded: {labels} of that"
        " run, and no longer count. Label the new answers, or give another run a"
        " `task_id` of its own",
        record_id=task_id,
    )
