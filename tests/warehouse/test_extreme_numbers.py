"""No number that a file may hold stops a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from promptlab.warehouse import Warehouse
from tests.scoring.tasks import answered, case, dimension, score, task

LARGEST = 2**63 - 1
WIDEST = 1.7e308

COUNTS = ("total_sessions", "total_dialogs", "total_messages", "total_questions")


def conversation(name: str, number: int, rounds: tuple[int, int]) -> dict[str, Any]:
    """A memory file in which everything that is counted or timed is this number."""
    stage = {"avg_ms": number, "min_ms": number, "max_ms": number, "count": number}
    calls = {
        "summary": {"a_ms": stage},
        "details": [{"test_index": number, "b_ms": number}] * 2,
    }
    return {
        "experiment_info": {"dataset": "locomo", "task_id": name},
        "dataset_statistics": {
            **dict.fromkeys((*COUNTS, "valid_questions"), number),
            "invalid_questions": [{"question_index": number}],
        },
        "test_summary": {"total_tests": number, "test_segments": number},
        "test_results": [
            {
                "test_index": test_index,
                "question_range": {"start": -number, "end": number},
                "dialogs_inserted_count": number,
                "questions": [
                    {
                        "question_index": question_index,
                        "question_text": f"Which {question_index}?",
                        "predicted_answer": number,
                        "reference_answer": number,
                        "category": number,
                    }
                    for question_index in (-number, number)
                ],
            }
            for test_index in rounds
        ],
        "timing_summary": {"insert_timings": calls, "retrieval_timings": calls},
    }


def measured(number: int) -> dict[str, Any]:
    return dict.fromkeys(
        ("run_index", "latency_ms", "input_tokens", "output_tokens"), number
    )


def analyses() -> list[dict[str, Any]]:
    """Tasks of numbers as large, and as small, as their contract lets them be."""
    prices = {"input_price_per_million": WIDEST, "output_price_per_million": WIDEST}
    scorers: dict[str, dict[str, Any]] = {
        **{name: {} for name in ("latency", "total_tokens", "length")},
        **{name: {} for name in ("input_tokens", "output_tokens")},
        "cost": prices,
        "stability": {"of": "latency"},
    }
    found = []
    for place, limit in enumerate((WIDEST, -WIDEST, 5e-324, 0)):
        rounds = [
            answered("1", **measured(LARGEST)),
            answered("2", **measured(LARGEST)),
        ]
        found.append(
            task(
                f"measures-{place}",
                [case(*rounds), case(answered("1", **measured(1)))],
                [
                    dimension(
                        scorer,
                        mode="lower_better",
                        target={"max": limit, "min": limit, "max_ms": limit},
                        **parameters,
                    )
                    for scorer, parameters in scorers.items()
                ],
            )
        )
    rules = [
        {"max_chars": WIDEST},
        {"min_chars": -WIDEST},
        {"max_tokens": 10**40},
        {"min_value": 10**40, "max_value": -(10**40)},
        {"equals": 10**40},
    ]
    for place, number in enumerate((LARGEST, 10**40, WIDEST, -WIDEST, 5e-324)):
        found.append(
            task(
                f"parameters-{place}",
                [case("1", "2", "1", golden=number, confidence=5e-324, rules=rules)],
                [
                    dimension(name, target={"min_score": number}, **parameters)
                    for name, parameters in (
                        ("accuracy", {"reducer": "pass_at_k", "k": number}),
                        ("rules", {"pass_score": number, "trim": number}),
                        ("consistency", {"tolerance": number}),
                        ("format", {"tolerance": number, "k": number}),
                    )
                ],
            )
        )
    return found


def write_conversations(folder: Path) -> None:
    """Write files of memory runs; each number has its own run."""
    for run, number in enumerate((2**31 - 1, 2**31, LARGEST, 2**63, 10**40)):
        for place, rounds in enumerate([(-number, number), (number - 1, number)]):
            file = folder / "locomo" / f"250101_090{run}" / f"conv-{place}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(conversation(f"conv-{place}", number, rounds)))


def test_no_number_of_a_task_of_scores_or_of_memory_stops_a_build(
    tmp_path: Path,
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    write_conversations(tmp_path / "memory")
    warehouse.ingest(tmp_path / "memory")
    tasks = analyses()
    for one in tasks:
        file = tmp_path / "in" / f"{one['task']['task_id']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(one))
    judged = [
        score("parameters-0", "judge", value, round_id=f"r{place}", scale=scale)
        for place, (value, scale) in enumerate(
            [(WIDEST, WIDEST), (5e-324, 5e-324), (5e-324, WIDEST)], start=1
        )
    ]
    (tmp_path / "in" / "scores.jsonl").write_text("\n".join(map(json.dumps, judged)))
    results = [
        {
            "sample_id": f"c{place}",
            "entity_id": "p",
            "variant": "v",
            "run_id": "results",
            "overall_score": 5e-324,
            "execution_time": WIDEST,
            "input_tokens": LARGEST,
            "output_tokens": LARGEST,
            "metadata": {"total_tokens": 10**40, "cost": WIDEST},
        }
        for place in range(3)
    ]
    (tmp_path / "in" / "results.jsonl").write_text("\n".join(map(json.dumps, results)))
    assert warehouse.ingest(tmp_path / "in").n_rejected_records == 0
    warehouse.build()
    task_ids = [*(one["task"]["task_id"] for one in tasks), "results"]
    assert warehouse.report(task_ids, tmp_path / "out")
