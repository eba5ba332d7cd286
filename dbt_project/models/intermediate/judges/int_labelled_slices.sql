{{ config(materialized='view') }}

-- One row per dimension, judge, slice (all, a title, a model, a tag and others) and labelled answer in it, once for all
-- rounds that repeat it. Weights, for how many answers it was drawn, are null unless people and judge both judged it.
with

answers as (select * from {{ ref('promptlab', 'int_labelled_answers') }}),
tags as (select * from {{ ref('promptlab', 'dim_case_tags') }}),

kinds as (

    select listed.slice_kind
    from (
        values ('all'), ('title'), ('model'), ('month'), ('length'), ('family'), ('position')
    ) as listed (slice_kind)

),

sliced as (

    select
        answers.*,
        kinds.slice_kind,
        case kinds.slice_kind
            when 'all' then 'all'
            when 'title' then answers.title
            when 'model' then answers.model
            when 'month' then answers.month_of_run
            when 'family' then answers.family
            when 'position' then answers.answer_position
            when 'length' then case answers.length_third
                when 1 then 'short'
                when 2 then 'medium'
                else 'long'
            end
        end as slice

    from answers
    cross join kinds

    union all

    select
        answers.*,
        'tag' as slice_kind,
        tags.tag as slice

    from answers
    inner join tags using (task_id, case_id)

),

-- an answer that rounds repeat was judged by people once: it counts by the round with most
-- labels, the newest of these
counted_once as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        dimension_id,
        cluster_id,
        answer_id,

        ---------- strings
        judge,
        slice_kind,
        slice,
        truth,
        verdict,

        ---------- numerics
        case when truth is not null and verdict is not null then weight end as verdict_weight,
        case when grade is not null and score is not null then weight end as grade_weight,
        score,
        grade,
        n_labels,
        n_pass,
        n_fail,
        n_marks,
        mark_sum,
        mark_squares,

        ---------- booleans
        is_disputed

    from sliced
    where slice is not null
    qualify rank() over (
        partition by dimension_id, judge, slice_kind, slice, cluster_id, answer_id
        order by n_labels desc, created_at desc, task_id asc, case_id asc, round_id asc
    ) = 1

)

select * from counted_once
