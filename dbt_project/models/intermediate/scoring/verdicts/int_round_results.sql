with

rounds as (select * from {{ ref('int_rounds_prepared') }}),
verdicts as (select * from {{ ref('int_round_verdicts') }}),
must_haves as (select * from {{ ref('int_round_must_haves') }}),

results as (

    select

        ---------- ids
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,

        ---------- strings
        case
            when rounds.is_error then 'error'
            else coalesce(verdicts.verdict, 'unevaluated')
        end as status,
        rounds.error_code,

        ---------- numerics
        rounds.latency_ms,
        rounds.input_tokens,
        rounds.output_tokens,

        ---------- booleans
        must_haves.must_have_pass,
        rounds.reported_must_have_pass

    from rounds
    left join verdicts using (task_id, case_id, round_id)
    left join must_haves using (task_id, case_id, round_id)

)

select * from results
