{{ config(alias='labels') }}

-- One row per label of a person for an answer that is still the one that was labelled.
with

source as (select * from {{ source('raw', 'labels') }} where {{ is_live() }}),
judged as (select * from {{ source('raw', 'judged_answers') }}),
-- only answers of tasks that were loaded again can be others now
reloaded as (

    select object_id

    from {{ ref('promptlab', 'live_objects') }}
    where kind = 'task' and is_newest and load_id > first_load_id

),

rounds as (select * from {{ ref('promptlab', 'live_rounds') }}),

-- a label that names a round alone is of the run that was there when it came
placed as (

    select
        source.load_id,
        source."line",
        coalesce(source.task_id, judged.task_id) as task_id,
        source.case_id,
        source.round_id,
        source.output_hash,
        source.dimension_id,
        source.labeler,
        source.label,
        source.grade,
        source.scale,
        source.policy,
        source."split",
        source.draw,
        source.weight,
        source."comment",
        source.labeled_at,
        judged.answer_hash,
        coalesce(source.task_id, judged.task_id) in (select reloaded.object_id from reloaded)
            as is_of_reloaded

    from source
    left join judged
        on
            source.load_id = judged.load_id
            and source.line = judged.line
            and source.labeler = judged.labeler
            and coalesce(source.dimension_id, '') = judged.dimension_id

),

still_there as (

    select distinct
        placed.load_id,
        placed.line,
        placed.labeler,
        placed.dimension_id

    from placed
    inner join rounds
        on
            placed.task_id = rounds.task_id
            and placed.round_id = rounds.round_id
            and coalesce(placed.case_id = rounds.case_id, true)
    where placed.is_of_reloaded and placed.answer_hash = {{ answer_hash('rounds') }}

),

-- where the round has another answer now, the label says nothing of it
labels as (

    select placed.*

    from placed
    left join still_there
        on
            placed.load_id = still_there.load_id
            and placed.line = still_there.line
            and placed.labeler = still_there.labeler
            and coalesce(placed.dimension_id, '') = coalesce(still_there.dimension_id, '')
    where placed.answer_hash is null or not placed.is_of_reloaded or still_there.load_id is not null

)

select * from labels
