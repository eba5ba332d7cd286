{{ config(alias='answers') }}

with

rounds as (select * from {{ ref('promptlab', 'live_rounds') }}),

answers as (

    select
        task_id,
        case_id,
        round_id,
        {{ answer_hash('rounds') }} as answer_hash

    from rounds

)

select * from answers
