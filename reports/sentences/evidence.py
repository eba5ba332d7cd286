"""Sentences of evidence about a round: one text per code."""

from __future__ import annotations

from typing import Any

from promptlab.reports.printing.visible import bare, clip
from promptlab.reports.sentences.speech import Speech

_MOST = 80
"""Maximum length of a quoted answer."""
_MOST_OF_LISTS = 160
_MOST_OF_ERRORS = 120


def evidence(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_evidence`` with parsed JSON."""
    payload, facts = row["payload"], row["facts"]
    expected, actual = payload["expected"], payload["actual"]
    unit, limit = facts["unit"], facts["limit"]
    return speech.text(
        f"evidence_sentence.{row['code']}",
        metric=speech.measure(payload["metric"], unit),
        limit=speech.measure(limit, unit),
        expected=_quoted(bare(expected, actual)),
        actual=_quoted(bare(actual, expected)),
        rules=_quoted(expected, _MOST_OF_LISTS),
        pointer=payload["pointer"],
        reason=speech.label("reason", payload["reason"]),
        n=facts["n"],
        total=facts["n_total"],
        scope=speech.label("scope", facts["scope"]),
        error=_quoted(facts["error_code"], _MOST_OF_ERRORS),
        keyword=facts["keyword"],
        summary=_quoted(facts["summary"], _MOST_OF_LISTS),
    )


def measured(speech: Speech, row: dict[str, Any]) -> str | None:
    """Return the measured value of a round with its unit; ``None`` for a share."""
    unit = row["facts"]["unit"]
    return None if unit == "share" else speech.measure(row["payload"]["metric"], unit)


def _quoted(text: str | None, most: int = _MOST) -> str | None:
    return None if text is None else clip(str(text), most)
