"""The golden answers of a case, as SQL reads them (``int_golden_answers``)."""

from __future__ import annotations

import json
from typing import Any

from promptlab.contracts.analysis_input import TestCaseBundle

_KEYS = ("text", "answer", "output")


def golden_answers(case: TestCaseBundle) -> list[str]:
    """Return every text that counts as right, in the order of the baselines.

    A golden answer is ``payload.text``, else ``answer``, else ``output``; a list holds
    alternatives. What is no text stands as its JSON; null is no answer.
    """
    return [
        text if isinstance(text, str) else _json(text)
        for baseline in case.baselines
        if baseline.type == "golden_answer"
        for text in _alternatives(baseline.payload)
        if text is not None
    ]


def _alternatives(payload: dict[str, Any]) -> list[Any]:
    given = next((payload[key] for key in _KEYS if payload.get(key) is not None), None)
    return given if isinstance(given, list) else [given]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
