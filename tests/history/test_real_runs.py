"""Two published runs of 233 questions, judged from outside: the comparison makes sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlab.contracts.comparison import Comparison
from promptlab.warehouse import Warehouse

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RUNS.is_dir(), reason="../shared/data/runs is not there"),
]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory) -> Comparison:
    warehouse = Warehouse(tmp_path_factory.mktemp("real") / "real.duckdb")
    warehouse.ingest(RUNS)
    warehouse.build()
    return warehouse.compare("memory-qa-0503", "memory-qa-0710", lang="en")


def test_every_question_is_paired(comparison):
    counts = comparison.counts
    assert (counts.better, counts.worse, counts.same) == (70, 50, 113)
    assert comparison.overall.n_pairs == 233
    assert comparison.notes == []


def test_the_judges_means_are_those_that_were_published(comparison):
    judge = next(d for d in comparison.dimensions if d.subject == "judge")
    assert round(judge.baseline_score, 4) == 0.6996
    assert round(judge.candidate_score, 4) == 0.7554
    assert (judge.n_lost, judge.n_gained) == (15, 28)
    assert judge.mcnemar_p == pytest.approx(0.0659940344, abs=1e-9)


def test_better_overall_and_unsure_of_each_part(comparison):
    assert comparison.verdict == "improved"
    assert comparison.overall.p_value == pytest.approx(0.02298, abs=1e-5)
    parts = [*comparison.dimensions, *comparison.tags]
    assert {part.verdict for part in parts} == {"inconclusive"}
    assert {tag.subject for tag in comparison.tags} == {
        "category-1", "category-2", "category-3", "category-4",
    }  # fmt: skip
