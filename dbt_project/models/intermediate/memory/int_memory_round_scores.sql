with

answers as (

    select * from {{ ref('fct_memory_answers') }}
    where {{ in_this_build('memory_runs') }}

),

runs as (

    select * from {{ ref('stg_memory__runs') }}
    where {{ in_this_build('memory_runs') }}

),

categories as (

    select * from {{ ref('memory_categories') }}

),

-- One pass over the answers; everything after it works on a row per round and category.
counted as (

    select
        run_id,
        task_id,
        test_index,
        is_last_round,
        coalesce(category, '(none)') as category,
        count(*) filter (where has_reference) as n_reference,
        count(*) filter (where has_reference and is_failed) as n_reference_failed,
        count(*) filter (where has_reference and coalesce(category, '') <> '5') as n_mem0,
        count(*) filter (
            where has_reference and coalesce(category, '') <> '5' and is_failed
        ) as n_mem0_failed,
        count(*) filter (where has_reference or category = '5') as n_locomo,
        count(*) filter (
            where (has_reference or category = '5') and is_failed
        ) as n_locomo_failed,
        {{ exact_sum('token_f1') }} as token_f1,
        {{ exact_sum('exact_match') }} as exact_match,
        {{ exact_sum('contains_reference') }} as contains_reference,
        {{ exact_sum('mem0_f1') }} as mem0_f1,
        {{ exact_sum('locomo_f1') }} as locomo_f1

    from answers
    group by run_id, task_id, test_index, is_last_round, coalesce(category, '(none)')

),

metrics as (

    select 'token_f1' as metric
    union all
    select 'exact_match' as metric
    union all
    select 'contains_reference' as metric
    union all
    select 'mem0_f1' as metric
    union all
    select 'locomo_f1' as metric

),

measured as (

    select
        counted.run_id,
        counted.task_id,
        counted.test_index,
        counted.is_last_round,
        counted.category,
        metrics.metric,
        case metrics.metric
            when 'mem0_f1' then counted.n_mem0
            when 'locomo_f1' then counted.n_locomo
            else counted.n_reference
        end as n_questions,
        case metrics.metric
            when 'mem0_f1' then counted.n_mem0_failed
            when 'locomo_f1' then counted.n_locomo_failed
            else counted.n_reference_failed
        end as n_failed,
        case metrics.metric
            when 'token_f1' then counted.token_f1
            when 'exact_match' then counted.exact_match
            when 'contains_reference' then counted.contains_reference
            when 'mem0_f1' then counted.mem0_f1
            when 'locomo_f1' then counted.locomo_f1
        end as score_sum

    from counted
    cross join metrics

),

-- A category counts under its own name, in its group, and in `all`; once under each.
labels as (

    select distinct
        counted.run_id,
        counted.category,
        counted.category as label
    from counted

    union

    select distinct
        counted.run_id,
        counted.category,
        'all' as label
    from counted

    union

    select distinct
        counted.run_id,
        counted.category,
        categories.category_group as label
    from counted
    inner join runs
        on
            counted.run_id = runs.run_id
            and counted.task_id = runs.task_id
    inner join categories
        on
            runs.dataset = categories.dataset
            and counted.category = categories.category
    where categories.category_group is not null

),

final as (

    select

        ---------- ids
        measured.run_id,
        measured.task_id,
        measured.test_index,
        labels.label as category,
        measured.metric,

        ---------- numerics
        cast(sum(measured.n_questions) as bigint) as n_questions,
        cast(sum(measured.n_failed) as bigint) as n_failed,
        coalesce(sum(measured.score_sum), 0) as score_sum,

        ---------- booleans
        measured.is_last_round

    from measured
    inner join labels
        on
            measured.run_id = labels.run_id
            and measured.category = labels.category
    group by
        measured.run_id,
        measured.task_id,
        measured.test_index,
        labels.label,
        measured.metric,
        measured.is_last_round

)

select * from final
