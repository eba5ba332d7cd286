with

contents as (select * from {{ ref('promptlab', 'int_verdict_contents') }}),
scored_rounds as (
    select * from {{ ref('promptlab', 'int_scored_rounds') }}
    where task_id in (select contents.run_task_id from contents)
),

-- scores of the same dimensions with the same weights
alike as (

    select
        contents.*,
        scored_rounds.place as round_place,
        scored_rounds.score,
        scored_rounds.dimensions_hash,
        min(case when contents.place = 0 then scored_rounds.dimensions_hash end) over (
            partition by contents.task_id, contents.case_id
        ) as own_dimensions_hash

    from contents
    inner join scored_rounds
        on
            contents.run_task_id = scored_rounds.task_id
            and contents.case_id = scored_rounds.case_id

),

rounds as (

    select
        *,
        count(*) over of_case as n,
        count(case when place = 0 then 1 end) over of_case as k,
        max(score) over of_case as highest

    from alike
    where dimensions_hash = own_dimensions_hash
    window of_case as (partition by task_id, case_id)

),

-- of two rounds, one on either side, only the difference says something
ranked as (

    select
        *,
        row_number() over (partition by task_id, case_id order by score) as position,
        rank() over (partition by task_id, case_id order by score)
        + (count(*) over (partition by task_id, case_id, score) - 1) / 2e0 as score_rank

    from rounds
    where n > 2 and k > 0 and k < n

),

-- low are as many scores as the task has rounds, but never all of them
cut as (

    select
        *,
        least(
            max(case when position = k then score end) over of_case,
            coalesce(max(case when score < highest then score end) over of_case, highest)
        ) as highest_low

    from ranked
    window of_case as (partition by task_id, case_id)

),

scores as (

    select

        ---------- ids
        task_id,
        run_task_id,
        case_id,

        ---------- strings
        prompt_version,

        ---------- numerics
        place,
        count(*) as n_rounds,
        count(*) filter (where score > highest_low) as n_above,
        max(n) as n,
        sum(score_rank) as sum_of_ranks,
        sum(power(score_rank - (n + 1) / 2e0, 2)) as sum_of_squares,
        sum(power(score_rank - (n + 1) / 2e0, 3)) as sum_of_cubes,

        ---------- booleans
        bool_or(round_place = 1 and score > highest_low) as is_first_above

    from cut
    group by task_id, run_task_id, case_id, prompt_version, place

)

select * from scores
