with

totals as (select * from {{ ref('promptlab', 'stg_reported__totals') }} where {{ in_this_build() }}),
task_sums as (select * from {{ ref('promptlab', 'int_reported_task_sums') }}),
dimension_sums as (select * from {{ ref('promptlab', 'int_reported_dimension_sums') }}),
statistics as (select * from {{ ref('promptlab', 'int_reported_statistics') }}),
rules as (select * from {{ ref('promptlab', 'promptlab_total_rules') }}),
partial as (select * from {{ ref('promptlab', 'int_partial_tasks') }}),

-- a total of a run is over all tasks that its file brought
scoped as (

    select
        totals.task_id,
        totals.total_position,
        sum(in_scope.n_rounds) as n_rounds,
        sum(in_scope.n_cases) as n_cases,
        sum(in_scope.n_pass) as n_pass,
        sum(in_scope.n_fail) as n_fail,
        sum(in_scope.n_error) as n_error,
        sum(in_scope.n_checks_passed) as n_checks_passed,
        sum(in_scope.n_checks_failed) as n_checks_failed,
        sum(in_scope.sum_latency_ms) as sum_latency_ms,
        sum(in_scope.sum_cost) as sum_cost,
        sum(in_scope.sum_input_tokens) as sum_input_tokens,
        sum(in_scope.sum_output_tokens) as sum_output_tokens,
        sum(in_scope.sum_total_tokens) as sum_total_tokens

    from totals
    inner join task_sums as own using (task_id)
    inner join task_sums as in_scope
        on
            own.run_id = in_scope.run_id
            and own.load_id = in_scope.load_id
            and (totals.total_scope = 'run' or own.task_id = in_scope.task_id)
    group by totals.task_id, totals.total_position

),

recomputed as (

    select
        totals.*,
        rules.unit,
        rules.statistic,
        scoped.n_rounds as n_rounds_in_scope,
        cast(case totals.total_rule
            when 'count_rounds'
                then case {{ json_text('totals.parameters', 'status') }}
                    when 'pass' then scoped.n_pass
                    when 'fail' then scoped.n_fail
                    when 'error' then scoped.n_error
                    else scoped.n_rounds
                end
            when 'count_completed_rounds' then scoped.n_rounds - scoped.n_error
            when 'count_cases' then scoped.n_cases
            when 'count_checks'
                then case {{ json_text('totals.parameters', 'status') }}
                    when 'pass' then scoped.n_checks_passed
                    else scoped.n_checks_failed
                end
            when 'count_checks_of_dimension'
                then case {{ json_text('totals.parameters', 'status') }}
                    when 'pass' then dimension_sums.n_checks_passed
                    when 'fail' then dimension_sums.n_checks_failed
                    else dimension_sums.n_checks_unevaluated
                end
            when 'sum_latency_ms' then coalesce(scoped.sum_latency_ms, 0)
            when 'sum_cost' then coalesce(scoped.sum_cost, 0)
            when 'sum_input_tokens' then coalesce(scoped.sum_input_tokens, 0)
            when 'sum_output_tokens' then coalesce(scoped.sum_output_tokens, 0)
            when 'sum_total_tokens' then coalesce(scoped.sum_total_tokens, 0)
            when 'weighted_sum' then coalesce(dimension_sums.weighted_sum, 0)
            when 'sum_weights' then coalesce(dimension_sums.sum_weights, 0)
            when 'sum_checks' then coalesce(dimension_sums.sum_checks, 0)
            when 'share_of_checks_passed'
                then dimension_sums.n_checks_passed / nullif(dimension_sums.n_checks_judged, 0)
            else case rules.statistic
                when 'mean' then statistics.mean_value
                when 'stderr' then statistics.sd_value / sqrt(statistics.n_units)
                when 'sd' then statistics.sd_value
                when 'variance' then statistics.sd_value * statistics.sd_value
                when 'population_variance' then statistics.population_variance
                when 'sum' then statistics.sum_value
                when 'min' then statistics.min_value
                when 'max' then statistics.max_value
                when 'p90' then statistics.p90_value
            end
        end as double) as computed_value,
        cast(case
            when rules.unit in ('cases', 'rounds', 'tags') then coalesce(statistics.n_units, 0)
            when totals.dimension_id is not null then coalesce(dimension_sums.n_values, 0)
            else scoped.n_rounds
        end as bigint) as n_computed

    from totals
    inner join scoped using (task_id, total_position)
    left join dimension_sums using (task_id, dimension_id)
    left join statistics using (task_id, total_position)
    left join rules using (total_rule)

),

compared as (

    select
        recomputed.*,
        partial.n_rows_held is not null as is_partial,
        abs(recomputed.computed_value - recomputed.reported_value) <= greatest(
            1e-12,
            1e-6 * abs(recomputed.reported_value),
            -- where the tool rounds what it writes
            0.500001 * power(1e1, -{{ json_number('recomputed.parameters', 'digits') }})
        ) as agrees

    from recomputed
    left join partial using (task_id)

),

final as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        total_name,
        total_scope,
        total_rule,
        case
            when agrees then null
            when n_rounds_in_scope = 0 then 'no_rows'
            when total_rule in ('own_formula', 'not_in_rows', 'random_draws', 'several_tasks')
                then total_rule
            when is_partial or n_computed < n_reported then 'fewer_rows'
            when reported_value is null then 'nothing_reported'
            when computed_value is null then 'too_few_values'
            else 'differs'
        end as reason,

        ---------- numerics
        total_position,
        reported_value as reported,
        computed_value as computed,
        computed_value - reported_value as difference,
        n_reported,
        n_computed,

        ---------- booleans
        agrees

    from compared

)

select * from final
