{{ config(alias='answers') }}

-- One row per round: the hash of its answer, by which scores and labels name it.
with

rounds as (select * from {{ ref('promptlab', 'live_rounds') }}),

answers as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        {{ answer_hash('rounds') }} as answer_hash

    from rounds

)

select * from answers
