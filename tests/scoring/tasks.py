"""Small analysis inputs, written in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Document = dict[str, Any]

WHEN = "2024-10-24T12:31:05Z"


def task(
    task_id: str,
    cases: Sequence[Document],
    dimensions: Sequence[Document],
    **env: str,
) -> Document:
    """An analysis input; cases and rounds without an id get one by their place."""
    return {
        "task": {
            "task_id": task_id,
            "title": task_id,
            "prompt_version": "v1",
            "model": "maker/model",
            "triggered_by": "test",
            "env": env,
            "created_at": WHEN,
        },
        "cases": [
            {"case_id": f"c{place}", **one} for place, one in enumerate(cases, start=1)
        ],
        "dimensions": list(dimensions),
        "extras": {},
    }


def case(
    *rounds: Document | str,
    golden: Any = None,
    confidence: float | None = None,
    rules: Iterable[Document] = (),
    **fields: Any,
) -> Document:
    """A case; a text stands for a round with that answer, ``golden`` for a baseline."""
    baselines = [
        {
            "baseline_id": f"b{place}",
            "type": kind,
            "payload": payload,
            "owner": "test",
            "confidence": confidence if kind == "golden_answer" else None,
        }
        for place, (kind, payload) in enumerate(
            [
                *([] if golden is None else [("golden_answer", {"text": golden})]),
                *(("rules", rule) for rule in rules),
            ]
        )
    ]
    return {
        "rounds": [
            {"round_id": f"r{place}", "run_index": place}
            | (answered(one) if isinstance(one, str) else one)
            for place, one in enumerate(rounds, start=1)
        ],
        "baselines": baselines,
        "context": {},
        "tags": [],
        **fields,
    }


def answered(text: str, **fields: Any) -> Document:
    """A round with its answer; ``parsed_output``, ``latency_ms`` … as in the contract."""
    return {"raw_output": text, "metadata": {}, "executed_at": WHEN, **fields}


def failed(code: str = "timeout") -> Document:
    """A round that ended in an error."""
    return answered("", metadata={"error_code": code})


def dimension(
    dimension_id: str,
    *,
    weight: float = 1.0,
    mode: str = "higher_better",
    target: Document | None = None,
    **parameters: Any,
) -> Document:
    """A dimension; its parameters as keywords."""
    return {
        "dimension_id": dimension_id,
        "name": dimension_id,
        "weight": weight,
        "target": target or {},
        "parameters": parameters,
        "scoring_mode": mode,
    }


def score(
    task_id: str,
    dimension_id: str,
    value: float | None,
    *,
    case_id: str = "c1",
    round_id: str = "r1",
    **fields: Any,
) -> Document:
    """A score from outside, of a scorer called ``judge-1``."""
    return {
        "task_id": task_id,
        "case_id": case_id,
        "round_id": round_id,
        "dimension_id": dimension_id,
        "score": value,
        "scale": 1,
        "scorer": "judge-1",
        **fields,
    }
