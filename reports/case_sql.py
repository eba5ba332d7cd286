"""The SQL of what stands beside a case: what was asked, what each version said.

Marts only; of the cases in ``$cases``, as :mod:`reports.task_sql`.
"""

from __future__ import annotations

MOST_HISTORY = 8

CONTENTS = """
select case_id, inputs, step_inputs, batch_items, expected_outputs, golden_answers
from marts.dim_case_contents
where task_id = $task_id and case_id in (select unnest($cases))
"""

TRACES = """
select
    case_id, round_id, judge_feedback, step_outputs,
    json_extract(metadata, '/steps') as figures
from marts.fct_round_traces
where task_id = $task_id and case_id in (select unnest($cases))
"""

BASELINE_ROUNDS = """
with numbered as (

    select
        rounds.*,
        row_number() over (
            partition by rounds.case_id
            order by rounds.run_index, rounds.round_id
        ) as place
    from marts.fct_rounds as rounds
    inner join marts.fct_case_changes as changes
        on
            rounds.task_id = changes.baseline_task_id
            and rounds.case_id = changes.case_id
    where
        changes.baseline_task_id = $baseline
        and changes.candidate_task_id = $task_id
        and rounds.case_id in (select unnest($cases))
        and (
            changes.change <> 'same'
            or changes.baseline_status <> changes.candidate_status
            or changes.must_have_lost
            or changes.must_have_gained
        )

)

select
    case_id, round_id, run_index, status, must_have_pass, error_code, failed_steps,
    answer, answer_chars, latency_ms, input_tokens, output_tokens,
    epoch_us(executed_at) as executed_at
from numbered
where place <= {rounds}
order by case_id, run_index, round_id
"""

HISTORY = f"""
with runs as (

    select
        history.*,
        row_number() over (
            partition by history.case_id
            order by history.created_at desc, history.task_id desc
        ) as recency
    from marts.fct_case_history as history
    inner join marts.dim_tasks as tasks
        on
            history.title = tasks.title
            and (history.created_at, history.task_id)
            <= (tasks.created_at, tasks.task_id)
    where tasks.task_id = $task_id and history.case_id in (select unnest($cases))

)

select
    case_id, task_id, prompt_version, status, score,
    epoch_us(created_at) as created_at
from runs
where recency <= {MOST_HISTORY}
order by case_id, recency desc
"""

PROMPT = """
select
    (select prompt from marts.dim_task_prompts where task_id = $task_id) as text,
    (select prompt from marts.dim_task_prompts where task_id = $baseline)
        as baseline_text
"""
