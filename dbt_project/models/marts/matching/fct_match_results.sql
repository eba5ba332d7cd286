with

checks as (select * from {{ ref('fct_check_results') }} where {{ in_this_build() }}),

counted as (

    select
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        -- fields of the final output may come from it and from step outputs
        coalesce(min(actual_source) filter (where actual_source <> 'step_outputs'), '')
            as first_source,
        bool_or(actual_source = 'step_outputs') as has_step_outputs,
        case
            when first_source = '' and has_step_outputs then 'step_outputs'
            when has_step_outputs then first_source || '+step_outputs'
            when first_source <> '' then first_source
        end as actual_source,
        count(*) as checks_total,
        count(*) filter (where status = 'fail') as checks_failed,
        count(*) filter (where status = 'unevaluated') as checks_unevaluated

    from checks
    group by task_id, case_id, round_id, scope, step_id

),

differences as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, round_id, scope, step_id
            order by status, check_no
        ) as difference_no,
        count(*) over (partition by task_id, case_id, round_id, scope, step_id)
            as n_differences

    from checks
    where status <> 'pass'

),

described as (

    select
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        max(n_differences) - 5 as n_more,
        {{ joined(check_sentence('zh'), "'；'", 'difference_no') }}
        || case when n_more > 0 then '；另有 ' || n_more || ' 处' else '' end as sentences,
        {{ joined(check_sentence('en'), "'; '", 'difference_no') }}
        || case when n_more > 0 then '; and ' || n_more || ' more' else '' end as sentences_en

    from differences
    where difference_no <= 5
    group by task_id, case_id, round_id, scope, step_id

),

final as (

    select

        ---------- ids
        counted.task_id,
        counted.case_id,
        counted.round_id,
        counted.scope,
        counted.step_id,

        ---------- strings
        case
            when counted.checks_failed > 0 then 'fail'
            when counted.checks_unevaluated > 0 then 'unevaluated'
            else 'pass'
        end as status,
        counted.actual_source,
        coalesce(described.sentences, '所有字段匹配') as details,
        coalesce(described.sentences_en, 'all fields match') as details_en,

        ---------- numerics
        counted.checks_total,
        counted.checks_failed,
        counted.checks_unevaluated,

        ---------- booleans
        case
            when counted.checks_failed > 0 then false
            when counted.checks_unevaluated = 0 then true
        end as matched

    from counted
    left join described
        on
            counted.task_id = described.task_id
            and counted.case_id = described.case_id
            and counted.round_id = described.round_id
            and counted.scope = described.scope
            and counted.step_id is not distinct from described.step_id

)

select * from final
