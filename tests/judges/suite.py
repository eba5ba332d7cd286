"""A judged run of 100 answers and the labels of two people, in every label format."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptlab.warehouse import Warehouse

N = 100
PEOPLE = ("ann", "bob")


def answers() -> list[dict[str, Any]]:
    """Return 100 answers: case, text, verdict of the judge, labels of two people."""
    draw = random.Random(20261124)
    found = []
    for number in range(N):
        is_right = draw.random() < 0.75
        judge = draw.random() < (0.95 if is_right else 0.3)
        people = [is_right != (draw.random() < 0.06) for _ in PEOPLE]
        found.append(
            {
                "case_id": f"c{number // 2}",
                "round_id": f"c{number // 2}-{number % 2 + 1}",
                "output": f"answer {number} " + "x" * (number % 7),
                "judge": judge,
                "labels": dict(zip(PEOPLE, people, strict=True)),
            }
        )
    return found


def task(task_id: str = "run-1", model: str = "small") -> dict[str, Any]:
    """Return the run as an analysis input, with the dimension `quality`."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for index, answer in enumerate(answers()):
        cases.setdefault(answer["case_id"], []).append(
            {
                "round_id": answer["round_id"],
                "run_index": index % 2 + 1,
                "raw_output": answer["output"],
                "parsed_output": None,
                "metadata": {},
                "executed_at": "2026-01-01T00:00:01Z",
            }
        )
    return {
        "task": {
            "task_id": task_id,
            "title": "Support",
            "prompt_version": "v1",
            "model": model,
            "triggered_by": "ci",
            "env": {},
            "created_at": "2026-01-01T00:00:00Z",
        },
        "cases": [
            {
                "case_id": case_id,
                "context": {"question": f"question of {case_id}"},
                "rounds": rounds,
                "baselines": [],
                "tags": ["odd" if int(case_id[1:]) % 2 else "even"],
            }
            for case_id, rounds in cases.items()
        ],
        "dimensions": [
            {
                "dimension_id": "quality",
                "name": "Quality",
                "weight": 1.0,
                "target": {},
                "parameters": {"scorer": "judge", "pass_score": 0.5},
                "scoring_mode": "higher_better",
            }
        ],
        "extras": {},
    }


def scores(task_id: str = "run-1") -> list[dict[str, Any]]:
    """Return what the judge says of each answer."""
    return [
        {
            "task_id": task_id,
            "case_id": answer["case_id"],
            "round_id": answer["round_id"],
            "dimension_id": "quality",
            "score": 8 if answer["judge"] else 2,
            "scale": 10,
            "scorer": "judge-model",
            "scorer_version": "rubric-1",
        }
        for answer in answers()
    ]


def loaded(folder: Path, dimensions: Sequence[str] = ("quality",)) -> Warehouse:
    """Return a warehouse with the run, not built; the judge says the same of each dimension."""
    (folder / "in").mkdir()
    run = task()
    [quality] = run["dimensions"]
    run["dimensions"] = [quality | {"dimension_id": name} for name in dimensions]
    (folder / "in/run.json").write_text(json.dumps(run), "utf-8")
    lines = "\n".join(
        json.dumps(each | {"dimension_id": name})
        for name in dimensions
        for each in scores()
    )
    (folder / "in/scores.jsonl").write_text(lines, "utf-8")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder / "in")
    return warehouse


def judged(folder: Path) -> Warehouse:
    """Return a warehouse with the run, built."""
    warehouse = loaded(folder)
    warehouse.build()
    return warehouse


def _ids(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "task_id": "run-1",
        "case_id": answer["case_id"],
        "round_id": answer["round_id"],
        "dimension": "quality",
    }


def _word(label: bool) -> str:
    return "pass" if label else "fail"


def _csv(rows: list[dict[str, Any]], separator: str = ",") -> str:
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def _each() -> list[tuple[dict[str, Any], str, bool]]:
    return [
        (answer, person, answer["labels"][person])
        for answer in answers()
        for person in PEOPLE
    ]


def formats() -> dict[str, str]:
    """Return the same labels in each format: name of the file → its text."""
    long = [
        {**_ids(answer), "labeler": person, "label": _word(label), "comment": "a, b\nc"}
        for answer, person, label in _each()
    ]
    wide = [
        {**_ids(answer)} | {p: "Yes" if answer["labels"][p] else "No" for p in PEOPLE}
        for answer in answers()
    ]
    minimal = [
        {
            "id": number,
            "annotation_id": number,
            "annotator": person,
            "created_at": "2026-01-02T00:00:00Z",
            "lead_time": 1.5,
            **_ids(answer),
            "verdict_of_person": _word(label),
        }
        for number, (answer, person, label) in enumerate(_each())
    ]
    return {
        "long.csv": "\ufeff" + _csv(long),
        "long-semicolons.csv": _csv(long, ";"),
        "long.tsv": _csv(long, "\t"),
        "long.jsonl": "\n".join(map(json.dumps, long)),
        "wide.csv": _csv(wide),
        "label_studio.json": json.dumps(
            [
                {
                    "id": 1,
                    "data": _ids(answer),
                    "annotations": [
                        {
                            "completed_by": {"id": 3, "email": person},
                            "was_cancelled": False,
                            "created_at": "2026-01-02T00:00:00Z",
                            "result": [
                                {
                                    "from_name": "verdict",
                                    "type": "choices",
                                    "value": {"choices": [_word(label)]},
                                }
                            ],
                        }
                        for person, label in answer["labels"].items()
                    ]
                    + [{"completed_by": 9, "was_cancelled": True, "result": []}],
                    "predictions": [{"result": [{"value": {"choices": ["pass"]}}]}],
                }
                for answer in answers()
            ]
        ),
        "label_studio_min.json": json.dumps(minimal),
        "label_studio.csv": _csv(minimal, "\t"),
        "argilla.json": json.dumps(
            [
                {
                    "fields": {"output": answer["output"]},
                    "metadata": _ids(answer),
                    "suggestions": {"verdict": {"value": "pass", "agent": "judge"}},
                    "responses": {
                        "verdict": [
                            {"value": _word(label), "user_id": person}
                            for person, label in answer["labels"].items()
                        ]
                    },
                }
                for answer in answers()
            ]
        ),
        "langfuse.json": json.dumps(
            [
                {
                    "id": f"{number}",
                    "traceId": answer["round_id"],
                    "name": "quality",
                    "value": float(label),
                    "dataType": "BOOLEAN",
                    "source": "ANNOTATION",
                    "authorUserId": person,
                    "metadata": _ids(answer),
                }
                for number, (answer, person, label) in enumerate(_each())
            ]
            + [
                {
                    "traceId": "c0-1",
                    "name": "quality",
                    "value": 1.0,
                    "source": "EVAL",
                    "authorUserId": None,
                }
            ]
        ),
        "langsmith.jsonl": "\n".join(
            json.dumps(
                {
                    "run_id": answer["round_id"],
                    "example_id": answer["case_id"],
                    "key": "quality",
                    "score": int(label),
                    "value": None,
                    "correction": None,
                    "feedback_source": {"type": "app", "user_id": person},
                    "modified_at": "2026-01-02T00:00:00Z",
                }
            )
            for answer, person, label in _each()
        ),
        "opik.csv": _csv(
            [
                {**_ids(answer)}
                | {
                    key: value
                    for person in PEOPLE
                    for key, value in (
                        (f"{person}.quality", int(answer["labels"][person])),
                        (f"{person}.quality.reason", "because"),
                    )
                }
                for answer in answers()
            ]
        ),
    }
