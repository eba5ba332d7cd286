{{ config(materialized=view_of_step()) }}

with

tasks as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
resolved as (select * from {{ ref('promptlab', 'int_tasks_resolved') }}),
nights as (select * from {{ ref('promptlab', 'int_task_nights') }}),

counted as (

    select
        tasks.*,
        case when tasks.is_settled then 0 else 1 end as doubt,
        resolved.testset_id,
        resolved.ingest_id,
        nights.night_number,
        nights.is_alone,
        min(nights.night_number) over of_variant as first_night,
        min(tasks.run_number) over of_variant as first_run,
        max(tasks.run_number) over of_variant as last_run

    from tasks
    inner join resolved using (task_id)
    inner join nights using (task_id)
    window of_variant as (partition by tasks.title, tasks.variant)

),

-- a shipped run is preferred, and of those the newest
preferred as (

    select
        *,
        case
            when is_baseline then dense_rank() over (
                partition by title, is_baseline order by doubt desc, run_number asc
            )
        end as preference,
        case when is_baseline and doubt = 0 then run_number end as settled_run,
        lag(variant) over (
            partition by title, is_baseline and doubt = 0 order by run_number, task_id
        ) as settled_before

    from counted

),

-- the previous run with the same properties; results of one run are not baselines of each other
looked_up as (

    select
        *,
        min(settled_run) over (partition by title, variant) as first_settled_run,
        max(case when variant is distinct from settled_before then settled_run end) over (
            partition by title
            order by run_number, task_id rows between unbounded preceding and current row
        ) as settled_since,
        max(preference) over of_variant as preference_of_variant,
        max(preference) over of_prompt as preference_of_prompt,
        max(preference) over of_title as preference_of_title,
        max(case when is_base_branch then 1 end) over (
            partition by title
            order by night_number range between unbounded preceding and 1 preceding
        ) is not null as has_earlier_night,
        max(case when is_eligible then 1 end) over of_variant is not null as has_earlier_run

    from preferred
    window
        of_variant as (
            partition by title, variant
            order by run_number range between unbounded preceding and 1 preceding
        ),
        of_prompt as (
            partition by title, provider, prompt_hash
            order by run_number range between unbounded preceding and 1 preceding
        ),
        of_title as (
            partition by title
            order by run_number range between unbounded preceding and 1 preceding
        )

),

of_prompts as (

    select
        title,
        provider,
        prompt_hash,
        min(task_id) as task_id,
        min_by(doubt, task_id) as doubt,
        max(preference) as preference,
        max(last_run) as last_run,
        max(created_at) as created_at,
        max(ingest_id) as ingest_id

    from preferred
    where is_baseline
    group by title, provider, prompt_hash, run_number

),

-- a variant that ended before this one began comes before it only where it is less doubtful
previous_runs as (

    select

        ---------- ids
        looked_up.task_id,
        looked_up.testset_id,
        looked_up.ingest_id,

        ---------- strings
        looked_up.title,
        looked_up.variant,
        case
            -- what was loaded in one call and is as old is side by side
            when
                looked_up.created_at = of_prompt.created_at
                and looked_up.ingest_id = of_prompt.ingest_id
                then null
            when not looked_up.has_earlier_run or of_prompt.last_run < looked_up.first_run
                then of_prompt.doubt
        end as doubt_of_prompt,
        case
            when of_variant.doubt <= least(2, doubt_of_prompt, of_title.doubt) then 'variant'
            when doubt_of_prompt <= least(2, of_variant.doubt, of_title.doubt) then 'prompt'
            when of_title.task_id is not null then 'title'
        end as matched_by,
        case matched_by
            when 'variant' then of_variant.task_id
            when 'prompt' then of_prompt.task_id
            when 'title' then of_title.task_id
        end as previous_task_id,

        ---------- numerics
        looked_up.night_number,
        looked_up.first_night,
        looked_up.run_number,
        looked_up.last_run,

        ---------- booleans
        looked_up.is_alone,
        looked_up.is_whole,
        looked_up.is_base_branch,
        looked_up.has_replaced_run,
        looked_up.shares_run_id,
        looked_up.is_first,
        looked_up.has_earlier_night,
        looked_up.has_earlier_run

    from looked_up
    left join preferred as of_variant
        on
            looked_up.title = of_variant.title
            and looked_up.variant = of_variant.variant
            and looked_up.preference_of_variant = of_variant.preference
    left join of_prompts as of_prompt
        on
            looked_up.title = of_prompt.title
            and looked_up.provider = of_prompt.provider
            and looked_up.prompt_hash = of_prompt.prompt_hash
            and looked_up.preference_of_prompt = of_prompt.preference
    -- the other variant is an earlier state of this one, and not side by side with it: it does
    -- not come again, or no third one was shipped since it began
    left join looked_up as of_title
        on
            looked_up.title = of_title.title
            and looked_up.preference_of_title = of_title.preference
            and of_title.is_alone
            and looked_up.is_alone
            and (
                looked_up.first_run > of_title.last_run
                or of_title.settled_since = of_title.first_settled_run
            )

)

select * from previous_runs
