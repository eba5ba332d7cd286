{{ config(materialized=view_of_step()) }}

with

pairs as (
    select * from {{ ref('int_memory_run_pairs') }}
    where {{ in_this_build('memory_runs', 'candidate_run_id') }}
),
metrics as (select * from {{ ref('memory_metrics') }}),

compared_runs as (

    select baseline_run_id as run_id
    from pairs

    union

    select candidate_run_id as run_id
    from pairs

),

answers as (
    select * from {{ ref('int_memory_answers_scored') }}
    where is_last_round and run_id in (select compared_runs.run_id from compared_runs)
),
right_metrics as (
    select * from {{ ref('int_memory_right_metrics') }}
    where run_id in (select compared_runs.run_id from compared_runs)
),

of_baselines as (

    select
        pairs.baseline_run_id,
        pairs.candidate_run_id,
        right_metrics.right_metric,
        answers.*

    from pairs
    inner join answers on pairs.baseline_run_id = answers.run_id
    inner join right_metrics on pairs.baseline_run_id = right_metrics.run_id

),

of_candidates as (

    select
        pairs.baseline_run_id,
        pairs.candidate_run_id,
        right_metrics.right_metric,
        answers.*

    from pairs
    inner join answers on pairs.candidate_run_id = answers.run_id
    inner join right_metrics on pairs.candidate_run_id = right_metrics.run_id

),

paired as (

    select
        baseline_run_id,
        candidate_run_id,
        task_id,
        question_key,
        metrics.metric,
        case
            when of_candidates.run_id is null then coalesce(of_baselines.category, '(none)')
            else coalesce(of_candidates.category, '(none)')
        end as category,
        of_baselines.status as baseline_status,
        of_candidates.status as candidate_status,
        {{ headline_score('metrics.metric', 'of_baselines') }} as baseline_score,
        {{ headline_score('metrics.metric', 'of_candidates') }} as candidate_score,
        case
            when of_baselines.run_id is null then 'candidate'
            when of_candidates.run_id is null then 'baseline'
            else 'both'
        end as present_in,
        metrics.metric = coalesce(of_candidates.right_metric, of_baselines.right_metric)
            as is_right_metric,
        metrics.metric = of_baselines.right_metric
        and metrics.metric = of_candidates.right_metric as has_same_right_metric,
        of_baselines.reference_hash <> of_candidates.reference_hash as has_other_reference

    from of_candidates
    full outer join of_baselines
        using (baseline_run_id, candidate_run_id, task_id, question_key)
    cross join metrics

),

measured as (

    select
        *,
        present_in = 'both' as is_shared,
        present_in = 'both' and not has_other_reference as is_comparable,
        case
            when present_in = 'both' and not has_other_reference
                then {{ rounded('candidate_score - baseline_score') }}
        end as delta,
        -- right or not: an answer that cannot be judged is neither
        coalesce(
            has_same_right_metric
            and not has_other_reference
            and baseline_status <> 'unevaluated'
            and candidate_status <> 'unevaluated',
            false
        ) as is_judged

    from paired

),

compared as (

    select

        ---------- ids
        baseline_run_id,
        candidate_run_id,
        task_id,
        question_key,
        metric,

        ---------- strings
        category,
        case
            when present_in = 'candidate' then 'added'
            when present_in = 'baseline' then 'removed'
            when delta is null then 'not_comparable'
            when delta > 0 then 'better'
            when delta < 0 then 'worse'
            else 'same'
        end as change,
        case
            when not is_shared or delta is not null then null
            when has_other_reference then 'reference_differs'
            when candidate_score is not null then 'no_score_in_baseline'
            when baseline_score is not null then 'no_score_in_candidate'
            else 'no_score'
        end as reason,
        baseline_status,
        candidate_status,
        case
            -- by other metrics only scores of 1 among scores of 0 and 1 pass
            when not is_right_metric
                then case
                    when delta is not null then {{ change_of_all_or_nothing('delta') }}
                end
            when not is_judged then null
            when baseline_status = 'pass' and candidate_status = 'pass' then 'still_passing'
            when baseline_status = 'pass' then 'newly_failing'
            when candidate_status = 'pass' then 'newly_fixed'
            else 'still_failing'
        end as status_change,

        ---------- numerics
        baseline_score,
        candidate_score,
        delta,

        ---------- booleans
        is_shared,
        is_comparable,
        is_right_metric

    from measured

)

select * from compared
