"""Runs to write, and histories of many titles that are lived through together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Scores = Mapping[str, float | None]
"""Case → score of its round; ``None``: the judge could not say."""


@dataclass(frozen=True)
class Run:
    """One task to write; every dimension is scored from outside."""

    task_id: str
    title: str
    day: int
    """Day of January 2026 on which it was created."""
    scores: Mapping[str, Scores]
    """Dimension → scores. A case that any dimension names is a case of the task."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weight by dimension; 1 where none is given."""
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    context: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    broken_musts: frozenset[str] = frozenset()
    """Cases whose judge says that a must-have is broken; of the others it says that
    all hold."""
    judge: str = "critic"
    prompt_version: str = "v1"
    model: str = "vendor/model"
    run_id: str | None = None
    rounds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further fields of a case's round, such as ``latency_ms`` or ``metadata``."""

    @property
    def cases(self) -> list[str]:
        """Case ids in the order in which they are first named."""
        return list(dict.fromkeys(c for scores in self.scores.values() for c in scores))

    def document(self) -> dict[str, Any]:
        """The analysis input."""
        return {
            "task": {
                "task_id": self.task_id,
                "title": self.title,
                "prompt_version": self.prompt_version,
                "model": self.model,
                **({} if self.run_id is None else {"run_id": self.run_id}),
                "triggered_by": "ci",
                "env": {},
                "created_at": f"2026-01-{self.day:02}T08:00:00Z",
            },
            "cases": [self._case(case_id) for case_id in self.cases],
            "dimensions": [
                {
                    "dimension_id": dimension,
                    "name": dimension.upper(),
                    "weight": self.weights.get(dimension, 1),
                    "target": dict(self.targets.get(dimension, {})),
                    "parameters": dict(self.parameters.get(dimension, {})),
                    "scoring_mode": "higher_better",
                }
                for dimension in self.scores
            ],
            "extras": {},
        }

    def _case(self, case_id: str) -> dict[str, Any]:
        return {
            "case_id": case_id,
            "context": dict(self.context.get(case_id, {"question": case_id})),
            "rounds": [
                {
                    "round_id": f"{case_id}-1",
                    "run_index": 1,
                    "raw_output": "an answer",
                    "parsed_output": None,
                    "metadata": {},
                    "executed_at": "2026-01-01T08:00:00Z",
                    **self.rounds.get(case_id, {}),
                }
            ],
            "baselines": [],
            "tags": list(self.tags.get(case_id, ())),
        }

    def judgements(self) -> list[dict[str, Any]]:
        """The score records."""
        return [
            {
                "task_id": self.task_id,
                "case_id": case_id,
                "round_id": f"{case_id}-1",
                "dimension_id": dimension,
                "score": score,
                "scale": 1,
                "scorer": self.judge,
                "payload": {"must_have_pass": case_id not in self.broken_musts},
            }
            for dimension, scores in self.scores.items()
            for case_id, score in scores.items()
        ]

    def write(self, folder: Path) -> None:
        """Write both files."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.document())
        (folder / f"{self.task_id}.json").write_text(text, "utf-8")
        lines = "\n".join(json.dumps(record) for record in self.judgements())
        (folder / f"{self.task_id}.scores.jsonl").write_text(lines, "utf-8")


def even(score: float, cases: int, prefix: str = "c") -> dict[str, float]:
    """The same score for so many cases."""
    return {f"{prefix}{n}": score for n in range(cases)}
