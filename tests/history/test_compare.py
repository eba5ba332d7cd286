"""``promptlab compare`` in every situation: words and exit code."""

from __future__ import annotations

import csv
import io
import json

import pytest

from promptlab.contracts.comparison import Comparison, ScoreComparison
from promptlab.warehouse import Warehouse


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("lonely-1",), 5, "lonely-1 is the first task of its variant"),
        (
            ("previous", "lonely-1"),
            5,
            "lonely-1 is the first task of its variant titled 'lonely'",
        ),
        (("lonely-1", "lonely-1"), 2, "cannot be compared with itself"),
        (("lonely", "equ"), 2, "begin so: equal-1, equal-2, equal-but-few-1"),
        (("lonely-1", "nothing"), 2, "nothing: there is no such task"),
        (("a", "b", "c"), 2, "takes two tasks, found 3"),
    ],
)
def test_what_cannot_be_compared_has_a_sentence(cli, args, code, message):
    found = cli("compare", *args)
    assert found[0] == code, found
    assert message in found[2]
    assert found[1] == ""


@pytest.mark.parametrize(
    ("title", "code", "verdict", "message"),
    [
        ("regressed", 1, "regressed", "The overall score regressed: 8 paired cases"),
        ("improved", 0, "improved", "The overall score improved: 8 paired cases"),
        (
            "unsure",
            4,
            "inconclusive",
            "the interval is too wide to decide whether anything changed",
        ),
        ("equal", 0, "no_reliable_change", "shows no reliable change: 9 paired cases"),
        ("equal-but-few", 4, "inconclusive", "there are too few pairs"),
        ("one-case", 4, "inconclusive", "there are too few pairs"),
        ("strangers", 4, "not_comparable", "no case is in both tasks"),
        ("unscored", 4, "not_comparable", "no case has a score on both sides"),
        ("rewritten", 4, "not_comparable", "every shared case has other inputs"),
        (
            "other-judge",
            4,
            "not_comparable",
            "no dimension with a weight is comparable",
        ),
        ("other-rules", 4, "not_comparable", "the scorer's parameters differ"),
        ("must-lost", 1, "improved", "1 lost, 0 gained"),
    ],
)
def test_each_situation_has_its_verdict_its_words_and_its_exit_code(
    cli, title, code, verdict, message
):
    found, out, _ = cli("compare", f"{title}-1", f"{title}-2", "--lang", "en")
    assert found == code, out
    assert message in " ".join(out.split())  # a sentence is folded
    found, out, _ = cli("compare", f"{title}-2", "--format", "json")
    assert found == code
    assert json.loads(out)["verdict"] == verdict


def test_inconclusive_may_be_allowed_and_a_regression_never(cli):
    assert cli("compare", "unsure-2", "--allow-inconclusive")[0] == 0
    # that no case could be compared is never a pass
    assert cli("compare", "strangers-2", "--allow-inconclusive")[0] == 4
    assert cli("compare", "regressed-2", "--allow-inconclusive")[0] == 1


def test_the_baseline_and_why_it_is_the_baseline_stand_in_every_output(cli):
    for form in ("table", "json", "md"):
        out = cli("compare", "equal-2", "--format", form, "--lang", "en")[1]
        assert "equal-1" in out
    assert "the run before of this variant" in cli("compare", "equal-2")[1]


def test_the_json_is_the_whole_contract_and_comes_out_the_same_twice(cli, history_db):
    _, out, _ = cli("compare", "grown-2", "--format", "json", "--lang", "en")
    comparison = Comparison.model_validate_json(out)
    assert comparison == Warehouse(history_db).compare("grown-1", "grown-2", lang="en")
    assert {c.case_id: c.change for c in comparison.cases} == {
        **{f"c{n}": "same" for n in range(8)}, "gone": "removed", "new": "added",
    }  # fmt: skip
    assert comparison.notes == [
        "The weights differ; the candidate's weights are used for both",
        "Cases only in the baseline: 1",
        "Cases only in the candidate: 1",
    ]
    assert (comparison.counts.same, comparison.overall.n_pairs) == (8, 8)


def test_csv_has_a_line_per_case_the_worst_first(cli):
    _, out, _ = cli("compare", "must-lost-2", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 8
    assert (rows[0]["case_id"], rows[0]["severity"]) == ("c3", "critical")
    _, out, _ = cli("compare", "regressed-2", "--format", "csv")
    drops = [float(r["delta"]) for r in csv.DictReader(io.StringIO(out))]
    assert drops == sorted(drops)
    assert {r["severity"] for r in csv.DictReader(io.StringIO(out))} == {"critical"}


def test_markdown_lists_as_many_cases_as_asked_for_and_counts_the_rest(cli):
    _, out, _ = cli(
        "compare", "regressed-2", "--format", "md", "--cases", "3", "--lang", "en"
    )
    assert out.count("\n- c") == 3
    assert "5 more cases are not listed." in out
    assert "| Overall score | 43.5 | " in out


def test_sentences_are_english_unless_chinese_is_asked_for(cli):
    assert "总分变差" in cli("compare", "regressed-2", "--lang", "zh")[1]
    assert "总分" not in cli("compare", "regressed-2")[1]


def test_a_clear_difference_that_is_no_change_says_why(cli):
    """Clear by itself, not among many; or too few pairs to say anything."""
    args = ("compare", "random-30-before", "random-30-after")
    out = cli(*args)[1]
    [row] = [line for line in out.splitlines() if line.startswith("z ")]
    assert "-26.7 to -2.1" in row
    assert row.endswith("? inconclusive: adjusted p 0.148")
    assert out.count("among 6 comparisons some look clear by chance") == 1
    assert "校正后 p 值 0.148" in cli(*args, "--lang", "zh")[1]
    markdown = cli(*args, "--format", "md")[1]
    assert (
        "| −14.4 | −26.7 to −2.1 | adjusted p = 0.148 | 15 | may be chance |"
        in markdown
    )
    found = Comparison.model_validate_json(cli(*args, "--format", "json")[1])
    [tag] = [tag for tag in found.tags if tag.subject == "z"]
    assert tag.reason == "many_comparisons"
    assert "among so many comparisons, a difference like this may be" in tag.conclusion
    assert "adjusted p:" not in cli("compare", "equal-2")[1]


@pytest.mark.parametrize("reason", ["too_few_pairs", "too_few_clusters"])
def test_too_few_pairs_are_stated_beside_a_clear_difference(reason):
    comparison = {
        "subject": "t", "name": "t", "conclusion": "", "n_pairs": 4, "n_better": 0,
        "n_worse": 4, "n_same": 0, "baseline_score": 0.9, "candidate_score": 0.8,
        "delta": -0.1, "ci_low": -0.2, "ci_high": -0.05, "p_value": 0.001,
        "p_adjusted": 0.007, "smallest_detectable": 0.02, "n_judged": None,
        "n_lost": None, "n_gained": None, "mcnemar_p": None,
        "verdict": "inconclusive", "reason": reason,
    }  # fmt: skip
    few = ScoreComparison(**comparison)
    assert few.held_back_by == reason
    wide = ScoreComparison(**comparison | {"ci_high": 0.05})
    worse = ScoreComparison(**comparison | {"verdict": "regressed", "reason": None})
    assert wide.held_back_by is worse.held_back_by is None
