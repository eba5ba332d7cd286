"""What stands beside a case: what was asked, what each version said, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from promptlab.contracts.analysis_result import Prompt
from reports import case_sql
from reports.filters import json_text
from reports.rows import Row, from_json, moment

MOST_CHARS = 2_000
"""Of a step's output, as of an answer."""
MOST_STEPS = 30

ByCase = Callable[[str], dict[str, list[Row]]]
"""Rows of a query by case, as a reader of one task gives them."""


def add_contents(cases: list[Row], by_case: ByCase) -> None:
    """Add inputs, expectations, the baseline's rounds and history to these cases.

    Args:
        cases: Rows of cases; their ``rounds`` are there already.
        by_case: Runs a query of :mod:`reports.case_sql` for these cases.
    """
    contents = by_case(case_sql.CONTENTS)
    traces = by_case(case_sql.TRACES)
    before = by_case(case_sql.BASELINE_ROUNDS)
    history = by_case(case_sql.HISTORY)
    for case in cases:
        case_id = case["case_id"]
        case.update(_contents(contents.get(case_id, [])))
        case["baseline_rounds"] = [round_row(row) for row in before.get(case_id, [])]
        case["history"] = [
            row | {"created_at": _time(row["created_at"])}
            for row in history.get(case_id, [])
        ]
        by_round = {row["round_id"]: row for row in traces.get(case_id, [])}
        for outcome in case["rounds"]:
            outcome.update(_trace(by_round.get(outcome["round_id"])))


def round_row(row: Row) -> Row:
    """Return a row of ``fct_rounds`` as a ``RoundOutcome`` wants it."""
    row["executed_at"] = _time(row["executed_at"])
    steps = from_json(row["failed_steps"])
    # what a file called its list of steps may be anything
    row["failed_steps"] = [str(s) for s in steps] if isinstance(steps, list) else []
    return row


def prompt_of(found: list[Row]) -> Prompt | None:
    """Return the prompts that a row of ``PROMPT`` holds, if it holds any."""
    texts = {name: _prompt(from_json(text)) for name, text in found[0].items()}
    return Prompt(**texts) if any(texts.values()) else None


def _time(microseconds: int | None) -> Any:
    return None if microseconds is None else moment(microseconds)


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
    """The texts of one golden answer: the first of the keys that the scorer reads."""
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
    """A prompt as one text; messages one below the other."""
    if value is None or value == "":
        return None
    if isinstance(value, list):
        return "\n\n".join(_message(message) for message in value)
    return _text(value)


def _message(message: Any) -> str:
    if not isinstance(message, dict) or "content" not in message:
        return _text(message)
    return f"{_text(message.get('role', 'user'))}:\n{_text(message['content'])}"
