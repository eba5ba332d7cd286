"""``promptlab memory``: one run, two runs compared, their parts in every form."""

from __future__ import annotations

import csv
import io
import json

import pytest

from promptlab.cli import run_cli
from tests.memory.runs import ANSWERED_AGAIN

BASELINE, CANDIDATE = ANSWERED_AGAIN


@pytest.fixture
def memory(made_up, capsys):
    """Run the command; returns exit code, stdout and stderr."""

    def run(*args: str) -> tuple[int, str, str]:
        code = run_cli(["memory", *args, "--db", str(made_up[0])])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_two_runs_are_compared_in_words_over_all_and_by_category(memory):
    code, out, _ = memory(BASELINE, CANDIDATE)
    assert code == 0
    assert f"baseline   {BASELINE}\n" in out
    assert "LoCoMo F1 over all questions is inconclusive: 80 paired" in out
    assert "0 added, 3 removed," in out
    table = out.partition("locomo_f1\n")[2].partition("\n\n")[0].splitlines()[2:]
    assert [line.split()[0] for line in table] == [
        "all",
        "1-4",
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    assert all(line.endswith("? inconclusive") for line in table)


def test_the_later_run_is_the_candidate_however_they_are_given(memory):
    there, back = (memory(*pair, "--show", "comparison") for pair in
                   (ANSWERED_AGAIN, ANSWERED_AGAIN[::-1]))  # fmt: skip
    assert there[1] == back[1]


def test_json_has_every_metric_of_the_comparison(memory):
    _, out, _ = memory(BASELINE, CANDIDATE, "--show", "comparison", "--format", "json")
    rows = json.loads(out)
    assert {row["metric"] for row in rows} == {
        *("token_f1", "exact_match", "contains_reference", "locomo_f1", "mem0_f1")
    }
    assert rows[0]["metric"] == "locomo_f1"
    assert rows[0]["verdict"] == "inconclusive"
    assert rows[0]["reason"] == "interval_too_wide"


def test_the_changed_questions_are_a_table_of_their_own(memory):
    _, out, _ = memory(BASELINE, CANDIDATE, "--show", "questions", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    changes = [row["change"] for row in rows]
    assert changes.count("removed") == 3
    assert changes == sorted(
        changes,
        key=["worse", "not_comparable", "removed", "added", "better"].index,
    )
    deltas = [float(row["delta"]) for row in rows if row["change"] == "worse"]
    assert deltas == sorted(deltas)


def test_runs_that_are_not_kept_compared_stand_side_by_side_and_it_says_so(memory):
    code, out, err = memory("factoid", CANDIDATE)
    assert code == 0
    assert "factoid/250103_0900/tim" in out
    assert "not compared question by question" in err


@pytest.mark.parametrize("part", ["comparison", "questions"])
def test_a_comparison_needs_two_runs(memory, part):
    code, _, err = memory(CANDIDATE, "--show", part)
    assert code == 2
    assert "name two runs" in err
