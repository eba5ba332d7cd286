with

totals as (select * from {{ ref('stg_reported__totals') }} where {{ in_this_build() }}),
task_sums as (select * from {{ ref('int_reported_task_sums') }}),
dimension_sums as (select * from {{ ref('int_reported_dimension_sums') }}),
means as (select * from {{ ref('int_reported_means') }}),

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
    inner join task_sums as own on totals.task_id = own.task_id
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
            when 'mean_over_rounds' then dimension_sums.mean_value
            when 'mean_over_cases' then means.mean_value
            when 'stderr_over_cases' then means.sd_value / sqrt(means.n_cases)
            when 'sd_over_cases' then means.sd_value
            when 'variance_over_cases' then means.sd_value * means.sd_value
        end as double) as computed_value,
        cast(case
            when totals.total_rule like '%_over_cases' then coalesce(means.n_cases, 0)
            when totals.dimension_id is not null then coalesce(dimension_sums.n_values, 0)
            else scoped.n_rounds
        end as bigint) as n_computed

    from totals
    inner join scoped
        on
            totals.task_id = scoped.task_id
            and totals.total_position = scoped.total_position
    left join dimension_sums
        on
            totals.task_id = dimension_sums.task_id
            and totals.dimension_id = dimension_sums.dimension_id
    left join means
        on
            totals.task_id = means.task_id
            and totals.dimension_id = means.dimension_id
            and coalesce({{ json_text('totals.parameters', 'reducer') }}, 'mean') = means.reducer

),

compared as (

    select
        *,
        computed_value - reported_value as difference,
        -- the file holds fewer rows than its totals are over
        max(
            case
                when
                    total_rule in ('count_rounds', 'count_cases')
                    and computed_value < reported_value
                    then 1
                else 0
            end
        ) over (partition by task_id) = 1 as is_partial,
        case
            when reported_value is null or computed_value is null then null
            else
                abs(computed_value - reported_value)
                <= 0.000001 * greatest(1, abs(reported_value))
        end as agrees

    from recomputed

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
            when total_rule = 'none' then 'no_rule'
            when n_computed = 0 then 'no_rows'
            when is_partial or n_computed < n_reported then 'fewer_rows'
            when reported_value is null then 'nothing_reported'
            when computed_value is null then 'too_few_values'
            else 'differs'
        end as reason,

        ---------- numerics
        total_position,
        reported_value as reported,
        computed_value as computed,
        difference,
        n_reported,
        n_computed,

        ---------- booleans
        agrees

    from compared

)

select * from final
