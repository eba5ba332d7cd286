"""Scorers written in Python: entry points of the group ``promptlab.scorers``.

A scorer gets one dimension's configuration and one case, and returns scores with their
evidence (analysis contract, section 5.3). ``promptlab score`` runs it; SQL turns its
scores into the dimension's result, like every other score.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.contracts.scoring import golden_alternatives

__all__ = ["RoundScore", "Scorer", "golden_answers"]


@dataclass(frozen=True)
class RoundScore:
    """The score of one round."""

    round_id: str
    """A round of the case."""
    score: float | None
    """From 0 to the scorer's ``scale``; null: the round could not be judged."""
    summary: str | None = None
    """One line for people: the reason for the score, or for null."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Evidence as a JSON object: snippets, the nearest reference, sub-scores."""
    version: str | None = None
    """Name of the model behind the scorer, if its ``version`` does not include it.
    Scores of two versions are not compared over time."""


class Scorer(Protocol):
    """Scores the rounds of a case on a dimension.

    The entry point names a class that is made without arguments, once for each
    dimension. Scores depend on the two arguments alone: cases come in any order, each
    is given its own copy, and no state is passed from one to another. A model that is
    loaded once does not count as state.
    """

    name: str
    """Name of the scorer in dimensions and in ``raw.scores``: the name of its entry
    point."""
    version: str
    """Changes whenever the same input may get another score."""
    scale: float
    """The maximum score; the minimum is 0."""

    def score(
        self, dimension: DimensionConfig, case: TestCaseBundle
    ) -> Iterable[RoundScore]:
        """Return one score for each round that can be scored.

        A round may be left out, and so may all rounds of a case, for example of one
        without a golden answer.

        Args:
            dimension: the dimension to score; settings of the scorer are in
                ``parameters``.
            case: the context, the rounds, the baselines.

        Raises:
            SettingsError: the scorer cannot work at all (a missing library, model or
                key): the dimension is not scored, and the message is shown.
            Exception: any other error; only this case gets no scores.
        """
        ...


def golden_answers(case: TestCaseBundle) -> list[str]:
    """Return every text that counts as right, in the order of the baselines.

    Values other than text are written as JSON.
    """
    return [
        answer
        if isinstance(answer, str)
        else json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        for baseline in case.baselines
        if baseline.type == "golden_answer"
        for answer in golden_alternatives(baseline.payload)
    ]
