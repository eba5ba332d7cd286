{{ config(materialized=view_of_step()) }}

-- One row per round that is evidence of a dimension with the scorer `expectations`: its first failed check.
with

picked as (select * from {{ ref('promptlab', 'int_evidence_rounds') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }} where scorer = 'expectations'),
matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
checks as (select * from {{ ref('promptlab', 'int_check_results') }} where {{ in_this_build() }}),

rounds as (

    select
        picked.task_id,
        picked.dimension_id,
        picked.case_id,
        picked.round_id

    from picked
    inner join dimensions using (task_id, dimension_id)

),

counted as (

    select
        rounds.task_id,
        rounds.dimension_id,
        rounds.case_id,
        rounds.round_id,
        count(matches.matched) as n_evaluated,
        count(*) filter (where matches.matched) as n_matched

    from rounds
    inner join matches using (task_id, case_id, round_id)
    group by rounds.task_id, rounds.dimension_id, rounds.case_id, rounds.round_id

),

failures as (

    select
        rounds.task_id,
        rounds.dimension_id,
        rounds.case_id,
        rounds.round_id,
        checks.scope,
        checks.step_id,
        checks.pointer,
        checks.reason,
        checks.expected,
        checks.actual

    from rounds
    inner join checks using (task_id, case_id, round_id)
    where checks.status <> 'pass'
    qualify row_number() over (
        partition by rounds.task_id, rounds.dimension_id, rounds.case_id, rounds.round_id
        order by checks.status, checks.check_no
    ) = 1

),

described as (

    select
        counted.*,
        coalesce(failures.step_id, failures.scope) as failed_scope,
        failures.pointer,
        failures.reason as check_reason,
        left(failures.expected, 500) as expected,
        failures.actual

    from counted
    left join failures
        on
            counted.task_id = failures.task_id
            and counted.dimension_id = failures.dimension_id
            and counted.case_id = failures.case_id
            and counted.round_id = failures.round_id

)

select * from described
