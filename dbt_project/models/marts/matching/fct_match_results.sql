-- One row per round and scope that its testset expects something of (a step, the aggregation, the final output).
with

matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
checks as (
    select * from {{ ref('promptlab', 'int_check_results') }}
    where status <> 'pass' and {{ in_this_build() }}
),

differences as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, round_id, scope, step_id
            order by status, check_no
        ) as difference_no

    from checks

),

described as (

    select
        task_id,
        case_id,
        round_id,
        scope,
        step_id,
        cast(
            '[' || string_agg(
                cast(json_object(
                    'pointer', pointer,
                    'reason', reason,
                    'expected', left(expected, 200),
                    'actual', left(actual, 200)
                ) as string),
                ',' order by difference_no
            ) || ']' as json
        ) as details

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

        ---------- numerics
        matches.checks_total,
        matches.checks_failed,
        matches.checks_unevaluated,

        ---------- booleans
        matches.matched,

        ---------- json
        coalesce(described.details, cast('[]' as json)) as details

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
