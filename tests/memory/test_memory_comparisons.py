"""Runs compared question by question, against scipy and the documents themselves."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy import stats

from tests.memory import oracle
from tests.memory.runs import ANSWERED_AGAIN, Document, Runs

CLOSE = {"rel": 0, "abs": 2e-6}
Key = tuple[str, str, int]  # task, what the question shows, which of its twins


@pytest.fixture(scope="module")
def compared(made_up):
    """Rows of a mart of one pair of runs, each a dict."""

    def read(mart: str, baseline: str, candidate: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(made_up[0]), read_only=True) as con:
            found = con.execute(
                f"select * from marts.{mart}"
                " where baseline_run_id = ? and candidate_run_id = ?",
                [baseline, candidate],
            )
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return read


def last_answers(tasks: dict[str, Document]) -> dict[Key, Document]:
    found: dict[Key, Document] = {}
    for task, document in tasks.items():
        seen: dict[str, int] = defaultdict(int)
        for question in document["test_results"][-1]["questions"]:
            names = ("question_text", "category", "evidence")
            shown = str([question.get(name) for name in names])
            seen[shown] += 1
            found[task, shown, seen[shown]] = question
    return found


def as_zero(question: Document, metric: str) -> float | None:
    if not oracle.is_scorable(question, metric):
        return None
    return oracle.scores(question)[metric] or 0.0


def is_right(question: Document) -> bool | None:
    score = as_zero(question, "locomo_f1")
    if oracle.has_failed(question):
        return False
    return None if score is None else score >= 0.5


def expected(runs: Runs, metric: str) -> dict[str, list[tuple[Document, Document]]]:
    """Category → pairs of answers to the same question with the same reference."""
    before, after = (last_answers(runs[run]) for run in ANSWERED_AGAIN)
    pairs: dict[str, list[tuple[Document, Document]]] = defaultdict(list)
    for key in before.keys() & after.keys():
        pair = before[key], after[key]
        if pair[0].get("reference_answer") != pair[1].get("reference_answer"):
            continue
        category = str(pair[0]["category"])
        for label in {category, "all", "5" if category == "5" else "1-4"}:
            pairs[label].append(pair)
    return pairs


@pytest.mark.parametrize("metric", oracle.METRICS)
def test_every_number_of_a_comparison_is_the_textbooks(compared, runs, metric):
    held = {
        row["category"]: row
        for row in compared("fct_memory_comparisons", *ANSWERED_AGAIN)
        if row["metric"] == metric
    }
    pairs = expected(runs, metric)
    assert held.keys() == pairs.keys()
    n_tested = 0
    for category, answers in pairs.items():
        row = held[category]
        scores = [(as_zero(a, metric), as_zero(b, metric)) for a, b in answers]
        known = np.array([p for p in scores if None not in p], dtype=float)
        assert row["n_pairs"] == len(known)
        if len(known) < 2:
            continue
        before, after = known.T
        assert row["baseline_score"] == pytest.approx(before.mean(), **CLOSE)
        assert row["candidate_score"] == pytest.approx(after.mean(), **CLOSE)
        if np.ptp(np.round(after - before, 6)) == 0:
            assert row["ci_low"] is row["ci_high"] is None
            continue
        test = stats.ttest_rel(after, before)
        low, high = np.clip(test.confidence_interval(), -1, 1)
        assert row["p_value"] == pytest.approx(test.pvalue, **CLOSE)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), **CLOSE)
        n_tested += 1
    assert n_tested >= 4


@pytest.mark.parametrize("metric", oracle.METRICS)
def test_categories_and_groups_are_one_family_of_tests(compared, metric):
    family = [
        row
        for row in compared("fct_memory_comparisons", *ANSWERED_AGAIN)
        if row["metric"] == metric
        and row["category"] != "all"
        and row["p_value"] is not None
    ]
    adjusted = stats.false_discovery_control([row["p_value"] for row in family])
    assert [row["p_adjusted"] for row in family] == pytest.approx(list(adjusted))


def test_mcnemar_counts_right_answers_with_failed_calls_among_the_wrong(compared, runs):
    (row,) = (
        row
        for row in compared("fct_memory_comparisons", *ANSWERED_AGAIN)
        if row["is_right_metric"] and row["category"] == "all"
    )
    sides = [(is_right(a), is_right(b)) for a, b in expected(runs, "locomo_f1")["all"]]
    judged = [pair for pair in sides if None not in pair]
    lost, gained = judged.count((True, False)), judged.count((False, True))
    assert (row["n_judged"], row["n_lost"], row["n_gained"]) == (
        len(judged),
        lost,
        gained,
    )
    p = stats.binomtest(lost, lost + gained).pvalue
    assert row["mcnemar_p"] == pytest.approx(p)


def test_a_question_gone_and_one_with_another_reference_are_named(compared):
    held = compared("fct_memory_question_changes", *ANSWERED_AGAIN)
    by_change = defaultdict(list)
    for row in held:
        by_change[row["change"]].append(row)
    assert len(by_change["removed"]) == 3  # one of each conversation
    reasons = [row["reason"] for row in by_change["not_comparable"]]
    assert reasons.count("reference_differs") == 3
    (pair,) = compared("fct_memory_pairs", *ANSWERED_AGAIN)
    counts = {name: pair[f"n_{name}"] for name in by_change}
    assert counts == {name: len(rows) for name, rows in by_change.items()}
    assert pair["pair_source"] == "previous"


def test_runs_that_share_no_question_are_not_comparable(compared):
    candidate = "locomo/250104_0900"
    (pair,) = compared("fct_memory_pairs", "locomo/250102/mem0", candidate)
    assert (pair["pair_source"], pair["verdict"]) == ("other_system", "not_comparable")
    rows = compared("fct_memory_comparisons", "locomo/250102/mem0", candidate)
    assert {row["reason"] for row in rows} == {"no_shared_question"}
