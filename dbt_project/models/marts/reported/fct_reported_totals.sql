with

totals as (select * from {{ ref('int_reported_totals') }}),

final as (

    select

        ---------- ids
        task_id,
        dimension_id,

        ---------- strings
        total_name,
        total_scope,
        total_rule,
        reason,

        ---------- numerics
        total_position,
        reported,
        computed,
        difference,
        n_reported,
        n_computed,

        ---------- booleans
        agrees

    from totals

)

select * from final
