with

pairs as (
    select * from {{ ref('int_memory_run_pairs') }}
    where {{ in_this_build('memory_runs', 'candidate_run_id') }}
),

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
metrics as (select * from {{ ref('memory_metrics') }}),

joined as (

    select
        answers.*,
        metrics.metric,
        metrics.metric = right_metrics.right_metric as is_right_metric

    from answers
    inner join right_metrics using (run_id)
    cross join metrics

),

scored as (

    select

        ---------- ids
        run_id,
        task_id,
        question_key,
        metric,

        ---------- strings
        coalesce(category, '(none)') as category,
        status,
        reference_hash,

        ---------- numerics
        case
            when not ({{ is_scorable('metric') }}) then null
            when is_failed then 0
            else {{ score_by('metric') }}
        end as score,

        ---------- booleans
        is_right_metric

    from joined

)

select * from scored
