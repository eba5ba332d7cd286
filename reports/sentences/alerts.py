"""Sentences of alerts: one text per code."""

from __future__ import annotations

import shlex
from typing import Any

from promptlab.reports.sentences.comparisons import comparison
from promptlab.reports.sentences.speech import Speech


def alert(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_alerts`` with parsed JSON."""
    facts = row["facts"]
    dimension_id = next(iter(row["dimension_ids"]), None)
    limit, unit = facts.get("limit"), facts.get("unit")
    regression = facts.get("comparison")
    return speech.text(
        f"alert.{row['code']}",
        name=speech.dimension(dimension_id, facts.get("name")),
        value=speech.measure(facts.get("value"), unit, beside=limit),
        limit=speech.measure(limit, unit),
        n=facts.get("n"),
        total=facts.get("n_total"),
        reason=speech.label("score_reason", facts.get("reason")),
        detail=facts.get("detail"),
        cases=speech.listed(row["case_ids"]),
        task=shlex.quote(row["task_id"]),
        dimension=shlex.quote(dimension_id or ""),
        baseline=facts.get("baseline_task_id"),
        conclusion=None if regression is None else comparison(speech, regression),
    )
