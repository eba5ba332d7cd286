"""A score of one round from outside of SQL: from a judge or a Python scorer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from promptlab.contracts.base import CaseId, Input, JsonObject, NonBlank


class ScoreRecord(Input):
    """One line of a scores file (JSONL); it may arrive before its task."""

    task_id: NonBlank
    """The task that is scored."""
    case_id: CaseId
    """The case in it."""
    round_id: NonBlank
    """The round of the case."""
    dimension_id: NonBlank
    """The dimension that the score is for."""
    score: Annotated[float, Field(ge=0)] | None
    """From 0 to ``scale``, ``scale`` best; null: the scorer could not judge."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """The maximum score, e.g. 10; the score counts as ``score / scale``."""
    summary: str | None = None
    """The reason for the score, in one line."""
    payload: JsonObject = Field(default_factory=dict)
    """Evidence: snippets, the judge's answer, sub-scores."""
    scorer: NonBlank
    """Name of the scorer."""
    scorer_version: str | None = None
    """Version of the scorer, or the model behind the judge."""

    @model_validator(mode="after")
    def _score_is_within_its_scale(self) -> ScoreRecord:
        if self.score is not None and self.score > self.scale:
            raise PydanticCustomError(
                "score_above_scale",
                "{score} is more than its scale {scale}",
                {"score": self.score, "scale": self.scale, "below": ("score",)},
            )
        return self
