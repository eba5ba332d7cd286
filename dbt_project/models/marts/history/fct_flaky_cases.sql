{{ config(unique_key='title', meta={'batch': 'titles'}) }}

-- Cases that passed and did not pass though nothing had changed: neither the prompt, nor
-- the model, nor what was asked and expected.
with

history as (
    select * from {{ ref('fct_case_history') }}
    where {{ in_this_build('titles') }} and status <> 'unevaluated'
),
rounds as (
    select * from {{ ref('fct_rounds') }}
    where
        task_id in (select history.task_id from history)
        and status <> 'unevaluated'
),

by_task as (

    select
        task_id,
        case_id,
        count(*) as n_rounds,
        count(*) filter (where status = 'pass') as n_pass,
        count(*) filter (where status = 'fail') as n_fail,
        count(*) filter (where status = 'error') as n_error

    from rounds
    group by task_id, case_id

),

followed as (

    select
        *,
        lag(status) over (
            partition by title, variant, prompt_version, model, case_id, contents_hash
            order by run_number, task_id
        ) as status_before

    from history

),

summed as (

    select
        followed.title,
        followed.variant,
        followed.prompt_version,
        followed.model,
        followed.case_id,
        followed.contents_hash,
        count(*) as n_tasks,
        count(*) filter (
            where by_task.n_pass > 0 and by_task.n_pass < by_task.n_rounds
        ) as n_mixed_tasks,
        count(*) filter (
            where (followed.status = 'pass') <> (followed.status_before = 'pass')
        ) as n_flips,
        cast(sum(by_task.n_rounds) as bigint) as n_rounds,
        cast(sum(by_task.n_pass) as bigint) as n_pass,
        cast(sum(by_task.n_fail) as bigint) as n_fail,
        cast(sum(by_task.n_error) as bigint) as n_error,
        max(followed.created_at) as last_created_at

    from followed
    inner join by_task using (task_id, case_id)
    group by
        followed.title,
        followed.variant,
        followed.prompt_version,
        followed.model,
        followed.case_id,
        followed.contents_hash

),

final as (

    select

        ---------- ids
        case_id,
        contents_hash,

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
        {{ rounded('cast(n_pass as double) / n_rounds') }} as pass_rate,
        {{ rounded('cast(n_flips as double) / nullif(n_tasks - 1, 0)') }} as flip_rate,

        ---------- timestamps
        last_created_at

    from summed
    where n_pass > 0 and n_pass < n_rounds

)

select * from final
