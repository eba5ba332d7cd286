"""DeepEval: one run up to three times, directions that no file names, broken judges."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table

EARLY = DATA / "deepeval" / "early"
LATE = DATA / "deepeval" / "late" / ".latest_run_full.json"


@pytest.fixture(scope="module")
def late() -> Reading:
    return reading_of(LATE)


def _changed(into: Path, **changes: Any) -> Reading:
    """The late run with a first test case of another kind."""
    run = json.loads(LATE.read_text("utf-8"))
    run["testCases"][0] |= changes
    file = into / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    return reading_of(file)


def test_a_case_has_the_id_its_author_gave_it_or_is_known_by_its_question(
    late: Reading,
) -> None:
    ids = table(late, "cases")["case_id"].to_list()
    assert ids[2] == "danube"
    assert ids[0].startswith("Where does the Nile end?")
    assert len(ids) == 4  # one is asked twice
    assert table(reading_of(EARLY), "cases")["case_id"].to_list() == ids


def test_what_was_retrieved_belongs_to_the_answer_and_not_to_the_question(
    late: Reading, tmp_path: Path
) -> None:
    found = _changed(tmp_path, retrievalContext=["a page"], metadata={"took": 3})
    assert (
        table(found, "cases")
        .drop("task_id")
        .equals(table(late, "cases").drop("task_id"))
    )
    about = json.loads(table(found, "rounds")["metadata"][0])
    assert (about["retrieval_context"], about["metadata"]) == (["a page"], {"took": 3})


def test_three_copies_of_a_run_are_loaded_once_and_each_is_named(
    tmp_path: Path,
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    loads = warehouse.ingest(LATE.parent).files
    assert [load.status for load in loads] == ["loaded", "skipped"]
    named = {problem.message for load in loads for problem in load.problems}
    assert {problem.code for load in loads for problem in load.problems} == {
        "copy_of_run",
        "time_missing",
    }
    for copy in (".latest_test_run.json", ".temp_test_run_data.json"):
        assert any(copy in message for message in named)
    assert warehouse.sql("select count(*) from live.rounds").item() == 5


def test_what_was_written_of_another_run_is_loaded_too(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LATE.parent, tmp_path / "work"))
    partial = folder / ".temp_test_run_data.json"
    run = json.loads(partial.read_text("utf-8"))
    run["testCases"][0]["actualOutput"] = "the sea, I think"
    partial.write_text(json.dumps(run), "utf-8")
    assert len([kind for _, kind in plan([folder]) if kind]) == 2
    warehouse = Warehouse(tmp_path / "w.duckdb")
    problems = [p for load in warehouse.ingest(folder).files for p in load.problems]
    assert sorted(p.code for p in problems) == [
        "copy_of_run",
        "run_incomplete",
        "time_missing",
    ]
    assert warehouse.sql("select count(*) from live.tasks").item() == 2


def test_a_metric_is_a_check_and_a_score(late: Reading) -> None:
    checks = table(late, "reported_checks").filter(name="Words")
    assert checks["threshold"].to_list() == [2.0] * 5
    scores = table(late, "reported_scores").filter(dimension_id="Words")
    assert scores["value"].to_list() == [1.0, 1.0, 3.0, None, 1.0]


def test_a_metric_that_succeeds_below_its_threshold_is_better_the_lower_it_is(
    late: Reading,
) -> None:
    dimensions = table(late, "dimension_configs")
    assert dimensions.select("dimension_id", "direction", "is_graded").rows() == [
        ("Exact Match", "higher_better", True),
        ("Words", "lower_better", False),
    ]


@pytest.mark.parametrize(
    ("value", "threshold", "expected"),
    [(0.2, 0.5, 0.8), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)],
    ids=["below its threshold", "strict, without faults", "strict, perfect"],
)
def test_a_share_that_is_better_the_lower_it_is_scores_what_is_missing_to_1(
    value: float, threshold: float, expected: float, tmp_path: Path
) -> None:
    metric = {"name": "Bias", "score": value, "threshold": threshold, "success": True}
    reading = _changed(tmp_path, metricsData=[metric])
    (score,) = (
        table(reading, "reported_scores").filter(dimension_id="Bias").rows(named=True)
    )
    assert (score["value"], score["score"]) == (value, expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, 1.0) for name in ("Toxicity", "Hallucination", "Misuse", "Bias~2")),
        *((name, 0.0) for name in ("Answer Relevancy", "Role Violation", "A [GEval]")),
    ],
)
def test_only_what_counts_faults_is_best_at_0_where_a_threshold_of_0_asks_nothing(
    name: str, expected: float, tmp_path: Path
) -> None:
    metric = {"name": name, "score": 0.0, "threshold": 0.0, "success": True}
    reading = _changed(tmp_path, metricsData=[metric])
    score = table(reading, "reported_scores").filter(dimension_id=name)["score"]
    assert score.to_list() == [expected]


@pytest.mark.parametrize(
    ("threshold", "is_graded"), [(0.0, False), (0.5, True)], ids=["0", "0.5"]
)
def test_a_metric_of_ones_own_that_is_0_at_a_threshold_of_0_decides_nothing(
    threshold: float, is_graded: bool, tmp_path: Path
) -> None:
    metric = {"name": "Mine", "score": 0.0, "threshold": threshold, "success": True}
    reading = _changed(tmp_path, metricsData=[metric])
    dimensions = table(reading, "dimension_configs").filter(dimension_id="Mine")
    assert dimensions["is_graded"].to_list() == [is_graded]
    codes = [problem.code for problem in reading.problems]
    assert ("unclear_direction" in codes) is not is_graded


def test_a_metric_that_is_read_the_other_way_round_is_another_yardstick(
    tmp_path: Path,
) -> None:
    metric = {"name": "Hallucination", "threshold": 1.0, "success": True}
    said = [
        table(
            _changed(tmp_path, metricsData=[metric | {"score": score}]),
            "dimension_configs",
        )
        .filter(dimension_id="Hallucination")["parameters"]
        .item()
        for score in (0.0, 1.0)
    ]
    assert [json.loads(each).get("higher_is_better") for each in said] == [False, None]


VERDICTS = [
    ([("a", 1.0, True)], True, "pass"),
    ([("a", 0.0, False)], False, "fail"),
    ([("a", None, False)], False, "unevaluated"),
    ([("a", None, False), ("b", 0.0, False)], False, "fail"),
    ([], True, "unevaluated"),
]


@pytest.mark.parametrize(("metrics", "success", "status"), VERDICTS)
def test_the_verdict_is_deepevals_where_something_was_judged(
    metrics: list[tuple[Any, ...]],
    success: bool,
    status: str,
    tmp_path: Path,
) -> None:
    keys = ("name", "score", "success")
    data = [dict(zip(keys, metric, strict=True)) for metric in metrics]
    reading = _changed(tmp_path, metricsData=data, success=success)
    (first, *_) = table(reading, "rounds").rows(named=True)
    assert first["reported_status"] == status


def test_seconds_become_milliseconds_and_cost_is_the_answers_own(late: Reading) -> None:
    (first, *_) = table(late, "rounds").rows(named=True)
    assert first["latency_ms"] == 500
    assert json.loads(first["metadata"])["cost"] == 0.002


def test_a_negative_latency_or_cost_is_missing_with_a_warning(tmp_path: Path) -> None:
    reading = _changed(tmp_path, completionTime=-1, tokenCost=-0.25)
    first = table(reading, "rounds").row(0, named=True)
    assert first["latency_ms"] is None
    assert "cost" not in json.loads(first["metadata"])
    assert [each.code for each in reading.problems[-2:]] == [
        "number_negative", "odd_cost"
    ]  # fmt: skip


def test_a_conversation_is_known_by_its_scenario(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
    talk = {"scenario": "greets", "turns": turns, "success": True, "metricsData": []}
    run = {"testCases": [], "conversationalTestCases": [talk], "metricsScores": []}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(run), "utf-8")
    (row,) = table(reading_of(file), "rounds").rows(named=True)
    assert row["case_id"] == "greets"
    assert row["raw_output"] == "Yes"


@pytest.mark.parametrize(
    "name", ["Kind [GEval]", "Kind [Conversational GEval]", "Kind [ConversationalDAG]"]
)
def test_a_metric_of_g_eval_or_a_dag_is_graded(name: str, tmp_path: Path) -> None:
    metric = {"name": name, "score": 0.97, "threshold": 0.5, "success": True}
    dimensions = table(_changed(tmp_path, metricsData=[metric]), "dimension_configs")
    [is_graded] = dimensions.filter(dimension_id=name)["is_graded"]
    assert is_graded


def test_a_metric_without_a_threshold_is_no_verdict(tmp_path: Path) -> None:
    metric = {"name": "Faithfulness", "score": 0.9, "threshold": None, "success": None}
    reading = _changed(tmp_path, metricsData=[metric], success=None)
    assert table(reading, "rounds")["reported_status"][0] == "unevaluated"


def _expectation(condition: str, status: str, kind: str = "MUST") -> dict[str, str]:
    return {"kind": kind, "condition": condition, "status": status, "reason": "so"}


def test_an_expectation_is_a_check_with_its_reason(tmp_path: Path) -> None:
    verdicts = [
        _expectation("name a sea", "pass"),
        _expectation("leak a key", "fail", "MUST_NOT"),
    ]
    reading = _changed(
        tmp_path,
        metricsData=[],
        expectationsData={
            "success": False,
            "score": 0.0,
            "verdicts": verdicts,
            "evaluationModel": "acme/judge",
        },
        success=False,
    )
    judges = table(reading, "judges").select("name", "model").rows()
    assert ("Expectations", "acme/judge") in judges
    first = table(reading, "rounds").row(0, named=True)
    assert first["reported_status"] == "fail"
    checks = table(reading, "reported_checks").filter(type="expectation")
    assert checks.select("name", "passed", "reason", "position").rows() == [
        ("must name a sea", True, "so", 0),
        ("must not leak a key", False, "so", 1),
    ]
    scores = table(reading, "reported_scores").filter(dimension_id="Expectations")
    assert scores["score"].to_list() == [0.0]


EXPECTATIONS = [
    ({"success": True, "score": 1.0}, ["pass"], "pass"),
    ({"success": True, "score": 1.0}, [], "pass"),
    ({"success": False, "score": 0.0}, ["pass", "fail"], "fail"),
    ({"success": False, "error": "no"}, ["pass", "unable_to_evaluate"], "unevaluated"),
    ({"success": False, "error": "no"}, [], "unevaluated"),
]


@pytest.mark.parametrize(("data", "verdicts", "status"), EXPECTATIONS)
def test_expectations_count_in_the_verdict(
    data: dict[str, Any], verdicts: list[str], status: str, tmp_path: Path
) -> None:
    judged = [_expectation(f"do {n}", each) for n, each in enumerate(verdicts)]
    reading = _changed(
        tmp_path,
        metricsData=[{"name": "a", "score": 1.0, "success": True}],
        expectationsData=data | {"verdicts": judged},
        success=data["success"],
    )
    assert table(reading, "rounds")["reported_status"][0] == status


def _span(score: float | None, *, success: bool) -> dict[str, Any]:
    return {"metricsData": [{"name": "a", "score": score, "success": success}]}


SPANS = [
    ({"toolSpans": [{}, _span(1.0, success=True)]}, True, "pass"),
    ({"baseSpans": [_span(0.0, success=False)]}, False, "fail"),
    ({"llmSpans": [_span(None, success=False)]}, False, "unevaluated"),
    ({"agentSpans": [{}], "retrieverSpans": None}, True, "unevaluated"),
]


@pytest.mark.parametrize(("trace", "success", "status"), SPANS)
def test_metrics_of_spans_alone_make_deepevals_verdict_count(
    trace: dict[str, Any], success: bool, status: str, tmp_path: Path
) -> None:
    reading = _changed(tmp_path, metricsData=[], trace=trace, success=success)
    assert table(reading, "rounds")["reported_status"][0] == status
    checks = table(reading, "reported_checks")
    of_spans = checks.filter(type="metric of spans")
    passed = {"pass": [True], "fail": [False], "unevaluated": [None]}[status]
    assert of_spans["passed"].to_list() == (passed if "agentSpans" not in trace else [])
    assert checks["round_id"].n_unique() == 4 + of_spans.height


ODD_SPANS: dict[str, Any] = {
    "metrics are a text": [{"metricsData": "x"}],
    "metrics are an object": [{"metricsData": {"name": "a"}}],
    "a metric is null": [{"metricsData": [None]}],
    "a metric is a list": [{"metricsData": [[]]}],
    "a number of a metric is a text": [{"metricsData": [{"name": "a", "score": "x"}]}],
    "a span is a number": [7],
    "spans are a text": "x",
    "spans are a number": 7,
}


@pytest.mark.parametrize("what", ODD_SPANS)
def test_an_odd_span_rejects_its_test_case_alone(what: str, tmp_path: Path) -> None:
    reading = _changed(tmp_path, trace={"llmSpans": ODD_SPANS[what]})
    (problem,) = (each for each in reading.problems if each.severity == "reject")
    assert problem.pointer == "/testCases/0"
    assert "The reader knows" in problem.message
    assert table(reading, "rounds").height == len(_test_cases()) - 1


def _test_cases() -> list[Any]:
    return list(json.loads(LATE.read_text("utf-8"))["testCases"])


@pytest.mark.parametrize("name", ["", " ", None])
def test_a_metric_without_a_name_is_a_metric(name: str | None, tmp_path: Path) -> None:
    reading = _changed(tmp_path, metricsData=[{"name": name, "score": 1.0}])
    assert "metric" in table(reading, "reported_scores")["dimension_id"].to_list()
    early = _changed(tmp_path, metricsData=[{"name": name, "metric": "a", "score": 1}])
    assert "a" in table(early, "reported_scores")["dimension_id"].to_list()


def test_a_metric_that_became_strict_is_another_check(tmp_path: Path) -> None:
    metric = {"name": "a", "score": 1.0, "threshold": 1.0, "success": True}
    kinds = [
        table(_changed(tmp_path, metricsData=[metric | more]), "reported_checks")[
            "type"
        ]
        for more in ({}, {"strictMode": False}, {"strictMode": True})
    ]
    assert [each[0] for each in kinds] == ["metric", "metric", "strict metric"]


FLAKY = [
    ([(1.0, True, True), (1.0, True, True)], None, "pass"),
    ([(1.0, True, True), (0.0, False, True)], None, "fail"),
    ([(1.0, True, True), (None, False, True)], None, "unevaluated"),
    ([(0.0, False, True), (1.0, True, False)], True, "pass"),
    ([(0.0, False, True), (None, False, False)], False, "unevaluated"),
]


@pytest.mark.parametrize(("metrics", "success", "status"), FLAKY)
def test_flaky_metrics_decide_only_where_there_are_no_others(
    metrics: list[tuple[Any, ...]], success: bool | None, status: str, tmp_path: Path
) -> None:
    data = [
        {"name": f"m{n}", "score": score, "success": passed, "flaky": is_flaky}
        for n, (score, passed, is_flaky) in enumerate(metrics)
    ]
    reading = _changed(tmp_path, metricsData=data, success=success)
    assert table(reading, "rounds")["reported_status"][0] == status


def _talks(into: Path, *talks: dict[str, Any]) -> Reading:
    """A run of conversations."""
    run = {"testCases": [], "conversationalTestCases": talks, "metricsScores": []}
    file = into / "talks.json"
    file.write_text(json.dumps(run), "utf-8")
    return reading_of(file)


def test_a_conversation_without_a_scenario_is_known_by_what_was_asked(
    tmp_path: Path,
) -> None:
    asked = ("Hello", "Where does the Nile end?")
    talks = [
        {
            "turns": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Yes?"},
                {"role": "user", "content": question},
                {"role": "assistant", "content": f"{question}!"},
            ]
        }
        for question in asked
    ]
    rounds = table(_talks(tmp_path, *talks), "rounds")
    swapped = table(_talks(tmp_path, *talks[::-1]), "rounds")
    assert rounds["raw_output"].to_list() == ["Hello!", "Where does the Nile end?!"]
    assert rounds["case_id"].to_list() == swapped["case_id"].to_list()[::-1]


def test_a_conversation_of_before_3_1_is_rejected_with_what_it_lacks(
    tmp_path: Path,
) -> None:
    reading = _talks(tmp_path, {"testCases": [{"input": "Hi", "actualOutput": "Yes?"}]})
    (problem,) = (each for each in reading.problems if each.severity == "reject")
    assert "`turns`" in problem.message


def test_equal_test_cases_are_rounds_of_one_case(late: Reading) -> None:
    nile = table(late, "rounds").filter(pl.col("case_id").str.contains("Nile"))
    assert nile["run_index"].to_list() == [1, 2]
    assert nile["case_id"].n_unique() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"id": "danube"}},
        {"input": "", "expectedOutput": None, "context": ["a page"]},
    ],
    ids=["an id used twice", "known by its context"],
)
def test_other_test_cases_of_one_id_are_other_cases(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    run = json.loads(LATE.read_text("utf-8"))
    run["testCases"][0] |= changes
    run["testCases"][1] |= changes | {"context": ["another page"]}
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    ids = table(reading_of(file), "rounds")["case_id"].to_list()
    assert len(set(ids)) == 5
    assert ids[1] == f"{ids[0]}~2"


def test_two_metrics_of_one_name_both_count(tmp_path: Path) -> None:
    name = "Kind [GEval]"
    metrics = [
        {"name": name, "score": 0.3, "threshold": 0.5, "success": False},
        {"name": name, "score": 0.8, "threshold": 0.5, "success": True},
    ]
    run = json.loads(LATE.read_text("utf-8"))
    run["testCases"][0] |= {"metricsData": metrics, "success": False}
    run["metricsScores"] = [
        {"metric": name, "scores": [0.3, 0.8], "passes": 1, "fails": 1}
    ]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    reading = reading_of(file)
    checks = table(reading, "reported_checks").filter(
        pl.col("name").str.starts_with(name)
    )
    assert checks.select("name", "passed").rows() == [
        (name, False),
        (f"{name}~2", True),
    ]
    scores = table(reading, "reported_scores").filter(
        pl.col("dimension_id").str.starts_with(name)
    )
    assert scores["score"].to_list() == [0.3, 0.8]
    dimensions = table(reading, "dimension_configs").filter(
        pl.col("dimension_id").str.starts_with(name)
    )
    assert dimensions["is_graded"].to_list() == [True, True]
    assert name not in table(reading, "claims")["dimension_id"].to_list()


def test_one_question_judged_by_other_metrics_is_another_case(tmp_path: Path) -> None:
    metrics = [{"name": "Latency", "score": 1.0, "success": True}]
    cases = table(_changed(tmp_path, metricsData=metrics), "cases")
    assert cases.height == 5


LOG = (
    'Criteria:\nIs it a sea? \n \nEvaluation Steps:\n[\n    "Look"\n] \n \n'
    "Rubric:\n0-5: no\n6-10: yes \n \nScore: 0.7"
)
METRIC = {
    "name": "Kind [GEval]",
    "threshold": 0.5,
    "success": True,
    "score": 0.7,
    "reason": "so",
    "strictMode": False,
    "flaky": False,
    "evaluationModel": "judge-1",
    "evaluationCost": 0.1,
    "inputTokenCount": 3,
    "outputTokenCount": 4,
    "verboseLogs": LOG,
    "optionOfALaterVersion": {"depth": [1]},
}
NO_YARDSTICK = {
    *("success", "score", "reason", "evaluationCost"),
    *("inputTokenCount", "outputTokenCount"),
}


def _judged_by(into: Path, metric: dict[str, Any], *, of_spans: bool) -> set[Any]:
    given: dict[str, Any] = {"metricsData": [metric]}
    if of_spans:
        given = {"metricsData": [], "trace": {"llmSpans": [given]}}
    reading = _changed(into, **given)
    names = ("round_id", "name", "type", "expected", "threshold")
    first = table(reading, "rounds")["round_id"][0]
    checks = table(reading, "reported_checks").filter(round_id=first).select(names)
    judges = table(reading, "judges").select("name", "model")
    return {*checks.rows(), *judges.rows()}


@pytest.mark.parametrize("of_spans", [False, True], ids=["test case", "span"])
@pytest.mark.parametrize("key", METRIC)
def test_a_metric_judges_by_all_that_is_no_result(
    key: str, of_spans: bool, tmp_path: Path
) -> None:
    given = METRIC[key]
    other: Any = {str: "other", bool: not given, dict: {"depth": [2]}}.get(type(given))
    changed = METRIC | {key: 0.75 if other is None else other}
    same = _judged_by(tmp_path, METRIC, of_spans=of_spans)
    is_same = _judged_by(tmp_path, changed, of_spans=of_spans) == same
    assert is_same is (key in NO_YARDSTICK)


LOGS = [
    ("Is it a sea?", "Is it salty?", True),
    ("6-10: yes", "6-10: no", True),
    ('"Look"', '"Look again"', False),  # written by a model, from the criteria
    ("Score: 0.7", "Score: 0.8", False),
]


@pytest.mark.parametrize(("part", "other", "is_other"), LOGS)
def test_g_eval_judges_by_its_criteria_and_rubric(
    part: str, other: str, is_other: bool, tmp_path: Path
) -> None:
    changed = METRIC | {"verboseLogs": LOG.replace(part, other)}
    first, second = (
        _judged_by(tmp_path, each, of_spans=False) for each in (METRIC, changed)
    )
    assert (first != second) is is_other


OF_LOGS = [
    'Criteria:\nNone \n \nEvaluation Steps:\n[\n    "{}"\n]',
    "Role: {} \n \nRole Violations:\n[]",
    "Prompt Instructions:\n{} \n \nVerdicts:\n[]",
    "Allowed tools: ['{}'] \n \nTools called: []",
]


@pytest.mark.parametrize("log", OF_LOGS)
def test_what_its_author_set_is_read_in_the_log_of_a_metric(
    log: str, tmp_path: Path
) -> None:
    first, second = (
        _judged_by(tmp_path, METRIC | {"verboseLogs": log.format(x)}, of_spans=False)
        for x in ("7", "8")
    )
    assert first != second


def test_what_the_user_says_belongs_to_a_conversation_with_an_id(
    tmp_path: Path,
) -> None:
    talks = [
        {"turns": [{"role": "user", "content": said}], "metadata": {"id": "a"}}
        for said in ("Hi", "Bye")
    ]
    contexts = [table(_talks(tmp_path, talk), "cases")["context"][0] for talk in talks]
    assert contexts == ['{"turns":["Hi"]}', '{"turns":["Bye"]}']


def test_a_prompt_with_its_model_names_the_version_and_the_model(
    tmp_path: Path,
) -> None:
    run = json.loads(LATE.read_text("utf-8"))
    settings = {"name": "acme/large", "temperature": 0.5}
    run["prompts"] = [
        {"alias": "ask", "version": "v9", "text_template": "Ask {x}"}
        | {"model_settings": settings}
    ]
    run["hyperparameters"] = None
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    (task,) = table(reading_of(file), "tasks").rows(named=True)
    assert (task["model"], task["prompt_version"]) == ("acme/large", "v9")
    assert json.loads(task["settings"]) == {"temperature": 0.5}
