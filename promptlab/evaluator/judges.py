"""Call the user's judge, and validate its answer.

A judge is a callable. It gets one mapping (:class:`JudgeRequest`) and answers with a
number from 0 to 10, or with a mapping:

- ``overall_score``: 0–10, or null when it could not judge;
- ``judge_feedback`` (or ``overall_comment``): its comment;
- ``must_have_check``: what must be met: a list of ``{"satisfied": true}``, or of
  booleans.

If a judge raises or returns something else, the sample has no score, and evaluation
continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from promptlab.evaluator.wording import Language, judge_failed, no_judge

BEST_SCORE: Final = 10.0
"""The maximum score of a judge; the minimum is 0."""


class JudgeRequest(TypedDict):
    """The input of a judge; copies only."""

    sample_id: str
    pipeline_id: str
    variant: str
    test_case: dict[str, Any]
    step_outputs: dict[str, Any]
    final_output: Any
    evaluations: dict[str, Any]
    """Verdicts of the scopes: ``intermediate``, ``aggregation``, ``final``."""

    judge_agent_id: str | None
    judge_flow: str | None


Judge = Callable[[JudgeRequest], Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of the judge."""

    status: Literal["scored", "unevaluated", "not_run"]
    score: float | None = None
    feedback: str | None = None
    must_have: bool | None = None
    """True if its must-haves are met; ``None`` if it has no must-haves."""

    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the judgement as a JSON object, without score and feedback."""
        return {
            "status": self.status,
            "must_have": self.must_have,
            "reason": self.reason,
        }


class _BadAnswer(Exception):
    """The judge's answer is invalid."""


def ask(judge: Judge | None, request: JudgeRequest, lang: Language) -> Judgement:
    """Call the judge; ``None``: the judge is enabled but missing."""
    if judge is None:
        return Judgement("not_run", feedback=no_judge(lang), reason="no_judge")
    try:
        return _read(judge(request))
    except _BadAnswer as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  # the judge is foreign code
        why = f"{type(error).__name__}: {error}"
    return Judgement("unevaluated", feedback=judge_failed(why, lang), reason=why)


def _read(answer: Any) -> Judgement:
    if not isinstance(answer, Mapping):
        return Judgement("scored", score=_score(answer))
    feedback = answer.get("judge_feedback", answer.get("overall_comment"))
    if feedback is not None and not isinstance(feedback, str):
        raise _BadAnswer(f"judge_feedback is {type(feedback).__name__}, not text")
    must_have = _must_have(answer.get("must_have_check"))
    if answer.get("overall_score") is None:
        status: Literal["scored", "unevaluated"] = (
            "unevaluated" if must_have is None else "scored"
        )
        return Judgement(status, None, feedback, must_have, "no overall_score")
    return Judgement("scored", _score(answer["overall_score"]), feedback, must_have)


def _score(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= BEST_SCORE:
        raise _BadAnswer(f"overall_score is {value!r}, expected a number from 0 to 10")
    return float(value)


def _must_have(checks: Any) -> bool | None:
    if checks is None or checks == []:
        return None
    if not isinstance(checks, list | tuple):
        raise _BadAnswer(f"must_have_check is {type(checks).__name__}, not a list")
    met = [
        check.get("satisfied") if isinstance(check, Mapping) else check
        for check in checks
    ]
    if not all(isinstance(each, bool) for each in met):
        raise _BadAnswer("must_have_check: each entry needs satisfied: true or false")
    return all(met)
