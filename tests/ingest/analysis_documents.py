"""A small analysis input to break in tests."""

from __future__ import annotations

import json
from typing import Any

Document = dict[str, Any]


def round_run(case_id: str, n: int) -> Document:
    return {
        "round_id": f"{case_id}-{n}",
        "run_index": n,
        "raw_output": '退款需要 "7" 天',
        "parsed_output": {"days": 7, "steps": ["ask", "wait"]} if n == 1 else None,
        "input_tokens": 320,
        "output_tokens": None,
        "latency_ms": 842,
        "metadata": {"temperature": 0.2},
        "executed_at": "2024-10-24T20:31:05+08:00",
    }


def case(case_id: str) -> Document:
    return {
        "case_id": case_id,
        "context": {"question": "退款要多久？"},
        "rounds": [round_run(case_id, 1), round_run(case_id, 2)],
        "baselines": [
            {
                "baseline_id": "golden",
                "type": "golden_answer",
                "payload": {"text": "7 天"},
                "owner": "ops",
                "confidence": 0.9,
            }
        ],
        "tags": ["refund", "中文"],
    }


def document(cases: int = 3) -> Document:
    """A valid analysis input; case ``c<n>`` has rounds ``c<n>-1`` and ``c<n>-2``."""
    return {
        "task": {
            "task_id": "run-7",
            "title": "Refund answers",
            "prompt_version": "v3",
            "model": "vendor/model",
            "triggered_by": "ci",
            "env": {"region": "north", "dataset": "refund_basic_v1"},
            "created_at": "2024-10-24T12:30:00Z",
        },
        "cases": [case(f"c{n}") for n in range(cases)],
        "dimensions": [
            {
                "dimension_id": "accuracy",
                "name": "准确性",
                "weight": 0.5,
                "target": {"min_score": 0.85},
                "parameters": {"match_rule": "exact"},
                "scoring_mode": "higher_better",
            }
        ],
        "extras": {"note": "first run"},
    }


def as_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()
