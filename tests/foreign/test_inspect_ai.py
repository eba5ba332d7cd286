"""Inspect's logs: archives and JSON, epochs, letters, values on other scales."""

from __future__ import annotations

import json
import zipfile as plain_zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.foreign.archives import Archive, zipfile
from promptlab.ingest.foreign.documents import (
    Refused,
)
from promptlab.ingest.foreign.inspect_ai.log import Sample, Score
from promptlab.ingest.foreign.inspect_ai.scores import values_of
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

LATE = DATA / "inspect_ai" / "late.eval"


@pytest.fixture(scope="module")
def late() -> Reading:
    return reading_of(LATE)


def _repacked(into: Path, method: int, leave_out: str = "") -> Path:
    with zipfile.ZipFile(LATE) as old, zipfile.ZipFile(into, "w", method) as new:
        for name in old.namelist():
            if not leave_out or not name.startswith(leave_out):
                new.writestr(name, old.read(name))
    return into


def test_a_log_is_one_task(late: Reading) -> None:
    (task,) = table(late, "tasks").rows(named=True)
    assert task["title"] == "rivers"
    assert task["model"] == "mockllm/late"
    assert task["prompt_version"] == "ask-v1"
    assert task["tool_version"] == "0.3.285"
    assert json.loads(task["env"]) == {"model": "late"}


def test_members_may_be_packed_by_deflate_or_by_zstandard(
    late: Reading, tmp_path: Path
) -> None:
    with plain_zipfile.ZipFile(LATE) as archive:
        assert {each.compress_type for each in archive.infolist()} == {93}
    deflated = _repacked(tmp_path / "old.eval", zipfile.ZIP_DEFLATED)
    assert reading_of(deflated).rows == late.rows


def test_cases_keep_inspects_own_ids_whatever_they_are(late: Reading) -> None:
    assert set(table(late, "cases")["case_id"]) == {"a/1", "2", "2b", "lost"}


def test_epochs_are_rounds(late: Reading) -> None:
    rounds = table(late, "rounds").filter(case_id="a/1").sort("run_index")
    assert rounds["round_id"].to_list() == ["a/1-1", "a/1-2"]
    assert rounds["run_index"].to_list() == [1, 2]


def test_inspect_has_no_pass_rule_only_errors_have_a_status(late: Reading) -> None:
    rounds = table(late, "rounds").select("case_id", "reported_status").unique()
    assert set(rounds.rows()) == {
        ("a/1", None),
        ("2", None),
        ("2b", None),
        ("lost", "error"),
    }


def test_a_sample_that_was_invalidated_keeps_its_answer_and_has_no_score(
    late: Reading, tmp_path: Path
) -> None:
    log = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))
    first = log["samples"][0]
    first["invalidation"] = {"author": "ann", "reason": "the sandbox leaked"}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    reading = reading_of(file)
    of_first = pl.col("round_id") == f"{first['id']}-{first['epoch']}"
    scores, before = (
        table(each, "reported_scores").filter(of_first) for each in (reading, late)
    )
    assert before["score"].drop_nulls().len() > 0
    assert scores["dimension_id"].to_list() == before["dimension_id"].to_list()
    assert scores["value"].null_count() == scores["score"].null_count() == scores.height
    (answer,) = table(reading, "rounds").filter(of_first).rows(named=True)
    assert answer["reported_status"] is None  # others are judged by their scores
    assert answer["raw_output"] == first["output"]["completion"]
    assert "leaked" in answer["metadata"]
    codes = [each.code for each in reading.problems]
    assert codes.count("samples_invalidated") == 1


def test_a_dict_of_values_is_a_dimension_per_key(late: Reading) -> None:
    dimensions = table(late, "dimension_configs")["dimension_id"].to_list()
    assert dimensions == ["includes", "looks.characters", "looks.kindness", "grade"]


def test_what_lies_on_no_known_scale_is_kept_and_not_graded(late: Reading) -> None:
    dimensions = table(late, "dimension_configs")
    graded = dict(dimensions.select("dimension_id", "is_graded").rows())
    assert graded == {
        "includes": True,
        "grade": True,
        "looks.characters": False,
        "looks.kindness": False,
    }
    assert dimensions.filter(~pl.col("is_graded"))["weight"].to_list() == [0.0, 0.0]
    characters = table(late, "reported_scores").filter(dimension_id="looks.characters")
    assert characters["value"].min() > 1  # type: ignore[operator]  # they are numbers
    assert characters["score"].null_count() == characters.height


@pytest.mark.parametrize(
    ("value", "metric", "is_graded"),
    [
        *((value, "mean", False) for value in (True, "yes", 1)),
        ("C", "mean", True),
        (True, "accuracy", True),
    ],
)
def test_truth_values_whose_name_is_bad_decide_nothing_unless_the_log_says_more(
    value: object, metric: str, is_graded: bool, tmp_path: Path
) -> None:
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    for sample in log["samples"]:
        sample["scores"] = {"harmful": {"value": value}}
    metrics = [{"name": f"inspect_ai/{metric}", "options": {}}]
    log["eval"]["scorers"] = [{"name": "harmful", "metrics": metrics}]
    del log["results"]
    file = tmp_path / "harm.json"
    file.write_text(json.dumps(log), "utf-8")
    reading = reading_of(file)
    assert table(reading, "dimension_configs")["is_graded"].to_list() == [is_graded]
    codes = [problem.code for problem in reading.problems]
    assert ("unclear_direction" in codes) is not is_graded


VALUES = [
    ("C", 1.0),
    ("P", 0.5),
    ("I", 0.0),
    ("N", 0.0),
    (True, 1.0),
    ("yes", 1.0),
    ("No", 0.0),
    ("0.25", 0.25),
    (7, 7.0),
    ("a text", None),
    (None, None),
]


@pytest.mark.parametrize(("written", "value"), VALUES)
def test_letters_and_words_stand_for_numbers(
    written: object, value: float | None
) -> None:
    (found,) = values_of(Sample(id=1, scores={"s": Score(value=written)}))
    assert found.value == value


def test_a_text_id_and_a_number_id_that_look_alike_are_two_cases(
    tmp_path: Path,
) -> None:
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    first, second, *_ = log["samples"]
    log["samples"] = [{**first, "id": 7, "epoch": 1}, {**second, "id": "7", "epoch": 1}]
    file = tmp_path / "alike.json"
    file.write_text(json.dumps(log), "utf-8")
    assert table(reading_of(file), "cases")["case_id"].to_list() == ["7", "7~str"]


def test_the_target_is_the_golden_answer(late: Reading) -> None:
    (baseline,) = table(late, "baselines").filter(case_id="2b").rows(named=True)
    assert json.loads(baseline["payload"]) == {"answer": "Black"}
    assert baseline["type"] == "golden_answer"


def test_a_run_that_did_not_end_is_loaded_with_a_warning(tmp_path: Path) -> None:
    file = _repacked(tmp_path / "killed.eval", 93, leave_out="header.json")
    reading = reading_of(file)
    assert reading.records_loaded == 8
    (problem,) = reading.problems
    assert problem.severity == "warning"
    assert "started" in problem.message


def test_a_damaged_archive_is_rejected_in_words(tmp_path: Path) -> None:
    file = tmp_path / "half.eval"
    file.write_bytes(LATE.read_bytes()[:5000])
    reading = reading_of(file)
    assert reading.rejected
    assert not reading.rows
    assert reading.problems[0].code == "broken_archive"


def test_an_archive_of_a_later_version_of_zip_is_rejected_in_words(
    tmp_path: Path,
) -> None:
    data = bytearray(LATE.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 124  # the version that is needed
    file = tmp_path / "later.eval"
    file.write_bytes(data)
    reading = reading_of(file)
    assert reading.rejected
    assert [problem.code for problem in reading.problems] == ["broken_archive"]


def test_a_member_that_unpacks_to_too_much_is_refused() -> None:
    with (
        Archive(LATE, largest=100) as archive,
        pytest.raises(Refused, match="max_file_mb"),
    ):
        archive.read("header.json")


def test_what_numbers_are_grouped_by_is_a_tag(tmp_path: Path) -> None:
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    for sample in log["samples"]:
        sample["metadata"] = {"sea": "north" if sample["id"] == "a/1" else "south"}
    params = {"metric": {"name": "accuracy"}, "group_key": "sea"}
    log["results"]["scores"][0]["metrics"] = {
        name: {"name": name, "group": "grouped", "value": 1.0, "params": params}
        for name in ("north", "all")
    }
    file = tmp_path / "grouped.json"
    file.write_text(json.dumps(log), "utf-8")
    reading = reading_of(file)
    tags = dict(table(reading, "cases").select("case_id", "tags").rows())
    assert tags["a/1"] == '["sea:north"]'
    assert "includes" not in table(reading, "claims")["dimension_id"].to_list()


@pytest.mark.parametrize("is_in_results", [False, True])
def test_another_option_of_a_scorer_is_another_yardstick(
    tmp_path: Path, is_in_results: bool
) -> None:
    parameters = []
    for location in ("any", "end"):
        log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
        options = {"ignore_case": True, "location": location}
        if is_in_results:
            log["results"]["scores"][0]["params"] = options
        else:
            log["eval"]["scorers"] = [{"name": "includes", "options": options}]
        file = tmp_path / f"{location}.json"
        file.write_text(json.dumps(log), "utf-8")
        columns = table(reading_of(file), "dimension_configs")
        parameters.append(dict(columns.select("dimension_id", "parameters").rows()))
    before, after = parameters
    assert json.loads(before["includes"])["options"]["location"] == "any"
    assert [name for name in before if before[name] != after[name]] == ["includes"]


def test_a_model_judged_each_value_of_its_scorer(tmp_path: Path) -> None:
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    for sample in log["samples"]:
        sample["scores"] = {"faithful": {"value": {"tone": 1, "truth": 0}}}
    options = {"model": "acme/judge"}
    log["eval"]["scorers"] = [{"name": "faithful", "options": options}]
    log["results"]["scores"] = []
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    judges = table(reading_of(file), "judges").select("name", "model").rows()
    assert sorted(judges) == [
        ("faithful.tone", "acme/judge"),
        ("faithful.truth", "acme/judge"),
    ]


@pytest.mark.parametrize("name", ["model_graded_qa", "acme/faithful"])
@pytest.mark.parametrize("is_in_results", [True, False])
@pytest.mark.parametrize(
    "changed",
    [
        {"include_history": True},
        {"grade_pattern": "GRADE: ([CI])"},
        {"threshold": 0.3},
        {"model": {"model": "acme/judge", "config": {"temperature": 1}}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_options_of_a_scorer_that_is_a_judge_are_parameters_too(
    changed: dict[str, object], is_in_results: bool, name: str, tmp_path: Path
) -> None:
    own = name.rpartition("/")[2]
    parameters, judges = [], []
    for given in ({}, changed, {"template": "Is it so?"}, {"model": "acme/other"}):
        log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
        options = {"model": "acme/judge", "threshold": 0.9, **given}
        for sample in log["samples"]:
            sample["scores"] = {own: {"value": "C"}, f"{own}1": {"value": "I"}}
        log["eval"]["scorers"] = [
            {"name": name, "options": options},
            {"name": name, "options": {"model": "acme/second"}},
        ]
        scores = [{"name": own, "scorer": own, "params": options, "metrics": {}}]
        log["results"]["scores"] = scores if is_in_results else []
        file = tmp_path / "log.json"
        file.write_text(json.dumps(log), "utf-8")
        reading = reading_of(file)
        columns = table(reading, "dimension_configs")
        parameters.append(dict(columns.select("dimension_id", "parameters").rows()))
        told = table(reading, "judges").select("name", "model", "template")
        judges.append(told.rows())
    before, after, *asked = parameters
    assert [each for each in before if before[each] != after[each]] == [own]
    for each in asked:
        assert [name for name in before if before[name] != each[name]] == [own]
    second = (f"{own}1", "acme/second", None)
    assert judges == [
        [(own, "acme/judge", None), second],
        [(own, "acme/judge", None), second],
        [(own, "acme/judge", "Is it so?"), second],
        [(own, "acme/other", None), second],
    ]


LONG = "You are a careful agent of ACME. " * 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"task_args_passed": {"instructions": LONG, "tone": "formal"}},
            {"task_args_passed": {"instructions": LONG, "tone": "casual"}},
        ),
        ({"solver": "react"}, {"solver": "plain"}),
        (
            {"solver": "react", "solver_args": {"attempts": 1}},
            {"solver": "react", "solver_args": {"attempts": 3}},
        ),
        (
            {"model": "hf/local", "model_args": {"model_path": "/data/m/7b"}},
            {"model": "hf/local", "model_args": {"model_path": "/data/m/70b"}},
        ),
        (
            {"model": "hf/local", "model_args": {"model_path": "/data/m/1/final"}},
            {"model": "hf/local", "model_args": {"model_path": "/data/m/2/final"}},
        ),
    ],
    ids=[
        *("end of long arguments", "solver", "arguments of the solver"),
        *("local model", "folder of a local model"),
    ],
)
def test_two_ways_to_run_a_task_are_two_variants(
    one: dict[str, object], other: dict[str, object], tmp_path: Path
) -> None:
    document = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    variants = []
    for changes in (one, other):
        file = tmp_path / "log.json"
        log = document | {"eval": document["eval"] | changes}
        file.write_text(json.dumps(log), "utf-8")
        variants += table(reading_of(file), "tasks")["provider"].to_list()
    assert len(set(variants)) == 2
    assert all(len(variant) <= 120 for variant in variants)


def test_the_score_is_the_first_scorer_of_the_log_whatever_the_first_sample_has(
    tmp_path: Path,
) -> None:
    document = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    document["eval"]["scorers"] = [{"name": "match"}, {"name": "tone"}]
    for place, sample in enumerate(document["samples"]):
        tone = {"tone": {"value": "C"}}
        sample["scores"] = tone if place == 0 else {"match": {"value": "I"}, **tone}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(document), "utf-8")
    dimensions = table(reading_of(file), "dimension_configs")
    weights = dict(dimensions.select("dimension_id", "weight").rows())
    assert weights == {"tone": 0.0, "match": 1.0}


@pytest.mark.parametrize(
    ("headline", "weighed"),
    [
        (None, "match"),
        ({"scorer": "tone"}, "tone"),
        ({"scorer": "looks", "score": "kind"}, "looks.kind"),
        ({"scorer": "match", "score": "match", "metric": "accuracy"}, "match"),
        ({"metric": "accuracy"}, "match"),
    ],
)
def test_the_headline_of_a_run_is_its_score(
    headline: dict[str, str] | None, weighed: str, tmp_path: Path
) -> None:
    document = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    names = ("match", "tone", "looks")
    document["eval"]["scorers"] = [{"name": each} for each in names]
    document["eval"]["headline_metric"] = headline
    for sample in document["samples"]:
        sample["scores"] = {each: {"value": "C"} for each in names[:2]}
        sample["scores"]["looks"] = {"value": {"long": "C", "kind": "C"}}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(document), "utf-8")
    dimensions = table(reading_of(file), "dimension_configs")
    assert dimensions.filter(weight=1.0)["dimension_id"].to_list() == [weighed]


STRICT = {"temperature": 0.0, "system_message": "Be strict.", "top_k": None}
ROLE = {
    "model": "acme/judge",
    "config": STRICT,
    "args": {},
    "base_url": "https://a.test",
}


def _graded(
    folder: Path, scorer: dict[str, object], roles: dict[str, object] | None
) -> tuple[object, list[tuple[object, ...]]]:
    """Return the parameters of the dimension and the judges of a run."""
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    name = str(scorer["name"]).rpartition("/")[2]
    for sample in log["samples"]:
        sample["scores"] = {name: {"value": "C"}}
    log["eval"] |= {"scorers": [scorer], "model_roles": roles}
    log["results"]["scores"] = []
    file = folder / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    reading = reading_of(file)
    assert not reading.rejected
    (parameters,) = table(reading, "dimension_configs")["parameters"]
    judges = table(reading, "judges")
    named = judges.select("name", "model").rows() if judges.height else []
    return json.loads(parameters), named


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "acme/other"},
        {"config": {**STRICT, "temperature": 1.0}},
        {"config": {**STRICT, "system_message": "Be lenient."}},
        {"config": {**STRICT, "reasoning_effort": "low"}},
        {"config": {**STRICT, "extra_body": {"seed": 3}}},
        {"args": {"quantized": True}},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize(
    ("scorer", "role"),
    [
        ({"name": "model_graded_qa"}, "grader"),
        ({"name": "model_graded_qa", "options": {"model_role": "critic"}}, "critic"),
        (
            {
                "name": "model_graded_fact",
                "options": {"model_role": {"name": "critic"}},
            },
            "critic",
        ),
        ({"name": "acme/politeness", "options": {}}, "grader"),
        ({"name": "politeness1"}, "strict_judge"),
        ({"name": "politeness", "options": {"asks": "critic"}}, "critic"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_another_model_or_setting_of_a_role_that_grades_is_another_yardstick(
    scorer: dict[str, object],
    role: str,
    is_list: bool,
    changed: dict[str, object],
    tmp_path: Path,
) -> None:
    before, after, moved = (
        _graded(tmp_path, scorer, {role: [each, ROLE] if is_list else each})
        for each in (ROLE, {**ROLE, **changed}, {**ROLE, "base_url": "https://b.test"})
    )
    assert before != after
    assert before == moved
    assert before != _graded(tmp_path, scorer, None)


def test_a_judge_has_the_same_settings_as_a_role_and_as_an_option(
    tmp_path: Path,
) -> None:
    as_option: dict[str, object]
    as_option = {"name": "model_graded_qa", "options": {"model": ROLE}}
    as_role: dict[str, object] = {"name": "model_graded_qa", "options": {}}
    option = _graded(tmp_path, as_option, {"grader": {"model": "acme/hidden"}})
    assert option == _graded(tmp_path, as_role, {"grader": ROLE})
    assert option[1] == [("model_graded_qa", "acme/judge")]
    assert "hidden" not in str(option)


@pytest.mark.parametrize(
    "name", ["match", "includes", "f1", "f11", "math", "inspect_ai/exact"]
)
def test_a_rule_of_inspect_has_no_judge(name: str, tmp_path: Path) -> None:
    scorer: dict[str, object] = {"name": name, "options": {}}
    found = _graded(tmp_path, scorer, {"grader": ROLE})
    assert found == _graded(tmp_path, scorer, None)
    assert found[1] == []


def _changed(
    folder: Path, at: Sequence[str | int], value: object, scorer: str = "includes"
) -> Reading:
    """Read the log with a value changed."""
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    log["eval"]["scorers"] = [{"name": scorer, "options": {}, "metadata": {}}]
    log["results"]["scores"] = []
    for sample in log["samples"]:
        sample["scores"] = {scorer: {"value": "C"}}
    *steps, last = at
    place: Any = log
    for step in steps:
        place = place[step]
    place[last] = value
    file = folder / "log.json"
    file.write_text(json.dumps(log), "utf-8")
    return reading_of(file)


@pytest.mark.parametrize(
    ("scorer", "at", "one", "other"),
    [
        *(
            ("model_graded_qa", at, {"temperature": 0}, {"temperature": 1})
            for at in (("plan", "config"), ("eval", "model_generate_config"))
        ),
        ("model_graded_qa", ("eval", "model_args"), {"bits": 4}, {"bits": 8}),
    ],
)
def test_the_model_under_test_may_grade_itself(
    scorer: str, at: Sequence[str | int], one: object, other: object, tmp_path: Path
) -> None:
    before, after = (
        table(_changed(tmp_path, at, each, scorer), "dimension_configs")["parameters"]
        for each in (one, other)
    )
    assert before.to_list() != after.to_list()


@pytest.mark.parametrize(
    "options",
    [
        {"max_retries": 3, "max_connections": 9, "api_key": "k", "unknown": None},
        {"judge": {"base_url": "https://b.test", "args": {}, "config": {"seed": None}}},
    ],
)
def test_how_a_judge_is_called_is_no_yardstick(
    options: dict[str, object], tmp_path: Path
) -> None:
    before, after = (
        _graded(tmp_path, {"name": "politeness", "options": each}, None)
        for each in ({}, options)
    )
    assert before == after


HOME = "/home"
RUNNER = "/".join(("runner", "work"))


def _messages(n: int, folder: str, words: str = "Which river?") -> list[Any]:
    picture = {"type": "image", "image": f"{folder}/pictures/a.png"}
    content = [{"type": "text", "text": words}, picture]
    return [{"id": f"id{n}", "role": "user", "source": "input", "content": content}]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("input", _messages(1, f"{HOME}/ann/p"), _messages(2, "/github/workspace/p")),
        ("setup", f"{HOME}/ann/p/setup.sh", f"{HOME}/{RUNNER}/p/p/p/setup.sh"),
        ("files", {"a": f"{HOME}/ann/p/a.csv"}, {"a": "/tmp/x/p/a.csv"}),
    ],
)
def test_what_inspect_writes_anew_in_each_run_is_not_asked(
    name: str, one: Any, other: Any, tmp_path: Path
) -> None:
    before, after = (
        table(_changed(tmp_path, ("samples", 0, name), each), "cases")["context"]
        for each in (one, other)
    )
    assert before.to_list() == after.to_list()


@pytest.mark.parametrize("other", ["Which sea?", "Which river? "])
def test_other_words_in_a_message_are_another_question(
    other: str, tmp_path: Path
) -> None:
    before, after = (
        table(_changed(tmp_path, ("samples", 0, "input"), each), "cases")["context"]
        for each in (_messages(1, "/tmp/x"), _messages(1, "/tmp/x", other))
    )
    assert (before != after).sum() == 1


def test_the_limit_that_ended_a_sample_is_kept_with_its_answer(tmp_path: Path) -> None:
    reading = _changed(tmp_path, ("samples", 0, "limit"), {"type": "token", "limit": 9})
    assert '"limit":{"type":"token"' in table(reading, "rounds")["metadata"][0]


def test_a_run_that_was_asked_to_end_is_incomplete(tmp_path: Path) -> None:
    reading = _changed(tmp_path, ("results", "logged_samples"), 1)
    assert "run_incomplete" in [each.code for each in reading.problems]


def test_metadata_that_was_edited_after_the_run_is_that_of_the_run(
    tmp_path: Path,
) -> None:
    reading = _changed(tmp_path, ("metadata",), {"prompt_version": "ask-v2"})
    assert table(reading, "tasks")["prompt_version"].to_list() == ["ask-v2"]


def test_a_role_of_the_solver_is_no_yardstick(tmp_path: Path) -> None:
    scorer: dict[str, object] = {"name": "politeness", "options": {"strict": True}}
    roles = {"user_simulator": {"model": "acme/user"}}
    assert _graded(tmp_path, scorer, roles) == _graded(tmp_path, scorer, None)


ODD_USAGES: dict[str, Any] = {
    "a text": "many",
    "a number": 7,
    "a list": [7],
    "tokens as a text": {"input_tokens": "7", "output_tokens": []},
    "half a token": {"input_tokens": 7.5, "output_tokens": 1.5},
}


@pytest.mark.parametrize("what", ODD_USAGES)
def test_odd_tokens_cost_no_sample(what: str, tmp_path: Path) -> None:
    log = json.loads(LATE.with_suffix(".json").read_text("utf-8"))
    model = log["eval"]["model"]
    usage = ODD_USAGES[what]
    for place, sample in enumerate(log["samples"]):
        sample["output"] = {**(sample.get("output") or {}), "usage": usage}
        sample["model_usage"] = {model: usage} if place % 2 else usage
    file = tmp_path / "late.json"
    file.write_text(json.dumps(log), "utf-8")
    reading, before = reading_of(file), reading_of(LATE.with_suffix(".json"))
    assert not reading.records_rejected
    assert reading.records_loaded == before.records_loaded
