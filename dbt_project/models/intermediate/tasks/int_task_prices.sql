{{ config(materialized=view_of_step()) }}

-- One row per task whose model has a price in the config: its prices per million tokens.
with

tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }}),
prices as (select * from {{ ref('promptlab', 'stg_builds__settings') }} where setting = 'price'),

-- of several patterns that a model matches the one with the most letters counts: another
-- project's `m*` does not replace `m1`
matched as (

    select
        tasks.task_id,
        prices.input_price,
        prices.output_price

    from tasks
    inner join prices
        on
            lower(tasks.model) like prices.setting_name escape '!'
            -- without the provider: openai/gpt-4o, openai:gpt-4o
            or regexp_replace(lower(tasks.model), '^.*[/:]', '', 'g')
            like prices.setting_name escape '!'
            or lower(tasks.provider) like prices.setting_name escape '!'
    qualify row_number() over (
        partition by tasks.task_id
        order by length(replace(prices.setting_name, '%', '')) desc, prices.setting_name asc
    ) = 1

),

chosen as (

    select

        ---------- ids
        task_id,

        ---------- numerics
        input_price,
        output_price

    from matched

)

select * from chosen
