with

tasks as (select * from {{ ref('int_task_variants') }} where recheck_of is null),
resolved as (select * from {{ ref('int_tasks_resolved') }}),
named as (select * from {{ ref('int_named_baselines') }}),

-- variants of one run, and those that are loaded in one call, are side by side
counted as (

    select
        tasks.*,
        case when tasks.is_settled then 0 when tasks.is_accepted then 1 else 2 end as doubt,
        resolved.testset_id,
        resolved.ingest_id,
        min(tasks.variant) over in_run = max(tasks.variant) over in_run
        and min(tasks.variant) over in_call = max(tasks.variant) over in_call as is_alone,
        min(tasks.run_number) over of_variant as first_run,
        max(tasks.run_number) over of_variant as last_run

    from tasks
    inner join resolved using (task_id)
    window
        of_variant as (partition by tasks.title, tasks.variant),
        in_run as (partition by tasks.title, tasks.run_id),
        in_call as (
            partition by tasks.title, coalesce(cast(resolved.ingest_id as string), tasks.run_id)
        )

),

-- the previous run with the same properties; results of one run are not baselines of
-- each other. A run without a "Ship" hides what it lost: it counts only where no run before
-- has one, and a run that the gate refused only where every one before was refused.
looked_up as (

    select
        *,
        coalesce(
            max(case when is_eligible and is_settled then run_number end) over of_variant,
            max(case when is_eligible and is_accepted then run_number end) over of_variant,
            max(case when is_eligible then run_number end) over of_variant
        ) as run_of_variant,
        coalesce(
            max(case when is_eligible and is_settled then run_number end) over of_prompt,
            max(case when is_eligible and is_accepted then run_number end) over of_prompt,
            max(case when is_eligible then run_number end) over of_prompt
        ) as run_of_prompt,
        coalesce(
            max(case when is_eligible and is_settled then run_number end) over of_title,
            max(case when is_eligible and is_accepted then run_number end) over of_title,
            max(case when is_eligible then run_number end) over of_title
        ) as run_of_title

    from counted
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
        run_number,
        min(task_id) as task_id,
        min_by(doubt, task_id) as doubt,
        max(last_run) as last_run

    from counted
    where is_eligible
    group by title, provider, prompt_hash, run_number

),

-- A run that was not shipped hides what it lost, also as the first one of its variant: then a
-- variant that ended before it began, and was shipped, is the better baseline.
matched as (

    select
        looked_up.task_id,
        looked_up.title,
        looked_up.variant,
        looked_up.testset_id,
        looked_up.is_alone,
        looked_up.has_replaced_run,
        looked_up.shares_run_id,
        case
            when of_variant.task_id is null or of_prompt.last_run < looked_up.first_run
                then of_prompt.doubt
        end as doubt_of_prompt,
        case
            when of_variant.doubt <= least(3, doubt_of_prompt, of_title.doubt) then 'variant'
            when doubt_of_prompt <= least(3, of_variant.doubt, of_title.doubt) then 'prompt'
            when of_title.task_id is not null then 'title'
        end as matched_by,
        case matched_by
            when 'variant' then of_variant.task_id
            when 'prompt' then of_prompt.task_id
            when 'title' then of_title.task_id
        end as previous_task_id

    from looked_up
    left join counted as of_variant
        on
            looked_up.title = of_variant.title
            and looked_up.variant = of_variant.variant
            and looked_up.run_of_variant = of_variant.run_number
            and of_variant.is_eligible
    left join of_prompts as of_prompt
        on
            looked_up.title = of_prompt.title
            and looked_up.provider = of_prompt.provider
            and looked_up.prompt_hash = of_prompt.prompt_hash
            and looked_up.run_of_prompt = of_prompt.run_number
    left join counted as of_title
        on
            looked_up.title = of_title.title
            and looked_up.run_of_title = of_title.run_number
            and of_title.is_eligible
            and of_title.is_alone
            and looked_up.is_alone
            and looked_up.first_run > of_title.last_run

),

-- what else there is of a task without a previous one: earlier runs that are no baseline,
-- or runs that were loaded before it and are dated after it
unmatched as (

    select
        matched.task_id,
        case
            when min(others.run_number) >= min(counted.run_number) then 'dated_before'
            when
                bool_or(others.is_whole and others.run_number < counted.run_number)
                then 'branch'
            else 'partial'
        end as why_no_previous

    from matched
    inner join counted using (task_id)
    inner join counted as others
        on
            counted.title = others.title
            and (
                counted.run_number > others.run_number
                or (
                    counted.run_number < others.run_number
                    and counted.ingest_id > others.ingest_id
                )
            )
            and (
                counted.variant = others.variant
                or (
                    counted.is_alone
                    and others.is_alone
                    and not counted.run_number between others.run_number and others.last_run
                )
            )
    where matched.previous_task_id is null
    group by matched.task_id

),

-- a named baseline is one for its own variant, and for others without a separate one
chosen as (

    select
        matched.*,
        case
            when matched.previous_task_id is not null then null
            when matched.shares_run_id then 'shared_run_id'
            when unmatched.why_no_previous is not null then unmatched.why_no_previous
            when matched.has_replaced_run then 'replaced'
        end as why_no_previous,
        named.task_id as named_task_id,
        named.state as named_state,
        named.set_at,
        row_number() over (
            partition by matched.task_id
            order by
                case when named.variant = matched.variant then 0 else 1 end,
                named.set_at desc nulls last,
                named.task_id asc
        ) as choice

    from matched
    left join unmatched using (task_id)
    -- a task is not its own baseline
    left join named
        on
            matched.title = named.title
            and matched.testset_id is not distinct from named.testset_id
            and matched.task_id <> named.task_id
            and (
                matched.variant = named.variant
                or named.variant is null
                or (matched.is_alone and coalesce(matched.matched_by, 'title') = 'title')
            )

),

baselines as (

    select

        ---------- ids
        task_id,
        case
            when named_task_id is null then previous_task_id
            when named_state <> 'gone' then named_task_id
        end as baseline_task_id,
        previous_task_id,
        named_task_id,

        ---------- strings
        case
            when named_state = 'gone' then 'gone'
            when named_task_id is not null then 'named'
            when previous_task_id is not null then 'previous'
            else 'none'
        end as baseline_source,
        matched_by,
        why_no_previous,

        ---------- booleans
        named_state = 'changed' as is_baseline_changed,

        ---------- timestamps
        set_at as baseline_set_at

    from chosen
    where choice = 1

)

select * from baselines
