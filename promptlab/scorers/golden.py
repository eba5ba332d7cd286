"""The golden answers of a case, as SQL reads them (``int_golden_answers``)."""

from __future__ import annotations

import json
from typing import Any

from promptlab.contracts.analysis_input import TestCaseBundle
from promptlab.contracts.golden import golden_alternatives


def golden_answers(case: TestCaseBundle) -> list[str]:
    """Return every text that counts as right, in the order of the baselines.

    Values other than text are written as JSON.
    """
    return [
        answer if isinstance(answer, str) else _json(answer)
        for baseline in case.baselines
        if baseline.type == "golden_answer"
        for answer in golden_alternatives(baseline.payload)
    ]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
