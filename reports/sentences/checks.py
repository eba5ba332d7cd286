"""Sentences about a scope of a round: its failed checks, or that all passed."""

from __future__ import annotations

from typing import Any

from promptlab.reports.printing.visible import clip
from promptlab.reports.sentences.speech import Speech

_MOST = 80
"""Maximum length of a quoted value."""

_SAY_ALL = {"missing_step", "missing_field", "unexpected_field", "invalid_pattern"}
"""Reasons that need no quoted value."""


def details(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_match_results`` with parsed JSON."""
    listed = row["details"]
    if not listed:
        return speech.text("check.matched")
    sentence = speech.text("check.and").join(_check(speech, each) for each in listed)
    n_more = row["checks_failed"] + row["checks_unevaluated"] - len(listed)
    return sentence + (speech.text("check.more", n=n_more) if n_more else "")


def _check(speech: Speech, check: dict[str, Any]) -> str:
    reason, expected, actual = check["reason"], check["expected"], check["actual"]
    shown = speech.filters.json_value
    return speech.text(
        "check.bare" if reason in _SAY_ALL else "check.differs",
        place=check["pointer"] or speech.text("missing.pointer"),
        reason=speech.label("reason", reason),
        expected=clip(shown(expected, actual), _MOST),
        actual=clip(shown(actual, expected), _MOST),
    )
