"""Rows that complete the cases of a result: inputs, expectations, steps, history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptlab.reports.printing import json_text
from promptlab.reports.queries import Row

# Columns of fct_rounds, as RoundOutcome has them.
OUTCOME = """
    rounds.case_id, rounds.round_id, rounds.run_index, rounds.status,
    rounds.must_have_pass, rounds.error_code, rounds.failed_steps, rounds.answer,
    rounds.answer_chars, rounds.latency_ms, rounds.input_tokens, rounds.output_tokens,
    rounds.executed_at
"""

MOST_CHARS = 2_000
"""Maximum length of a step's output, like that of an answer."""
MOST_STEPS = 30
_MOST_HISTORY = 8

_FEEDBACK = """
select case_id, round_id, judge_feedback
from marts.fct_round_traces
where
    task_id = $task_id
    and case_id in (select unnest($cases))
    and judge_feedback <> ''
"""

_STEPS = f"""
select
    case_id, round_id, coalesce(step_id, role) as step, tool,
    left(cast(arguments as varchar), 500) as arguments,
    left(result, {MOST_CHARS}) as output, coalesce(length(result), 0) as output_chars,
    left(error, 500) as error, latency_ms, input_tokens, output_tokens,
    count(*) over (partition by case_id, round_id) as n_steps
from marts.fct_steps
where task_id = $task_id and case_id in (select unnest($cases))
qualify step_no <= {MOST_STEPS}
order by case_id, round_id, step_no
"""

_BASELINE_ROUNDS = f"""
select {OUTCOME}
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
        changes.severity is not null
        or changes.baseline_status <> changes.candidate_status
        or changes.must_have_lost
        or changes.must_have_gained
    )
qualify row_number() over (
    partition by rounds.case_id order by rounds.run_index, rounds.round_id
) <= {{rounds}}
order by rounds.case_id, rounds.run_index, rounds.round_id
"""

# Without the view fct_case_history, whose plan takes 30 ms for each report.
_HISTORY = f"""
with last_runs as (

    select
        results.case_id, tasks.task_id, tasks.prompt_version, results.status,
        results.aggregated_score as score, tasks.run_number
    from marts.dim_tasks as this_task
    inner join marts.dim_tasks as tasks
        on
            this_task.title = tasks.title
            and this_task.variant = tasks.variant
            and (tasks.run_number, tasks.task_id)
            <= (this_task.run_number, this_task.task_id)
    inner join marts.fct_case_results as results on tasks.task_id = results.task_id
    where
        this_task.task_id = $task_id
        and tasks.recheck_of is null
        and results.case_id in (select unnest($cases))
    qualify row_number() over (
        partition by results.case_id
        order by tasks.run_number desc, tasks.task_id desc
    ) <= {_MOST_HISTORY}

)

select case_id, task_id, prompt_version, status, score
from last_runs
qualify count(distinct status) over (partition by case_id) > 1
order by case_id, run_number, task_id
"""

ByCase = Callable[[str], dict[str, list[Row]]]
"""A function that returns the rows of a query by case."""


def add_contents(cases: list[Row], by_case: ByCase) -> None:
    """Add inputs, expectations, the baseline's rounds and history to these cases."""
    contents = by_case("dim_case_contents")
    feedback = by_case(_FEEDBACK)
    steps = by_case(_STEPS)
    before = by_case(_BASELINE_ROUNDS)
    history = by_case(_HISTORY)
    for case in cases:
        case_id = case["case_id"]
        case.update(_contents(contents.get(case_id, [])))
        case["baseline_rounds"] = [round_row(row) for row in before.get(case_id, [])]
        case["history"] = history.get(case_id, [])
        rounds = {outcome["round_id"]: outcome for outcome in case["rounds"]}
        for row in feedback.get(case_id, []):
            if outcome := rounds.get(row["round_id"]):
                outcome["feedback"] = row["judge_feedback"]
        for row in steps.get(case_id, []):
            if outcome := rounds.get(row.pop("round_id")):
                outcome["n_steps"] = row.pop("n_steps")
                outcome.setdefault("steps", []).append(row)


def round_row(row: Row) -> Row:
    """Convert a row of ``fct_rounds`` to the fields of ``RoundOutcome``."""
    if row["answer_chars"] == len(row["answer"] or ""):
        row["answer_chars"] = None
    steps = row["failed_steps"]
    # the list of steps in a file may be any JSON
    row["failed_steps"] = [str(s) for s in steps] if isinstance(steps, list) else []
    return row


def _contents(of_case: list[Row]) -> Row:
    row = of_case[0] if of_case else {}
    parts = {name: row.get(name) for name in ("step_inputs", "batch_items")}
    golden = row.get("golden_answers")
    return {
        "inputs": _object(row.get("inputs")) | {k: v for k, v in parts.items() if v},
        "expected": _object(row.get("expected_outputs")),
        "golden_answers": [
            text
            for payload in (golden if isinstance(golden, list) else [])
            for text in _golden(payload)
        ],
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _golden(payload: Any) -> list[str]:
    """Return the texts of one golden answer, from the key that the scorer uses."""
    if not isinstance(payload, dict):
        return []
    for key in ("text", "answer", "output"):
        value = payload.get(key)
        if value is not None:
            return [text_of(v) for v in (value if isinstance(value, list) else [value])]
    return []


def text_of(value: Any) -> str:
    """Return a text itself, any other value as JSON."""
    return value if isinstance(value, str) else json_text(value)
