"""Commands that take two runs, or a run of several variants."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.history.test_variants import Night
from tests.marts import GATE, only

BOTH = ("small", "large")
only_compared = only(
    *GATE, "fct_task_pairs", "fct_task_comparisons", "fct_case_changes",
    "fct_case_score_changes", "fct_comparison_notes", "fct_tag_comparisons",
)  # fmt: skip


@pytest.fixture(scope="module")
@only_compared
def folder(tmp_path_factory) -> Path:
    """Three nights of two models, and one night of another suite on one model."""
    folder = tmp_path_factory.mktemp("selections")
    warehouse = Warehouse(folder / "w.duckdb")
    with warehouse.kept_open():
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
@only_compared
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
