"""OpenAI evals: events in no order, verdicts of matches, numbers of metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table


@pytest.fixture(scope="module")
def rivers() -> Reading:
    return reading_of(DATA / "openai_evals" / "rivers.jsonl")


def test_a_file_is_one_task(rivers: Reading) -> None:
    (task,) = table(rivers, "tasks").rows(named=True)
    assert task["task_id"] == "260102030405RIVERS"
    assert (task["title"], task["prompt_version"]) == ("rivers.dev.v1", "dev.v1")
    assert task["model"] == "table-late"
    assert rivers.problems[0].code == "time_without_zone"


def test_a_case_is_known_by_its_prompt_and_twins_by_the_order_of_their_numbers(
    rivers: Reading,
) -> None:
    rounds = table(rivers, "rounds").sort("case_id")
    nile = rounds.filter(pl.col("case_id").str.contains("Sea of the Nile"))
    # dev.2 comes before dev.10
    assert nile["raw_output"].to_list() == ["Mediterranean", "Black"]
    assert nile["case_id"][1] == f"{nile['case_id'][0]}~2"


def test_a_match_is_a_check_and_the_verdict(rivers: Reading) -> None:
    checks = table(rivers, "reported_checks")
    assert checks["passed"].to_list().count(True) == 2
    verdicts = table(rivers, "rounds")["reported_status"].to_list()
    assert sorted(verdicts) == ["error", "fail", "pass", "pass"]
    assert json.loads(checks["expected"][0]) == ["North", "North Sea"]


def test_an_error_says_what_broke(rivers: Reading) -> None:
    errors = table(rivers, "rounds")["error"].drop_nulls().to_list()
    assert errors == ["no such river"]


def test_accuracy_and_match_say_the_same_so_one_of_them_is_weighed(
    rivers: Reading,
) -> None:
    dimensions = table(rivers, "dimension_configs")
    assert dict(dimensions.select("dimension_id", "weight").rows()) == {
        "match": 1.0,
        "accuracy": 0.0,
        "f1_score": 0.0,
    }


@pytest.mark.parametrize(
    ("correct", "expected", "verdict"),
    [([True], 1.0, "pass"), ([True, False], 0.5, "fail"), ([True] * 3, 1.0, "pass")],
)
def test_a_sample_with_several_matches_scores_the_share_that_is_right(
    correct: list[bool], expected: float, verdict: str, tmp_path: Path
) -> None:
    spec = {"run_id": "r", "eval_name": "a.b.v1", "completion_fns": ["m"]}
    events = [
        {"sample_id": "a.0", "event_id": n, "type": "match", "data": {"correct": each}}
        for n, each in enumerate(correct)
    ]
    file = tmp_path / "log.jsonl"
    lines = map(json.dumps, [{"spec": spec}, *events])
    file.write_text("\n".join(lines), "utf-8")
    reading = reading_of(file)
    assert table(reading, "reported_scores")["value"].to_list() == [expected]
    assert table(reading, "rounds")["reported_status"].to_list() == [verdict]


@pytest.mark.parametrize(("scores", "is_graded"), [((1.0, 0.0), True), ((5, 2), False)])
def test_the_score_of_a_choice_is_graded_where_it_is_only_ever_0_or_1(
    scores: tuple[float, ...], is_graded: bool, tmp_path: Path
) -> None:
    spec = {"completion_fns": ["m"], "eval_name": "a.b.v0", "run_id": "r"}
    lines: list[dict[str, object]] = [{"spec": spec}]
    for n, score in enumerate(scores):
        asked = {"prompt": [{"role": "user", "content": f"q{n}"}], "sampled": ["a"]}
        for kind, data in (
            ("sampling", asked),
            ("metrics", {"choice": "Yes", "score": score}),
        ):
            lines.append(
                {"run_id": "r", "event_id": len(lines), "sample_id": f"s{n}",
                 "type": kind, "data": data}
            )  # fmt: skip
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    reading = reading_of(file)
    dimensions = table(reading, "dimension_configs").filter(dimension_id="score")
    assert dimensions["is_graded"].to_list() == [is_graded]


def test_a_file_without_its_report_may_lack_samples(tmp_path: Path) -> None:
    written = (DATA / "openai_evals" / "rivers.jsonl").read_text("utf-8").splitlines()
    file = tmp_path / "cut.jsonl"
    lines = [line for line in written if "final_report" not in line]
    file.write_text("\n".join(lines), "utf-8")
    assert "run_incomplete" in [each.code for each in reading_of(file).problems]


def _run(
    folder: Path, events: Sequence[tuple[str, dict[str, Any]]], **config: Any
) -> Reading:
    """Read a run of one sample."""
    fns = config.pop("completion_fns", ["m"])
    spec = {"completion_fns": fns, "eval_name": "a.b.v0", "run_id": "r"}
    lines: list[dict[str, Any]] = [{"spec": {**spec, "run_config": config}}]
    lines += [
        {"event_id": n, "sample_id": "a.b.0", "type": kind, "data": data}
        for n, (kind, data) in enumerate(events)
    ]
    file = folder / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return reading_of(file)


GRADED = {"args": {"modelgraded_spec": "fact"}}
SCORED: list[tuple[str, dict[str, Any]]] = [
    ("sampling", {"prompt": "q", "sampled": ["a"]}), ("metrics", {"score": 1.0})
]  # fmt: skip


def test_the_last_of_several_models_of_a_model_graded_eval_is_the_judge(
    tmp_path: Path,
) -> None:
    reading = _run(tmp_path, SCORED, completion_fns=["m", "j"], eval_spec=GRADED)
    assert table(reading, "tasks")["model"].to_list() == ["m"]
    assert table(reading, "judges").select("name", "model").rows() == [("score", "j")]
    plain = _run(tmp_path, SCORED, completion_fns=["m", "n"])
    assert table(plain, "tasks")["model"].to_list() == ["m, n"]
    assert table(plain, "judges").is_empty()


@pytest.mark.parametrize(
    "config",
    [
        {"command": "oaieval m a --completion_args temperature=1"},
        {"command": "oaieval m a --completion_args 'temperature=1,top_p=0.5' --seed 1"},
        {"seed": 2},
        {"eval_spec": {"args": {"max_tokens": 5}}},
    ],
)
def test_how_answers_are_sampled_is_a_setting(
    config: dict[str, Any], tmp_path: Path
) -> None:
    command = {"command": "oaieval m a --record_path /tmp/x"}
    (before,) = table(_run(tmp_path, SCORED, **command), "tasks")["settings"]
    (after,) = table(_run(tmp_path, SCORED, **config), "tasks")["settings"]
    assert before is None
    assert after is not None


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("raw_sample", {"input": "Nile?", "ideal": "a"}),
        ("pick_option", {"prompt": "Nile?", "options": ["a"], "picked": "a"}),
        ("cond_logp", {"prompt": "Nile?", "completion": "a", "logp": -1}),
    ],
)
def test_a_sample_without_a_call_is_known_by_what_its_events_ask(
    kind: str, data: dict[str, Any], tmp_path: Path
) -> None:
    match = ("match", {"correct": True})
    other = {
        key: "Rhine?" if value == "Nile?" else value for key, value in data.items()
    }
    one, two = (
        table(_run(tmp_path, [(kind, each), match]), "cases")["case_id"].to_list()
        for each in (data, other)
    )
    assert one != two


def test_all_that_the_matches_of_a_sample_expect_is_its_golden_answer(
    tmp_path: Path,
) -> None:
    matches = [
        ("match", {"correct": True, "expected": each}) for each in ("a", "b", "a")
    ]
    (golden,) = table(_run(tmp_path, matches), "baselines")["payload"]
    assert json.loads(golden) == {"answer": ["a", "b"]}


def test_of_several_events_with_a_metric_the_mean_counts(tmp_path: Path) -> None:
    lines = (DATA / "openai_evals" / "rivers.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    (first, *_) = (each for each in events if each.get("type") == "metrics")
    again = {**first, "event_id": 99, "data": {"f1_score": 1.0, "tone": "calm"}}
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(map(json.dumps, [*events, again])), "utf-8")
    scores = table(reading_of(file), "reported_scores")
    (round_id,) = scores.filter(dimension_id="tone")["round_id"]
    of_sample = scores.filter(round_id=round_id)
    values = dict(of_sample.select("dimension_id", "value").rows())
    assert first["data"] == {"accuracy": 0.0, "f1_score": 0.5}
    assert values == {"match": 0.0, "accuracy": 0.0, "f1_score": 0.75, "tone": None}
