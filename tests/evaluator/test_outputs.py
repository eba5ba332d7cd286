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
    ("step_outputs", "status", "source"),
    [
        ({"clean": "x", "cleaned_text": "y"}, "pass", "step_id"),
        ({"cleaned_text": "x"}, "pass", "output_key:cleaned_text"),
        ({"clean": None, "cleaned_text": "x"}, "fail", "step_id"),
        ({"summary": "x"}, "fail", None),
        ({}, "fail", None),
    ],
)
def test_a_step_is_found_by_its_id_and_then_by_its_output_key(
    step_outputs, status, source
):
    case = {"intermediate_expectations": {"clean": "x"}}
    run = {"step_outputs": step_outputs}
    verdict = verdicts(case, run, pipeline=PIPELINE)["_intermediate_evaluation"][
        "clean"
    ]
    assert (verdict["status"], verdict["actual_source"]) == (status, source)


def test_without_a_pipeline_a_step_is_only_what_its_key_says():
    case = {"intermediate_expectations": {"clean": "x"}}
    verdict = verdicts(case, {"step_outputs": {"cleaned_text": "x"}})
    assert reasons(verdict["_intermediate_evaluation"]["clean"]) == [
        ("", "missing_step")
    ]


def test_earlier_verdicts_are_never_matched():
    case = {
        "intermediate_expectations": {"_final_evaluation": {"matched": True}},
        "expected_aggregation": {"matched": True},
        "expected_outputs": {"_aggregation_evaluation": {"matched": True}},
    }
    run = {
        "step_outputs": {
            "_aggregation_evaluation": {"matched": True},
            "_final_evaluation": {"matched": True},
        }
    }
    result = verdicts(case, run)
    assert result["_intermediate_evaluation"]["_final_evaluation"]["status"] == "fail"
    assert result["_aggregation_evaluation"]["actual_source"] is None
    assert result["_final_evaluation"]["actual_source"] is None


@pytest.mark.parametrize(
    ("run", "source"),
    [
        (
            {"step_outputs": {"batch": {"n": 0}, "my_Aggregated": {"n": 1}}},
            "aggregation_key:my_Aggregated",
        ),
        (
            {"step_outputs": {"aggregate": None, "AGGREGATION": {"n": 1}}},
            "aggregation_key:AGGREGATION",
        ),
        (
            {"step_outputs": {"x_aggregat": {"n": 1}, "aggregat": {"n": 0}}},
            "aggregation_key:x_aggregat",
        ),
        ({"step_outputs": {"Batch_1": {"n": 1}}}, "aggregation_key:Batch_1"),
        (
            {"step_outputs": {"aggregate": None}, "final_output": {"n": 1}},
            "final_output",
        ),
        (
            {"step_outputs": {"_aggregation_evaluation": {"n": 0}, "s": {"n": 1}}},
            "evaluation_target:s",
        ),
        ({"parsed_output": {"n": 1}}, "parsed_output"),
    ],
)
def test_the_aggregation_is_found_by_its_name_else_it_is_the_final_output(run, source):
    verdict = verdicts({"expected_aggregation": {"n": 1}}, run)[
        "_aggregation_evaluation"
    ]
    assert (verdict["status"], verdict["actual_source"]) == ("pass", source)


def test_an_aggregation_that_is_nowhere_fails_every_check():
    verdict = verdicts({"expected_aggregation": {"n": 1}}, {"error": "boom"})
    assert reasons(verdict["_aggregation_evaluation"]) == [
        ("", "missing_step"),
        ("/n", "missing_step"),
    ]


@pytest.mark.parametrize(
    ("run", "options", "source"),
    [
        ({"final_output": "x", "step_outputs": {"s": "y"}}, {}, "final_output"),
        ({"step_outputs": {"a": "y", "b": "x"}}, {}, "evaluation_target:b"),
        ({"step_outputs": {"a": "x", "_b": "y"}}, {}, "evaluation_target:a"),
        (
            {"step_outputs": {"a": "x", "b": "y"}},
            {"target": "a"},
            "evaluation_target:a",
        ),
        (
            {"step_outputs": {"summary": "x", "cleaned_text": "y"}},
            {"pipeline": PIPELINE},
            "evaluation_target:summary",
        ),
        (
            {"step_outputs": {"summary": "y", "cleaned_text": "x"}},
            {"pipeline": PIPELINE, "target": "clean"},
            "evaluation_target:cleaned_text",
        ),
        (
            {"step_outputs": {"summary": "y", "clean": "x"}},
            {"pipeline": PIPELINE, "target": "cleaned_text"},
            "evaluation_target:clean",
        ),
        (
            {"step_outputs": {"summary": "y", "cleaned_text": "x"}},
            {"pipeline": PIPELINE | {"evaluation_target": "clean"}},
            "evaluation_target:cleaned_text",
        ),
        (
            {"step_outputs": {"other": "y"}, "parsed_output": "x", "raw_output": "y"},
            {"pipeline": PIPELINE},
            "parsed_output",
        ),
        ({"raw_output": "x"}, {}, "raw_output"),
        ({"raw_output": "x"}, {"target": "nowhere"}, "raw_output"),
    ],
)
def test_the_final_output_is_the_first_of_its_places(run, options, source):
    verdict = final({"output": "x"}, run, **options)
    assert (verdict["status"], verdict["actual_source"]) == ("pass", source)
    assert verdict["actual"] == {"output": "x"}


def test_a_final_output_of_null_is_not_given_but_a_null_step_is_an_output():
    run = {"final_output": None, "step_outputs": {"s": None}, "raw_output": "x"}
    verdict = final({"output": None}, run)
    assert (verdict["status"], verdict["actual_source"]) == (
        "pass",
        "evaluation_target:s",
    )


@pytest.mark.parametrize(
    ("expected", "run", "options", "source"),
    [
        ({"a": 1, "b": 2}, {"final_output": {"a": 1, "b": 2}}, {}, "final_output"),
        (
            {"a": 1, "b": 2},
            {"final_output": {"a": 1}, "step_outputs": {"a": 9, "b": 2}},
            {},
            "final_output+step_outputs",
        ),
        (
            {"a": 1, "b": 2},
            {"final_output": "x", "step_outputs": {"a": 1, "b": 2}},
            {},
            "step_outputs",
        ),
        ({"output": "x", "n": 1}, {"final_output": "x", "step_outputs": {"n": 1}}, {},
         "final_output+step_outputs"),
        ({"anything": "x"}, {"final_output": "x"}, {}, "final_output"),
        ({"anything": {"k": 1}}, {"final_output": {"k": 1}}, {}, "final_output"),
        (
            {"summary": "x", "n": 1},
            {"final_output": "x", "step_outputs": {"n": 1}},
            {"pipeline": PIPELINE},
            "final_output+step_outputs",
        ),
        ({"summary": "x", "cleaned_text": "y"},
         {"step_outputs": {"cleaned_text": "y", "summary": "x"}},
         {"pipeline": PIPELINE}, "step_outputs"),
    ],
)  # fmt: skip
def test_a_field_comes_from_the_final_object_else_a_step_else_it_is_the_whole(
    expected, run, options, source
):
    verdict = final(expected, run, **options)
    assert (verdict["status"], verdict["actual_source"]) == ("pass", source)


def test_a_field_that_is_nowhere_is_missing_and_the_others_are_judged():
    verdict = final({"a": {"x": 1}, "b": 2}, {"final_output": {"b": 3}})
    assert reasons(verdict) == [
        ("/a", "missing_field"),
        ("/a/x", "missing_field"),
        ("/b", "value_mismatch"),
    ]
    assert verdict["actual"] == {"b": 3}
    assert verdict["checks_total"] == 3


def test_without_any_final_output_every_check_misses_its_step():
    verdict = final({"a": {"x": 1}, "b": 2}, {"error": "boom"})
    assert {reason for _, reason in reasons(verdict)} == {"missing_step"}
    assert verdict["actual"] is None


def test_pointers_of_the_final_scope_start_with_the_field():
    verdict = final({"a/b": [1], "": {"~": 2}}, {"final_output": {"a/b": [2], "": {}}})
    assert reasons(verdict) == [
        ("/a~1b/0", "value_mismatch"),
        ("//~0", "missing_field"),
    ]


STRICT = {"strict_mode": True}


@pytest.mark.parametrize(
    ("run", "expected", "failures"),
    [
        ({"final_output": {"a": 1}}, {"a": 1}, []),
        (
            {"final_output": {"a": 1, "z": 0, "b": 0}},
            {"a": 1},
            [("", "unexpected_field")],
        ),
        ({"final_output": {"a": 1, "t": 0}}, {"a": 1}, [("", "unexpected_field")]),
        (
            {"final_output": {"a": {"b": 1, "c": 2}}},
            {"a": {"b": 1}},
            [("/a", "unexpected_field")],
        ),
        (
            {"final_output": {"a": 1, "z": 0}, "step_outputs": {"b": 2}},
            {"a": 1, "b": 2},
            [],
        ),
        ({"final_output": "x"}, {"output": "x"}, []),
        (
            {"final_output": {"k": 1, "z": 2}},
            {"output": {"k": 1}},
            [("/output", "unexpected_field")],
        ),
    ],
)
def test_strict_looks_at_the_whole_only_if_every_field_came_from_it(
    run, expected, failures
):
    assert reasons(final(expected, run, STRICT)) == failures


def test_the_strict_check_of_the_whole_counts_and_names_the_extra_keys():
    verdict = final({"a": 1}, {"final_output": {"z": 0, "a": 1, "b": 0}}, STRICT)
    assert verdict["checks_total"] == 2
    assert verdict["failures"][0]["actual"] == ["b", "z"]


def test_ignored_fields_of_the_final_output_are_not_expected():
    config = {"ignore_fields": ["t"], "strict_mode": True}
    run = {"final_output": {"a": 1, "t": 2}}
    assert final({"a": 1, "t": 9}, run, config)["status"] == "pass"
    assert final({"x": "y", "t": 9}, {"final_output": "y"}, config)["status"] == "pass"


@pytest.mark.parametrize("expected", [{}, {"t": 1}])
def test_a_final_scope_without_fields_is_not_evaluated(expected):
    case = {
        "expected_outputs": expected,
        "evaluation_config": {"ignore_fields": ["t"], "strict_mode": True},
    }
    assert "_final_evaluation" not in verdicts(case, {"final_output": {"a": 1}})
