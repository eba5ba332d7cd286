"""Many samples: the runner, statistics, saved results."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys
import threading
import time
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from promptlab.contracts.analysis_input import EvaluationRecord
from promptlab.contracts.testset import Pipeline, TestCase
from promptlab.errors import InputError, UsageError
from promptlab.evaluator import (
    EvaluationConfig,
    EvaluationResult,
    JsonText,
    PipelineEvaluator,
    PipelineRun,
    RuleConfig,
    RunInfo,
)
from promptlab.json_text.writing import compact_as_duckdb
from tests.ingest.at_once import read_results

CONFIG = {"id": "p", "steps": [{"id": "clean"}, {"id": "sum", "output_key": "summary"}]}


def sample(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "expected_outputs": {"summary": "好"}, **fields}


PASSING = sample("pass", step_outputs={"summary": "好"})
FAILING = sample("fail", step_outputs={"summary": "差"})
ERROR = sample("error", error="timeout")
UNEVALUATED = {"id": "none", "step_outputs": {"summary": "好"}}


def statuses(samples: list[Any], **options: Any) -> list[str]:
    result = PipelineEvaluator(CONFIG, **options).evaluate_pipeline(samples, "v1")
    return [each.status for each in result.sample_results]


# ---------- runner


def test_samples_that_carry_their_outputs_need_no_runner():
    assert statuses([PASSING, FAILING, ERROR, UNEVALUATED]) == [
        "pass",
        "fail",
        "error",
        "unevaluated",
    ]


@pytest.mark.parametrize(
    "runner",
    [
        lambda sample: {"summary": "好"},
        lambda sample, variant: {"summary": {"v1": "好"}[variant]},
        lambda sample, variant="v0": {"summary": {"v1": "好"}[variant]},
        lambda *arguments: {"summary": {"v1": "好"}[arguments[1]]},
        lambda sample: {"step_outputs": {}, "final_output": {"summary": "好"}},
        lambda sample: PipelineRun({"summary": "好"}),
        lambda sample: PipelineRun(raw_output="好"),
        lambda sample: {"summary": JsonText('"\\u597d"')},
    ],
)
def test_a_runner_gets_the_sample_and_the_variant_if_it_takes_it(runner):
    assert statuses([sample("a"), sample("b")], runner=runner) == ["pass", "pass"]


def test_a_runner_sees_the_whole_sample_and_cannot_change_it():
    seen = []

    def runner(given: dict[str, Any]) -> dict[str, Any]:
        seen.append(dict(given))
        given.clear()
        return {"summary": "好"}

    one = sample("a", inputs={"text": "x"}, custom=[1])
    assert statuses([one], runner=runner) == ["pass"]
    assert seen == [one]
    assert one == sample("a", inputs={"text": "x"}, custom=[1])


def test_a_runner_gets_a_test_case_as_it_is():
    case = TestCase.model_validate(sample("a", batch_items=[{"n": 1}]))
    seen = []

    def runner(given: TestCase) -> dict[str, Any]:
        seen.append(given)
        return {"summary": "好"}

    assert statuses([case], runner=runner) == ["pass"]
    assert seen == [case]


def test_outputs_in_the_sample_go_before_the_runner():
    def runner(_: Any) -> dict[str, Any]:
        raise AssertionError("must not run")

    assert statuses([PASSING], runner=runner) == ["pass"]


def test_a_runner_that_raises_makes_its_sample_an_error_and_the_others_go_on():
    def runner(given: dict[str, Any]) -> dict[str, Any]:
        if given["id"] == "b":
            raise TimeoutError("30 s")
        return {"summary": "好"}

    evaluator = PipelineEvaluator(CONFIG, runner=runner)
    result = evaluator.evaluate_pipeline([sample(name) for name in "abc"], "v1")
    assert [each.status for each in result.sample_results] == ["pass", "error", "pass"]
    broken = result.sample_results[1]
    assert broken.judge_feedback == "Pipeline 执行失败: TimeoutError: 30 s"
    assert broken.error == "TimeoutError: 30 s"
    assert broken.step_outputs["_final_evaluation"]["status"] == "fail"
    assert broken.must_have_pass is False


@pytest.mark.parametrize(
    "error", [AttributeError, ImportError, NameError, NotImplementedError, TypeError]
)
def test_a_programming_error_in_the_runner_is_raised(error):
    def runner(_: Any) -> str:
        raise error("misspelled")

    with pytest.raises(error, match="misspelled"):
        statuses([sample("a")], runner=runner)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"summary": {1, 2}}, "step_outputs/summary: set is not a JSON value"),
        ({"summary": math.nan}, "step_outputs/summary: nan is not a JSON number"),
        (None, "the runner returned NoneType; return a text, PipelineRun"),
        (["好"], "the runner returned list; return a text, PipelineRun"),
        (PipelineRun(final_output={1}), "set is not a JSON value"),
    ],
)
def test_a_runner_that_returns_no_output_is_reported_and_not_the_model(output, message):
    evaluator = PipelineEvaluator(CONFIG, runner=lambda _: output)
    with pytest.raises(UsageError, match=re.escape(message)):
        evaluator.evaluate_pipeline([sample("a")], "v1")


def test_a_runner_may_return_the_text_of_its_one_prompt():
    case = {"id": "a", "expected_outputs": {"output": "好"}}
    assert statuses([case], runner=lambda _: "好") == ["pass"]
    assert statuses([case], runner=lambda _: "差") == ["fail"]


async def answer(given: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0)
    if given["id"] == "b":
        raise TimeoutError("30 s")
    return {"summary": "好"}


def test_a_runner_may_be_async():
    samples = [sample("a"), sample("b")]
    assert statuses(samples, runner=answer) == ["pass", "error"]


def test_an_async_runner_works_where_an_event_loop_is_running():
    async def notebook() -> list[str]:
        return statuses([sample("a"), sample("b")], runner=answer)

    assert asyncio.run(notebook()) == ["pass", "error"]


@pytest.mark.parametrize("is_async", [False, True])
def test_rounds_run_at_the_same_time_and_come_back_in_order(is_async):
    meeting = threading.Barrier(4, timeout=10)
    arrived = []

    async def meet_async(given: dict[str, Any]) -> str:
        arrived.append(given["id"])
        while len(arrived) < 4:
            await asyncio.sleep(0)
        loops.add(id(asyncio.get_running_loop()))
        return "好"

    def meet(given: dict[str, Any]) -> str:
        meeting.wait()
        return "好"

    loops: set[int] = set()
    progress = []
    evaluator = PipelineEvaluator(CONFIG, runner=meet_async if is_async else meet)
    found = evaluator.evaluate_pipeline(
        [sample("a"), sample("b"), PASSING],
        repeats=2,
        concurrency=5,
        on_progress=lambda *each: progress.append(each),
    )
    names = [each.sample_id for each in found.sample_results]
    assert names == ["a", "a", "b", "b", "pass"]
    assert progress == [(n, 5) for n in range(1, 6)]
    assert len(loops) == is_async


def test_repeats_are_rounds_of_one_case():
    evaluator = PipelineEvaluator(CONFIG, runner=lambda _: "好")
    found = evaluator.evaluate_pipeline([sample("a")], repeats=3)
    file = read_results(found.to_jsonl().encode(), "run.jsonl")
    assert list(file.rows["rounds"]["round_id"]) == ["a-1", "a-2", "a-3"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_output_of_no_use_ends_the_rounds_that_wait(concurrency):
    asked = []

    def runner(given: dict[str, Any]) -> Any:
        asked.append(given["id"])
        if given["id"] == "0":
            return 5
        time.sleep(0.005)  # else all may be over before the first is looked at
        return "好"

    evaluator = PipelineEvaluator(CONFIG, runner=runner)
    with pytest.raises(UsageError, match="the runner returned int"):
        evaluator.evaluate_pipeline(
            [sample(str(n)) for n in range(1000)], concurrency=concurrency
        )
    assert len(asked) < 1000


@pytest.mark.parametrize(
    ("locale", "begins"),
    [
        ("zh_CN.UTF-8", "Pipeline 执行失败: "),
        ("en_US.UTF-8", "the pipeline failed: "),
        ("C", "the pipeline failed: "),
        ("de_DE.UTF-8", "the pipeline failed: "),
    ],
)
def test_feedback_is_in_the_language_of_the_locale_and_else_in_english(
    monkeypatch, locale, begins
):
    monkeypatch.setenv("LC_ALL", locale)
    evaluation = PipelineEvaluator(CONFIG).evaluate_pipeline([ERROR], "v1")
    (result,) = evaluation.sample_results
    assert result.judge_feedback == f"{begins}timeout"


def test_time_is_measured_around_a_runner_that_does_not_measure():
    ticks = count(0, 2.5)
    evaluator = PipelineEvaluator(
        CONFIG, runner=lambda _: {"summary": "好"}, clock=lambda: next(ticks)
    )
    (measured,) = evaluator.evaluate_pipeline([sample("a")], "v1").sample_results
    assert measured.execution_time == 2.5
    own = PipelineRun({"summary": "好"}, execution_time=0.0)
    evaluator = PipelineEvaluator(CONFIG, runner=lambda _: own)
    (reported,) = evaluator.evaluate_pipeline([sample("a")], "v1").sample_results
    assert reported.execution_time == 0.0


def test_a_sample_without_outputs_and_runner_is_a_teaching_error():
    with pytest.raises(
        UsageError, match=r"sample 'a' has no step_outputs.*runner="
    ) as e:
        statuses([PASSING, sample("a")])
    assert '"step_outputs": {…}' in str(e.value)


# ---------- pipeline


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        Pipeline.model_validate(CONFIG),
        SimpleNamespace(
            id="p",
            steps=[SimpleNamespace(id="clean"), {"id": "sum", "output_key": "s"}],
        ),
    ],
)
def test_a_pipeline_may_be_a_mapping_or_an_object(config):
    evaluator = PipelineEvaluator(config)
    assert evaluator.pipeline.id == "p"
    assert [step.id for step in evaluator.pipeline.steps] == ["clean", "sum"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("my_pipeline", r"pipeline_config is 'my_pipeline'; pass load_pipeline_config"),
        (None, "pipeline_config is None"),
        ({"steps": []}, "pipeline_config is"),
        ({"id": "p", "steps": {"a": 1}}, "pipeline 'p': steps is not a list"),
        ({"id": "p", "steps": [{"output_key": "x"}]}, "/steps/0: no id"),
    ],
)
def test_a_pipeline_that_is_none_is_reported_with_a_reason(config, message):
    with pytest.raises(UsageError, match=message):
        PipelineEvaluator(config)


def test_a_runner_that_yaml_only_names_is_none():
    config = Pipeline.model_validate({**CONFIG, "runner": "make run"})
    assert PipelineEvaluator(config).runner is None


# ---------- statistics


def test_the_success_rate_leaves_out_what_was_not_evaluated():
    result = PipelineEvaluator(CONFIG).evaluate_pipeline(
        [PASSING, PASSING, FAILING, ERROR, UNEVALUATED], "v1"
    )
    stats = result.overall_stats
    assert stats["total_samples"] == 5
    assert stats["success_rate"] == 0.5
    assert stats["must_have_pass_rate"] == 0.5
    assert [
        stats[f"{name}_samples"]
        for name in ("successful", "failed", "error", "unevaluated")
    ] == [2, 1, 1, 1]


def test_a_score_of_zero_is_a_score_and_a_missing_one_is_not_zero():
    def judge(request: Any) -> float:
        return {"a": 0, "b": 9}[request["sample_id"]]

    outputs = {"step_outputs": {"summary": "好"}}
    evaluator = PipelineEvaluator(CONFIG, judge=judge)
    result = evaluator.evaluate_pipeline(
        [sample(name, **outputs) for name in "abc"], "v1"
    )
    assert result.overall_stats["average_score"] == 4.5
    silent = evaluator.evaluate_pipeline([PASSING], "v1", apply_judge=False)
    assert math.isnan(silent.overall_stats["average_score"])


def test_statistics_over_nothing_are_nan():
    stats = PipelineEvaluator(CONFIG).evaluate_pipeline([]).overall_stats
    assert stats["total_samples"] == 0
    for name in ("success_rate", "average_score", "must_have_pass_rate"):
        assert math.isnan(stats[name])
    assert f"{stats['success_rate']:.2%} {stats['average_score']:.2f}" == "nan% nan"


def test_statistics_over_nothing_are_saved_as_null():
    saved = PipelineEvaluator(CONFIG).evaluate_pipeline([], "v1").to_dict()
    assert saved["overall_stats"]["average_score"] is None
    assert saved["overall_stats"]["total_samples"] == 0
    assert (saved["pipeline_id"], saved["variant"]) == ("p", "v1")
    assert saved["sample_results"] == []


def test_broken_rules_are_counted_by_name():
    config = EvaluationConfig(rules=[RuleConfig("r", "contains", value="好")])
    evaluator = PipelineEvaluator(CONFIG, config=config)
    samples = [PASSING, FAILING, FAILING]
    stats = evaluator.evaluate_pipeline(samples, "v1").overall_stats
    assert stats["rule_violations"] == {"r": 2}
    without = evaluator.evaluate_pipeline(samples, "v1", apply_rules=False)
    assert without.overall_stats["rule_violations"] == {}


# ---------- files


ODD = JsonText(
    '{"big": 12345678901234567890123, "e": 1e22, "z": -0.0, "twice": 1, "twice": 2,'
    ' "far": 1e400, "中": "\\u2028\\u0000😀", "": {"*": null}}'
)


def test_a_saved_run_is_read_back_without_loss(tmp_path):
    samples = [
        PASSING,
        FAILING,
        ERROR,
        sample("odd", step_outputs={"summary": ODD}, final_output=[]),
    ]
    evaluator = PipelineEvaluator(CONFIG)
    result = evaluator.evaluate_pipeline(samples, "v1", info=RunInfo(run_id="run-1"))
    path = result.save(tmp_path / "deep" / "results.jsonl")
    lines = path.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    assert len(lines) == 4
    read = [EvaluationResult.from_json(line) for line in lines]
    assert [each.to_json() for each in read] == lines
    assert read[:3] == result.sample_results[:3]
    assert read[3].final_output == []
    assert '"twice":1,"twice":2,"far":1e400' in lines[3]


def test_every_saved_line_is_the_record_that_ingest_reads():
    samples = [PASSING, FAILING, ERROR, UNEVALUATED]
    config = EvaluationConfig(rules=[RuleConfig("r", "contains", value="好")])
    evaluator = PipelineEvaluator(CONFIG, config=config)
    result = evaluator.evaluate_pipeline(samples, "v1", info=RunInfo(run_id="run-1"))
    for line, each in zip(result.to_jsonl().splitlines(), samples, strict=True):
        record = EvaluationRecord.model_validate_json(line)
        assert record.sample_id == each["id"]
        assert (record.run_id, record.entity_id, record.variant) == ("run-1", "p", "v1")
        assert set(record.model_extra) <= {
            "status",
            "judge",
            "rules",
            "evaluation_config",
        }


def test_ingest_reads_saved_results_and_changes_nothing():
    odd = JsonText(ODD.replace('"far": 1e400, ', ""))
    samples = [sample("odd", step_outputs={"summary": odd}), ERROR, FAILING]
    result = PipelineEvaluator(CONFIG).evaluate_pipeline(samples, "v1")
    reading = read_results(result.to_jsonl().encode(), "runs/a.jsonl")
    assert not reading.problems
    assert reading.records_loaded == 3
    rounds = reading.rows["rounds"]
    assert list(rounds["step_outputs"]) == [
        compact_as_duckdb(each.step_outputs) for each in result.sample_results
    ]
    assert list(rounds["error"]) == [None, "timeout", None]


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("final_output", {"final_output": {"summary": "好"}}),
        ("parsed_output", {"parsed_output": {"summary": "好"}}),
        ("evaluation_target:clean", {"step_outputs": {"clean": {"summary": "好"}}}),
    ],
)
def test_the_judged_final_output_is_kept_whatever_its_source(source, known):
    config = {**CONFIG, "evaluation_target": "clean"}
    evaluator = PipelineEvaluator(config)
    (result,) = evaluator.evaluate_pipeline([sample("a", **known)]).sample_results
    verdict = result.step_outputs["_final_evaluation"]
    assert (verdict["actual_source"], verdict["status"]) == (source, "pass")
    assert result.final_output == {"summary": "好"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "[]",
            "no evaluation result: needs entity_id, entity_type, sample_id, variant",
        ),
        ('{"sample_id": "a"}', "no evaluation result: needs"),
        (
            '{"sample_id":"a","entity_type":"p","entity_id":"p","variant":"v","x":1}',
            "unknown: x",
        ),
        ("{", "line 1, column 2"),
    ],
)
def test_a_line_that_is_no_result_is_refused(line, message):
    with pytest.raises(InputError, match=message):
        EvaluationResult.from_json(line)


def test_importing_the_evaluator_loads_no_engine():
    program = (
        "import sys, promptlab.evaluator; "
        "print([m for m in ('duckdb', 'polars', 'dbt', 'ingest') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
