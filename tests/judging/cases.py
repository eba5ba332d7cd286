"""The shared tables of judging: each rule once, as lines with their reasons.

``data/rule_cases.jsonl``: does an answer keep a rule? ``data/output_cases.jsonl``:
which output is an expectation compared with? ``data/golden_cases.jsonl``: is an answer
right where golden answers are compared as JSON? Every line was reasoned out by hand;
the evaluator and the warehouse are both tested with it. The comparison of two values is
in ``matching_cases``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class Round:
    """The outputs of one round; other outputs are missing."""

    raw_output: str | None = None
    parsed_output: dict[str, Any] | None = None
    step_outputs: dict[str, Any] | None = None
    final_output: Any = None
    """Evaluation results alone have one."""

    messages: Any = None
    """Those of an agent, with its calls of tools."""

    output_tokens: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class Sample:
    """All that is asked of one round."""

    id: str
    round: Round
    pipeline: dict[str, Any] | None = None
    case: dict[str, Any] = field(default_factory=dict)
    """Fields of a testset's case."""

    rules: list[dict[str, Any]] = field(default_factory=list)
    golden: list[Any] = field(default_factory=list)
    """Alternatives, each an expectation of the answer."""


Scopes = dict[str, tuple[str, str | None, tuple[tuple[str, str], ...]]]
"""``aggregation``, ``final`` or a step's ``intermediate:<id>`` → status, source of the
output, failures (pointer and reason)."""


@dataclass(frozen=True)
class Judgement:
    """All verdicts on one round."""

    scopes: Scopes
    rules: tuple[bool | None, ...]
    golden: float | None
    """1: an alternative matches; 0: none does; ``None``: not judged, or nothing asked."""

    must_have: bool | None
    """False: an expectation or a rule of severity ``must`` is not met."""


def rule_cases() -> list[tuple[Sample, bool | None]]:
    """Read the table of rules: a sample with one rule, and whether it holds."""
    return [
        (
            Sample(
                _named("rule", row),
                Round(**row["round"]),
                pipeline=row.get("pipeline"),
                rules=[row["rule"]],
            ),
            row["holds"],
        )
        for row in _rows("rule_cases")
    ]


def output_cases() -> list[tuple[Sample, Scopes]]:
    """Read the table of outputs: a sample with one scope, and its verdict."""
    return [
        (
            Sample(
                _named("output", row),
                Round(**row["round"]),
                pipeline=row.get("pipeline"),
                case=row["case"],
            ),
            {row["scope"]: (row["verdict"], row["source"], _failures(row))},
        )
        for row in _rows("output_cases")
    ]


def golden_cases() -> list[tuple[Sample, float | None]]:
    """Read the table of golden answers: a sample, and its metric."""
    return [
        (
            Sample(_named("golden", row), Round(**row["round"]), golden=row["golden"]),
            row["metric"],
        )
        for row in _rows("golden_cases")
    ]


def _failures(row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((each["pointer"], each["reason"]) for each in row["failures"])


def _named(table: str, row: dict[str, Any]) -> str:
    assert row["reason"]
    return f"{table}:{row['id']}"


def _rows(table: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{table}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
