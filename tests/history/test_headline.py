"""The one verdict: the same words and counts wherever a task is shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.contracts.gate import CaseList, GateResult, GateRule
from promptlab.reports import Edition, analysis_result, to_html, to_markdown
from promptlab.reports.gate.verdict import gate_results
from promptlab.reports.index import read_index, to_index_html
from promptlab.reports.mail import to_message
from promptlab.reports.printing import Filters, plain
from promptlab.reports.sentences import headline
from promptlab.reports.texts import catalogue
from tests.history.conftest import PAIRED, situations

AT = datetime(2026, 2, 1, tzinfo=UTC)
TASKS = [
    *(run.task_id for run in situations()),
    *(f"random-{size}-after" for size in PAIRED if size < 100),
]


@pytest.fixture(scope="module")
def con(history_db: Path):
    with duckdb.connect(str(history_db), read_only=True) as con:
        yield con


@pytest.fixture(scope="module", params=["zh", "en"])
def results(con, request) -> list[AnalysisResult]:
    return [analysis_result(con, task, Edition(AT, request.param)) for task in TASKS]


def gate_of(result: AnalysisResult) -> GateResult:
    assert result.gate is not None
    return result.gate


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("broke-2", "Do not ship: 2 cases newly fail (c7, c6), 2 newly pass; 1 target was missed (QUALITY); +7.0 points against the baseline may be chance."),
        ("one-must-lost-2", "Do not ship: 1 case broke (c5), 2 cases newly fail (c7, c6), 1 was fixed; +0.9 points against the baseline may be chance."),
        ("improved-2", "Ship: no case broke; +26.8 points against the baseline, more than chance; with 1 round a break of one case would have been found in 0.5% of runs."),
        ("regressed-2", "Do not ship: −26.8 points against the baseline, more than chance; no case could be judged right or wrong: give a dimension a `pass_score` in its parameters, or name a testset (`--testset`, or `env.testset` of the task), or give the cases golden answers and the task a dimension `accuracy`."),
        ("tagged-2", "Do not ship: the share of rounds in error is 12.5%, the limit 5.0%; no case broke; ±0.0 points against the baseline, practically unchanged."),
        ("other-rules-2", "Cannot tell: “QUALITY” is scored differently than in the baseline; if that is intended, `promptlab baseline set other-rules-2` compares later runs with this one; no case broke."),
        ("one-case-2", "Cannot tell: −80.0 points against the baseline may be chance; no case could be judged right or wrong: give a dimension a `pass_score` in its parameters, or name a testset (`--testset`, or `env.testset` of the task), or give the cases golden answers and the task a dimension `accuracy`."),
        ("unscored-2", "Cannot tell: no round has a score from 0 to 1; the scores cannot be compared (no case has a score on both sides); no case could be judged right or wrong: name a testset (`--testset`, or `env.testset` of the task), or give the cases golden answers and the task a dimension `accuracy`."),
        ("lonely-1", "First run: nothing to compare with; no case could be judged right or wrong: give a dimension a `pass_score` in its parameters, or name a testset (`--testset`, or `env.testset` of the task), or give the cases golden answers and the task a dimension `accuracy`."),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(con, task, said):
    found = gate_results(con, [task], lang="en")[task].headline
    assert found == said


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "less certain than the gate requires"), ("zh", "不到门禁")],
)
def test_a_run_that_ships_is_never_said_to_be_worse_by_more_than_chance(
    con, lang, said
):
    found = gate_results(con, ["regressed-2"], lang=lang)["regressed-2"]
    shipped = found.model_copy(update={"decision": "ship", "rules": []})
    text = headline(shipped, Filters(catalogue(lang)))
    assert said in text
    assert "more than chance" not in text


def test_the_verdict_stands_first_in_every_form(results):
    for result in results:
        said = gate_of(result).headline
        message = to_message(result)
        assert to_markdown(result).startswith(f"**{plain(said)}**")
        assert str(message["Subject"]).startswith(re.split("[:：；;(（.]", said)[0])
        text = message.get_body(("plain",)).get_content()
        assert text.splitlines()[0] == said
        html = re.sub(r"<[^>]*>|&[a-z#0-9]+;|\s", "", to_html(result))
        wanted = re.sub(r"\W", "", said)
        assert wanted in re.sub(r"\W", "", html)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("broke-2", "Do not ship: 2 cases newly fail (c7, c6), 2 newly pass"),
        ("tagged-2", "Do not ship: the share of rounds in error is 12.5%, the limit"),
        ("unscored-2", "Cannot tell: no round has a score from 0 to 1"),
    ],
)
def test_the_subject_of_a_mail_gives_the_reason(con, task, said):
    result = analysis_result(con, task, Edition(AT, "en"))
    assert str(to_message(result)["Subject"]).startswith(said)


def test_every_count_is_the_length_of_its_list_and_of_the_comparison(results):
    for result in results:
        gate = gate_of(result)
        assert gate.broke.n == len(gate.broke.case_ids)
        assert gate.fixed.n == len(gate.fixed.case_ids)
        if result.comparison is None:
            assert gate.broke.n == gate.fixed.n == 0
            continue
        assert gate.fixed.n == result.comparison.counts.newly_fixed
        lost = {
            case.case_id
            for case in result.comparison.cases
            if case.must_have_lost or case.status_change == "newly_failing"
        }
        named = [*gate.broke.case_ids, *gate.newly_failing.case_ids]
        assert sorted(named) == sorted(lost)
        n_alerts = len(re.findall('<li class="alert">', to_html(result)))
        assert n_alerts == len(result.summary.alerts)


def test_no_sentence_counts_alerts_beside_the_list_of_them(results):
    for result in results:
        assert not re.search(r"alerts: \d|条(严重|重要)告警", result.summary.conclusion)


def test_a_task_that_lost_a_case_never_ships_and_names_it(results):
    for result in results:
        gate = gate_of(result)
        for cases in (gate.broke, gate.newly_failing):
            if cases.n:
                assert gate.decision not in ("ship", "first_run")
                assert cases.case_ids[0] in gate.headline
        if gate.decision == "ship":
            assert gate.n_judged_twice or gate.change is not None


def test_what_nobody_could_judge_is_no_success_and_says_what_to_add(results):
    for result in results:
        gate = gate_of(result)
        nothing = result.summary.n_cases > 0 and gate.n_judged == 0
        assert bool({*gate.advice} - {"name_baseline", "own_baseline"}) is nothing
        if nothing:
            page = to_html(result)
            assert gate.decision != "ship" or gate.change is not None
            assert 'class="grade ' not in page


def test_the_index_says_what_the_report_says(con):
    edition = Edition(AT)
    index = read_index(con, edition, task=lambda task: f"{task}/report.html")
    page = to_index_html(index, edition)
    lines = [line for group in index.groups.values() for line in group]
    gates = gate_results(
        con,
        [line["task_id"] for line in lines],
        lang="en",
        with_smallest_drop=False,
    )
    assert lines
    for line in lines:
        assert line["gate"] == gates[line["task_id"]]
    assert 'href="broke-2/report.html#case-c7"' in page


def test_no_improvement_is_called_inconclusive_beside_it(results):
    for result in results:
        if result.comparison and result.comparison.verdict == "improved":
            assert "inconclusive<" not in to_html(result)


@pytest.mark.parametrize(
    ("p_alone", "said"),
    [
        (0.02, "; more than chance explains (p = 0.01)"),
        (
            0.2,
            "; all variants of the run together fail more than chance explains (p = ",
        ),
    ],
)
def test_a_variant_that_fails_only_with_all_others_says_so(con, p_alone, said):
    rule = GateRule(
        rule="regression.false_alarm", value=0.01, limit=0.05, verdict="fail", note=None
    )
    refused = {"verdict": "fail", "decision": "do_not_ship", "rules": [rule]}
    gate = gate_results(con, ["broke-2"], lang="en")["broke-2"].model_copy(
        update=refused | {"p": 0.01, "p_alone": p_alone}
    )
    assert said in headline(gate, Filters(catalogue("en")))


@pytest.mark.parametrize(
    ("rule", "value", "limit", "said"),
    [
        ("min_pass_rate", 0.945, 0.9451, "is 94.5000%, the limit 94.5100%"),
        ("min_pass_rate", 0.945, 0.95, "is 94.5%, the limit 95.0%"),
        ("min_score", 0.94499, 0.945, "is 94.499, the limit 94.5"),
    ],
)
def test_a_value_and_its_limit_never_look_equal(con, rule, value, limit, said):
    found = GateRule(rule=rule, value=value, limit=limit, verdict="fail", note=None)
    refused = {"verdict": "fail", "decision": "do_not_ship", "rules": [found]}
    gate = gate_results(con, ["broke-2"], lang="en")["broke-2"].model_copy(
        update=refused
    )
    assert said in headline(gate, Filters(catalogue("en")))


def test_a_run_to_be_run_again_names_cases_that_only_a_first_round_fails(con):
    note = "1 case newly fails (0 newly passing); chance explains 0.5: run it again: c2"
    rule = GateRule(
        rule="regression.on_check", value=1.0, limit=0.0, verdict="check", note=note
    )
    none = CaseList(n=0, case_ids=[])
    asked = {
        "verdict": "check",
        "decision": "run_again",
        "rules": [rule],
        "broke": none,
        "newly_failing": none,
    }
    gate = gate_results(con, ["broke-2"], lang="en")["broke-2"].model_copy(update=asked)
    assert headline(gate, Filters(catalogue("en"))).startswith(f"Run again: {note}")
