{{ config(materialized='table', unique_key='task_id') }}

-- One row per task, which is one variant in one run: the name of the variant, unique in the run.
with

names as (select * from {{ ref('promptlab', 'int_task_names') }}),

-- tasks of one run and name, in the orders that the next steps need
ordered as (

    select
        *,
        row_number() over (
            partition by title, run_id, name
            order by first_run_number nulls last, prompt_position nulls last, task_id
        ) as seen_number,
        row_number() over (
            partition by title, run_id, name
            order by
                case when prompt_name is not null then prompt_position end nulls last,
                first_run_number nulls last,
                prompt_position nulls last,
                task_id
        ) as listed_number,
        row_number() over (
            partition by title, run_id, name, prompt_hash
            order by prompt_position nulls last, task_id
        ) as copy_number,
        coalesce(
            created_at > min(created_at) over (partition by title, run_id, name), false
        ) as is_of_later_run

    from names

),

-- a text keeps the number that it had when it was first seen, wherever it stands now; an edited
-- one has the number of the text that it replaced
numbered as (

    select
        *,
        case
            -- two runs of one id are told apart by their order alone, and so are given names
            when is_of_later_run or is_given then seen_number
            else first_value(listed_number) over (
                partition by title, name, prompt_hash, copy_number
                order by is_of_later_run, recheck_of is not null, run_number, listed_number
            )
        end as prompt_number

    from ordered

),

-- a text that was added under the number of one that is still there is another prompt, for good
with_siblings as (

    select
        *,
        row_number() over (
            partition by title, run_id, name, prompt_number
            order by first_run_number nulls last, listed_number
        ) as number_in_run

    from numbered

),

siblings_numbered as (

    select
        *,
        case
            when is_of_later_run or is_given then 1
            else first_value(number_in_run) over (
                partition by title, name, prompt_hash, copy_number
                order by is_of_later_run, recheck_of is not null, run_number, listed_number
            )
        end as sibling_number

    from with_siblings

),

-- of a text and an earlier version of it in one run, the earlier keeps the name
revisions_numbered as (

    select
        *,
        row_number() over (
            partition by title, run_id, name, prompt_number, sibling_number
            order by first_run_number nulls last, listed_number
        ) as revision_number

    from siblings_numbered

),

variants as (

    select

        ---------- ids
        task_id,
        run_id,
        prompt_hash,
        recheck_of,

        ---------- strings
        title,
        case
            when prompt_number = 1 and sibling_number = 1 and revision_number = 1 then name
            when sibling_number = 1 and revision_number = 1
                then name || ' (' || cast(prompt_number as string) || ')'
            else
                name || ' ('
                || concat_ws(
                    '.',
                    cast(prompt_number as string),
                    cast(sibling_number as string),
                    case when revision_number > 1 then cast(revision_number as string) end
                )
                || ')'
        end as variant,
        provider,
        prompt_name,
        branch,

        ---------- numerics
        run_number,

        ---------- booleans
        is_base_branch,
        is_given,

        ---------- timestamps
        created_at

    from revisions_numbered

)

select * from variants
