-- One row per task and thing that its tool's judges judged (a dimension, an assertion, the whole verdict):
-- their models, and a hash of their instructions (`version`), which name the judge in fct_judge_verdicts.
with

judges as (
    select * from {{ ref('promptlab', 'stg_reported__judges') }} where {{ in_this_build() }}
),
dimensions as (
    select * from {{ ref('promptlab', 'stg_tasks__dimension_configs') }} where {{ in_this_build() }}
),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),

configured as (

    select
        task_id,
        dimension_id,
        {{ canonical_json('parameters') }} as parameters_text,
        json_extract_string(parameters, '$.judge') is not null as has_judge

    from dimensions

),

-- the judges that a tool's file names, with their instructions; settings of a judge are parameters
described as (

    select
        task_id,
        judged_name,
        judge_model,
        concat_ws(chr(10), 'template ' || template, 'rubric ' || rubric) as instructions

    from judges

    union all

    select
        configured.task_id,
        configured.dimension_id as judged_name,
        cast(null as string) as judge_model,
        configured.parameters_text as instructions

    from configured
    left join judges
        on
            configured.task_id = judges.task_id
            and configured.dimension_id = judges.judged_name
    where
        configured.parameters_text <> '{"scorer":"reported"}'
        and (configured.has_judge or judges.task_id is not null)

),

-- all judges of a task make its verdicts, and the score of a row of promptfoo; of a table the
-- mapping says which column is the verdict
judges_of_verdicts as (

    select
        described.task_id,
        'verdict' as judged_name,
        described.judge_model,
        described.instructions

    from described
    inner join tasks using (task_id)
    where coalesce(tasks.source_kind <> 'table', true)

    union all

    select
        described.task_id,
        'score' as judged_name,
        described.judge_model,
        described.instructions

    from described
    inner join tasks using (task_id)
    where tasks.source_kind = 'promptfoo'

    union all

    select
        tasks.task_id,
        'verdict' as judged_name,
        cast(null as string) as judge_model,
        cast(tasks.judge as string) as instructions

    from tasks
    where
        tasks.judge is not null
        and tasks.task_id in (select judges.task_id from judges)

    union all

    select * from described

),

-- several models that judged one dimension are one judge together
joined as (

    select
        task_id,
        judged_name,
        string_agg(distinct judge_model, ', ' order by judge_model) as models,
        left(md5(string_agg(distinct nullif(instructions, ''), chr(10) order by nullif(instructions, ''))), 8)
            as version

    from judges_of_verdicts
    group by task_id, judged_name

)

select * from joined
