with

answers as (
    select * from {{ ref('int_memory_answers_scored') }}
    where {{ in_this_build('memory_runs') }}
),
labels as (select * from {{ ref('int_memory_category_labels') }}),
metrics as (select * from {{ ref('memory_metrics') }}),

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
        count(*) filter (where {{ is_scorable("'mem0_f1'") }}) as n_mem0,
        count(*) filter (where {{ is_scorable("'mem0_f1'") }} and is_failed) as n_mem0_failed,
        count(*) filter (where {{ is_scorable("'locomo_f1'") }}) as n_locomo,
        count(*) filter (
            where {{ is_scorable("'locomo_f1'") }} and is_failed
        ) as n_locomo_failed,
        {{ exact_sum('token_f1') }} as token_f1,
        {{ exact_sum('exact_match') }} as exact_match,
        {{ exact_sum('contains_reference') }} as contains_reference,
        {{ exact_sum('mem0_f1') }} as mem0_f1,
        {{ exact_sum('locomo_f1') }} as locomo_f1

    from answers
    group by run_id, task_id, test_index, is_last_round, coalesce(category, '(none)')

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
        coalesce({{ exact_sum('measured.score_sum') }}, 0) as score_sum,

        ---------- booleans
        measured.is_last_round

    from measured
    inner join labels using (run_id, category)
    group by
        measured.run_id,
        measured.task_id,
        measured.test_index,
        labels.label,
        measured.metric,
        measured.is_last_round

)

select * from final
