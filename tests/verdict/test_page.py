"""The example of docs/verdict.md is computed by the SQL."""

from __future__ import annotations

import re

import numpy as np

from benchmarks.verdict_suites import fill, judge, warehouse
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "verdict.md").read_text("utf-8")
REFUND, GREETING = 0, 1


def test_the_odds_night_by_night_are_those_of_the_page():
    passes = np.ones((1, 40, 16), int)
    passes[0, REFUND, 12:15] = 0
    passes[0, GREETING, [2, 7, 12, 15]] = 0
    con = warehouse()
    fill(con, [(passes, np.ones_like(passes))], range(1, 16))
    odds = judge(con).odds
    table = re.findall(
        r"^\| (\d+) \| (pass|fail) \| (pass|fail) \| ([\d.]+) \| (.*) \|$", PAGE, re.M
    )
    assert len(table) == 5
    for night, refund, greeting, shown, decision in table:
        run = int(night) - 1
        for case, said in ((REFUND, refund), (GREETING, greeting)):
            assert said == ("pass" if passes[0, case, run] else "fail")
        assert f"{odds[0, run]:.1f}" == shown
        assert decision.startswith("Do not ship") == (odds[0, run] >= 10)
        states = con.execute(
            "select state, count(*) from marts.fct_case_odds where task_id = ?"
            " group by state",
            [f"0-{run}-0"],
        ).fetchall()
        n = dict(states)
        for state, words in (("watched", r"(\d+) to watch"), ("broken", r"(\d+) case")):
            found = re.search(words, decision)
            assert n.get(state, 0) == (int(found[1]) if found else 0)
