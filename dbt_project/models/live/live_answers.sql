{{ config(alias='answers') }}

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
