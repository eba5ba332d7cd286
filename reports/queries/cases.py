"""Read the details of a case: the input, and the answers of each version by step.

Reads only marts, for the cases in ``$cases``, like
:mod:`promptlab.reports.queries.tasks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from promptlab.contracts.analysis_result import Prompt
from promptlab.reports.printing.filters import json_text
from promptlab.reports.queries.rows import Row, from_json

MOST_CHARS = 2_000
"""Maximum length of a step's output, like that of an answer."""
MOST_STEPS = 30
_MOST_HISTORY = 8

_CONTENTS = """
select case_id, inputs, step_inputs, batch_items, expected_outputs, golden_answers
from marts.dim_case_contents
where task_id = $task_id and case_id in (select unnest($cases))
"""

_TRACES = """
select
    case_id, round_id, judge_feedback, step_outputs,
    json_extract(metadata, '/steps') as figures
from marts.fct_round_traces
where task_id = $task_id and case_id in (select unnest($cases))
"""

_BASELINE_ROUNDS = """
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

_HISTORY = f"""
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
where recency <= {_MOST_HISTORY}
order by case_id, recency desc
"""

PROMPT = """
select
    (select prompt from marts.dim_task_prompts where task_id = $task_id) as text,
    (select prompt from marts.dim_task_prompts where task_id = $baseline)
        as baseline_text
"""

ByCase = Callable[[str], dict[str, list[Row]]]
"""A function that returns the rows of a query by case."""


def add_contents(cases: list[Row], by_case: ByCase) -> None:
    """Add inputs, expectations, the baseline's rounds and history to these cases.

    Args:
        cases: Rows of cases, with ``rounds``.
        by_case: Runs a query for these cases.
    """
    contents = by_case(_CONTENTS)
    traces = by_case(_TRACES)
    before = by_case(_BASELINE_ROUNDS)
    history = by_case(_HISTORY)
    for case in cases:
        case_id = case["case_id"]
        case.update(_contents(contents.get(case_id, [])))
        case["baseline_rounds"] = [round_row(row) for row in before.get(case_id, [])]
        case["history"] = history.get(case_id, [])
        by_round = {row["round_id"]: row for row in traces.get(case_id, [])}
        for outcome in case["rounds"]:
            outcome.update(_trace(by_round.get(outcome["round_id"])))


def round_row(row: Row) -> Row:
    """Convert a row of ``fct_rounds`` to the fields of ``RoundOutcome``."""
    steps = from_json(row["failed_steps"])
    # the list of steps in a file may be any JSON
    row["failed_steps"] = [str(s) for s in steps] if isinstance(steps, list) else []
    return row


def prompt_of(found: list[Row]) -> Prompt | None:
    """Return the prompts in a row of ``PROMPT``, if any."""
    texts = {name: _prompt(from_json(text)) for name, text in found[0].items()}
    return Prompt(**texts) if any(texts.values()) else None


def _contents(found: list[Row]) -> Row:
    row = found[0] if found else {}
    inputs = _object(row.get("inputs"))
    for name in ("step_inputs", "batch_items"):
        value = from_json(row.get(name))
        if value:
            inputs[name] = value
    golden = from_json(row.get("golden_answers"))
    return {
        "inputs": inputs,
        "expected": _object(row.get("expected_outputs")),
        "golden_answers": [
            text
            for payload in (golden if isinstance(golden, list) else [])
            for text in _golden(payload)
        ],
    }


def _object(text: str | None) -> dict[str, Any]:
    value = from_json(text)
    return value if isinstance(value, dict) else {}


def _golden(payload: Any) -> list[str]:
    """Return the texts of one golden answer, from the key that the scorer uses."""
    if not isinstance(payload, dict):
        return []
    for key in ("text", "answer", "output"):
        value = payload.get(key)
        if value is not None:
            return [_text(v) for v in (value if isinstance(value, list) else [value])]
    return []


def _trace(row: Row | None) -> Row:
    if row is None:
        return {"feedback": None, "steps": []}
    outputs, figures = _object(row["step_outputs"]), _object(row["figures"])
    shown = [(k, v) for k, v in outputs.items() if not k.startswith("_")]
    return {
        "feedback": row["judge_feedback"] or None,
        "steps": [_step(k, v, figures.get(k)) for k, v in shown[:MOST_STEPS]],
    }


def _step(step: str, value: Any, figures: Any) -> Row:
    text = _text(value)
    given = figures if isinstance(figures, dict) else {}
    return {
        "step": step,
        "output": text[:MOST_CHARS],
        "output_chars": len(text),
        "latency_ms": _figure(given.get("latency_ms")),
        "input_tokens": _count(given.get("input_tokens")),
        "output_tokens": _count(given.get("output_tokens")),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _figure(value: Any) -> float | None:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _prompt(value: Any) -> str | None:
    """Return a prompt as one text; messages one per line."""
    if value is None or value == "":
        return None
    if isinstance(value, list):
        return "\n\n".join(_message(message) for message in value)
    return _text(value)


def _message(message: Any) -> str:
    if not isinstance(message, dict) or "content" not in message:
        return _text(message)
    return f"{_text(message.get('role', 'user'))}:\n{_text(message['content'])}"
