{{ config(materialized=view_of_step()) }}

-- One row per dimension and judge that judged an output several times: whether it says the same again,
-- and whether it depends on the order in which a pair is shown.
with

labels as (select distinct task_id from {{ ref('promptlab', 'fct_labels') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

-- results of titles with labels
labelled_tasks as (

    select task_id from tasks
    where
        title in (
            select labelled.title
            from tasks as labelled
            inner join labels using (task_id)
        )

),

verdicts as (

    select * from {{ ref('promptlab', 'fct_judge_verdicts') }}
    where
        verdict is not null
        and task_id in (select labelled_tasks.task_id from labelled_tasks)

),

rounds as (

    select * from {{ ref('promptlab', 'fct_rounds') }}
    where
        answer is not null
        and task_id in (select labelled_tasks.task_id from labelled_tasks)

),

assertions as (

    select * from {{ ref('promptlab', 'fct_assertions') }}
    where
        assertion_source = 'tool'
        and status in ('pass', 'fail')
        and task_id in (select labelled_tasks.task_id from labelled_tasks)

),

-- one output of a case: in several rounds or results, or judged several times in a round
verdicts_on_outputs as (

    select
        verdicts.dimension_id,
        verdicts.judge,
        concat_ws(
            ' ',
            tasks.title,
            verdicts.case_id,
            {{ whole_answer_hash('rounds') }}
        ) as output_id,
        verdicts.verdict,
        verdicts.place

    from verdicts
    inner join rounds using (task_id, case_id, round_id)
    inner join tasks using (task_id)

    union all

    select
        verdicts.dimension_id,
        verdicts.judge,
        concat_ws(' ', 'round', verdicts.task_id, verdicts.case_id, verdicts.round_id)
            as output_id,
        assertions.status as verdict,
        cast(null as string) as place

    from verdicts
    inner join assertions
        on
            verdicts.task_id = assertions.task_id
            and verdicts.case_id = assertions.case_id
            and verdicts.round_id = assertions.round_id
            and verdicts.dimension_id = assertions.assertion_type
    where verdicts.is_used

),

outputs as (

    select
        dimension_id,
        judge,
        output_id,
        count(*) as n,
        count(*) filter (where verdict = 'pass') as n_pass,
        max(case when place = 'first' then verdict end) as verdict_first,
        max(case when place = 'second' then verdict end) as verdict_second

    from verdicts_on_outputs
    group by dimension_id, judge, output_id
    having count(*) > 1

),

summed as (

    select
        dimension_id,
        judge,
        count(*) as n_outputs,
        cast(sum(n) as bigint) as n_verdicts,
        count(*) filter (where n_pass in (0, n)) as n_stable,
        sum(n_pass) as passes,
        sum(n - n_pass) as fails,
        sum(2e0 * n_pass * (n - n_pass) / (n - 1)) as differences,
        count(*) filter (where verdict_first = verdict_second) as n_same_in_both_places,
        count(*) filter (where verdict_first = 'pass' and verdict_second = 'fail')
            as n_only_first,
        count(*) filter (where verdict_first = 'fail' and verdict_second = 'pass')
            as n_only_second

    from outputs
    group by dimension_id, judge

),

final as (

    select

        ---------- strings
        dimension_id,
        judge,

        ---------- numerics
        n_outputs,
        n_verdicts,
        n_stable,
        round(n_stable / cast(n_outputs as double), 6) as stability,
        round(1 - differences * (n_verdicts - 1) / nullif(2e0 * passes * fails, 0), 6)
            as alpha,
        n_same_in_both_places + n_only_first + n_only_second as n_both_places,
        n_same_in_both_places,
        n_only_first,
        n_only_second,
        case
            when n_only_first + n_only_second > 0
                then {{ mcnemar_p_value('n_only_first', 'n_only_second') }}
        end as position_p

    from summed

)

select * from final
