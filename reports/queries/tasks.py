"""The SQL of the task report: marts only, named parameters, ``{limits}`` filled in.

With limits, only rows for the page are read, so a report of a huge task stays small and
fast.
"""

from __future__ import annotations

TASK = """
select
    task_id, load_id, run_id, source_kind, title, variant, prompt_version, model,
    triggered_by, branch, commit_sha,
    testset_id, testset_source, pipeline_id, env, extras,
    epoch_us(created_at) as created_at
from marts.dim_tasks
where task_id = $task_id
"""

SUMMARY = """
select
    summaries.* exclude (task_id),
    weakest.name as weakest_name, weakest.score as weakest_score
from marts.fct_task_summaries as summaries
left join marts.fct_dimension_scores as weakest
    on
        summaries.task_id = weakest.task_id
        and summaries.weakest_dimension_id = weakest.dimension_id
where summaries.task_id = $task_id
"""

ALERTS = """
select
    task_id, code, severity, dimension_ids, case_ids, n_cases, facts
from marts.fct_alerts
where task_id = $task_id
order by alert_position
"""

DIMENSIONS = """
select
    dimension_id, name, scorer, scoring_mode, score, weight_configured, weight_used,
    ci_low, ci_high, ci_method, ci_reason, n_cases, n_rounds, raw_metrics, target,
    parameters, diagnosis
from marts.fct_dimension_scores
where task_id = $task_id
order by dimension_position, dimension_id
"""

# A case's scores are one JSON object, which is parsed once. Pointers reach dimensions
# of any name.
HISTOGRAMS = """
with scores as (

    select
        unnest($dimensions) as dimension_id,
        unnest(cast(json_extract(dimension_scores, $pointers) as double[])) as score
    from marts.fct_case_results
    where task_id = $task_id

)

select
    dimension_id,
    least(cast(floor(10 * score) as integer), 9) as tenth,
    count(*) as n_cases
from scores
where score is not null
group by all
"""

EVIDENCE = """
select
    dimension_id, case_id, round_id, code, payload, facts
from marts.fct_evidence
where task_id = $task_id
order by dimension_id, evidence_rank, case_id, round_id
"""

# The worst cases, by the order of views.task.worst_first; they come back in the
# order of the input.
CASES = """
with listed as (

    select
        results.*,
        cases.case_position,
        cases.in_testset,
        cases.tags,
        cases.context
    from marts.fct_case_results as results
    inner join marts.dim_cases as cases
        on results.task_id = cases.task_id and results.case_id = cases.case_id
    where results.task_id = $task_id
    order by
        case results.status
            when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2 else 3
        end,
        coalesce(results.aggregated_score, -1),
        cases.case_position
    limit {cases}

)

select
    case_id, status, must_have_pass, reported_must_have_pass, aggregated_score,
    dimension_scores, notes, n_rounds, n_rounds_passed, in_testset, tags, context
from listed
order by case_position, case_id
"""

ROUNDS = """
with numbered as (

    select
        rounds.*,
        row_number() over (
            partition by rounds.case_id
            order by
                case rounds.status
                    when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2
                    else 3
                end,
                rounds.run_index,
                rounds.round_id
        ) as badness
    from marts.fct_rounds as rounds
    where
        rounds.task_id = $task_id
        and rounds.case_id in (select unnest($cases))

)

select
    case_id, round_id, run_index, status, must_have_pass, error_code, failed_steps,
    answer, answer_chars, latency_ms, input_tokens, output_tokens,
    epoch_us(executed_at) as executed_at
from numbered
where badness <= {rounds}
order by case_id, run_index, round_id
"""

SCOPES = """
with numbered as (

    select
        matches.*,
        row_number() over (
            partition by matches.case_id, matches.round_id
            order by
                case matches.scope
                    when 'intermediate' then 0 when 'aggregation' then 1 else 2
                end,
                matches.step_id
        ) as scope_no
    from marts.fct_match_results as matches
    where
        matches.task_id = $task_id
        and matches.case_id in (select unnest($cases))

)

select
    case_id, round_id, scope, step_id, status, checks_total, checks_failed,
    checks_unevaluated, actual_source, details
from numbered
where scope_no <= {checks}
order by case_id, round_id, scope_no
"""

DIFFERENCES = """
with numbered as (

    select
        checks.*,
        row_number() over (
            partition by checks.case_id order by checks.round_id, checks.check_no
        ) as difference_no,
        count(*) over (partition by checks.case_id) as n_differences
    from marts.fct_check_results as checks
    where
        checks.task_id = $task_id
        and checks.case_id in (select unnest($cases))
        and checks.status <> 'pass'

)

select
    case_id, round_id, scope, step_id, field, pointer, matcher, status, reason,
    left(expected, 500) as expected, actual, n_differences
from numbered
where difference_no <= {checks}
order by case_id, difference_no
"""

# Failed checks of the testset are already in the differences.
ASSERTIONS = """
with numbered as (

    select
        assertions.*,
        row_number() over (
            partition by assertions.case_id, assertions.round_id
            order by
                assertions.status = 'pass', assertions.assertion_source,
                assertions.assertion_no
        ) as place
    from marts.fct_assertions as assertions
    where
        assertions.task_id = $task_id
        and assertions.case_id in (select unnest($cases))
        and (assertions.assertion_source = 'tool' or assertions.status = 'pass')

)

select
    case_id, round_id, assertion_source as source, assertion_name as name,
    assertion_type as type, status, parent_no is not null as is_member, score, weight,
    threshold, left(expected, 500) as expected, left(reason, 500) as reason
from numbered
where place <= {checks}
order by case_id, round_id, source, assertion_no
"""

TOTALS = """
select
    total_name, dimension_id, total_rule, reason, reported, computed,
    n_reported, n_computed, coalesce(agrees, false) as agrees
from marts.fct_reported_totals
where task_id = $task_id
order by reason = 'differs' desc, total_position
"""
