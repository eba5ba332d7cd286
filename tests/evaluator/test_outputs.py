"""Which output an expectation is compared with, and how the result says so."""

from __future__ import annotations

from typing import Any

import pytest

from promptlab.evaluator import EvaluationConfig, PipelineRun, UnifiedEvaluator

PIPELINE = {
    "id": "p",
    "steps": [
        {"id": "clean", "output_key": "cleaned_text"},
        {"id": "summarize", "output_key": "summary"},
    ],
}


def verdicts(case: dict[str, Any], run: dict[str, Any], **options: Any) -> dict:
    evaluator = UnifiedEvaluator(EvaluationConfig(), pipeline=options.get("pipeline"))
    result = evaluator.evaluate_run(
        "p",
        "v1",
        {"id": "c", **case},
        PipelineRun.from_fields(run),
        evaluation_target=options.get("target"),
    )
    return result.step_outputs


def final(
    expected: dict, run: dict, config: dict | None = None, **options: Any
) -> dict:
    case = {"expected_outputs": expected, "evaluation_config": config or {}}
    return verdicts(case, run, **options)["_final_evaluation"]


def reasons(verdict: dict) -> list[tuple[str, str]]:
    return [(each["pointer"], each["reason"]) for each in verdict["failures"]]


@pytest.mark.parametrize(
    ("step_outputs", "target", "source"),
    [
        ({"a": "x", "b": "y"}, "a", "evaluation_target:a"),
        ({"summary": "y", "cleaned_text": "x"}, "clean", "evaluation_target:cleaned_text"),
        ({"summary": "y", "clean": "x"}, "cleaned_text", "evaluation_target:clean"),
        ({}, "nowhere", "raw_output"),
    ],
)  # fmt: skip
def test_a_target_of_the_call_names_the_final_output(step_outputs, target, source):
    pipeline = None if "a" in step_outputs else PIPELINE
    run = {"step_outputs": step_outputs, "raw_output": "x"}
    verdict = final({"output": "x"}, run, pipeline=pipeline, target=target)
    assert (verdict["status"], verdict["actual_source"]) == ("pass", source)
    assert verdict["actual"] == {"output": "x"}


def test_a_field_that_is_nowhere_is_missing_and_the_others_are_judged():
    verdict = final({"a": {"x": 1}, "b": 2}, {"final_output": {"b": 3}})
    assert reasons(verdict) == [
        ("/a", "missing_field"),
        ("/a/x", "missing_field"),
        ("/b", "value_mismatch"),
    ]
    assert verdict["actual"] == {"b": 3}
    assert verdict["checks_total"] == 3


STRICT = {"strict_mode": True}


def test_the_strict_check_of_the_whole_counts_and_names_the_extra_keys():
    verdict = final({"a": 1}, {"final_output": {"z": 0, "a": 1, "b": 0}}, STRICT)
    assert verdict["checks_total"] == 2
    assert verdict["failures"][0]["actual"] == ["b", "z"]


@pytest.mark.parametrize("expected", [{}, {"t": 1}])
def test_a_final_scope_without_fields_is_not_evaluated(expected):
    case = {
        "expected_outputs": expected,
        "evaluation_config": {"ignore_fields": ["t"], "strict_mode": True},
    }
    assert "_final_evaluation" not in verdicts(case, {"final_output": {"a": 1}})
