with

totals as (select * from {{ ref('int_reported_totals') }} where {{ in_this_build() }}),
rules as (select * from {{ ref('total_rules') }}),
reasons as (select * from {{ ref('total_reasons') }}),

final as (

    select

        ---------- ids
        totals.task_id,
        totals.dimension_id,

        ---------- strings
        totals.total_name,
        totals.total_scope,
        totals.total_rule,
        rules.rule_text,
        rules.rule_text_en,
        totals.reason,
        reasons.reason_text,
        reasons.reason_text_en,

        ---------- numerics
        totals.total_position,
        totals.reported,
        totals.computed,
        totals.difference,
        totals.n_reported,
        totals.n_computed,

        ---------- booleans
        totals.agrees

    from totals
    inner join rules using (total_rule)
    left join reasons using (reason)

)

select * from final
