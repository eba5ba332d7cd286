"""Azure AI Evaluation: results are checks, a broken evaluator is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table


@pytest.fixture(scope="module")
def early() -> Reading:
    return reading_of(DATA / "azure_ai_evaluation" / "early.json")


def test_a_run_without_rows_is_its_claims(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    run = {"rows": [], "metrics": {"f1.f1_score": 0.5}, "studio_url": None}
    file.write_text(json.dumps(run), "utf-8")
    reading = reading_of(file)
    assert table(reading, "tasks").height == 1
    assert table(reading, "claims").height == 1


def test_cases_keep_their_own_ids(early: Reading) -> None:
    assert table(early, "cases")["case_id"].to_list() == ["nile", "rhine", "ob"]


def test_only_an_evaluator_with_a_result_has_a_pass_rule(early: Reading) -> None:
    checks = table(early, "reported_checks")
    assert set(checks["name"]) == {"f1.f1_score"}
    assert set(checks["threshold"]) == {0.5}
    statuses = table(early, "rounds")["reported_status"].to_list()
    assert statuses == ["pass" if each else "fail" for each in checks["passed"]]


def test_what_says_more_of_a_number_is_no_dimension(early: Reading) -> None:
    dimensions = table(early, "dimension_configs")
    assert dimensions.select("dimension_id", "is_graded").rows() == [
        ("f1.f1_score", True),
        ("exact.exact", True),
        ("length.chars", False),
    ]


def _run(file: Path, *rows: dict[str, object]) -> Reading:
    """Read a run; an output is called ``<evaluator>.<key>``, or as the target does."""
    document = {
        "rows": [
            {"inputs.id": f"q{n}", "inputs.query": f"Question {n}?"}
            | {f"outputs.{name}": value for name, value in row.items()}
            for n, row in enumerate(rows)
        ],
        "metrics": {},
        "studio_url": None,
    }
    file.write_text(json.dumps(document), "utf-8")
    return reading_of(file)


def test_a_level_of_harm_is_the_number_beside_its_text(tmp_path: Path) -> None:
    levels = [("Very low", 0), ("High", 6)]
    reading = _run(
        tmp_path / "safety.json",
        *(
            {
                "violence.violence": level,
                "violence.violence_score": severity,
                "violence.violence_result": "pass" if severity <= 3 else "fail",
                "violence.violence_reason": "because",
                "violence.violence_threshold": 3,
            }
            for level, severity in levels
        ),
    )
    scores = table(reading, "reported_scores")
    assert scores["dimension_id"].unique().to_list() == ["violence.violence"]
    assert scores["value"].to_list() == [0.0, 6.0]
    assert table(reading, "reported_checks")["score"].to_list() == [0.0, 6.0]


def test_the_answer_of_a_target_is_the_one_that_was_judged(tmp_path: Path) -> None:
    reading = _run(
        tmp_path / "target.json",
        {"response": "Paris", "context": "Atlas", "f1.f1_score": 1.0},
    )
    rounds = table(reading, "rounds")
    assert rounds["raw_output"].to_list() == ["Paris"]
    assert json.loads(rounds["metadata"][0])["context"] == "Atlas"


def test_a_label_of_a_defect_passes_where_there_is_none(tmp_path: Path) -> None:
    name = "protected_material.protected_material"
    reading = _run(
        tmp_path / "pm.json",
        {f"{name}_label": False, f"{name}_reason": "own words"},
        {f"{name}_label": True, f"{name}_reason": "lyrics"},
        {f"{name}_label": None},
    )
    rounds = table(reading, "rounds")["reported_status"].to_list()
    assert rounds[:2] == ["pass", "fail"]
    assert rounds[2] not in ("pass", "fail")
    checks = table(reading, "reported_checks")
    assert checks["passed"].to_list() == [True, False, None]
    assert checks["reason"].to_list()[:2] == ["own words", "lyrics"]
    assert "reported_scores" not in reading.rows or not len(
        reading.rows["reported_scores"]["value"]
    )


def test_an_evaluator_that_does_not_apply_says_nothing_of_the_row(
    tmp_path: Path,
) -> None:
    tool = "tool_call_accuracy.tool_call_accuracy"
    skipped = {f"{tool}_result": "not_applicable", f"{tool}_status": "skipped"}
    relevance = "relevance.relevance_result"
    reading = _run(
        tmp_path / "agent.json",
        {relevance: "pass", **skipped},
        {relevance: "fail", **skipped},
        {relevance: "pass", f"{tool}_result": "fail"},
        {relevance: "pass", f"{tool}_result": None},
        skipped,
    )
    assert table(reading, "rounds")["reported_status"].to_list() == [
        *("pass", "fail", "fail", "unevaluated"),
        None,
    ]
    checks = table(reading, "reported_checks").filter(name=tool)
    assert checks["passed"].to_list() == [None, None, False, None, None]


def test_an_older_release_says_in_place_of_the_score_that_it_does_not_apply(
    tmp_path: Path,
) -> None:
    tool = "tool_call_accuracy.tool_call_accuracy"
    skipped = {tool: "not applicable", f"{tool}_result": "pass"}
    relevance = "relevance.relevance_result"
    reading = _run(
        tmp_path / "agent.json",
        {relevance: "pass", tool: 5.0, f"{tool}_result": "pass"},
        {relevance: "fail", **skipped},
        skipped,
    )
    statuses = table(reading, "rounds")["reported_status"].to_list()
    assert statuses == ["pass", "fail", None]
    checks = table(reading, "reported_checks").filter(name=tool)
    assert checks["passed"].to_list() == [True, None, None]


def test_a_grader_with_a_long_name_says_only_whether_it_passed(tmp_path: Path) -> None:
    """Azure leaves out the result where the name of its column is too long."""
    long = "refund_policy_string_check"
    rows = [
        {
            "tone.type": "string_check",
            "tone.score": float(tone),
            "tone.tone_result": "pass" if tone else "fail",
            "tone.passed": tone,
            f"{long}.type": "string_check",
            f"{long}.score": float(refund),
            f"{long}.passed": refund,
        }
        for tone, refund in ((True, True), (True, False), (False, True))
    ]
    reading = _run(tmp_path / "graders.json", *rows)
    rounds = table(reading, "rounds")["reported_status"].to_list()
    assert rounds == ["pass", "fail", "fail"]
    checks = table(reading, "reported_checks")
    assert checks.filter(name=long)["passed"].to_list() == [True, False, True]
    assert checks.filter(name=long)["score"].to_list() == [1.0, 0.0, 1.0]
    dimensions = set(table(reading, "dimension_configs")["dimension_id"])
    assert dimensions == {"tone.score", f"{long}.score"}


def _judged(
    name: str, value: object, result: str, threshold: float
) -> dict[str, object]:
    return {name: value, f"{name}_result": result, f"{name}_threshold": threshold}


SCALES = {
    "a rating": ({"coherence.coherence": 1.0}, "higher_better"),
    "a rating of old": ({"coherence.gpt_coherence": 1.0}, "higher_better"),
    "a severity": (
        {"violence.violence": "Very low", "violence.violence_score": 0},
        "lower_better",
    ),
    "by its threshold": (_judged("mine.mine", 1, "fail", 3), None),
    "by its results": (_judged("mine.mine", 0, "pass", 1), None),
}


@pytest.mark.parametrize("what", SCALES)
def test_a_number_on_another_scale_is_not_graded_where_it_is_only_0_or_1(
    what: str, tmp_path: Path
) -> None:
    row, direction = SCALES[what]
    reading = _run(tmp_path / "scales.json", row, row)
    dimensions = table(reading, "dimension_configs")
    assert dimensions.select("is_graded", "direction").rows() == [(False, direction)]


def test_a_truth_value_with_a_result_is_graded_where_1_passes(tmp_path: Path) -> None:
    rows = [_judged("mine.mine", 1, "pass", 1), _judged("mine.mine", 0, "fail", 1)]
    reading = _run(tmp_path / "mine.json", *rows)
    assert table(reading, "reported_scores")["score"].to_list() == [1.0, 0.0]


def test_a_truth_value_whose_name_is_bad_is_reported(tmp_path: Path) -> None:
    reading = _run(tmp_path / "mine.json", {"mine.toxicity": 1}, {"mine.toxicity": 0})
    assert [each.code for each in reading.problems] == ["unclear_direction"]


TALK = [
    {"role": "user", "content": "Nile?"},
    {"role": "assistant", "content": "the sea", "context": "Atlas"},
    {"role": "user", "content": "Which?"},
]
ASKED: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "a query": ({"query": "Nile?", "context": "found"}, {"query": "Nile?"}),
    "a question": ({"question": "Nile?", "thread_id": "t1"}, {"query": "Nile?"}),
    "tools": (
        {"query": "Nile?", "tool_definitions": [{"name": "map"}]},
        {"query": "Nile?", "tool_definitions": [{"name": "map"}]},
    ),
    "a document": ({"document": "Atlas"}, {"document": "Atlas"}),
    "a conversation": (
        {"conversation": {"messages": TALK}}, {"conversation": ["Nile?", "Which?"]}
    ),
    "messages": ({"messages": TALK}, {"messages": ["Nile?", "Which?"]}),
    "nothing": ({}, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", ASKED)
def test_what_a_row_asks_is_the_content_of_its_case(what: str, tmp_path: Path) -> None:
    """A reply and what was expected are none of it."""
    inputs, expected = ASKED[what]
    others = dict.fromkeys(("response", "answer", "ground_truth"), "sea")
    reading = _written(tmp_path / "run.json", {"id": 1, **others, **inputs})
    (context,) = table(reading, "cases")["context"]
    assert json.loads(context) == expected


def _written(file: Path, inputs: dict[str, object]) -> Reading:
    row = {f"inputs.{name}": value for name, value in inputs.items()}
    run = {"rows": [{**row, "outputs.f1.f1_score": 1.0}], "metrics": {}}
    file.write_text(json.dumps(run), "utf-8")
    return reading_of(file)


def test_a_row_without_id_and_query_is_known_by_what_it_asks(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    ids = [
        table(_written(file, {"document": "Atlas", "response": each}), "cases")[
            "case_id"
        ].item()
        for each in ("a sea", "a lake")
    ]
    assert ids[0] == ids[1]


UNNAMED: dict[str, tuple[list[dict[str, object]], list[str]]] = {
    # the reply and its latency are other ones in the second run
    "a text": (
        [{"text": f"review {n}", "summary": "NEW", "latency": int(n) + 0.5} for n in "12"],
        ["review 1", "review 2"],
    ),
    "a text after what is shared": (
        [{"page": "Atlas", "place": name, "reply": "NEW"} for name in ("Nile", "Po")],
        ["Atlas, Nile", "Atlas, Po"],
    ),
    "one of several is shared": (
        [{"text": "a", "note": "x"}, {"text": "a", "note": "y"}, {"text": "b", "c": "NEW"}],
        ["a, x", "a, y", "b"],
    ),
    "a whole number before": (
        [{"took": n, "text": f"review {n}"} for n in (7, 8)],
        ["review 7", "review 8"],
    ),
    "whole numbers": ([{"a": 1, "b": n} for n in (2, 3)], ["1, 2", "1, 3"]),
    "equal rows": ([{"text": "a", "latency": n + 0.5} for n in (1, 2)], ["a", "a~2"]),
}  # fmt: skip


@pytest.mark.parametrize("what", UNNAMED)
def test_rows_without_id_and_query_pair_by_the_first_inputs_that_tell_them_apart(
    what: str, tmp_path: Path
) -> None:
    rows, ids = UNNAMED[what]
    for reply in ("first", "second"):
        written = [
            {f"inputs.{k}": reply if v == "NEW" else v for k, v in row.items()}
            for row in rows
        ]
        file = tmp_path / f"{reply}.json"
        run = {"rows": [e | {"outputs.f1.f1_score": 1.0} for e in written]}
        file.write_text(json.dumps(run | {"metrics": {}}), "utf-8")
        reading = reading_of(file)
        assert table(reading, "cases")["case_id"].to_list() == ids
        assert "NEW" not in "".join(table(reading, "cases")["context"])
        (problem,) = (each for each in reading.problems if each.code == "id_missing")
        assert "`inputs.id`" in problem.message


def test_a_count_of_nothing_is_no_score(tmp_path: Path) -> None:
    rows = [{"length.chars": 0}, {"length.chars": 30}]
    assert table(_run(tmp_path / "run.json", *rows), "reported_scores")[
        "score"
    ].to_list() == [None, None]


RELEVANCE = {
    "relevance.relevance": 4.0,
    "relevance.relevance_result": "pass",
    "relevance.relevance_threshold": 3,
    "relevance.relevance_properties": {
        "model": "gpt-4o",
        "prompt_tokens": 7,
        "sample_output": "{}",
        "decision_model": {
            "deployment": "d",
            "model": "m",
            "rubric_hash": "a",
            "status_probability_threshold": 0.5,
            "option_of_a_later_version": True,
            "execution": {"operation_id": "1", "elapsed_ms": 2},
            "confidence": 0.5,
            "native_answer": {"score": 4},
        },
    },
}
GRADER = {
    "tone.type": "score_model",
    "tone.score": 0.5,
    "tone.passed": True,
    "tone.threshold": 0.5,
    "tone.sample": {
        "model": "gpt-4o",
        "temperature": 0.5,
        "input": [{"role": "system", "content": "Be strict"}, {"role": "user"}],
        "output": [{"role": "assistant", "content": "4"}],
        "usage": {"total_tokens": 7},
        "finish_reason": "stop",
    },
}
JUDGE = ("relevance.relevance_properties",)
DECISION = (*JUDGE, "decision_model")
SAMPLE = ("tone.sample",)
LEAVES = [
    (RELEVANCE, ("relevance.relevance_threshold",), True),
    (RELEVANCE, (*JUDGE, "model"), True),
    (RELEVANCE, (*JUDGE, "prompt_tokens"), False),
    (RELEVANCE, (*JUDGE, "sample_output"), False),
    *(
        (RELEVANCE, (*DECISION, key), is_other)
        for key, is_other in {
            "deployment": True,
            "rubric_hash": True,
            "status_probability_threshold": True,
            "option_of_a_later_version": True,
            "execution": False,
            "confidence": False,
            "native_answer": False,
        }.items()
    ),
    (GRADER, ("tone.type",), True),
    (GRADER, ("tone.threshold",), True),
    (GRADER, ("tone.score",), False),
    (GRADER, (*SAMPLE, "model"), True),
    (GRADER, (*SAMPLE, "temperature"), True),
    (GRADER, (*SAMPLE, "input", 0, "content"), True),
    (GRADER, (*SAMPLE, "output"), False),
    (GRADER, (*SAMPLE, "usage"), False),
    (GRADER, (*SAMPLE, "finish_reason"), False),
]


@pytest.mark.parametrize(
    ("row", "path", "is_other"), LEAVES, ids=[str(path) for _, path, _ in LEAVES]
)
def test_a_judge_is_all_that_azure_says_of_it_and_no_result(
    row: dict[str, object],
    path: tuple[str | int, ...],
    is_other: bool,
    tmp_path: Path,
) -> None:
    def judged(*rows: dict[str, object]) -> set[object]:
        reading = _run(tmp_path / "run.json", *rows)
        judges = table(reading, "judges")
        checks = table(reading, "reported_checks").select("name", "threshold")
        columns = table(reading, "dimension_configs")
        return {
            *columns.select("dimension_id", "parameters").rows(),
            *checks.rows(),
            *(judges.select("name", "model").rows() if judges.height else ()),
        }

    changed = json.loads(json.dumps(row))
    at: Any = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = 0.25 if isinstance(at[path[-1]], float | int) else "other"
    assert (judged(row, row) != judged(changed, changed)) is is_other


def test_a_score_has_the_judge_of_its_result(tmp_path: Path) -> None:
    said = {
        "clarity.clarity_score": 1.0,
        "clarity.clarity_result": "pass",
        "clarity.clarity_model": "gpt-4o",
    }
    judges = table(_run(tmp_path / "run.json", said), "judges")
    assert sorted(judges.select("name", "model").rows()) == [
        ("clarity.clarity", "gpt-4o"),
        ("clarity.clarity_score", "gpt-4o"),
    ]


def test_columns_beside_the_score_of_a_grader_are_no_scores(tmp_path: Path) -> None:
    reading = _run(tmp_path / "run.json", GRADER | {"tone.row_missing": False})
    assert table(reading, "dimension_configs")["dimension_id"].to_list() == [
        "tone.score"
    ]
