"""A script without a warehouse: pandas over every file, a loop over every row.

``python by_hand.py FOLDER TESTSET OUT``: one CSV row per round with its verdict, and the
pass rate, latency and tokens of each task. No checks of the input, no history, no report.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd


def main(folder: Path, testset: Path, out: Path) -> None:
    """Judge every round of every file below ``folder``."""
    cases = map(json.loads, testset.read_text("utf-8").splitlines())
    expected = {case["id"]: case["expected_outputs"] for case in cases}
    rounds = pd.concat(
        [_rounds(path) for path in sorted(folder.glob("*.json"))], ignore_index=True
    )
    rounds["passed"] = [
        matches(actual, expected[case_id])
        for actual, case_id in zip(
            rounds["parsed_output"], rounds["case_id"], strict=True
        )
    ]
    # a case's answer is its golden text if it holds it
    rounds["accurate"] = [
        golden in answer
        for golden, answer in zip(rounds["golden"], rounds["raw_output"], strict=True)
    ]
    rounds[["task_id", "case_id", "round_id", "passed", "accurate"]].to_csv(
        out / "rounds.csv", index=False
    )
    summary = rounds.groupby("task_id").agg(
        pass_rate=("passed", "mean"),
        accuracy=("accurate", "mean"),
        latency_p50=("latency_ms", "median"),
        latency_p95=("latency_ms", lambda column: column.quantile(0.95)),
        output_tokens=("output_tokens", "mean"),
    )
    summary.to_csv(out / "tasks.csv")


def _rounds(path: Path) -> pd.DataFrame:
    document = json.loads(path.read_text("utf-8"))
    for case in document["cases"]:
        case["golden"] = case["baselines"][0]["payload"]["text"]
    frame = pd.json_normalize(
        document["cases"],
        record_path="rounds",
        meta=["case_id", "golden"],
        max_level=0,
    )
    return frame.assign(task_id=document["task"]["task_id"])


def matches(actual: Any, expected: Any) -> bool:
    """Every expected key is there and matches; lists are as long as expected."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and matches(actual[key], value)
            for key, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(matches, actual, expected))
        )
    if isinstance(expected, str) and expected.startswith("contains:"):
        return expected[len("contains:") :].strip() in str(actual)
    if isinstance(expected, str) and expected.startswith("regex:"):
        return re.search(expected[len("regex:") :].strip(), str(actual)) is not None
    if isinstance(expected, float) and isinstance(actual, int | float):
        return abs(actual - expected) <= 1e-6
    return bool(actual == expected)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
