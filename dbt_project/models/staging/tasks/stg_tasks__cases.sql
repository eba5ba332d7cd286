-- One row per task and case, with its cluster of cases that are not independent of each other.
with

source as (select * from {{ ref('promptlab', 'live_cases') }}),
memory_questions as (select * from {{ ref('promptlab', 'stg_memory__questions') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,

        ---------- strings
        cluster,
        expectation_hash,

        ---------- numerics
        position as case_position,

        ---------- json
        context,
        tags,
        categories

    from source

),

of_memory as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,

        ---------- strings
        conversation as cluster,
        cast(null as string) as expectation_hash,

        ---------- numerics
        question_position as case_position,

        ---------- json
        context,
        tags,
        cast(null as json) as categories

    from memory_questions

),

cases as (

    select * from renamed

    union all

    select * from of_memory

),

-- a case that belongs to no cluster is one by itself
clustered as (

    select
        *,
        coalesce('of ' || cluster, 'case ' || case_id) as cluster_id

    from cases

)

select * from clustered
