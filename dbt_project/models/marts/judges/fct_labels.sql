{{ config(materialized='table') }}

with

labels as (select * from {{ ref('stg_labels__labels') }}),
rounds as (select * from {{ ref('fct_rounds') }}),
verdicts as (select * from {{ ref('fct_judge_verdicts') }} where is_used),

-- a label without a round is of every round with this output
matched as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        coalesce(labels.dimension_id, 'verdict') as dimension_id,
        labels.labeler,
        labels.label,
        labels.grade,
        labels.scale,
        labels.policy,
        labels.split_name,
        labels.draw,
        labels.weight,
        labels.label_comment,
        labels.labeled_at,
        labels.load_id,
        labels.line_number,
        'round' as matched_by

    from labels
    inner join rounds on labels.round_id = rounds.round_id
    where
        -- a label of an answer that the round no longer has says nothing
        coalesce(labels.output_hash = md5(rounds.answer), true)
        and coalesce(labels.task_id = rounds.task_id, true)
        and coalesce(labels.case_id = rounds.case_id, true)

    union all

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        coalesce(labels.dimension_id, 'verdict') as dimension_id,
        labels.labeler,
        labels.label,
        labels.grade,
        labels.scale,
        labels.policy,
        labels.split_name,
        labels.draw,
        labels.weight,
        labels.label_comment,
        labels.labeled_at,
        labels.load_id,
        labels.line_number,
        'output' as matched_by

    from labels
    inner join rounds on labels.output_hash = md5(rounds.answer)
    where
        labels.round_id is null
        and coalesce(labels.task_id = rounds.task_id, true)
        and coalesce(labels.case_id = rounds.case_id, true)

),

ordered as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, round_id, dimension_id, labeler
            order by
                labeled_at desc nulls last, load_id desc, line_number desc
        ) as recency

    from matched

),

counted as (

    select
        *,
        count(label) over in_round as n_labels,
        count(case when label = 'pass' then 1 end) over in_round as n_pass,
        count(case when label = 'fail' then 1 end) over in_round as n_fail

    from ordered
    where recency = 1
    window in_round as (partition by task_id, case_id, round_id, dimension_id)

),

final as (

    select

        ---------- ids
        counted.task_id,
        counted.case_id,
        counted.round_id,
        counted.dimension_id,
        counted.load_id,

        ---------- strings
        counted.labeler,
        counted.label,
        -- what most labelers say; a tie is disputed and has none
        case
            when counted.n_pass > counted.n_fail then 'pass'
            when counted.n_fail > counted.n_pass then 'fail'
        end as truth,
        verdicts.judge,
        verdicts.verdict,
        counted.matched_by,
        counted.policy,
        counted.split_name,
        counted.draw,
        counted.label_comment,

        ---------- numerics
        counted.n_labels,
        counted.weight,
        counted.grade,
        counted.scale,
        verdicts.score,

        ---------- booleans
        counted.n_pass > 0 and counted.n_pass = counted.n_fail as is_disputed,

        ---------- timestamps
        counted.labeled_at

    from counted
    left join verdicts
        on
            counted.task_id = verdicts.task_id
            and counted.case_id = verdicts.case_id
            and counted.round_id = verdicts.round_id
            and counted.dimension_id = verdicts.dimension_id

)

select * from final
