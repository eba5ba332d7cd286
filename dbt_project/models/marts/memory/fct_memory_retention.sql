-- One row per memory run and number of rounds between two answers (`lag`): how many right ones are still right.
with

pairs as (select * from {{ ref('promptlab', 'int_memory_retention_pairs') }}),
right_metrics as (
    select * from {{ ref('promptlab', 'int_memory_right_metrics') }}
    where {{ in_this_build('memory_runs') }}
),

pair_counts as (

    select
        run_id,
        lag,
        count(*) filter (where status_after <> 'error') as n_right_before,
        count(*) filter (where status_after = 'pass') as n_still_right,
        count(*) filter (where status_after = 'error') as n_failed

    from pairs
    group by run_id, lag

),

final as (

    select

        ---------- ids
        pair_counts.run_id,
        pair_counts.lag,

        ---------- strings
        right_metrics.right_metric as metric,
        'left_out' as failed_calls,

        ---------- numerics
        right_metrics.right_threshold as threshold,
        pair_counts.n_right_before,
        pair_counts.n_still_right,
        pair_counts.n_failed,
        round(
            cast(pair_counts.n_still_right as double) / nullif(pair_counts.n_right_before, 0), 6
        ) as retention

    from pair_counts
    inner join right_metrics using (run_id)

)

select * from final
