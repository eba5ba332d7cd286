"""Targets of dimensions: reached or not, according to their alerts."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from promptlab.contracts.analysis_result import TargetStatus

MISSED = frozenset(
    {
        "below_min_score",
        "above_max_score",
        "below_min_target",
        "above_max_target",
        "max_variance_exceeded",
    }
)
"""Codes of the alerts about a missed target."""
_UNKNOWN = frozenset({"invalid_target", "invalid_parameters"})


def target_status(
    target: dict[str, Any], score: float | None, codes: AbstractSet[str]
) -> TargetStatus:
    """Return the status of a target.

    Args:
        target: As configured; empty without a target.
        score: Score of the dimension.
        codes: Codes of the alerts of the dimension.
    """
    if not target:
        return "none"
    if codes & MISSED:
        return "missed"
    if score is None or codes & _UNKNOWN:
        return "unknown"
    return "met"
