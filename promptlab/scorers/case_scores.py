"""Scoring one case with a scorer that may fail; its failure is this case's alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.contracts.scores import ScoreRecord
from promptlab.errors import PromptlabError
from promptlab.scorers.protocol import RoundScore, Scorer


@dataclass(frozen=True)
class CaseScores:
    """The scores of one case."""

    records: list[ScoreRecord]
    """One per round that was scored or whose scoring failed, in the case's order."""
    faults: list[str]
    """Errors of the scorer, a sentence each; empty without errors."""


def score_case(
    scorer: Scorer, task_id: str, dimension: DimensionConfig, case: TestCaseBundle
) -> CaseScores:
    """Score one case.

    A wrong score becomes null with the reason as its summary. Where the scorer stopped
    half-way or named a round that is not there, so do the rounds that are left over.

    Raises:
        PromptlabError: the scorer cannot work at all, and says what is missing.
    """
    given: dict[str, ScoreRecord] = {}
    faults: list[str] = []
    reason = None
    rounds = [each.round_id for each in case.rounds]

    def record(round_id: str, **fields: Any) -> ScoreRecord:
        return ScoreRecord(
            task_id=task_id,
            case_id=case.case_id,
            round_id=round_id,
            dimension_id=dimension.dimension_id,
            scale=float(scorer.scale),
            scorer=scorer.name,
            **{"scorer_version": scorer.version} | fields,
        )

    try:
        for score in _scores(scorer, dimension, case):
            place = _place_fault(score, rounds, given)
            if place:
                reason = reason or place
                faults.append(place)
                continue
            wrong = _score_fault(score, scorer.scale)
            if wrong:
                faults.append(f"round {score.round_id}: {wrong}")
                given[score.round_id] = record(
                    score.round_id, score=None, summary=f"scorer failed: {wrong}"
                )
            else:
                given[score.round_id] = record(score.round_id, **_fields(score))
    except PromptlabError:
        raise
    except Exception as error:  # noqa: BLE001 - the code of others may raise anything
        reason = f"{type(error).__name__}: {error}"
        faults.append(reason)
    if reason:
        for round_id in rounds:
            if round_id not in given:
                given[round_id] = record(
                    round_id, score=None, summary=f"scorer failed: {reason}"
                )
    return CaseScores([given[each] for each in rounds if each in given], faults)


def _scores(
    scorer: Scorer, dimension: DimensionConfig, case: TestCaseBundle
) -> Iterator[Any]:
    # copies: a scorer that writes into its arguments changes nothing for the next case
    found = scorer.score(dimension.model_copy(deep=True), case.model_copy(deep=True))
    try:
        return iter(found)
    except TypeError:
        raise TypeError(
            f"score() gave {_shown(found)}, expected a list of RoundScore"
        ) from None


def _place_fault(
    score: Any, rounds: list[str], given: dict[str, ScoreRecord]
) -> str | None:
    """Say why a score cannot be put to a round."""
    if not isinstance(score, RoundScore):
        return f"found {_shown(score)}, expected a RoundScore"
    if score.round_id not in rounds:
        return f"scored round {score.round_id!r}, which is not in the case"
    if score.round_id in given:
        return f"scored round {score.round_id!r} twice; the first score counts"
    return None


def _score_fault(score: RoundScore, scale: float) -> str | None:
    """Say what is wrong with a score of a round that is there."""
    value = score.score
    if value is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"score is {_shown(value)}, expected a number or None"
        if not math.isfinite(value) or not 0 <= value <= scale:
            return f"score is {value!r}, expected 0 to {scale:g}"
    for key in ("summary", "version"):
        text = getattr(score, key)
        if text is not None and not isinstance(text, str):
            return f"{key} is {_shown(text)}, expected a text or None"
    try:
        json.dumps(dict(score.payload), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return f"payload is no JSON object: {error}"
    return None


def _fields(score: RoundScore) -> dict[str, Any]:
    version = {} if score.version is None else {"scorer_version": score.version}
    return {
        "score": None if score.score is None else round(float(score.score), 6),
        "summary": score.summary,
        "payload": json.loads(json.dumps(dict(score.payload))),
        **version,
    }


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}…" if len(text) > 60 else text
