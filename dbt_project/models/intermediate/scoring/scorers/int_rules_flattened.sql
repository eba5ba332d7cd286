with

baselines as (
    select * from {{ ref('stg_tasks__baselines') }}
    where {{ in_this_build() }} and baseline_type = 'rules'
),

rule_names as (

    select {{ unnested(list_of([
        "'contains'", "'not_contains'", "'contains_any'", "'regex'", "'starts_with'", "'ends_with'",
        "'equals'", "'allowed_values'", "'max_chars'", "'min_chars'", "'max_tokens'", "'non_empty'",
        "'is_json'", "'required_keys'"
    ])) }} as rule

),

entries as (

    select
        task_id,
        case_id,
        baseline_id,
        patterns,
        {{ unnested(
            'case when ' ~ json_kind(json_field('payload', 'rules')) ~ " = 'array' then "
            ~ json_elements(json_field('payload', 'rules'))
            ~ ' else ' ~ list_of(['payload']) ~ ' end'
        ) }} as entry,
        {{ json_text('payload', 'severity') }} as baseline_severity

    from baselines

),

-- {"type": "contains", "value": "x"}
typed_entries as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, baseline_id order by cast(entry as string) nulls last
        ) as entry_no,
        coalesce({{ json_text('entry', 'severity') }}, baseline_severity) as severity,
        {{ json_text('entry', 'field') }} as field,
        coalesce(
            {{ json_text('entry', 'type') }},
            {{ json_text('entry', 'rule') }},
            {{ json_text('entry', 'kind') }}
        ) as entry_type,
        case entry_type when 'regex_match' then 'regex' else entry_type end as entry_rule,
        coalesce(
            {{ json_field('entry', 'value') }},
            {{ json_field('entry', 'values') }},
            {{ json_field('entry', 'pattern') }},
            {{ json_field('entry', 'keys') }},
            {{ json_field('entry', 'target') }}
        ) as entry_operand

    from entries

),

rules as (

    select
        typed_entries.task_id,
        typed_entries.case_id,
        typed_entries.baseline_id,
        typed_entries.patterns,
        typed_entries.entry_no,
        typed_entries.severity,
        typed_entries.field,
        rule_names.rule,
        case
            when typed_entries.entry_rule = rule_names.rule
                then coalesce(
                    typed_entries.entry_operand,
                    case
                        when rule_names.rule in ('non_empty', 'is_json')
                            then {{ as_json("'true'") }}
                    end
                )
            else {{ json_member('typed_entries.entry', 'rule_names.rule') }}
        end as operand,
        row_number() over (
            partition by
                typed_entries.task_id, typed_entries.case_id, typed_entries.baseline_id
            order by typed_entries.entry_no, rule_names.rule nulls last
        ) as rule_no

    from typed_entries
    left join rule_names
        on
            typed_entries.entry_rule = rule_names.rule
            or {{ json_member('typed_entries.entry', 'rule_names.rule') }} is not null

),

flattened as (

    select
        task_id,
        case_id,
        baseline_id,
        rule_no,
        rule,
        severity,
        field,
        {{ texts_of('operand') }} as texts,
        case
            when rule = 'allowed_values' and {{ json_kind('operand') }} = 'array'
                then {{ json_elements('operand') }}
            when rule in ('equals', 'allowed_values') and {{ json_kind('operand') }} <> 'null'
                then {{ list_of(['operand']) }}
        end as operands,
        {{ stripped(json_as_text('operand')) }} as operand_text,
        case
            when {{ json_kind('operand') }} in ('number', 'text')
                then {{ number_of_text('operand_text') }}
        end as operand_number,
        operand,
        case when rule = 'regex' then {{ pattern_spelling('patterns', 'operand_text') }} end
            as pattern,
        case when rule = 'regex' then {{ ascii_pattern_spelling('patterns', 'operand_text') }} end
            as ascii_pattern,
        case
            when rule is null then false
            when rule in ('max_chars', 'min_chars', 'max_tokens') then operand_number is not null
            when rule in ('non_empty', 'is_json') then {{ json_kind('operand') }} = 'boolean'
            when rule = 'required_keys'
                then coalesce({{ are_required_keys_readable('operand') }}, false)
            when rule = 'regex'
                then {{ regex_found("''", 'pattern', 'ascii_pattern') }} is not null
            when rule in ('equals', 'allowed_values')
                then coalesce({{ list_size('operands') }}, 0) > 0
            else coalesce({{ list_size('texts') }}, 0) > 0
        end as is_usable

    from rules

)

select * from flattened
-- "non_empty": false asks for nothing
where rule is null or rule not in ('non_empty', 'is_json') or cast(operand as string) <> 'false'
