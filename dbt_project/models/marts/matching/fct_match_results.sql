with

matches as (select * from {{ ref('int_match_results') }}),
checks as (select * from {{ ref('int_check_results') }} where status <> 'pass'),

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
        matches.task_id,
        matches.case_id,
        matches.round_id,
        matches.scope,
        matches.step_id,

        ---------- strings
        matches.status,
        matches.actual_source,
        coalesce(described.sentences, '所有字段匹配') as details,
        coalesce(described.sentences_en, 'all fields match') as details_en,

        ---------- numerics
        matches.checks_total,
        matches.checks_failed,
        matches.checks_unevaluated,

        ---------- booleans
        matches.matched

    from matches
    left join described
        on
            matches.task_id = described.task_id
            and matches.case_id = described.case_id
            and matches.round_id = described.round_id
            and matches.scope = described.scope
            and matches.step_id is not distinct from described.step_id

)

select * from final
