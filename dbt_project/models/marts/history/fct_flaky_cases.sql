{{ config(unique_key='title', meta={'batch': 'titles'}) }}

-- One row per title, variant, prompt, model, case and contents (what is asked and expected) whose answers
-- both passed and failed, though none of these had changed. A round in error says nothing of the case.
with

history as (
    select * from {{ ref('promptlab', 'fct_case_history') }}
    where {{ in_this_build('titles') }} and status <> 'unevaluated'
),
results as (
    select * from {{ ref('promptlab', 'int_case_results') }}
    where task_id in (select history.task_id from history)
),

answered as (

    select
        history.*,
        results.n_rounds_passed as n_pass,
        results.n_rounds_failed as n_fail,
        results.n_rounds_in_error as n_error,
        case
            when results.n_rounds_failed > 0 then 'fail'
            when results.n_rounds_passed > 0 then 'pass'
            else 'error'
        end as answer

    from history
    inner join results using (task_id, case_id)

),

followed as (

    select
        *,
        lag(answer) over (
            partition by
                title, variant, prompt_hash, model, case_id, contents_hash, answer = 'error'
            order by run_number, task_id
        ) as answer_before

    from answered

),

summed as (

    select
        title,
        variant,
        prompt_hash,
        model,
        case_id,
        contents_hash,
        max_by(prompt_version, run_number) as prompt_version,
        count(*) filter (where answer <> 'error') as n_tasks,
        count(*) filter (where n_pass > 0 and n_fail > 0) as n_mixed_tasks,
        count(*) filter (where answer <> answer_before) as n_flips,
        cast(sum(n_pass + n_fail) as bigint) as n_rounds,
        cast(sum(n_pass) as bigint) as n_pass,
        cast(sum(n_fail) as bigint) as n_fail,
        cast(sum(n_error) as bigint) as n_error,
        max(case when answer <> 'error' then created_at end) as last_created_at

    from followed
    group by title, variant, prompt_hash, model, case_id, contents_hash

),

final as (

    select

        ---------- ids
        case_id,
        contents_hash,
        prompt_hash,

        ---------- strings
        title,
        variant,
        prompt_version,
        model,
        case
            when n_mixed_tasks > 0 and n_flips > 0 then 'both'
            when n_mixed_tasks > 0 then 'rounds'
            else 'tasks'
        end as flaky_across,

        ---------- numerics
        n_tasks,
        n_mixed_tasks,
        n_flips,
        n_rounds,
        n_pass,
        n_fail,
        n_error,
        round(cast(n_pass as double) / n_rounds, 6) as pass_rate,
        round(cast(n_flips as double) / nullif(n_tasks - 1, 0), 6) as flip_rate,

        ---------- timestamps
        last_created_at

    from summed
    where n_pass > 0 and n_fail > 0

)

select * from final
