-- One row per round: one answer of the system under test to one case.
with

results as (select * from {{ ref('promptlab', 'int_round_results') }}),
rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),

final as (

    select

        ---------- ids
        results.task_id,
        results.case_id,
        results.round_id,

        ---------- strings
        results.status,
        results.error_code,
        rounds.final_source,
        left(rounds.answer, 2000) as answer,
        rounds.answer_hash,

        ---------- numerics
        rounds.run_index,
        results.answer_chars,
        results.latency_ms,
        results.input_tokens,
        results.output_tokens,
        results.cost,

        ---------- booleans
        results.must_have_pass,
        results.reported_must_have_pass,
        rounds.is_cached,

        ---------- timestamps
        rounds.executed_at,

        ---------- json
        rounds.failed_steps

    from results
    inner join rounds using (task_id, case_id, round_id)

)

select * from final
