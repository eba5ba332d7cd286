-- One row per round: pass, fail, error or unevaluated, the worst of all its verdicts.
with

rounds as (select * from {{ ref('promptlab', 'int_rounds_prepared') }}),
matches as (select * from {{ ref('promptlab', 'int_match_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }} where has_verdict),
reasons as (select * from {{ ref('promptlab', 'promptlab_score_reasons') }}),
reported as (select * from {{ ref('promptlab', 'int_reported_verdicts') }}),
must_haves as (select * from {{ ref('promptlab', 'int_round_must_haves') }}),
costs as (select * from {{ ref('promptlab', 'int_round_costs') }}),

matched_rounds as (

    select distinct
        task_id,
        case_id,
        round_id

    from matches

),

-- the testset as it is now takes precedence over what an evaluator said of its results
reported_verdicts as (

    select
        reported.task_id,
        reported.case_id,
        reported.round_id,
        reported.status

    from reported
    inner join rounds using (task_id, case_id, round_id)
    left join matched_rounds using (task_id, case_id, round_id)
    where rounds.source_kind <> 'results' or matched_rounds.round_id is null

),

verdicts as (

    select
        task_id,
        case_id,
        round_id,
        status

    from matches

    union all

    select * from reported_verdicts

    union all

    -- must-haves that passed are a verdict where there is no testset and no other
    select
        task_id,
        case_id,
        round_id,
        'pass' as status

    from rounds
    where source_kind = 'results' and testset_id is null and reported_must_have_pass

    union all

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        case
            when dimensions.pass_score is not null and round_scores.score is null
                then 'unevaluated'
            when dimensions.pass_score is not null
                then case
                    when round_scores.score >= dimensions.pass_score then 'pass'
                    else 'fail'
                end
            when round_scores.metric is null then 'unevaluated'
            when round_scores.metric = 1 then 'pass'
            else 'fail'
        end as status

    from dimensions
    inner join round_scores using (task_id, dimension_id)
    left join reasons on round_scores.reason = reasons.reason
    where
        round_scores.metric is not null
        or coalesce(reasons.is_unjudged, true)

),

judged as (

    select
        task_id,
        case_id,
        round_id,
        case
            when bool_or(status = 'fail') then 'fail'
            when bool_or(status = 'unevaluated') then 'unevaluated'
            else 'pass'
        end as verdict

    from verdicts
    group by task_id, case_id, round_id

),

results as (

    select

        ---------- ids
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,

        ---------- strings
        case
            when rounds.is_error then 'error'
            else coalesce(judged.verdict, 'unevaluated')
        end as status,
        rounds.error_code,

        ---------- numerics
        rounds.latency_ms,
        rounds.answer_ms,
        cast(length(rounds.answer) as bigint) as answer_chars,
        rounds.input_tokens,
        rounds.output_tokens,
        costs.cost,

        ---------- booleans
        must_haves.must_have_pass,
        rounds.reported_must_have_pass

    from rounds
    left join judged using (task_id, case_id, round_id)
    left join must_haves using (task_id, case_id, round_id)
    left join costs using (task_id, case_id, round_id)

)

select * from results
