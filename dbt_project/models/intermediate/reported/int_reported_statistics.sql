{%- set n_right = 'count(case when counted_value >= 1 then 1 end)' %}

with

totals as (select * from {{ ref('promptlab', 'stg_reported__totals') }} where {{ in_this_build() }}),
rules as (select * from {{ ref('promptlab', 'promptlab_total_rules') }} where unit in ('cases', 'rounds', 'tags')),
reported as (select * from {{ ref('promptlab', 'stg_reported__scores') }} where {{ in_this_build() }}),
scores as (select * from reported where reported_value is not null),
rounds as (select * from {{ ref('promptlab', 'stg_tasks__rounds') }} where {{ in_this_build() }}),
tags as (select * from {{ ref('promptlab', 'int_case_tags') }} where {{ in_this_build() }}),

asked as (

    select
        totals.task_id,
        totals.total_position,
        totals.dimension_id,
        rules.unit,
        coalesce({{ json_text('totals.parameters', 'reducer') }}, 'mean') as reducer,
        {{ json_text('totals.parameters', 'tag') }} as tag,
        {{ json_text('totals.parameters', 'tag_key') }} as tag_key,
        {{ json_text('totals.parameters', 'figure') }} as figure,
        {{ json_number('totals.parameters', 'threshold') }} as threshold

    from totals
    inner join rules using (total_rule)

),

given as (

    select
        asked.*,
        scores.case_id,
        scores.round_id,
        scores.reported_value as given_value

    from asked
    inner join scores using (task_id, dimension_id)
    where asked.figure is null

    union all

    -- a figure that the tool keeps with the round and calls no score
    select
        asked.*,
        rounds.case_id,
        rounds.round_id,
        {{ finite_number(json_as_text(json_member('rounds.metadata', 'asked.figure'))) }}
            as given_value

    from asked
    inner join rounds using (task_id)
    where asked.figure is not null

),

counted as (

    select
        given.task_id,
        given.total_position,
        given.reducer,
        try_cast({{ without_pattern('given.reducer', '^[a-z_]*') }} as bigint) as k,
        -- a mean over tags takes the mean of each tag
        case when given.unit <> 'tags' then given.case_id end as case_id,
        case when given.unit = 'tags' then tags.tag end as tag,
        -- a statistic over rounds takes each as it is
        case when given.unit = 'rounds' then given.round_id end as round_id,
        case
            when given.threshold is null then given.given_value
            when given.given_value >= given.threshold then 1e0
            else 0e0
        end as counted_value

    from given
    left join tags
        on
            given.task_id = tags.task_id
            and given.case_id = tags.case_id
            and (
                given.tag = tags.tag
                or given.tag_key || ':' = substr(tags.tag, 1, length(given.tag_key) + 1)
            )
    where
        given.given_value is not null
        and (coalesce(given.tag, given.tag_key) is null or tags.tag is not null)

),

units as (

    select
        task_id,
        total_position,
        case
            when reducer = 'mean' then {{ sum_in_order('counted_value') }} / count(*)
            when reducer = 'median' then median(counted_value)
            when reducer = 'mode' then mode(counted_value)
            when reducer = 'max' then max(counted_value)
            when reducer like 'at_least_%' then case when {{ n_right }} >= k then 1e0 else 0e0 end
            when reducer like 'pass_at_%' then {{ pass_at_k('count(*)', n_right, 'k') }}
        end as unit_value

    from counted
    group by task_id, total_position, case_id, round_id, tag, reducer, k

),

summed as (

    select
        task_id,
        total_position,
        count(unit_value) as n_units,
        {{ sum_in_order('unit_value') }} as sum_value,
        {{ sum_in_order('unit_value') }} / nullif(count(unit_value), 0) as mean_value,
        min(unit_value) as min_value,
        max(unit_value) as max_value,
        percentile_cont(0.9) within group (order by unit_value) as p90_value

    from units
    group by task_id, total_position

),

spread as (

    select
        units.task_id,
        units.total_position,
        {{ sum_in_order('power(units.unit_value - summed.mean_value, 2)') }} as squares

    from units
    inner join summed using (task_id, total_position)
    group by units.task_id, units.total_position

),

statistics as (

    select
        summed.*,
        -- equal values have no spread, whatever their mean is rounded to; nor has a single
        -- one, which tools call 0
        case
            when summed.min_value = summed.max_value then 0
            else sqrt(spread.squares / (summed.n_units - 1))
        end as sd_value,
        case
            when summed.min_value = summed.max_value then 0
            else spread.squares / summed.n_units
        end as population_variance

    from summed
    inner join spread using (task_id, total_position)

)

select * from statistics
