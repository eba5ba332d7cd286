{{ config(materialized='table') }}

-- One row per round, dimension and person who labelled it: the label, what most people say (`truth`),
-- and what the judge says.
with

labels as (select * from {{ ref('promptlab', 'stg_labels__labels') }}),
rounds as (select * from {{ ref('promptlab', 'fct_rounds') }}),
verdicts as (select * from {{ ref('promptlab', 'fct_judge_verdicts') }} where is_used),

-- a label without a round is of every round with this output
label_keys as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        {{ whole_answer_hash('rounds') }} as answer_hash,
        'round' as matched_by,
        rounds.round_id as label_key

    from rounds

    union all

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        {{ whole_answer_hash('rounds') }} as answer_hash,
        'output' as matched_by,
        {{ whole_answer_hash('rounds') }} as label_key

    from rounds

),

matched as (

    select
        label_keys.task_id,
        label_keys.case_id,
        label_keys.round_id,
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
        label_keys.matched_by,
        labels.output_hash is null as is_by_round_alone,
        count(*) over (
            partition by
                labels.load_id, labels.line_number, labels.labeler, labels.dimension_id
        ) as n_rounds_found

    from labels
    inner join label_keys
        on
            coalesce(labels.round_id, labels.output_hash) = label_keys.label_key
            and case when labels.round_id is null then 'output' else 'round' end
            = label_keys.matched_by
    where
        -- a label of an answer that the round no longer has says nothing
        coalesce(labels.output_hash = label_keys.answer_hash, true)
        and coalesce(labels.task_id = label_keys.task_id, true)
        and coalesce(labels.case_id = label_keys.case_id, true)

),

ordered as (

    select *

    from matched
    -- where several rounds have this id nothing says which of them people saw
    where not is_by_round_alone or n_rounds_found = 1
    qualify row_number() over (
        partition by task_id, case_id, round_id, dimension_id, labeler
        order by
            labeled_at desc nulls last, load_id desc, line_number desc
    ) = 1

),

with_votes as (

    select
        *,
        count(label) over in_round as n_labels,
        count(*) filter (where label = 'pass') over in_round as n_pass,
        count(*) filter (where label = 'fail') over in_round as n_fail

    from ordered
    window in_round as (partition by task_id, case_id, round_id, dimension_id)

),

final as (

    select

        ---------- ids
        with_votes.task_id,
        with_votes.case_id,
        with_votes.round_id,
        with_votes.dimension_id,
        with_votes.load_id,

        ---------- strings
        with_votes.labeler,
        with_votes.label,
        -- what most labelers say; a tie is disputed and has none
        case
            when with_votes.n_pass > with_votes.n_fail then 'pass'
            when with_votes.n_fail > with_votes.n_pass then 'fail'
        end as truth,
        verdicts.judge,
        verdicts.verdict,
        with_votes.matched_by,
        with_votes.policy,
        with_votes.split_name,
        with_votes.draw,
        with_votes.label_comment,

        ---------- numerics
        with_votes.n_labels,
        with_votes.weight,
        with_votes.grade,
        with_votes.scale,
        verdicts.score,

        ---------- booleans
        with_votes.n_pass > 0 and with_votes.n_pass = with_votes.n_fail as is_disputed,

        ---------- timestamps
        with_votes.labeled_at

    from with_votes
    left join verdicts using (task_id, case_id, round_id, dimension_id)

)

select * from final
