"""Every code that marts and contracts can hold has words, and no words are for another."""

from __future__ import annotations

import csv
import re
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml

from promptlab.contracts import analysis_input, analysis_result, gate
from promptlab.paths import languages
from promptlab.reports.sentences import _DIGITS
from promptlab.reports.texts import catalogue
from tests.conftest import ROOT

PROJECT = ROOT / "dbt_project"
Codes = Callable[[], set[str]]
_CODE = re.compile(r"(?:then|else) '(\w+)'")
_WORDS = re.compile(r"\b(?:case|end as \w+|end)\b")
_IN = re.compile(r"(\w+) in \(([^)]*)\)")
_LITERAL = re.compile(r"'(\w+)'")
_QUOTED = re.compile(r"""["'](\w+)["']""")


def of_seed(name: str, column: str) -> Codes:
    """The codes of a seed."""

    def codes() -> set[str]:
        (file,) = (PROJECT / "seeds").rglob(f"promptlab_{name}.csv")
        with file.open(encoding="utf-8", newline="") as rows:
            return {row[column] for row in csv.DictReader(rows)}

    return codes


def of_model(model: str, column: str) -> Codes:
    """The codes that the contract of a model allows."""
    return lambda: allowed()[model, column]


@cache
def allowed() -> dict[tuple[str, str], set[str]]:
    found = {}
    for file in (PROJECT / "models").rglob("*.yml"):
        for model in yaml.load(file.read_bytes(), yaml.CSafeLoader).get("models", ()):
            for column in model.get("columns", ()):
                for constraint in column.get("constraints", ()):
                    match = _IN.search(constraint.get("expression", ""))
                    if match:
                        codes = set(_LITERAL.findall(match[2]))
                        found[model["name"], column["name"]] = codes
    return found


def of_case(model: str, column: str) -> Codes:
    """The codes that a model's ``case … end as column`` gives."""

    def codes() -> set[str]:
        (file,) = (PROJECT / "models").rglob(f"{model}.sql")
        text = file.read_text("utf-8")
        opened: list[int] = []
        for word in _WORDS.finditer(text):
            if word[0] == "case":
                opened.append(word.start())
                continue
            start = opened.pop()
            if word[0] == f"end as {column}":
                return set(_CODE.findall(text[start : word.start()]))
        raise LookupError(f"{model}.{column}")

    return codes


def of_sql(file: str) -> Codes:
    """The codes that a model gives."""
    return lambda: set(_CODE.findall((PROJECT / "models" / file).read_text("utf-8")))


def of_type(literal: Any) -> Codes:
    """The codes of a contract."""
    return lambda: set(typing.get_args(literal))


def of_policy() -> set[str]:
    """The limits of a gate's policy, by the names of the rules."""
    tables = {"latency": gate.LatencyRules, "tokens": gate.TokenRules}
    tables |= {"cost": gate.CostRules}
    plain = {*gate.GatePolicy.model_fields, *gate.DimensionRules.model_fields}
    return (
        {name for name in plain if name.startswith(("min_", "max_"))}
        | {*gate.TagRules.model_fields}
    ) | {
        f"{table}_{name}"
        for table, rules in tables.items()
        for name in rules.model_fields
    }


def of(*codes: str) -> Codes:
    return lambda: set(codes)


VERDICTS = of_model("fct_task_comparisons", "verdict")
METRICS = (PROJECT / "macros" / "memory" / "memory_scores.sql").read_text("utf-8")
LEVELS = ("latency_p50", "cost_mean", "error_share")
STATUSES = of_model("fct_case_results", "status")

FREE = {
    *("context", "error_code", "payload", "target"),
    *("grade", "memory_category", "memory_invalid", "memory_stage", "metric", "note"),
}
"""Words for names that files and policies choose, where we have one for them."""

CODES: dict[str, list[Codes]] = {
    "advice": [of_type(gate.Advice)],
    "alert": [of_seed("alert_policy", "code")],
    "change": [
        of_model("fct_case_changes", "change"),
        of("must_have_lost", "must_have_gained", "newly_failing", "newly_fixed"),
    ],
    "comparison_measured": [
        lambda: VERDICTS() - {"not_comparable"}  # which names no values
    ],
    "comparison_note": [of_seed("comparison_notes", "note")],
    "comparison_reason": [of_seed("comparison_reasons", "reason")],
    "comparison_sentence": [VERDICTS],
    "comparison_subject": [of("overall", "dimension", "tag")],
    "decision": [of_type(gate.Decision)],
    "decision_sign": [of_type(gate.Decision)],
    "default_dimension": [of_seed("default_dimensions", "dimension_id")],
    "errors": [of_seed("error_categories", "category"), of("title", "of", "of_both")],
    "evidence_sentence": [of_sql("marts/scoring/fct_evidence.sql")],
    "gate_rule": [
        of_policy,
        of(
            "all_files",
            "all_rows",
            "allow_critical_alerts",
            "allow_missed_targets",
            "judged_cases",
            "new_answers",
            "newly_failing",
            "refuse_odds",
            "regression_max_drop",
            "require_history",
            "whole_rate",
        ),
    ],
    "gate_verdict": [of_type(gate.RuleVerdict)],
    "gap": [
        of_type(gate.NotCompared.model_fields["why"].annotation),
    ],
    "changed": [
        of_type(gate.Change.model_fields["what"].annotation),
        of("prompt_named", "model_named", "settings_named", "variant_named"),
    ],
    "case_state": [of("broken", "watched")],
    "rows_missing": [of("partial", "totals_only", "rejected", "duplicate")],
    "tag_unknown": [of("missing", "unevaluated")],
    "direction": [of("higher_better", "lower_better")],
    "judge_family": [of("same", "other")],
    "judge_length": [of("short", "medium", "long")],
    "judge_position": [of("first", "second")],
    "measure": [lambda: {unit for unit, digits in _DIGITS.items() if not digits}],
    "measure_verdict": [of_model("fct_measure_comparisons", "verdict")],
    "level": [
        of(*(f"{m}_{way}" for m in LEVELS for way in ("worse", "better"))),
        of("overall_score_better", "pass_rate_better"),  # a fall is in the decision
    ],
    "memory_metric": [lambda: set(re.findall(r'(?m)^    "(\w+)":', METRICS))],
    "memory_average": [of_model("fct_memory_scores", "average")],
    "memory_failed": [of_model("fct_memory_scores", "failed_calls")],
    "memory_operation": [of_model("fct_memory_timings", "operation")],
    "memory_view": [of_model("fct_memory_scores", "view")],
    "part_verdict": [VERDICTS],
    "rate_method": [of("labels_weighted", "corrected", "ppi_plus_plus")],
    "reason": [of_model("int_check_results", "reason")],
    "scope": [of_model("int_check_results", "scope")],
    "score_reason": [
        of_seed("score_reasons", "reason"),
        of_case("int_dimension_scores", "unscored_reason"),
        of_case("int_dimension_intervals", "ci_reason"),
    ],
    "scoring_mode": [of_type(analysis_input.ScoringMode)],
    "severity": [of_seed("severities", "severity")],
    "status": [STATUSES],
    "status_sign": [STATUSES],
    "target_sign": [of_type(analysis_result.TargetStatus)],
    "target_status": [of_type(analysis_result.TargetStatus)],
    "trend_measure": [of_seed("trend_measures", "measure")],
    "verdict": [VERDICTS],
    "verdict_sign": [VERDICTS],
}


@pytest.mark.parametrize("lang", languages())
@pytest.mark.parametrize("group", CODES)
def test_a_code_has_words_and_words_have_a_code(group: str, lang: str) -> None:
    entries = catalogue(lang).entries
    worded = {key.partition(".")[2] for key in entries if key.startswith(f"{group}.")}
    assert worded == set().union(*(codes() for codes in CODES[group]))


SEEDS = (
    ("alert_policy", "code"),
    ("comparison_notes", "note"),
    ("comparison_reasons", "reason"),
    ("score_reasons", "reason"),
)


@pytest.mark.parametrize(("seed", "column"), SEEDS)
def test_a_code_of_a_seed_is_given_by_a_model_or_at_ingest(
    seed: str, column: str
) -> None:
    texts = [*PROJECT.glob("models/**/*.sql"), *PROJECT.glob("macros/**/*.sql")]
    texts += (ROOT / "ingest").rglob("*.py")  # it checks the targets of dimensions
    given = set(_QUOTED.findall("\n".join(p.read_text("utf-8") for p in texts)))
    assert of_seed(seed, column)() - given == set()
