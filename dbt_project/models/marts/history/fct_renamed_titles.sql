{{ config(materialized='view') }}

-- One row per title that ran once and earlier title without a run since that has most of its cases: it
-- was probably renamed.
with

tasks as (select * from {{ ref('promptlab', 'dim_tasks') }} where role = 'full'),
contents as (select * from {{ ref('promptlab', 'int_case_contents') }}),

newest as (

    select *
    from tasks
    qualify row_number() over (partition by title order by run_number desc, task_id desc) = 1

),

first_runs as (select * from newest where run_number = 1),

cases as (

    select
        task_id,
        case_id,
        inputs_hash,
        count(*) over (partition by task_id) as n_cases

    from contents

),

shared as (

    select
        first_runs.title,
        newest.title as earlier_title,
        count(*) as n_same,
        min(mine.n_cases) as n_cases,
        min(theirs.n_cases) as n_cases_of_earlier

    from first_runs
    inner join newest on first_runs.created_at > newest.created_at
    inner join cases as mine on first_runs.task_id = mine.task_id
    inner join cases as theirs
        on
            newest.task_id = theirs.task_id
            and mine.case_id = theirs.case_id
            and mine.inputs_hash = theirs.inputs_hash
    where first_runs.title <> newest.title
    group by first_runs.title, newest.title

),

final as (

    select

        ---------- strings
        title,
        earlier_title,

        ---------- numerics
        n_same,
        n_cases

    from shared
    where n_same * 2 > greatest(n_cases, n_cases_of_earlier)

)

select * from final
