{{ config(materialized='view') }}

-- One row per round that people labelled, dimension and judge: what people say of the answer, what the
-- judge says, and by which slices it may be counted.
with

labels as (select * from {{ ref('promptlab', 'fct_labels') }}),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }}),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }}),
families as (select * from {{ ref('promptlab', 'promptlab_model_families') }}),

-- Rounds that were drawn because judges differ say nothing about rates. A mark is 1 for a pass,
-- and of a grade its share of the best one.
marked as (

    select
        *,
        coalesce(grade / scale, case label when 'pass' then 1e0 when 'fail' then 0e0 end) as mark

    from labels
    where not {{ is_for_training('split_name') }} and coalesce(draw, '') <> 'disagree'

),

labelled as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        max(truth) as truth,
        bool_or(is_disputed) as is_disputed,
        max(coalesce(weight, 1)) as weight,
        max(n_labels) as n_labels,
        count(*) filter (where label = 'pass') as n_pass,
        count(*) filter (where label = 'fail') as n_fail,
        avg(grade / scale) as grade,
        count(mark) as n_marks,
        sum(mark) as mark_sum,
        sum(power(mark, 2)) as mark_squares

    from marked
    group by all

),

judged_models as (

    select
        named.name,
        min(families.family) as family

    from (
        select model as name from tasks
        union
        select judge from verdicts
    ) as named
    inner join families on contains(lower(named.name), families.word)
    group by named.name

),

final as (

    select

        ---------- ids
        labelled.task_id,
        labelled.case_id,
        labelled.round_id,
        labelled.dimension_id,
        -- answers of one case of a title are not independent
        concat_ws(' ', tasks.title, labelled.case_id) as cluster_id,
        coalesce(
            {{ whole_answer_hash('rounds') }},
            concat_ws(' ', labelled.task_id, labelled.round_id)
        ) as answer_id,

        ---------- strings
        verdicts.judge,
        verdicts.verdict,
        verdicts.place as answer_position,
        labelled.truth,
        tasks.title,
        tasks.model,
        cast(cast(date_trunc('month', tasks.created_at) as date) as string) as month_of_run,
        case
            when of_model.family = of_judge.family then 'same'
            when of_model.family <> of_judge.family then 'other'
        end as family,

        ---------- numerics
        verdicts.score,
        labelled.weight,
        labelled.n_labels,
        labelled.n_pass,
        labelled.n_fail,
        labelled.grade,
        labelled.n_marks,
        labelled.mark_sum,
        labelled.mark_squares,
        ntile(3) over (
            partition by labelled.dimension_id, verdicts.judge
            order by rounds.answer_chars, labelled.task_id, labelled.case_id, labelled.round_id
        ) as length_third,

        ---------- booleans
        labelled.is_disputed,

        ---------- timestamps
        tasks.created_at

    from labelled
    inner join verdicts using (task_id, case_id, round_id, dimension_id)
    inner join tasks using (task_id)
    inner join rounds using (task_id, case_id, round_id)
    left join judged_models as of_model on tasks.model = of_model.name
    left join judged_models as of_judge on verdicts.judge = of_judge.name
    where verdicts.judge is not null

)

select * from final
