"""promptfoo's exports: columns, repeats, sets of assertions, broken judges."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, one_task, reading_of, table

RIVERS = DATA / "promptfoo" / "rivers.json"


@pytest.fixture(scope="module")
def once() -> Reading:
    return reading_of(RIVERS)


def _column(reading: Reading, name: str, of: str) -> pl.DataFrame:
    return table(reading, name).filter(task_id=one_task(reading, of))


def _case(rows: pl.DataFrame, starts_with: str) -> pl.DataFrame:
    return rows.filter(pl.col("case_id").str.starts_with(starts_with))


def test_a_column_is_a_task_of_one_prompt_on_one_model(once: Reading) -> None:
    tasks = table(once, "tasks")
    assert tasks["title"].to_list() == ["rivers", "rivers"]
    assert tasks["model"].to_list() == ["early", "late"]
    assert set(tasks["prompt_version"]) == {"ask-v1"}
    assert set(tasks["source_kind"]) == {"promptfoo"}
    assert tasks["run_id"].n_unique() == 1


def test_cases_are_known_by_what_their_tests_say_and_not_by_their_place(
    once: Reading, tmp_path: Path
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    for row in export["results"]["results"]:
        row["testIdx"] = 100 - row["testIdx"]
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(export), "utf-8")
    assert set(table(reading_of(turned), "cases")["case_id"]) == set(
        table(once, "cases")["case_id"]
    )


def test_true_duplicates_are_two_cases(once: Reading) -> None:
    twice = _case(_column(once, "cases", "early"), "asked twice")["case_id"].to_list()
    assert len(twice) == 2
    assert twice[1] == f"{twice[0]}~2"


def test_repeats_are_rounds_and_duplicates_stay_cases(once: Reading) -> None:
    repeated = reading_of(DATA / "promptfoo" / "rivers_twice.json")
    rounds = _column(repeated, "rounds", "late")
    counts = rounds.group_by("case_id").len()
    assert set(counts["len"]) == {2}
    assert set(rounds["case_id"]) == set(_column(once, "rounds", "late")["case_id"])


def test_without_a_header_equal_tests_are_rounds_of_one_case() -> None:
    lines = reading_of(DATA / "promptfoo" / "rivers.jsonl")
    counts = _case(_column(lines, "rounds", "early"), "asked twice")
    assert counts["case_id"].n_unique() == 1
    assert counts.height == 2


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_tests_that_assert_different_things_are_cases_of_their_own(
    kind: str, tmp_path: Path
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    first = export["results"]["results"][0]
    asserted = [{"type": "is-json"}, {"type": "llm-rubric", "value": "polite?"}]
    rows = []
    for place, each in enumerate(asserted * 2):  # each twice: rounds
        test = {"vars": {"q": "Nile?"}, "assert": [each]}
        place_of_row = {"testIdx": place, "promptIdx": 0, "id": f"row-{place}"}
        told = {"testCase": test, "success": bool(place % 2)}
        rows.append({**first, **place_of_row, **told})
    file = tmp_path / f"file.{kind}"

    def statuses(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        results = {**export["results"], "results": rows}
        lines = map(json.dumps, rows)
        whole = {**export, "config": {}, "results": results}
        del whole["runtimeOptions"]  # as before 0.121
        written = json.dumps(whole) if kind == "json" else "\n".join(lines)
        file.write_text(written, "utf-8")
        reading = reading_of(file)
        assert not reading.problems
        rounds = table(reading, "rounds").select("case_id", "reported_status")
        return sorted(rounds.rows())

    found = statuses(rows)
    assert [status for _, status in found] == ["fail", "fail", "pass", "pass"]
    assert found[2][0] == f"{found[0][0]}~2"
    assert statuses(rows[::-1]) == found


def test_the_same_words_in_two_conversations_are_two_cases_wherever_they_are(
    tmp_path: Path,
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    first = export["results"]["results"][0]
    file = tmp_path / "file.json"

    def outputs(conversations: list[str]) -> list[tuple[Any, ...]]:
        export["results"]["results"] = [
            {
                **first,
                "testIdx": place,
                "id": name,
                "testCase": {
                    "vars": {"message": "Yes"},
                    "metadata": {"conversationId": name},
                },
                "response": {"output": name},
            }
            for place, name in enumerate(conversations)
        ]
        file.write_text(json.dumps(export), "utf-8")
        rounds = table(reading_of(file), "rounds").select("case_id", "raw_output")
        return sorted(rounds.rows())

    found = outputs(["trip 1", "trip 2"])
    assert len({case for case, _ in found}) == 2
    assert not any("~" in case for case, _ in found)
    assert outputs(["trip 2", "trip 1"]) == found


VERDICTS = [
    ("names the sea", "early", "pass"),
    ("Rhine", "early", "fail"),
    ("Rhine", "late", "pass"),
    ("a set with a threshold", "early", "pass"),  # the threshold alone decides
    ("the judge breaks", "early", "unevaluated"),
    ("nothing is asked of it", "early", "unevaluated"),
    ("the model breaks", "early", "error"),
]


@pytest.mark.parametrize(("case", "of", "status"), VERDICTS)
def test_the_verdict_is_promptfoos_own_where_something_was_judged(
    once: Reading, case: str, of: str, status: str
) -> None:
    rows = _case(_column(once, "rounds", of), case)
    assert rows["reported_status"].to_list() == [status]


def test_an_error_is_what_broke_and_not_what_failed(once: Reading) -> None:
    rounds = table(once, "rounds")
    errors = rounds.filter(pl.col("error").is_not_null())
    assert set(errors["reported_status"]) == {"error"}
    assert errors["error"].str.contains("no such river").all()


def test_each_assertion_is_one_row_also_inside_a_set(once: Reading) -> None:
    checks = _case(_column(once, "reported_checks", "early"), "a set")
    rows = checks.sort("position").select("name", "type", "parent_position").rows()
    assert rows == [
        ("facts", "assert-set", None),
        ("sea", "contains", 0),
        ("contains", "contains", 0),
        ("sea", "not-contains", None),
    ]


def test_what_a_broken_judge_should_have_scored_has_no_score(once: Reading) -> None:
    scores = _case(_column(once, "reported_scores", "late"), "the judge breaks")
    rows = set(scores.select("dimension_id", "value", "score").rows())
    assert rows == {("tone", 0.0, None), ("score", 0.0, None)}


def test_weights_and_thresholds_are_kept(once: Reading) -> None:
    checks = _column(once, "reported_checks", "early")
    sea = _case(checks, "names the sea").filter(name="sea")
    assert sea["weight"].to_list() == [3.0]
    assert json.loads(sea["expected"][0]) == "Mediterranean"
    facts = checks.filter(type="assert-set")
    assert facts["threshold"].to_list() == [0.5]


def test_only_the_rows_own_score_is_weighed_the_named_ones_are_its_parts(
    once: Reading,
) -> None:
    dimensions = _column(once, "dimension_configs", "late")
    weights = dict(dimensions.select("dimension_id", "weight").rows())
    assert weights.pop("score") == 1.0
    assert set(weights) == {"sea", "tone", "brevity", "facts"}
    assert set(weights.values()) == {0.0}


def test_a_row_that_was_not_judged_keeps_its_value_and_has_no_score(
    once: Reading,
) -> None:
    scores = _case(_column(once, "reported_scores", "late"), "nothing is asked")
    assert scores.select("dimension_id", "value", "score").rows() == [
        ("score", 1.0, None)
    ]


@pytest.mark.parametrize(
    ("cached", "said", "cost", "tokens"),
    [
        (None, None, None, None),
        (False, None, None, None),
        (False, 0, 0, None),
        (False, 0.5, 0.5, None),
        (True, None, 0, 0),
    ],
)
def test_a_zero_of_the_row_alone_is_not_known(
    tmp_path: Path,
    cached: bool | None,
    said: float | None,
    cost: float | None,
    tokens: int | None,
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    for row in export["results"]["results"]:
        row["cost"] = 0
        row["tokenUsage"] = {"prompt": 0, "completion": 0, "cached": 0, "total": 0}
        response = row.setdefault("response", {})
        response.pop("tokenUsage", None)
        response |= {"cached": cached, "cost": said}
    zero = tmp_path / "zero.json"
    zero.write_text(json.dumps(export), "utf-8")
    rounds = table(reading_of(zero), "rounds")
    metadata = [json.loads(each) for each in rounds["metadata"]]
    assert {each.get("cost") for each in metadata} == {cost}
    assert set(rounds["input_tokens"]) == {tokens}
    assert set(rounds["output_tokens"]) == {tokens}


def test_tags_and_inputs_come_with_the_case(once: Reading) -> None:
    (case,) = _case(_column(once, "cases", "early"), "names the sea").rows(named=True)
    assert json.loads(case["tags"]) == ["africa"]
    assert json.loads(case["context"]) == {
        "description": "names the sea",
        "vars": {"river": "Nile"},
    }


def test_columns_of_which_nothing_was_counted_are_read(tmp_path: Path) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    for prompt in export["results"]["prompts"]:
        del prompt["metrics"]
    file = tmp_path / "stopped.json"
    file.write_text(json.dumps(export), "utf-8")
    reading = reading_of(file)
    assert not reading.problems
    assert reading.records_loaded == 16
    assert "claims" not in reading.rows


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize(
    "second",
    [{"provider": "mini"}, {"promptId": "second"}],
    ids=["another provider", "another prompt"],
)
def test_columns_of_joined_files_stay_apart_whatever_their_index(
    second: dict[str, str], suffix: str, tmp_path: Path
) -> None:
    columns = [
        {"provider": "large", "promptId": "first"},
        {"provider": "large", "promptId": "first"} | second,
    ]
    rows = [
        {
            "id": f"{number}-{test}",
            "promptIdx": 0,
            "testIdx": test,
            "promptId": column["promptId"],
            "provider": {"id": column["provider"]},
            "prompt": {"raw": f"Say {test}", "label": column["promptId"]},
            "response": {"output": "x"},
            "success": number == 0,
            "score": float(number == 0),
            "vars": {"q": f"{test}"},
            "testCase": {"vars": {"q": f"{test}"}},
            "gradingResult": {
                "pass": number == 0,
                "score": float(number == 0),
                "componentResults": [
                    {
                        "pass": number == 0,
                        "score": float(number == 0),
                        "assertion": {"type": "equals", "value": "x"},
                    }
                ],
            },
        }
        for number, column in enumerate(columns)
        for test in range(3)
    ]
    prompts = [
        {"raw": "Say {{q}}", "label": each["promptId"], "provider": each["provider"]}
        for each in columns
    ]
    document = {
        "evalId": "eval-1",
        "results": {"version": 3, "prompts": prompts, "results": rows},
        "config": {},
    }
    file = tmp_path / f"joined.{suffix}"
    text = "\n".join(map(json.dumps, rows if suffix == "jsonl" else [document]))
    file.write_text(text, "utf-8")
    reading = reading_of(file)
    tasks = table(reading, "tasks")
    assert tasks["model"].to_list() == [each["provider"] for each in columns]
    assert tasks["run_id"].n_unique() == 1
    verdicts = table(reading, "rounds").group_by("task_id", maintain_order=True)
    assert [set(own["reported_status"]) for _, own in verdicts] == [{"pass"}, {"fail"}]
    assert table(reading, "cases").height == 6


@pytest.mark.parametrize("has_table", [True, False])
@pytest.mark.parametrize("eval_id", [{}, {"evalId": None}, {"evalId": "eval-1"}])
def test_files_of_version_2_name_neither_the_run_nor_the_column_of_a_row(
    eval_id: dict[str, Any], has_table: bool, tmp_path: Path
) -> None:
    prompts = [
        {"raw": f"{word} {{{{q}}}}", "display": word} for word in ("Say", "Sing")
    ]
    models = ("gpt-3.5-turbo", "gpt-4")
    rows = [
        {
            "provider": {"id": model},
            "prompt": prompt,
            "vars": {"q": q},
            "response": {"output": q, "tokenUsage": {"total": 3}},
            "success": q == "sea",
            "score": float(q == "sea"),
            "namedScores": {},
            "latencyMs": 10,
            "gradingResult": {
                "pass": q == "sea",
                "score": float(q == "sea"),
                "reason": "",
                "componentResults": [
                    {
                        "pass": q == "sea",
                        "score": float(q == "sea"),
                        "assertion": {"type": "contains", "value": "sea"},
                    }
                ],
            },
        }
        for q in ("sea", "lake", "pond")
        for model in models
        for prompt in prompts
    ]
    heads = [
        {**prompt, "provider": model, "metrics": {"score": 1, "testPassCount": 1}}
        for model in models
        for prompt in prompts
    ]
    results = {"version": 2, "results": rows, "stats": {"successes": 4, "failures": 8}}
    if has_table:
        results["table"] = {"head": {"prompts": heads, "vars": ["q"]}, "body": []}
    file = tmp_path / "output.json"
    file.write_text(json.dumps({**eval_id, "results": results, "config": {}}), "utf-8")
    reading = reading_of(file)
    assert reading.problems == []
    tasks = table(reading, "tasks").select("model", "prompt_name").rows()
    assert sorted(tasks) == [(m, p["display"]) for m in models for p in prompts]
    assert table(reading, "cases")["case_id"].n_unique() == 3
    rounds = table(reading, "rounds").group_by("task_id", maintain_order=True)
    for _, own in rounds:
        assert own["reported_status"].to_list() == ["pass", "fail", "fail"]


@pytest.mark.parametrize(
    ("asserts", "success", "status", "score"),
    [
        ([{"type": "contains", "value": "x"}], True, "pass", 1.0),
        ([{"type": "contains", "value": "x"}], False, "fail", 0.0),
        ([], True, "unevaluated", None),
    ],
)
def test_a_row_without_its_grading_passed_where_its_test_asserts_something(
    asserts: list[Any], success: bool, status: str, score: float | None, tmp_path: Path
) -> None:
    """So it is written with ``PROMPTFOO_STRIP_GRADING_RESULT``."""
    row = {
        "id": "r1",
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": "p"},
        "prompt": {"raw": "Say x", "label": "Say x"},
        "response": {"output": "x"},
        "success": success,
        "score": float(success),
        "failureReason": 0 if success else 1,
        "testCase": {"vars": {"q": "x"}, "assert": asserts},
        "gradingResult": None,
    }
    file = tmp_path / "row.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    reading = reading_of(file)
    assert table(reading, "rounds")["reported_status"].to_list() == [status]
    assert table(reading, "reported_scores")["score"].to_list() == [score]


@pytest.mark.parametrize(
    ("is_broken", "status"), [(True, "unevaluated"), (False, "fail")]
)
def test_a_set_that_fails_by_a_broken_judge_alone_is_no_verdict(
    is_broken: bool, status: str, tmp_path: Path
) -> None:
    judge = {
        "pass": False,
        "score": 0,
        "reason": "rate limit",
        "assertion": {"type": "llm-rubric", "value": "kind"},
        "metadata": {"graderError": True} if is_broken else {},
    }
    held = {
        "pass": True,
        "score": 1,
        "assertion": {"type": "contains", "value": "x"},
    }
    members = [judge, held]
    a_set = {
        "pass": False,
        "score": 0.5,
        "reason": "below the threshold",
        "assertion": None,
        "componentResults": members,
    }
    row = {
        "id": "r1",
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": "p"},
        "prompt": {"raw": "Say x", "label": "Say x"},
        "response": {"output": "x"},
        "success": False,
        "score": 0.5,
        "vars": {},
        "testCase": {"vars": {}},
        "gradingResult": {
            "pass": False,
            "score": 0.5,
            "componentResults": [a_set, *members],
        },
    }
    file = tmp_path / "row.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    rounds = table(reading_of(file), "rounds")
    assert rounds["reported_status"].to_list() == [status]


def test_a_reason_that_is_no_text_is_kept_as_json(tmp_path: Path) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    grading = export["results"]["results"][0]["gradingResult"]
    grading["reason"] = grading["componentResults"][0]["reason"] = {"why": "so"}
    file = tmp_path / "reasons.json"
    file.write_text(json.dumps(export), "utf-8")
    reading = reading_of(file)
    assert reading.records_rejected == 0
    assert '{"why":"so"}' in table(reading, "reported_checks")["reason"].to_list()


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("asked", "is_told"),
    [("Say {}", True), ("[prompt stripped]", True), ("Say x", False)],
)
def test_tests_without_their_variables_are_reported(
    asked: str, suffix: str, is_told: bool, tmp_path: Path
) -> None:
    """So they are written with ``PROMPTFOO_STRIP_TEST_VARS``."""
    rows = [
        {
            "id": f"r{test}",
            "promptIdx": 0,
            "testIdx": test,
            "provider": {"id": "p"},
            "prompt": {"raw": asked.format(test), "label": "say"},
            "response": {"output": "x"},
            "success": True,
            "score": 1,
            "vars": {},
            "testCase": {},
        }
        for test in range(3)
    ]
    document = {
        "evalId": "eval-1",
        "results": {"version": 3, "prompts": [{"raw": "Say"}], "results": rows},
        "runtimeOptions": {"repeat": 3},
    }
    file = tmp_path / f"bare.{suffix}"
    text = "\n".join(map(json.dumps, rows if suffix == "jsonl" else [document]))
    file.write_text(text, "utf-8")
    codes = [problem.code for problem in reading_of(file).problems]
    assert ("tests_alike" in codes) is is_told


def _judges(
    folder: Path, options: dict[str, Any], assertion: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Return the judges of a run with one assertion."""
    export = json.loads(RIVERS.read_text("utf-8"))
    for row in export["results"]["results"]:
        row["testCase"]["assert"] = [{"type": "llm-rubric", "value": "?", **assertion}]
        row["testCase"]["options"] = options
    file = folder / "file.json"
    file.write_text(json.dumps(export), "utf-8")
    reading = reading_of(file)
    assert not reading.problems
    return table(reading, "judges").drop("task_id").unique().rows()


def test_a_set_of_assertions_has_the_judge_of_its_members(tmp_path: Path) -> None:
    member = {"type": "llm-rubric", "value": "Is it kind?", "provider": "acme:large"}
    rules = {"type": "contains", "value": "x"}
    told = _judges(
        tmp_path,
        {},
        {"type": "assert-set", "metric": "kind", "assert": [member, rules]},
    )
    assert sorted(told) == [
        ("kind", "acme:large", None, "Is it kind?"),
        ("llm-rubric", "acme:large", None, "Is it kind?"),
    ]


def _typed(**models: object) -> dict[str, object]:
    return {"text": {"id": "acme:large"}, "embedding": "acme:near", **models}


LARGE: dict[str, Any] = {"id": "acme:large", "label": "judge"}


@pytest.mark.parametrize("is_own", [False, True], ids=["options", "assertion"])
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("llm-rubric", LARGE, {**LARGE, "id": "acme:mini"}),
        ("llm-rubric", _typed(), _typed(text={"id": "acme:mini"})),
        ("not-factuality", _typed(text="acme:large"), _typed(text="acme:mini")),
        ("g-eval", _typed(), _typed(text={"id": "acme:large", "config": {"seed": 1}})),
        ("similar:dot", _typed(), _typed(embedding="acme:far")),
        ("answer-relevance", _typed(), _typed(embedding="acme:far")),
        ("answer-relevance", _typed(), _typed(text="acme:mini")),
        ("classifier", {"classification": "a"}, {"classification": "b"}),
        ("moderation", {"moderation": "a"}, {"moderation": "b"}),
        ("trajectory:goal-success", LARGE, {**LARGE, "id": "acme:mini"}),
        *(
            ("llm-rubric", {"label": "a", name: "large"}, {"label": "a", name: "mini"})
            for name in ("modelName", "deployment")
        ),
        *(
            ("llm-rubric", {**LARGE, "config": one}, {**LARGE, "config": other})
            for one, other in (
                ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}}),
                ({"tools": [{"type": "a"}]}, {"tools": [{"type": "b"}]}),
                ({"temperature": 0}, {"temperature": 1}),
            )
        ),
    ],
)
def test_another_model_or_setting_of_a_judge_is_another_judge_in_every_form(
    kind: str, before: object, after: object, is_own: bool, tmp_path: Path
) -> None:
    judges = []
    for provider in (before, after):
        own = {"provider": provider} if is_own else {}
        options = {"provider": "acme:hidden" if is_own else provider}
        judges.append(_judges(tmp_path, options, {"type": kind, **own}))
    assert len(judges[0]) == len(judges[1]) == 1
    assert judges[0] != judges[1]
    assert "hidden" not in str(judges)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (_typed(), _typed(text={"id": "acme:large", "label": "new"}), "llm-rubric"),
        (
            {**LARGE, "config": {"http": {"apiKey": "one", "headers": {"a": "b"}}}},
            {**LARGE, "config": {"http": {"apiKey": "two", "headers": {"a": "c"}}}},
            "llm-rubric",
        ),
    ],
    ids=["label", "secrets"],
)
def test_another_label_or_secret_makes_no_other_judge(
    before: object, after: object, kind: str, tmp_path: Path
) -> None:
    assertion = {"type": kind, "provider": None}
    one, other = (
        _judges(tmp_path, {"provider": each}, assertion) for each in (before, after)
    )
    assert one == other
    assert "acme:" in str(one)


WEIGHTS = {"subset": 0, "superset": 0, "agree": 1}


@pytest.mark.parametrize("kind", ["factuality", "model-graded-factuality"])
@pytest.mark.parametrize("prompt", [{}, {"rubricPrompt": "Is it so?"}])
def test_what_the_categories_of_a_judge_of_facts_score_is_a_part_of_the_judge(
    kind: str, prompt: dict[str, Any], tmp_path: Path
) -> None:
    strict, lenient, unsaid = (
        _judges(tmp_path, {**prompt, **options}, {"type": kind})
        for options in (
            {"factuality": WEIGHTS},
            {"factuality": {**WEIGHTS, "subset": 1}},
            {},
        )
    )
    assert strict != lenient
    assert strict != unsaid


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_what_decides_over_the_assertions_of_a_test_is_asserted_too(
    suffix: str, tmp_path: Path
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    row = export["results"]["results"][0]
    hashes = []
    for given in ({}, {"options": {"postprocess": "output.answer"}}):
        asserts = [{"type": "contains", "value": "x"}]
        row["testCase"] = {"vars": {"q": "x"}, "assert": asserts, **given}
        export["results"]["results"] = [row]
        file = tmp_path / f"file.{suffix}"
        file.write_text(json.dumps(row if suffix == "jsonl" else export), "utf-8")
        hashes += (
            table(reading_of(file), "cases")
            .select("case_id", "expectation_hash")
            .rows()
        )
    (case, before), (same_case, after) = hashes
    assert case == same_case
    assert before != after


def test_a_scoring_function_that_rows_leave_out_is_known_by_the_config(
    tmp_path: Path,
) -> None:
    """promptfoo loads it before it runs the tests, and writes no functions in rows."""
    export = json.loads(RIVERS.read_text("utf-8"))
    file = tmp_path / "file.json"
    config = export["config"]

    def hashes(default: object, of_first: str | None = None) -> dict[str, Any]:
        first, *others = config["tests"]
        tests = [{**first, "assertScoringFunction": of_first}, *others]
        export["config"] = {**config, "defaultTest": default, "tests": tests}
        file.write_text(json.dumps(export), "utf-8")
        reading = reading_of(file)
        assert not reading.rejected
        cases = table(reading, "cases").drop_nulls("expectation_hash")
        return dict(cases.select("case_id", "expectation_hash").rows())

    strict, lenient = (
        {"assertScoringFunction": each} for each in ("strict", "lenient")
    )
    plain = hashes(None)
    assert plain == hashes("file://default.yaml") == hashes({"vars": {}})
    for one, other in ((strict, lenient), (strict, None)):
        before, after = hashes(one), hashes(other)
        assert before.keys() == after.keys()
        assert all(before[case] != after[case] for case in before)
    assert not plain.items() & hashes(None, "own").items()
    assert hashes(strict, "own") != hashes(strict)


def _with(folder: Path, change: Callable[[dict[str, Any]], object]) -> Reading:
    """Read the export with something changed."""
    export = json.loads(RIVERS.read_text("utf-8"))
    change(export)
    file = folder / "file.json"
    file.write_text(json.dumps(export), "utf-8")
    reading = reading_of(file)
    assert not reading.rejected
    return reading


def _of_tests(**said: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of all tests."""

    def change(export: dict[str, Any]) -> None:
        for row in export["results"]["results"]:
            row["testCase"] |= said

    return change


@pytest.mark.parametrize(
    "kind", ["llm-rubric", "promptfoo:redteam:harmful", "video-rubric", "agent-rubric"]
)
def test_any_assertion_that_is_no_rule_may_have_a_judge(
    kind: str, tmp_path: Path
) -> None:
    (judge,) = _judges(tmp_path, {"provider": "acme:large"}, {"type": kind})
    assert judge[:2] == (kind, "acme:large")


@pytest.mark.parametrize(
    "kind",
    ["contains-all", "not-icontains", "is-json", "javascript", "rouge-n", "cost"],
)
def test_a_rule_has_no_judge(kind: str, tmp_path: Path) -> None:
    change = _of_tests(
        **{"assert": [{"type": kind}], "options": {"provider": "acme:large"}}
    )
    assert table(_with(tmp_path, change), "judges").is_empty()


@pytest.mark.parametrize("name", ["config", "transform", "contextTransform"])
def test_an_assertion_with_another_option_expects_something_else(
    name: str, tmp_path: Path
) -> None:
    """Also where the test has more assertions than before."""

    def expected(option: object) -> list[str]:
        def change(export: dict[str, Any]) -> None:
            for row in export["results"]["results"]:
                said = {"type": "equals", "value": "x", name: option}
                row["gradingResult"] = {
                    "componentResults": [{"pass": True, "score": 1, "assertion": said}]
                }

        checks = table(_with(tmp_path, change), "reported_checks")
        return checks["expected"].unique().to_list()

    assert expected(None) == ['"x"']
    (one,), (other,) = expected("a"), expected("b")
    assert json.loads(one) == {"value": "x", name: "a"}
    assert one != other


def test_the_order_of_the_keys_of_an_assertion_says_nothing(tmp_path: Path) -> None:
    """A config that is written anew, as by a formatter, judges as before."""
    check = {"type": "similar", "value": {"a": 1, "b": 2}, "weight": 1}
    again = {"weight": 1, "value": {"b": 2, "a": 1}, "type": "similar"}
    before, after, changed = (
        table(_with(tmp_path, _of_tests(**{"assert": [each]})), "cases")
        for each in (check, again, {**check, "weight": 2})
    )
    assert before["expectation_hash"].to_list() == after["expectation_hash"].to_list()
    assert (before["expectation_hash"] != changed["expectation_hash"]).all()


@pytest.mark.parametrize(
    ("name", "is_other"), [("q.txt", True), ("q.js", False), ("q.py:ask", False)]
)
def test_the_content_of_a_file_that_is_a_variable_is_a_content_of_the_case(
    name: str, is_other: bool, tmp_path: Path
) -> None:
    """A script may return something else in every run."""

    def reading(content: str) -> Reading:
        def change(export: dict[str, Any]) -> None:
            for row in export["results"]["results"]:
                row["testCase"]["vars"] = {"question": f"file://{name}"}
                row["vars"] = {"question": content}

        return _with(tmp_path, change)

    before, after = (table(reading(each), "cases") for each in ("Nile?", "Rhine?"))
    assert before["case_id"].to_list() == after["case_id"].to_list()
    assert (before["context"] != after["context"]).all() is is_other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"temperature": 0, "tools": [{"name": "a"}]}, {"temperature": 0}),
        ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}}),
    ],
)
@pytest.mark.parametrize("is_map", [False, True])
def test_nested_settings_of_a_provider_are_settings(
    one: dict[str, Any], other: dict[str, Any], is_map: bool, tmp_path: Path
) -> None:
    def settings(config: dict[str, Any]) -> list[str]:
        def change(export: dict[str, Any]) -> None:
            provider = export["results"]["prompts"][0]["provider"]
            said = {"config": {**config, "apiKey": "k"}}
            export["config"]["providers"] = [
                {provider: said} if is_map else {"id": provider, **said}
            ]

        found = table(_with(tmp_path, change), "tasks")["settings"]
        return found.drop_nulls().to_list()

    assert settings(one) != settings(other)
    assert '"k"' not in str(settings(one))


def test_the_model_behind_a_label_is_a_setting(tmp_path: Path) -> None:
    def settings(model: str) -> list[str]:
        def change(export: dict[str, Any]) -> None:
            label = export["results"]["prompts"][0]["provider"]
            export["config"]["providers"] = [{"id": model, "label": label}]

        return table(_with(tmp_path, change), "tasks")["settings"].to_list()

    assert settings("acme:large") != settings("acme:small")


def test_two_providers_of_one_name_are_two_variants(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        head, rows = export["results"]["prompts"][0], export["results"]["results"]
        export["results"]["prompts"] = [head, head]
        export["config"]["providers"] = [
            {"id": head["provider"], "config": {"temperature": each, "seed": 1}}
            for each in (0, 1)
        ]
        first = [row for row in rows if row["promptIdx"] == 0]
        export["results"]["results"] = first + [
            {**row, "promptIdx": 1, "id": f"{row['id']}-again"} for row in first
        ]

    tasks = table(_with(tmp_path, change), "tasks")
    assert tasks["model"].n_unique() == 1
    name = tasks["model"][0]
    assert tasks["provider"].to_list() == [
        f"{name} (temperature=0)",
        f"{name} (temperature=1)",
    ]


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("of", "name", "value"),
    [
        *(("response", "metadata", each) for each in ([], [1], "x", 5, True, None)),
        ("", "testCase", None),
        ("", "prompt", None),
    ],
)
def test_a_row_is_read_whatever_stands_beside_its_answer(
    of: str, name: str, value: object, suffix: str, tmp_path: Path
) -> None:
    export = json.loads(RIVERS.read_text("utf-8"))
    rows = export["results"]["results"]
    for row in rows[:3]:
        (row[of] if of else row)[name] = value
    file = tmp_path / f"rivers.{suffix}"
    texts = [export] if suffix == "json" else rows
    file.write_text("".join(f"{json.dumps(each)}\n" for each in texts), "utf-8")
    reading = reading_of(file)
    assert (reading.records_loaded, reading.records_rejected) == (len(rows), 0)


@pytest.mark.parametrize(
    ("timestamp", "eval_id", "expected"),
    [
        ("2026-11-22T16:06:58.123Z", "eval-1-2025-01-01T00:00:00", "22 16:06:58.123"),
        (None, "eval-86w-2026-11-22T13:01:19", "22 13:01:19"),
        ("once", "eval-86w-2026-11-22T13:01:19", "22 13:01:19"),
        (None, "eval-86w-2026-11-99T13:01:19", None),
        (None, "mine", None),
        (None, None, None),
    ],
)
def test_a_run_without_a_time_has_that_of_its_id(
    timestamp: str | None, eval_id: str | None, expected: str | None, tmp_path: Path
) -> None:
    def change(export: dict[str, Any]) -> None:
        export["results"]["timestamp"] = timestamp
        export["evalId"] = eval_id

    (begun,) = set(table(_with(tmp_path, change), "tasks")["created_at"])
    time = expected and datetime.fromisoformat(f"2026-11-{expected}+00:00")
    assert (begun and begun.replace(tzinfo=UTC)) == time
