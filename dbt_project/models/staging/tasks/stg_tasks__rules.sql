{{ config(materialized=view_of_step()) }}

-- One row per rule: a baseline of type `rules` is a list of them on one case.
with

source as (select * from {{ source('raw', 'rules') }} where {{ is_live(of='task') }}),

renamed as (

    select

        ---------- ids
        load_id,
        task_id,
        case_id,
        baseline_id,

        ---------- strings
        rule,
        severity,
        field,
        pattern,
        ascii_pattern,

        ---------- numerics
        rule_no,
        number as operand_number,

        ---------- booleans
        is_usable,

        ---------- json
        operand,

        ---------- lists
        {{ texts_of('operand') }} as texts,
        case
            when rule = 'allowed_values' and {{ json_kind('operand') }} = 'array'
                then json_extract(operand, '$[*]')
            when rule in ('equals', 'allowed_values') then [operand]
        end as operands

    from source

)

select * from renamed
