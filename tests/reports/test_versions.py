"""The answers of each version: side by side, once, with input and expectation."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import html5lib
import pytest

from promptlab.contracts.analysis_result import AnalysisResult, Prompt, RoundOutcome
from promptlab.reports import analysis_result, to_html
from promptlab.reports.edition import SHOWN, Edition
from promptlab.reports.result import prompt_of
from promptlab.reports.views import case_view, prompt_view

AT = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def results(example_db) -> dict[str, AnalysisResult]:
    tasks = ("cs-regression-v3.1", "cs-regression-v3.2", "review-sentiment-improved")
    with duckdb.connect(str(example_db), read_only=True) as con:
        return {task: analysis_result(con, task, Edition(AT, "en")) for task in tasks}


def case_of(results, task, case_id):
    return next(c for c in results[task].case_results if c.case_id == case_id)


def body(result: AnalysisResult, case_id: str):
    tree = html5lib.parse(to_html(result), namespaceHTMLElements=False)
    return next(e for e in tree.iter() if e.get("id") == f"case-{case_id}")


def test_a_changed_case_has_the_answers_of_both_versions(results):
    case = case_of(results, "cs-regression-v3.2", "refund_over_seven_days")
    before = case_of(results, "cs-regression-v3.1", "refund_over_seven_days")
    assert [r.answer for r in case.baseline_rounds] == [r.answer for r in before.rounds]
    shown = "".join(body(results["cs-regression-v3.2"], case.case_id).itertext())
    for round_ in [*case.rounds, *case.baseline_rounds]:
        assert round_.answer in shown
        assert shown.count(round_.answer) <= 2  # once, and once as another's proof


def test_the_first_task_of_a_title_has_no_other_version(results):
    for case in results["cs-regression-v3.1"].case_results:
        assert case.baseline_rounds == []


def test_asked_said_expected_and_only_then_scores(results):
    case = body(results["review-sentiment-improved"], "zh_refund_threat")
    text = "".join(case.itertext())
    order = [
        "退款等了三天",
        "What each version said",
        "Expected",
        "Scores",
        "Last runs",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_result_of_a_pipeline_shows_its_input_steps_and_feedback(results):
    case = case_of(results, "review-sentiment-improved", "zh_refund_threat")
    assert case.inputs["language"] == "zh"
    assert case.expected["headline"] == "regex:退款|投诉"
    assert [step.step for step in case.rounds[0].steps] == [
        "cleaned_review",
        "sentiment_result",
        "aggregated_result",
    ]
    assert case.rounds[0].feedback.startswith("低估了风险")
    text = "".join(body(results["review-sentiment-improved"], case.case_id).itertext())
    assert "3 steps" in text
    assert "The judge: 低估了风险" in text


def test_the_history_of_a_case_ends_with_this_run(results):
    case = case_of(results, "cs-regression-v3.2", "refund_over_seven_days")
    assert [(run.prompt_version, run.status) for run in case.history] == [
        ("v3.1", "pass"),
        ("v3.2", "fail"),
    ]


def folded(case, rounds):
    case = case.model_copy(
        update={"rounds": rounds, "n_rounds": len(rounds), "differences": []}
    )
    return case_view(
        case,
        anchor="a",
        change=None,
        names={},
        limits=SHOWN,
        evidences=lambda links, seen: [],
    )


def round_(number: int, answer: str | None, status: str = "pass") -> RoundOutcome:
    return RoundOutcome(
        round_id=f"r{number}",
        run_index=number,
        status=status,  # type: ignore[arg-type]
        must_have_pass=None,
        error_code=None,
        failed_steps=[],
        answer=answer,
        answer_chars=None if answer is None else len(answer),
        latency_ms=None,
        input_tokens=None,
        output_tokens=None,
        executed_at=None,
    )


def test_rounds_that_agree_are_one(results):
    case = case_of(results, "cs-regression-v3.1", "refund_over_seven_days")
    view = folded(case, [round_(1, "a"), round_(2, "b"), round_(3, "a")])
    assert [[r.run_index for r in group.rounds] for group in view.rounds] == [
        [1, 3],
        [2],
    ]


def test_both_versions_saying_the_same_is_said_once(results):
    case = case_of(results, "cs-regression-v3.1", "refund_over_seven_days")
    case = case.model_copy(update={"baseline_rounds": [round_(1, "a"), round_(2, "a")]})
    [pair] = folded(case, [round_(1, "a")]).versions
    assert pair.is_same


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, None),
        ('""', None),
        ('"You are kind."', "You are kind."),
        ('[{"role":"system","content":"Be kind."},{"content":"Hi"}]', "system:\nBe kind.\n\nuser:\nHi"),
        ('[{"role":"user","content":[{"type":"text"}]}]', 'user:\n[{"type": "text"}]'),
        ('["plain"]', "plain"),
        ('{"template":"x"}', '{"template": "x"}'),
    ],
)  # fmt: skip
def test_a_prompt_may_be_a_text_or_messages(text, shown):
    prompt = prompt_of([{"text": text, "baseline_text": None}])
    assert (None if prompt is None else prompt.text) == shown


def test_prompts_stand_side_by_side_with_what_changed(results):
    prompt = Prompt(text="Answer in two lines.", baseline_text="Answer in ten lines.")
    page = to_html(results["cs-regression-v3.2"].model_copy(update={"prompt": prompt}))
    assert "Answer in <del>ten</del> lines." in page
    assert "Answer in <ins>two</ins> lines." in page
    assert 'href="#prompt"' in page
    assert prompt_view(None) is None
    untold = results["cs-regression-v3.2"].model_copy(update={"prompt": None})
    assert 'href="#prompt"' not in to_html(untold)
