"""Seeded input files of any size, as a test runner would have written them."""

from __future__ import annotations

import json
import random
from pathlib import Path

SEED = 20241024

_SENTENCES = """
    订单 已 签收 退款 将 在 三个 工作日 内 原路 返回 请 您 耐心 等待 the parcel has left our
    warehouse and will arrive on Friday please keep the receipt for your records
"""
_WORDS = _SENTENCES.split()

_DIMENSIONS = [
    {
        "dimension_id": name,
        "name": title,
        "weight": weight,
        "target": target,
        "parameters": parameters,
        "scoring_mode": mode,
    }
    for name, title, weight, target, parameters, mode in (
        ("accuracy", "准确性", 0.3, {"min_score": 0.8}, {"match_rule": "contains"}, "higher_better"),
        ("consistency", "一致性", 0.2, {"max_variance": 0.1}, {}, "higher_better"),
        ("latency", "时延", 0.2, {"max_ms": 1500}, {}, "lower_better"),
        ("format", "格式", 0.1, {}, {"required_keys": ["action", "reply"]}, "higher_better"),
        ("input_tokens", "输入长度", 0, {"max_tokens": 800}, {}, "lower_better"),
        ("output_tokens", "输出长度", 0.2, {"max_tokens": 200}, {}, "lower_better"),
    )
]  # fmt: skip


def analysis_inputs(
    folder: Path, *, rounds: int, files: int, rounds_per_case: int = 5
) -> list[Path]:
    """Write AnalysisInput files with ``rounds`` rounds in all, about 750 bytes each."""
    folder.mkdir(parents=True, exist_ok=True)
    cases_per_file = rounds // files // rounds_per_case
    paths = []
    for number in range(files):
        path = folder / f"run-{number:04}.json"
        document = analysis_input(number, cases_per_file, rounds_per_case)
        path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        paths.append(path)
    return paths


def analysis_input(number: int, cases: int, rounds_per_case: int) -> dict:
    """One task with ``cases`` cases; the same number gives the same task."""
    rng = random.Random(SEED + number)
    return {
        "task": {
            "task_id": f"bench-{number:04}",
            "title": f"benchmark {number % 10}",
            "prompt_version": f"v{number}",
            "model": "vendor/model",
            "triggered_by": "schedule",
            "env": {"region": "cn-beijing", "dataset": "bench"},
            "created_at": f"2026-01-{number % 28 + 1:02}T08:00:00Z",
        },
        "cases": [_case(rng, n, rounds_per_case) for n in range(cases)],
        "dimensions": _DIMENSIONS,
        "extras": {"seed": SEED + number},
    }


def testset(folder: Path, *, cases: int) -> Path:
    """Write the testset of these tasks: what each case's answer must hold."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bench.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(cases):
            test_case = {
                "id": _case_id(n),
                "inputs": {"channel": "web"},
                "expected_outputs": {
                    "action": _action(n),
                    "items": [{}, {}, {}],
                    "reply": "regex:[a-z]{3}",
                },
            }
            file.write(json.dumps(test_case, ensure_ascii=False) + "\n")
    return path


def _case_id(n: int) -> str:
    return f"case-{n:06}"


def _action(n: int) -> str:
    return ("refund", "reship", "answer", "escalate")[n % 4]


def _case(rng: random.Random, n: int, rounds: int) -> dict:
    case_id, action = _case_id(n), _action(n)
    return {
        "case_id": case_id,
        "context": {"question": _text(rng, 8), "channel": "web"},
        "rounds": [_round(rng, case_id, n + 1, action) for n in range(rounds)],
        "baselines": [
            {
                "baseline_id": f"golden-{case_id}",
                "type": "golden_answer",
                "payload": {"text": action},
                "owner": "qa",
                "confidence": 0.9,
            }
        ],
        "tags": [action, rng.choice(("faq", "high_priority"))],
    }


def _round(rng: random.Random, case_id: str, index: int, action: str) -> dict:
    given = action if rng.random() < 0.85 else "none"
    return {
        "round_id": f"{case_id}-{index}",
        "run_index": index,
        "raw_output": f"{given}: {_text(rng, 25)}",
        "parsed_output": {
            "action": given,
            "amount": rng.randrange(100000) / 100,
            "items": [{"sku": rng.randrange(10**6), "qty": rng.randrange(9)} for _ in range(3)],
            "reply": _text(rng, 12),
        },
        "input_tokens": rng.randrange(100, 900),
        "output_tokens": rng.randrange(20, 300),
        "latency_ms": rng.randrange(300, 3000),
        "metadata": {"temperature": 0.2, "request_id": f"{rng.getrandbits(64):016x}"},
        "executed_at": f"2026-01-01T08:{index % 60:02}:{rng.randrange(60):02}Z",
    }  # fmt: skip


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))
