"""Scorers for tests, and the cases that they score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.scorers import RoundScore
from tests.scoring import tasks

BUNDLE = TestCaseBundle.model_validate(
    {"case_id": "c1", **tasks.case("one", "two", golden="one")}
)
TONE = DimensionConfig.model_validate(tasks.dimension("tone"))


def scorer(
    score: Callable[[DimensionConfig, TestCaseBundle], Any],
    name: str = "tone",
    **own: Any,
) -> type:
    """A scorer's class; ``own`` replaces its attributes."""

    def method(_self: Any, dimension: DimensionConfig, case: TestCaseBundle) -> Any:
        return score(dimension, case)

    attributes = {"name": name, "version": "1", "scale": 1.0, **own, "score": method}
    return type("Fake", (), attributes)


def lengths(_dimension: DimensionConfig, case: TestCaseBundle) -> Iterable[RoundScore]:
    """Two points for each round's character, one line of evidence."""
    for each in case.rounds:
        n = len(each.raw_output)
        yield RoundScore(each.round_id, n, f"{n} characters", {"n": n})
