"""One sample: scopes, flags, status, must-haves, judge, errors; and saved results."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from promptlab import PipelineEvaluator, Warehouse
from promptlab.contracts.testset import TestCase
from promptlab.errors import UsageError
from promptlab.evaluator import (
    EvaluationConfig,
    EvaluationResult,
    PipelineRun,
    RuleConfig,
    RunInfo,
    UnifiedEvaluator,
)
from tests.marts import only

# ---------- one sample: scopes, flags, status, must-haves, judge, errors


CASE: dict[str, Any] = {
    "id": "c1",
    "tags": ["情感"],
    "intermediate_expectations": {"clean": {"n": 1}},
    "expected_aggregation": {"total": 2},
    "expected_outputs": {"summary": "contains:好"},
}
OUTPUTS: dict[str, Any] = {
    "clean": {"n": 1},
    "aggregate": {"total": 2},
    "summary": "很好",
}
RULE = RuleConfig("short", "max_chars", value=5)
BROKEN = RuleConfig("long", "min_chars", value=50)
ADVICE = RuleConfig("polite", "min_chars", value=50, severity="should")
UNJUDGED = RuleConfig("few", "max_tokens", value=3)


def evaluate(
    case: dict[str, Any] | None = None,
    outputs: dict[str, Any] | None = None,
    *,
    evaluator: UnifiedEvaluator | None = None,
    **options: Any,
) -> EvaluationResult:
    return (evaluator or UnifiedEvaluator()).evaluate_pipeline_output(
        "p", "v1", case or CASE, OUTPUTS if outputs is None else outputs, **options
    )


def run(case: dict[str, Any] | None = None, **known: Any) -> EvaluationResult:
    evaluator = known.pop("evaluator", None) or UnifiedEvaluator()
    known.setdefault("step_outputs", OUTPUTS)
    return evaluator.evaluate_run("p", "v1", case or CASE, PipelineRun(**known))


def judging(answer: Any, **config: Any) -> UnifiedEvaluator:
    def judge(request: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return UnifiedEvaluator(EvaluationConfig(judge_enabled=True, **config), judge=judge)


# ---------- scopes and flags


def test_all_scopes_are_evaluated_without_asking():
    result = evaluate()
    assert (result.status, result.must_have_pass) == ("pass", True)
    verdicts = [key for key in result.step_outputs if key.startswith("_")]
    assert verdicts == [
        "_intermediate_evaluation",
        "_aggregation_evaluation",
        "_final_evaluation",
    ]


@pytest.mark.parametrize("scope", ["intermediate", "aggregation", "final"])
def test_an_explicit_false_switches_a_scope_off_wherever_it_stands(scope):
    flag = f"evaluate_{scope}"
    key = f"_{scope}_evaluation"
    by_case = evaluate({**CASE, "evaluation_config": {flag: False}}, **{flag: True})
    by_call = evaluate({**CASE, "evaluation_config": {flag: True}}, **{flag: False})
    assert key not in by_case.step_outputs
    assert key not in by_call.step_outputs
    assert by_case.status == by_call.status == "pass"


def test_a_switched_off_scope_gives_an_empty_answer():
    evaluator = UnifiedEvaluator()
    case = {
        **CASE,
        "evaluation_config": {
            "evaluate_intermediate": False,
            "evaluate_aggregation": False,
        },
    }
    assert evaluator.evaluate_intermediate_steps("p", "v", case, OUTPUTS) == {}
    assert evaluator.evaluate_aggregation_result("p", "v", case, {"total": 2}) == {}


def test_nothing_expected_gives_an_empty_answer_and_is_unevaluated():
    evaluator = UnifiedEvaluator()
    assert evaluator.evaluate_intermediate_steps("p", "v", {"id": "c"}, OUTPUTS) == {}
    assert evaluator.evaluate_aggregation_result("p", "v", {"id": "c"}, 1) == {}
    result = evaluate({"id": "c"})
    assert (result.status, result.must_have_pass) == ("unevaluated", None)
    assert result.step_outputs == OUTPUTS


def test_a_passed_aggregation_of_null_is_null_not_missing():
    verdict = UnifiedEvaluator().evaluate_aggregation_result("p", "v", CASE, None)
    assert [each["reason"] for each in verdict["failures"]] == [
        "type_mismatch",
        "missing_field",
    ]
    assert verdict["actual_source"] == "aggregation_output"


def test_the_short_form_expects_the_whole_output():
    assert evaluate({"id": "c", "expected_output": "很好"}).status == "pass"
    assert evaluate({"id": "c", "expected_output": "好"}).status == "fail"


def test_a_test_case_of_the_contract_is_a_case():
    case = TestCase.model_validate(CASE)
    assert evaluate(case).to_dict() == evaluate().to_dict()


def test_any_object_with_a_cases_attributes_is_a_case():
    case = SimpleNamespace(id="c", expected_outputs={"summary": "很好"})
    assert evaluate(case).status == "pass"


def test_tolerance_strict_and_ignore_reach_every_scope():
    case = {
        "id": "c",
        "intermediate_expectations": {"a": {"n": 1.0, "t": 0}},
        "expected_aggregation": {"n": 1.0, "t": 0},
        "expected_outputs": {"n": 1.0, "t": 0},
        "evaluation_config": {
            "tolerance": 0.1,
            "strict_mode": True,
            "ignore_fields": ["t"],
        },
    }
    near, extra = {"n": 1.1, "t": 5}, {"n": 1.1, "x": 1}
    outputs = {"a": near, "aggregate": near}
    assert evaluate(case, outputs, final_output=near).status == "pass"
    result = evaluate(case, {"a": extra, "aggregate": extra}, final_output=extra)
    verdicts = result.step_outputs
    for verdict in (
        verdicts["_intermediate_evaluation"]["a"],
        verdicts["_aggregation_evaluation"],
        verdicts["_final_evaluation"],
    ):
        assert [each["reason"] for each in verdict["failures"]] == ["unexpected_field"]


# ---------- sentences


def test_details_name_the_failures_and_count_the_rest():
    case = {"id": "c", "intermediate_expectations": {"s": list(range(8))}}
    evaluator = UnifiedEvaluator()
    outputs = {"s": [9] * 8}
    zh = evaluator.evaluate_intermediate_steps("p", "v", case, outputs)["s"]
    assert zh["details"].startswith("8 处不匹配：/0：期望 0，实际 9；/1：")
    assert zh["details"].endswith("/4：期望 4，实际 9；另有 3 处")
    assert len(zh["failures"]) == 8
    english = UnifiedEvaluator(lang="en")
    en = english.evaluate_intermediate_steps("p", "v", case, outputs)["s"]
    assert en["details"].startswith("8 mismatches: /0: expected 0, got 9; /1:")
    assert en["details"].endswith("; 3 more")


@pytest.mark.parametrize(
    ("expected", "actual", "zh", "en"),
    [
        ({"a": 1}, {"a": 1}, "所有字段匹配", "all fields match"),
        ({"a": 1}, {}, "1 处不匹配：/a：缺少字段，期望 1", "/a: missing, expected 1"),
        (5, "5", '（整体）：类型不同，期望 5，实际 "5"', '(whole): other type'),
        ("contains: 好 ", "x", '（整体）：期望包含 好，实际 "x"', "to contain 好, got"),
        ("regex:^a", "x", '期望匹配正则 ^a，实际 "x"', 'expected to match ^a, got "x"'),
        ([1], [1, 2], "期望 1 个元素，实际 2 个", "expected 1 elements, got 2"),
        ("regex:[", "x", "1 处未评估：（整体）：正则表达式", "1 not evaluated: "),
        ("a" * 100, "b", f'期望 "{"a" * 59}…，实际', f'expected "{"a" * 59}…, got'),
    ],
)  # fmt: skip
def test_details_say_what_differs_in_both_languages(expected, actual, zh, en):
    case = {"id": "c", "intermediate_expectations": {"s": expected}}
    for lang, words in (("zh", zh), ("en", en)):
        evaluator = UnifiedEvaluator(lang=lang)
        verdicts = evaluator.evaluate_intermediate_steps("p", "v", case, {"s": actual})
        assert words in verdicts["s"]["details"]


def test_a_missing_step_is_one_sentence():
    case = {"id": "c", "intermediate_expectations": {"s": {"a": 1, "b": 2}}}
    verdict = UnifiedEvaluator().evaluate_intermediate_steps("p", "v", case, {})["s"]
    assert verdict["details"] == "不匹配：没有输出，3 项检查全部落空"


def test_unexpected_fields_are_named():
    case = {
        "id": "c",
        "intermediate_expectations": {"s": {}},
        "evaluation_config": {"strict_mode": True},
    }
    outputs = {"s": {"z": 1, "a": 2}}
    verdict = UnifiedEvaluator().evaluate_intermediate_steps("p", "v", case, outputs)
    assert verdict["s"]["details"] == '1 处不匹配：（整体）：出现多余字段 ["a","z"]'


# ---------- nothing is changed, twice is the same


def test_inputs_are_never_changed_and_twice_gives_the_same():
    case, outputs = copy.deepcopy(CASE), copy.deepcopy(OUTPUTS)
    first = evaluate(case, outputs)
    first.step_outputs["clean"]["n"] = 99
    first.step_outputs["_intermediate_evaluation"]["clean"]["actual"]["n"] = 99
    assert (case, outputs) == (CASE, OUTPUTS)
    assert evaluate(case, outputs).to_json() == evaluate().to_json()


def test_an_evaluated_result_can_be_evaluated_again():
    first = evaluate()
    again = evaluate(outputs=first.step_outputs)
    assert again.to_json() == first.to_json()


def test_verdicts_of_another_case_do_not_stay():
    first = evaluate()
    result = evaluate({"id": "c2"}, first.step_outputs)
    assert result.step_outputs == OUTPUTS


def test_other_underscore_keys_are_kept():
    outputs = {**OUTPUTS, "_trace": {"id": 7}}
    assert evaluate(outputs=outputs).step_outputs["_trace"] == {"id": 7}


# ---------- status and must-haves


FAILING = {**CASE, "expected_aggregation": {"total": 3}}
INVALID = {**CASE, "expected_aggregation": {"total": "regex:["}}
ERRORS = ["boom", {"code": 500}, 1, True, [], {}]
NO_ERRORS = [None, "", False, 0]


@pytest.mark.parametrize(
    ("case", "rules", "known", "status", "must_have"),
    [
        (CASE, [], {}, "pass", True),
        (FAILING, [], {}, "fail", False),
        (INVALID, [], {}, "unevaluated", True),
        ({"id": "c", "expected_outputs": {"output": "regex:["}}, [], {},
         "unevaluated", None),
        ({"id": "c"}, [], {}, "unevaluated", None),
        ({"id": "c"}, [RULE], {}, "pass", True),
        ({"id": "c"}, [BROKEN], {}, "fail", False),
        (CASE, [RULE, BROKEN], {}, "fail", False),
        (CASE, [ADVICE], {}, "pass", True),
        ({"id": "c"}, [RULE, ADVICE], {}, "pass", True),
        ({"id": "c"}, [BROKEN, ADVICE], {}, "fail", False),
        ({"id": "c"}, [ADVICE], {}, "pass", None),
        ({"id": "c"}, [UNJUDGED, ADVICE], {}, "unevaluated", None),
        ({"id": "c"}, [UNJUDGED, RULE], {}, "unevaluated", True),
        (CASE, [], {"failed_steps": ["clean"]}, "error", False),
        ({"id": "c"}, [], {"failed_steps": ["clean"]}, "error", False),
        (CASE, [], {"error": "boom"}, "error", True),
        (FAILING, [], {"error": "boom"}, "error", False),
        (CASE, [], {"step_outputs": {}, "final_output": "[ERROR]"}, "error", False),
        ({"id": "c"}, [], {"final_output": "[ERROR]"}, "error", None),
    ],
)  # fmt: skip
def test_status_and_must_have_follow_from_the_parts(
    case, rules, known, status, must_have
):
    evaluator = UnifiedEvaluator(EvaluationConfig(rules=rules))
    result = run(case, evaluator=evaluator, **known)
    assert (result.status, result.must_have_pass) == (status, must_have)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_of_any_form_makes_the_sample_an_error(error):
    result = run(error=error)
    assert result.status == "error"
    assert result.judge_feedback.startswith("Pipeline 执行失败: ")
    assert isinstance(result.error, str | dict)


@pytest.mark.parametrize("error", NO_ERRORS)
def test_null_empty_false_and_zero_are_no_error(error):
    result = run(error=error)
    assert (result.status, result.error, result.judge_feedback) == ("pass", None, None)


def test_a_step_that_the_pipeline_can_do_without_may_fail():
    steps = [{"id": "clean"}, {"id": "extra", "output_key": "x", "required": False}]
    evaluator = UnifiedEvaluator(pipeline={"id": "p", "steps": steps})
    for name, status in (("extra", "pass"), ("x", "pass"), ("clean", "error")):
        assert run(evaluator=evaluator, failed_steps=[name]).status == status
    assert run(evaluator=evaluator, failed_steps=["unknown"]).status == "error"


# ---------- judge


def test_a_judge_gives_score_and_words():
    answer = {"overall_score": 8.5, "judge_feedback": "Good output"}
    result = evaluate(evaluator=judging(answer))
    assert (result.overall_score, result.judge_feedback) == (8.5, "Good output")
    assert (result.status, result.must_have_pass) == ("pass", True)
    assert result.judge == {"status": "scored", "must_have": None, "reason": None}


@pytest.mark.parametrize(("answer", "score"), [(7, 7.0), (0, 0.0), (10.0, 10.0)])
def test_a_bare_number_is_a_score(answer, score):
    result = evaluate(evaluator=judging(answer))
    assert result.overall_score == score
    assert isinstance(result.overall_score, float)


@pytest.mark.parametrize(
    ("case", "checks", "status", "must_have"),
    [
        (CASE, [{"satisfied": True}, {"satisfied": True}], "pass", True),
        (CASE, [{"satisfied": True}, {"satisfied": False}], "fail", False),
        (CASE, [True], "pass", True),
        (CASE, [], "pass", True),
        (FAILING, [{"satisfied": True}], "fail", False),
        (INVALID, [{"satisfied": True}], "unevaluated", True),
        ({"id": "c"}, [{"satisfied": True}], "pass", True),
        ({"id": "c"}, [], "unevaluated", None),
    ],
)
def test_a_judge_can_fail_a_sample_but_never_overwrite_a_failed_check(
    case, checks, status, must_have
):
    answer = {"overall_score": 9, "must_have_check": checks}
    result = evaluate(case, evaluator=judging(answer))
    assert (result.status, result.must_have_pass) == (status, must_have)
    assert result.overall_score == 9.0


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RuntimeError("no quota"), "RuntimeError: no quota"),
        (None, "overall_score is None, expected a number from 0 to 10"),
        ("good", "overall_score is 'good'"),
        (True, "overall_score is True"),
        (11, "overall_score is 11"),
        (-0.1, "overall_score is -0.1"),
        (float("nan"), "overall_score is nan"),
        ({"overall_score": "8"}, "overall_score is '8'"),
        ({"overall_score": 8, "judge_feedback": 5}, "judge_feedback is int, not text"),
        ({"overall_score": 8, "must_have_check": {}}, "must_have_check is dict"),
        ({"overall_score": 8, "must_have_check": [{"met": 1}]}, "each entry needs"),
    ],
)
def test_a_judge_that_fails_leaves_the_sample_unevaluated_and_says_why(answer, why):
    result = evaluate(evaluator=judging(answer))
    assert result.overall_score is None
    assert (result.status, result.must_have_pass) == ("unevaluated", True)
    assert result.judge["status"] == "unevaluated"
    assert why in result.judge["reason"]
    assert result.judge_feedback.startswith("Judge 评估失败: ")
    assert evaluate(FAILING, evaluator=judging(answer)).status == "fail"


def test_a_judge_may_say_that_it_cannot_judge():
    result = evaluate(evaluator=judging({"overall_score": None, "judge_feedback": "?"}))
    assert (result.status, result.overall_score) == ("unevaluated", None)
    assert result.judge_feedback == "?"


def test_a_judge_sees_copies_of_everything():
    seen: list[Any] = []

    def judge(request: Any) -> int:
        seen.append(copy.deepcopy(request))
        request["step_outputs"].clear()
        request["test_case"].clear()
        request["evaluations"].clear()
        return 5

    config = EvaluationConfig(
        judge_enabled=True, judge_agent_id="agent", judge_flow="flow"
    )
    case, outputs = copy.deepcopy(CASE), {**OUTPUTS, "_old": 1}
    result = evaluate(case, outputs, evaluator=UnifiedEvaluator(config, judge=judge))
    assert case == CASE
    assert result.step_outputs["clean"] == {"n": 1}
    assert "_final_evaluation" in result.step_outputs
    (request,) = seen
    assert request["step_outputs"] == OUTPUTS
    assert request["final_output"] == "很好"
    assert (request["judge_agent_id"], request["judge_flow"]) == ("agent", "flow")
    assert request["evaluations"]["_final_evaluation"]["matched"] is True


def test_a_judge_is_asked_only_when_it_is_enabled_wanted_and_there_is_an_answer():
    calls: list[Any] = []

    def judge(request: Any) -> int:
        calls.append(request)
        return 5

    off = UnifiedEvaluator(EvaluationConfig(), judge=judge)
    on = UnifiedEvaluator(EvaluationConfig(judge_enabled=True), judge=judge)
    assert evaluate(evaluator=off).judge is None
    unwanted = on.evaluate_run("p", "v", CASE, PipelineRun(OUTPUTS), apply_judge=False)
    assert unwanted.judge is None
    assert run(evaluator=on, error="boom").judge["status"] == "not_run"
    assert calls == []


def test_a_judge_that_was_not_given_is_no_verdict():
    result = evaluate(evaluator=UnifiedEvaluator(EvaluationConfig(judge_enabled=True)))
    assert result.status == "pass"
    assert result.judge == {
        "status": "not_run",
        "must_have": None,
        "reason": "no_judge",
    }
    assert "judge=" in result.judge_feedback


# ---------- faults of the call


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({}, "test case: id: missing"),
        ({"id": " "}, "test case: id: found ' ', expected a non-blank text"),
        ({"id": True}, "test case: id: found True"),
        (5, "test case is int; pass an object"),
        ({"id": "c", "tags": "x"}, "tags: found 'x', expected a list"),
        ({"id": "c", "expected_outputs": [1]}, "expected_outputs: found list"),
        ({"id": "c", "intermediate_expectations": 5}, "intermediate_expectations: fou"),
        ({"id": "c", "evaluation_config": {"tolerance": True}}, "evaluation_config/to"),
        ({"id": "c", "evaluation_config": {"tolerance": -1}}, r"found -1: .* equal"),
        ({"id": "c", "evaluation_config": {"strict_mode": 1}}, "/strict_mode: found 1"),
        ({"id": "c", "evaluation_config": {"ignore_fields": "a"}}, "/ignore_fields: f"),
        ({"id": "c", "evaluation_config": {"evaluate_final": None}}, "/evaluate_final"),
        ({"id": "c", "expected_outputs": {"a": {1}}}, "^expected_outputs/a: set is no"),
        ({"id": "c", "expected_aggregation": float("nan")}, "aggregation: nan is"),
    ],
)  # fmt: skip
def test_a_case_that_is_none_is_reported_with_a_reason(case, message):
    with pytest.raises(UsageError, match=message):
        UnifiedEvaluator().evaluate_pipeline_output("p", "v", case, {})


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (None, "step_outputs is NoneType; pass an object: step → output"),
        ([1], "step_outputs is list"),
        (
            {"s": {"t": datetime(2024, 1, 1)}},
            "^step_outputs/s/t: datetime is not a JSON",
        ),
        ({"s": float("inf")}, "^step_outputs/s: inf is not a JSON number"),
    ],
)
def test_outputs_that_are_no_json_are_pointed_at(outputs, message):
    with pytest.raises(UsageError, match=message):
        UnifiedEvaluator().evaluate_pipeline_output("p", "v", CASE, outputs)


@pytest.mark.parametrize(("pipeline", "variant"), [("", "v1"), ("p", " ")])
def test_a_result_must_be_distinguished_from_others(pipeline, variant):
    with pytest.raises(UsageError, match=r"is .*; a result needs a non-blank text"):
        UnifiedEvaluator().evaluate_pipeline_output(pipeline, variant, CASE, OUTPUTS)


def test_an_unknown_language_is_refused():
    with pytest.raises(UsageError, match="lang is 'fr'; choose zh or en"):
        UnifiedEvaluator(lang="fr")


def test_an_integer_id_is_its_text():
    assert evaluate({**CASE, "id": 7}).sample_id == "7"


# ---------- what a result carries


def test_a_result_carries_what_is_known_of_run_and_sample():
    info = RunInfo(
        run_id="run-1",
        testset="documents",
        title="摘要",
        prompt_version="v3",
        model="vendor/model",
        triggered_by="ci",
        created_at=datetime(2024, 10, 24, 12, 30, tzinfo=UTC),
    )
    known = PipelineRun(
        OUTPUTS,
        raw_output="很好",
        execution_time=1.5,
        input_tokens=0,
        output_tokens=7,
        executed_at="2024-10-24T12:31:05Z",
    )
    evaluator = UnifiedEvaluator(pipeline={"id": "p", "steps": [{"id": "summary"}]})
    result = evaluator.evaluate_run("p", "v1", CASE, known, info=info)
    written = json.loads(result.to_json())
    assert {
        key: written[key]
        for key in ("run_id", "testset", "title", "model", "triggered_by", "pipeline")
    } == {
        "run_id": "run-1",
        "testset": "documents",
        "title": "摘要",
        "model": "vendor/model",
        "triggered_by": "ci",
        "pipeline": "p",
    }
    assert written["created_at"] == "2024-10-24T12:30:00+00:00"
    assert written["executed_at"] == "2024-10-24T12:31:05Z"
    assert (written["input_tokens"], written["output_tokens"]) == (0, 7)
    assert written["tags"] == ["情感"]
    assert "error" not in written


# ---------- a saved evaluation keeps its verdicts: it loads without its testset


CONFIG = {"id": "greet", "steps": [{"id": "reply"}]}
SAMPLES = [
    {"id": "right", "expected_outputs": {"reply": "hello"}},
    {"id": "wrong", "expected_outputs": {"reply": "goodbye"}},
    {"id": "free"},
    {"id": "down", "expected_outputs": {"reply": "hello"}},
]


def runner(sample):
    if sample["id"] == "down":
        raise TimeoutError("30 s")
    return {"reply": "hello"}


def statuses(warehouse: Warehouse) -> dict[str, str]:
    found = warehouse.sql("select case_id, status from marts.fct_case_results")
    return dict(found.rows())


@pytest.mark.parametrize("executed_at", [None, "2026-01-02T03:04:05Z"])
def test_a_saved_run_says_when_it_ran_and_which_model_answered(tmp_path, executed_at):
    samples = SAMPLES
    if executed_at is not None:
        outputs = {"step_outputs": {"reply": "hello"}, "executed_at": executed_at}
        samples = [{**one, **outputs} for one in SAMPLES]
    before = datetime.now(UTC)
    evaluation = PipelineEvaluator(CONFIG, runner=runner).evaluate_pipeline(
        samples, info=RunInfo(model="small")
    )
    evaluation.save(tmp_path / "results.jsonl")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    [load] = warehouse.ingest(tmp_path / "results.jsonl").files
    assert load.problems == []
    [(model, at)] = warehouse.sql("select model, created_at from raw.tasks").rows()
    assert model == "small"
    if executed_at is None:
        assert before <= at <= datetime.now(UTC)
    else:
        assert at == datetime.fromisoformat(executed_at)


@only("fct_case_results")
def test_its_verdicts_count_where_no_testset_is_known_and_give_way_to_one(tmp_path):
    evaluation = PipelineEvaluator(CONFIG, runner=runner).evaluate_pipeline(SAMPLES)
    said = {each.sample_id: each.status for each in evaluation.sample_results}
    assert said == {
        "right": "pass", "wrong": "fail", "free": "unevaluated", "down": "error"
    }  # fmt: skip
    evaluation.save(tmp_path / "results.jsonl")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path / "results.jsonl")
    warehouse.build()
    assert statuses(warehouse) == said

    # an expectation that was corrected since decides instead
    corrected = [{**one, "expected_outputs": {"reply": "hello"}} for one in SAMPLES]
    lines = [json.dumps({**one, "inputs": {}}) for one in corrected]
    (tmp_path / "greet_case_v1.jsonl").write_text("\n".join(lines))
    warehouse.ingest(tmp_path / "greet_case_v1.jsonl")
    warehouse.ingest(tmp_path / "results.jsonl", testset="greet_case_v1")
    warehouse.build()
    assert statuses(warehouse) == {
        "right": "pass", "wrong": "pass", "free": "pass", "down": "error"
    }  # fmt: skip
