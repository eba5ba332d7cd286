"""``promptlab memory``: one run, two runs side by side, in every form."""

from __future__ import annotations

import csv
import io

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


def test_two_runs_stand_side_by_side_category_by_category(memory):
    code, out, err = memory(BASELINE, CANDIDATE)
    assert code == 0
    assert err == "last round, failed calls as zero, mean over questions\n"
    tables = [table.splitlines() for table in out.split("\n\n")]
    assert [
        (heading.split()[0], [row.split()[0] for row in rows])
        for heading, _, _, *rows in tables[:2]
    ] == [("1", [BASELINE, CANDIDATE]), ("1-4", [BASELINE, CANDIDATE])]
    assert tables[0][0] == "1  multi-hop"


def test_csv_has_every_metric_and_the_interval_of_the_one_that_says_what_is_right(
    memory,
):
    _, out, _ = memory(CANDIDATE, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {"token_f1", "exact_match", "contains_reference", "locomo_f1", "mem0_f1"} < (
        rows[0].keys()
    )
    (all_questions,) = (row for row in rows if row["category"] == "all")
    low, score, high = (
        float(all_questions[name]) for name in ("ci_low", "locomo_f1", "ci_high")
    )
    assert 0 <= low < score < high <= 1


def test_durations_are_a_part_of_their_own(memory):
    code, out, _ = memory(CANDIDATE, "--show", "timings", "--format", "csv")
    assert code == 0
    assert out.startswith("run_id,operation,stage,n_calls,mean_ms")


def test_three_runs_are_too_many(memory):
    code, _, err = memory(BASELINE, CANDIDATE, "factoid")
    assert code == 2
    assert "one run, or two" in err
