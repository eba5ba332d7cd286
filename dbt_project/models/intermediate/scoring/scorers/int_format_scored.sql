{{ config(materialized=view_of_step()) }}

-- One row per round and dimension with the scorer `format`: 1 if the output has the required keys, else 0.
with

dimensions as (
    select * from {{ ref('promptlab', 'int_dimensions_resolved') }}
    where scorer = 'format' and problem is null
),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

documents as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        dimensions.required_keys,
        rounds.is_error,
        case
            when rounds.parsed_output is not null then rounds.parsed_output
            when
                rounds.source_kind = 'results'
                and {{ json_kind('rounds.final_output') }} in ('object', 'array')
                then rounds.final_output
        end as document

    from dimensions
    inner join rounds using (task_id)

),

scored as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        required_keys,
        is_error,
        document,
        case
            when is_error or document is null then 0.0
            when required_keys is null then 1.0
            when {{ has_required_keys('document', 'required_keys') }} then 1.0
            else 0.0
        end as metric

    from documents

),

explained as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        metric,
        case when is_error then 'error_round' end as reason,
        case when metric = 0 then cast(required_keys as string) end as expected,
        case when metric = 0 then left(cast(document as string), 500) end as actual,
        cast(null as json) as detail

    from scored

)

select * from explained
