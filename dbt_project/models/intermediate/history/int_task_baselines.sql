with

previous as (select * from {{ ref('promptlab', 'int_previous_runs') }}),
named as (select * from {{ ref('promptlab', 'int_named_baselines') }}),

-- what else there is of a task without a previous one: earlier runs that are no baseline,
-- or runs that were loaded before it and are dated after it
unmatched as (

    select
        previous.task_id,
        case
            when min(others.run_number) >= min(previous.run_number) then 'dated_before'
            when
                bool_or(
                    not others.is_base_branch
                    and others.is_whole
                    and others.run_number < previous.run_number
                )
                then 'branch'
            when
                not bool_or(others.is_whole and others.run_number < previous.run_number)
                then 'partial'
        end as why_no_previous

    from previous
    inner join previous as others
        on
            previous.title = others.title
            and (
                previous.run_number > others.run_number
                or (
                    previous.run_number < others.run_number
                    and previous.ingest_id > others.ingest_id
                )
            )
            and (
                previous.variant = others.variant
                or (
                    previous.is_alone
                    and others.is_alone
                    and not previous.run_number between others.run_number and others.last_run
                )
            )
    where previous.previous_task_id is null
    group by previous.task_id

),

-- a named baseline is one for its own variant, and for others without a separate one
chosen as (

    select
        previous.*,
        case
            when previous.previous_task_id is not null then null
            when previous.has_earlier_run then 'not_shipped'
            when previous.shares_run_id then 'shared_run_id'
            when unmatched.why_no_previous is not null then unmatched.why_no_previous
            when previous.has_replaced_run then 'replaced'
            -- a new variant beside known ones is the first of its kind
            when
                previous.has_earlier_night
                and max(
                    case
                        when
                            previous.matched_by <> 'variant'
                            or previous.first_night < previous.night_number
                            then previous.previous_task_id
                    end
                ) over (partition by previous.title, previous.night_number) is null
                then 'variants'
            when not previous.is_first then 'gone'
        end as why_no_previous,
        named.task_id as named_task_id,
        named.state as named_state,
        named.set_at,
        row_number() over (
            partition by previous.task_id
            order by
                case when named.variant = previous.variant then 0 else 1 end,
                named.set_at desc nulls last,
                named.task_id asc
        ) as choice

    from previous
    left join unmatched using (task_id)
    -- a task is not its own baseline
    left join named
        on
            previous.title = named.title
            and previous.testset_id is not distinct from named.testset_id
            and previous.task_id <> named.task_id
            and (
                previous.variant = named.variant
                or named.variant is null
                or (previous.is_alone and coalesce(previous.matched_by, 'title') = 'title')
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
