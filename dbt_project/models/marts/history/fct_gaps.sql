{{ config(unique_key='task_id', meta={'batch': 'comparisons'}) }}

-- One row per task and reason why cases, variants or titles of the last run are not compared.
with

cases as (select * from {{ ref('promptlab', 'int_case_comparability') }} where is_gap),
missing as (select * from {{ ref('promptlab', 'int_missing_variants') }}),

gaps as (

    select
        task_id,
        reason_not_compared as reason,
        count(*) as n_cases,
        {{ json_list_of('case_id', 'case_id', at_most=1000) }} as names

    from cases
    group by task_id, reason_not_compared

    union all

    select
        task_id,
        reason,
        sum(n_cases) as n_cases,
        {{ json_list_of('name', 'name', at_most=1000) }} as names

    from missing
    group by task_id, reason

),

final as (

    select

        ---------- ids
        task_id,

        ---------- strings
        reason,

        ---------- numerics
        cast(n_cases as bigint) as n_cases,

        ---------- json
        names

    from gaps

)

select * from final
