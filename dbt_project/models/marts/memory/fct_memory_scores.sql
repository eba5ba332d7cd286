-- One row per memory run, view (last round, each round, all), rule for failed calls, category, average and metric.
with

rounds as (select * from {{ ref('promptlab', 'int_memory_round_scores') }}),
tests as (select * from {{ ref('promptlab', 'stg_memory__tests') }} where {{ in_this_build('memory_runs') }}),

-- Rounds ask the same questions again: no figure without the rounds it is made of.
by_task as (

    select
        rounds.run_id,
        views.view_name,
        case when views.view_name = 'by_round' then rounds.test_index end as view_round,
        rounds.category,
        rounds.metric,
        rounds.task_id,
        sum(rounds.n_questions) as n_asked,
        sum(rounds.n_failed) as n_failed,
        {{ exact_sum('rounds.score_sum') }} as score_sum

    from rounds
    cross join (values ('last_round'), ('by_round'), ('pooled')) as views (view_name)
    where views.view_name <> 'last_round' or rounds.is_last_round
    group by
        rounds.run_id, views.view_name, view_round, rounds.category, rounds.metric, rounds.task_id

),

-- A failed call counts as 0 among all questions, or it is left out.
ruled as (

    select
        rules.failed_calls,
        by_task.*,
        case
            when rules.failed_calls = 'as_zero' then by_task.n_asked
            else by_task.n_asked - by_task.n_failed
        end as n_questions

    from by_task
    cross join (values ('as_zero'), ('left_out')) as rules (failed_calls)

),

averaged as (

    select
        run_id,
        view_name,
        view_round,
        failed_calls,
        category,
        metric,
        cast(sum(n_questions) as bigint) as n_questions,
        cast(sum(n_failed) as bigint) as n_failed,
        count(*) filter (where n_questions > 0) as n_tasks,
        {{ exact_sum('score_sum') }} / nullif(sum(n_questions), 0) as micro,
        avg(score_sum / nullif(n_questions, 0)) as macro,
        stddev_samp(score_sum / nullif(n_questions, 0)) as macro_sd,
        -- of a conversation's distance from the mean over questions
        {{ exact_sum('score_sum * score_sum') }} as sum_of_squares,
        {{ exact_sum('score_sum * n_questions') }} as sum_of_products,
        {{ exact_sum('n_questions * n_questions') }} as sum_of_squared_n

    from ruled
    group by run_id, view_name, view_round, failed_calls, category, metric

),

both_averages as (

    select
        averages.average,
        averaged.*,
        case when averages.average = 'micro' then averaged.micro else averaged.macro end
            as exact_score,
        case
            when averages.average = 'micro'
                then sqrt(
                    greatest(
                        0.0,
                        averaged.sum_of_squares - 2 * averaged.micro * averaged.sum_of_products
                        + averaged.micro * averaged.micro * averaged.sum_of_squared_n
                    )
                    * averaged.n_tasks / (averaged.n_tasks - 1e0)
                ) / averaged.n_questions
            else averaged.macro_sd / sqrt(cast(averaged.n_tasks as double))
        end as standard_error,
        -- conversations are the clusters: questions of one share its memory
        case
            when averaged.n_tasks > 1
                then standard_error * {{ t_quantile('(averaged.n_tasks - 1)') }}
        end as half_width

    from averaged
    cross join (values ('micro'), ('macro')) as averages (average)

),

bounded as (

    select
        *,
        round(exact_score, 6) as score,
        round(greatest(0.0, exact_score - half_width), 6) as lower_bound,
        round(least(1.0, exact_score + half_width), 6) as upper_bound,
        -- an interval without width would read as certainty
        coalesce(half_width > 1e-9 and lower_bound < upper_bound, false) as has_interval

    from both_averages

),

dialogs as (

    select
        run_id,
        test_index,
        round(avg(dialogs_inserted_count), 2) as mean_dialogs_inserted

    from tests
    group by run_id, test_index

),

final as (

    select

        ---------- ids
        bounded.run_id,
        bounded.view_name as view,
        bounded.view_round as test_index,
        bounded.failed_calls,
        bounded.category,
        bounded.average,
        bounded.metric,

        ---------- numerics
        bounded.n_questions,
        bounded.n_failed,
        bounded.n_tasks,
        dialogs.mean_dialogs_inserted,
        bounded.score,
        case when bounded.has_interval then bounded.lower_bound end as ci_low,
        case when bounded.has_interval then bounded.upper_bound end as ci_high,

        ---------- booleans
        bounded.view_name = 'last_round'
        and bounded.failed_calls = 'as_zero'
        and bounded.average = 'micro' as is_headline

    from bounded
    left join dialogs
        on
            bounded.run_id = dialogs.run_id
            and bounded.view_round = dialogs.test_index

)

select * from final
