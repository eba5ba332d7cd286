"""Commands that take two runs, or a run of several variants."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.history.test_variants import Night, write_changed

BOTH = ("small", "large")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three nights of two models, and one night of another suite on one model."""
    folder = tmp_path_factory.mktemp("selections")
    warehouse = Warehouse(folder / "w.duckdb")
    for number in (1, 2, 3):
        night = Night(number, providers=BOTH, fails={"large": ["t1"][: number - 2]})
        warehouse.ingest(night.write(folder))
    warehouse.ingest(Night(1, title="other").write(folder))
    warehouse.build()
    return folder


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def caller(folder, capsys, monkeypatch) -> Callable[[Path], Call]:
    """Run commands on a warehouse, in the folder of the files."""
    monkeypatch.chdir(folder)

    def of(db: Path) -> Call:
        def call(*args: str) -> tuple[int, str, str]:
            code = run_cli([args[0], "--db", str(db), *args[1:]])
            captured = capsys.readouterr()
            return code, captured.out, captured.err

        return call

    return of


@pytest.fixture
def call(folder, tmp_path, caller) -> Call:
    """Run a command on a copy of the warehouse."""
    return caller(shutil.copy(folder / "w.duckdb", tmp_path / "copy.duckdb"))


@pytest.fixture(scope="module")
def copy(folder, tmp_path_factory) -> Path:
    return shutil.copy(folder / "w.duckdb", tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def call_again(copy, caller) -> Call:
    """Run a command on one copy, in which the pairs of other tests stay."""
    return caller(copy)


def compared(found: tuple[int, str, str]) -> list[tuple[str, str]]:
    objects = json.loads(found[1])
    listed = objects if isinstance(objects, list) else [objects]
    return [
        (each["baseline"]["task_id"], each["candidate"]["task_id"]) for each in listed
    ]


PAIRS = [("eval-1/1", "eval-3/1"), ("eval-1/0", "eval-3/0")]


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("eval-1", "eval-3", PAIRS),
        ("night1.json", "night3.json", PAIRS),
        ("night1.json", "eval-3/0", PAIRS[1:]),
        ("eval-1/0", "eval-3", PAIRS[1:]),
        ("eval-1/0", "eval-3/1", [("eval-1/0", "eval-3/1")]),
        ("previous", "eval-3", [("eval-2/1", "eval-3/1"), ("eval-2/0", "eval-3/0")]),
        ("eval-3", "eval-1", [(after, before) for before, after in PAIRS]),
    ],
)
def test_two_runs_files_or_tasks_are_compared_by_variant(
    call_again, before, after, pairs
):
    found = call_again("compare", before, after, "--format", "json")
    assert compared(found) == pairs
    assert found[2].count("building") <= 1


def test_runs_without_a_variant_in_common_are_listed(call):
    code, _, err = call("compare", "eval-1", "other-1")
    assert code == 2
    assert (
        "no two tasks are of one title and variant: eval-1 names eval-1/1, eval-1/0;"
        " other-1 names other-1/0" in err
    )


def test_without_names_the_comparison_says_which_variant_it_took(call):
    found = call("compare", "--format", "json")
    assert len(compared(found)) == 1
    assert "compared: large × short, one of 2 variants;" in found[2]
    assert "compared:" not in call("compare", "eval-3/0")[2]


@pytest.mark.parametrize(
    ("command", "wrong", "right"),
    [
        ("gate", "nigth3", "night3.json"),
        ("show", "eval3", "eval-3"),
        ("report", "otter", "other"),
        ("compare", "eval_3/0", "eval-3/0"),
    ],
)
def test_a_misspelled_run_file_or_title_is_answered_by_the_nearest(
    call, command, wrong, right
):
    code, _, err = call(command, wrong)
    assert code == 2
    assert f"{wrong}: there is no such task; did you mean `{right}`?" in err


def test_a_baseline_is_named_for_all_variants_of_a_run_at_once(call):
    code, _, err = call("baseline", "set", "eval-1")
    assert code == 0
    assert "eval-1/0 is the baseline of 'triage', variant 'small × short'" in err
    assert "eval-1/1 is the baseline of 'triage', variant 'large × short'" in err
    shown = json.loads(call("baseline", "show", "eval-3", "--format", "json")[1])
    assert [(row["task_id"], row["baseline_task_id"]) for row in shown] == [
        (after, before) for before, after in PAIRS
    ]
    shown = json.loads(call("baseline", "show", "--format", "json")[1])
    assert [(row["variant"], row["task_id"]) for row in shown] == [
        ("large × short", "eval-1/1"),
        ("small × short", "eval-1/0"),
    ]
    code, _, err = call("baseline", "clear", "triage")
    assert code == 0
    assert "eval-1/0 is no longer the baseline of 'triage'" in err
    assert call("baseline", "show")[0] == 5


def flaky(number: int, failing: int) -> Callable[[dict[str, Any]], None]:
    """Return a change of a night: the first rounds of `t1` fail."""

    def change(document: dict[str, Any]) -> None:
        rounds = [row for row in document["results"]["results"] if row["testIdx"] == 0]
        for row in rounds[:failing]:
            row |= {"success": False, "score": 0.0, "failureReason": 1}
            row["response"]["output"] = f"no {number}"
            grading = row["gradingResult"]
            for judged in (grading, *grading["componentResults"]):
                judged |= {"pass": False, "score": 0.0}
        for place, row in enumerate(document["results"]["results"]):
            row["response"]["output"] += f" {number} {place}"

    return change


FLAKY = {"of three rounds": (3, True), "of one round": (1, False)}
"""Title → its rounds, and whether one that fails may be flaky."""


@pytest.fixture(scope="module")
def newly_failing(tmp_path_factory) -> Warehouse:
    folder = tmp_path_factory.mktemp("newly_failing")
    warehouse = Warehouse(folder / "w.duckdb")
    for number, n in ((1, 0), (2, 1)):
        for title, (rounds, _) in FLAKY.items():
            night = Night(number, rounds=rounds, title=title)
            warehouse.ingest(write_changed(night, folder, flaky(number, n)))
        warehouse.build()
    return warehouse


@pytest.mark.parametrize("title", FLAKY)
def test_newly_failing_flaky_cases_name_the_rule_that_lets_them_pass(
    newly_failing, title
):
    _, is_flaky = FLAKY[title]
    (result,) = newly_failing.gate(f"{title}-2")
    assert result.decision == "run_again", result.headline
    assert ("on_check" in result.advice) is is_flaky
    assert ('`on_check = "pass"`' in result.headline) is is_flaky


def test_a_pair_that_is_not_a_task_and_its_baseline_says_what_was_not_tested(
    call_again,
):
    code, out, _ = call_again("compare", "eval-1/0", "eval-3/1")
    assert code == 4
    assert "only the scores are tested: the exact test of the rounds" in one_line(out)
    out = call_again("compare", "eval-3/1")[1]
    assert "only the scores are tested" not in one_line(out)


def one_line(text: str) -> str:
    return " ".join(text.split())
