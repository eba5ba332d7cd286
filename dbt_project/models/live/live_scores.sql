{{ config(alias='scores') }}

-- One row per score for an answer that is still the one that was scored.
with

source as (select * from {{ source('raw', 'scores') }}),
judged as (select * from {{ source('raw', 'judged_answers') }}),
objects as (select * from {{ ref('promptlab', 'live_objects') }}),
rounds as (select * from {{ ref('promptlab', 'live_rounds') }}),

loaded as (

    select source.*

    from source
    inner join objects
        on
            source.load_id = objects.load_id
            and source.task_id = objects.object_id
            and objects.kind = 'scores'

),

-- only answers of tasks that were loaded again can be others now
rejudged as (

    select
        loaded.*,
        judged.answer_hash

    from loaded
    inner join judged using (load_id, line)
    inner join objects
        on
            loaded.task_id = objects.object_id
            and objects.kind = 'task'
            and objects.is_newest
            and objects.load_id > objects.first_load_id

),

outdated as (

    select
        rejudged.load_id,
        rejudged.line

    from rejudged
    left join rounds using (task_id, case_id, round_id)
    where coalesce({{ answer_hash('rounds') }} <> rejudged.answer_hash, true)

),

scores as (

    select loaded.*

    from loaded
    left join outdated using (load_id, line)
    where outdated.load_id is null

)

select * from scores
