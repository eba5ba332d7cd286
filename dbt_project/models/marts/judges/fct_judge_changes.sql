{{ config(materialized=view_of_step()) }}

-- One row per dimension and pair of judges: how often each is right about the outputs that both judged
-- and people labelled. Rates over different labels would compare the labels.
with

labels as (
    select * from {{ ref('promptlab', 'fct_labels') }}
    where truth is not null and not {{ is_for_training('split_name') }}
),
tasks as (select * from {{ ref('promptlab', 'dim_tasks') }}),

verdicts as (
    select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where verdict is not null
),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }} where answer is not null),

outputs as (

    select
        tasks.title,
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        {{ whole_answer_hash('rounds') }} as output_hash,
        tasks.created_at

    from rounds
    inner join tasks using (task_id)
    where rounds.case_id in (select labels.case_id from labels)

),

-- of an output that people judged differently in two rounds nothing is known
labelled as (

    select
        outputs.title,
        outputs.case_id,
        outputs.output_hash,
        labels.dimension_id,
        max(labels.truth) as truth

    from labels
    inner join outputs using (task_id, case_id, round_id)
    group by outputs.title, outputs.case_id, outputs.output_hash, labels.dimension_id
    having min(labels.truth) = max(labels.truth)

),

output_verdicts as (

    select
        labelled.dimension_id,
        concat_ws(' ', labelled.title, labelled.case_id, labelled.output_hash) as output_id,
        verdicts.judge,
        verdicts.verdict = labelled.truth as is_right,
        verdicts.is_used,
        outputs.created_at

    from labelled
    inner join outputs using (title, case_id, output_hash)
    inner join verdicts
        on
            outputs.task_id = verdicts.task_id
            and outputs.case_id = verdicts.case_id
            and outputs.round_id = verdicts.round_id
            and labelled.dimension_id = verdicts.dimension_id
    qualify row_number() over (
        partition by
            labelled.dimension_id, labelled.title, labelled.case_id, labelled.output_hash,
            verdicts.judge
        order by outputs.created_at desc, outputs.task_id desc, outputs.round_id desc
    ) = 1

),

-- the newer judge is that of the newer result; within one, that whose score counts
judges as (

    select
        dimension_id,
        judge,
        row_number() over (
            partition by dimension_id
            order by max(created_at), max(case when is_used then 1 else 0 end), judge
        ) as age_rank

    from output_verdicts
    group by dimension_id, judge

),

judge_pairs as (

    select
        older.dimension_id,
        older.judge as judge_before,
        newer.judge as judge_after,
        count(*) as n_outputs,
        count(*) filter (where before.is_right and after.is_right) as n_both_right,
        count(*) filter (where before.is_right and not after.is_right)
            as n_only_before_right,
        count(*) filter (where after.is_right and not before.is_right)
            as n_only_after_right,
        count(*) filter (where not before.is_right and not after.is_right)
            as n_both_wrong

    from output_verdicts as before
    inner join output_verdicts as after using (dimension_id, output_id)
    inner join judges as older
        on before.dimension_id = older.dimension_id and before.judge = older.judge
    inner join judges as newer
        on after.dimension_id = newer.dimension_id and after.judge = newer.judge
    where older.age_rank < newer.age_rank
    group by older.dimension_id, older.judge, newer.judge

),

final as (

    select

        ---------- strings
        dimension_id,
        judge_before,
        judge_after,

        ---------- numerics
        n_outputs,
        n_both_right,
        n_only_before_right,
        n_only_after_right,
        n_both_wrong,
        {{ mcnemar_p_value('n_only_before_right', 'n_only_after_right') }} as p_value

    from judge_pairs

)

select * from final
