"""The view of a result: its comparison, the answers of each version, two texts."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import duckdb
import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.contracts.analysis_result import AnalysisResult, Prompt, RoundOutcome
from promptlab.contracts.comparison import Comparison
from promptlab.reports import analysis_result, to_html, to_markdown
from promptlab.reports.cases import alike, versions
from promptlab.reports.charts import axis_of
from promptlab.reports.diff import MOST_CHARS, word_diff
from promptlab.reports.pages import environment
from promptlab.reports.printing import Filters, TextPiece, marked_parts
from promptlab.reports.report_options import PAGE_LIMITS, ReportOptions
from promptlab.reports.result import prompt_text
from promptlab.reports.texts import catalogue

# ---------- the task against its baseline, in the full report and the summary


def section(page: str):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert [error[1] for error in parser.errors] == []
    return next(e for e in tree.iter("section") if e.get("id") == "changes")


def words(element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def table(part, number: int) -> list[str]:
    return [words(row) for row in list(part.iter("tbody"))[number].iter("tr")]


@pytest.fixture
def compared(result_of):
    """``compared(lang, **changed)``: the result, its comparison changed."""

    def change(lang="en", overall=None, **changed):
        result = result_of(lang)
        new = result.comparison.model_copy(update=changed)
        if overall:
            scores = new.overall.model_copy(update=overall)
            new = new.model_copy(update={"overall": scores})
        return result.model_copy(update={"comparison": new})

    return change


def test_the_result_holds_the_comparison_with_the_baseline(result_of):
    comparison = result_of("en").comparison
    assert comparison.baseline.task_id == "run-20241017-001"
    assert (comparison.pair_source, comparison.verdict) == ("previous", "inconclusive")
    assert [case.case_id for case in comparison.cases[:3]] == [
        "faq-004",
        "faq-003",
        "faq-009",
    ]
    assert comparison.counts.changed == 9


def test_a_task_without_baseline_has_no_comparison_and_says_so(result_of):
    result = result_of("en", "empty-task")
    assert result.comparison is None
    assert "this is the first run of its title" in words(section(to_html(result)))
    assert "baseline" not in to_markdown(result).lower()


def test_a_cut_result_lists_the_worst_changes_and_counts_all(result_of):
    cut = result_of(limits=PAGE_LIMITS).comparison
    assert cut == result_of().comparison  # of so few cases, nothing is cut
    few = PAGE_LIMITS.__class__(cases=3, changes=2)
    assert [c.case_id for c in result_of(limits=few).comparison.cases] == [
        "faq-004",
        "faq-003",
    ]


def test_chance_is_stated_by_the_decision_or_else_by_the_comparison(result_of):
    result = result_of("en")
    said = "● inconclusive The overall score is inconclusive: 10 paired cases went from"
    assert said not in words(section(to_html(result)))
    alone = result.model_copy(update={"gate": None})
    shown = words(section(to_html(alone)))
    assert shown.startswith(f"Against the baseline {said} 86.4% to 70.5%, −15.9 points")


def test_the_figures_come_after_why_this_baseline(result_of):
    shown = words(section(to_html(result_of("en"))))
    assert (
        "Baseline: v3.1 (run-20241017-001, 2024-10-17 12:30 UTC),"
        " the run before of this variant." in shown
    )


def test_the_figures_say_how_sure_the_difference_is(result_of):
    shown = words(section(to_html(result_of("en"))))
    for part in (
        "Overall difference −15.9 86.4 → 70.5 95% interval −39.2 to +7.4",
        "Pairs of cases 10 2 better, 4 worse, 4 the same"
        " could only have detected 32.3 points or more",
        "Passing cases lost 2, gained 1 of 10 judged in both runs",
        "added 1 removed 1 not comparable 1 must-have lost 2 must-have gained 1",
    ):
        assert part in shown
        assert shown.count(part) == 1


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_difference_beyond_the_scale_is_stated_in_words(compared, lang):
    few = {"smallest_detectable": 1.4502, "n_pairs": 2}
    result = compared(lang, overall=few)
    page, summary = to_html(result), to_markdown(result)
    told = {
        "zh": "只有 2 对，样本太少，无法检出任何变化",
        "en": "too few pairs (2) to detect any change",
    }[lang]
    assert told in words(section(page))
    assert told in summary
    assert "145" not in page + summary


def test_no_figure_for_the_detectable_difference_is_stated_in_words(compared):
    filters = Filters(catalogue("en"))
    overall = compared(overall={"smallest_detectable": None}).comparison.overall
    assert filters.detectable(overall) == "unknown"


def test_the_dimensions_have_their_verdicts(result_of):
    rows = table(section(to_html(result_of("en"))), 0)
    assert rows == [
        "准确性 ● may be chance −19.5 −46.4 to +7.4 · adjusted p = 0.271"
        " 84.5 → 65.0 10 pairs; could only have detected 37.4 points or more",
        "一致性 – not comparable"
        " “一致性” cannot be compared: the scorer's parameters differ.",
        "响应时延 ▲ improved +37.9 +36.4 to +39.4 · adjusted p < 0.001"
        " 61.1 → 99.0 8 pairs",
    ]


@pytest.mark.parametrize(
    ("lang", "line"),
    [
        ("en", "The same in every pair of cases: first 80.0, second 80.0"),
        ("zh", "每对用例都没有变化： first 80.0， second 80.0"),
    ],
)
def test_dimensions_that_no_pair_moved_share_one_line(compared, lang, line):
    moved, *_ = compared(lang).comparison.dimensions
    still = {"delta": 0.0, "candidate_score": 0.8, "n_better": 0, "n_worse": 0}
    same = [
        moved.model_copy(update=still | {"subject": name, "name": name})
        for name in ("first", "second")
    ]
    part = section(to_html(compared(lang, dimensions=[same[0], moved, same[1]])))
    dimensions = table(part, 0)
    assert [row.split()[0] for row in dimensions] == [moved.name.split()[0]]
    assert line in words(part)


def test_notes_are_reported_once(result_of):
    shown = words(section(to_html(result_of("en"))))
    assert shown.count("the scorer's parameters differ") == 1
    assert "Cases only in the baseline: 1" in shown


def test_tags_that_moved_reliably_stand_out_the_others_are_folded(result_of):
    part = section(to_html(result_of("en")))
    assert [row.split(" ")[0] for row in table(part, 1)] == ["faq"]
    fold = next(part.iter("details"))
    assert words(fold[0]) == "3 other tags, without a reliable change"
    assert [row.split(" ")[0] for row in table(fold, 0)] == [
        "invoice",
        "payment",
        "high_priority",
    ]


def test_changed_cases_are_listed_worst_first_with_before_and_after(result_of):
    rows = table(section(to_html(result_of("en"))), 3)
    assert rows[0] == (
        "faq-004 critical worse, must-have lost"
        " −87.5 准确性 −100.0 100.0 → 12.5 pass → fail"
    )
    assert [row.split(" ")[0] for row in rows] == [
        "faq-004",
        "faq-003",
        "faq-009",
        "faq-008",
        "faq-006",
        "faq-013",
        "faq-011",
        "faq-007",
        "faq-002",
    ]
    assert "faq-006 not comparable the case's inputs differ pass" in rows


def test_more_changed_cases_than_fit_are_folded_then_counted(compared):
    worse = compared().comparison.cases[2]
    cases = [worse.model_copy(update={"case_id": f"c{no}"}) for no in range(60)]
    counts = compared().comparison.counts.model_copy(update={"worse": 75})
    shown = section(to_html(compared(cases=cases, counts=counts)))
    last_fold = list(shown.iter("details"))[-1]
    assert words(last_fold[0]) == "40 more cases"
    assert "30 more cases are not listed." in words(shown)  # 75 + 5 others, 50 shown


def test_a_case_that_lost_its_must_haves_at_the_same_score_is_listed(compared):
    same = compared().comparison.cases[0]
    lost = same.model_copy(update={"change": "same", "must_have_lost": True})
    shown = section(to_html(compared(cases=[lost])))
    assert "same, must-have lost" in words(shown)


def test_an_unchanged_task_says_so(compared):
    comparison = compared().comparison
    nothing = comparison.counts.model_copy(
        update=dict.fromkeys(type(comparison.counts).model_fields, 0)
    )
    shown = words(section(to_html(compared(cases=[], counts=nothing))))
    assert "No case changed." in shown


def test_other_models_are_pointed_out(compared):
    baseline = compared().comparison.baseline.model_copy(update={"model": "other/m"})
    shown = words(section(to_html(compared(baseline=baseline))))
    assert "The models differ: other/m before, openai/gpt-4o-mini now." in shown


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_is_not_comparable_has_its_reason_and_no_figures(compared, lang):
    overall = dict.fromkeys(
        ("delta", "baseline_score", "candidate_score", "ci_low", "ci_high", "p_value")
    )
    result = compared(
        lang,
        verdict="not_comparable",
        conclusion="Why not.",
        overall=overall | {"verdict": "not_comparable"},
        cases=[],
    )
    shown = words(section(to_html(result)))
    assert "Why not." in shown
    assert "Smallest detectable" not in shown
    assert "None" not in shown


def test_the_summary_has_the_short_form(result_of):
    text = to_markdown(result_of("en"))
    part = text.split("## Against the baseline\n")[1].split("## ")[0]
    assert part.strip().splitlines()[2:] == [
        "- Baseline (the run before of this variant): run-20241017-001 · v3.1"
        " · openai/gpt-4o-mini · 2024-10-17 12:30 UTC",
        "- Better 2, worse 4, same 4, added 1, removed 1, not comparable 1",
        "- Must-haves lost 2, gained 1; newly failing 2, newly fixed 1",
        "- Smallest detectable: 32.3 points",
    ]


def test_the_comparison_survives_its_json(result_of):
    comparison = result_of().comparison
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


SVG = "{http://www.w3.org/2000/svg}"


def drawn(part, kind):
    return [g for g in part.iter(f"{SVG}g") if g.get("class") == kind]


def test_a_difference_is_drawn_on_the_side_that_it_is_on(result_of):
    part = section(to_html(result_of("en")))
    [better] = drawn(part, "improved")
    assert float(better.find(f"{SVG}circle").get("cx")) > 110
    overall = drawn(part, "inconclusive")[0]
    assert float(overall.find(f"{SVG}circle").get("cx")) < 110


def test_a_case_is_drawn_before_and_after(result_of):
    part = section(to_html(result_of("en")))
    before, after = drawn(part, "worse")[0].iter(f"{SVG}circle")
    assert before.get("class") == "before"
    assert float(before.get("cx")) > float(after.get("cx"))  # 100.0 → 12.5


def test_an_interval_beyond_the_axis_ends_at_its_edge():
    charts = environment("en").get_template("charts.html.j2").module
    places = [float(charts.x(each, 0.2)) for each in (-0.9, -0.2, 0, 0.2, 0.9)]
    assert places == [6, 6, 110, 214, 214]


def test_the_smallest_scale_that_holds_the_differences_is_chosen(compared):
    scores = compared().comparison.dimensions[:1]
    small = scores[0].model_copy(update={"delta": 0.03, "ci_low": 0.0, "ci_high": 0.05})
    assert axis_of([small]) == 0.05
    assert axis_of([small, small.model_copy(update={"delta": -0.6})]) == 1.0
    assert axis_of([]) > 0


# ---------- the answers of each version: side by side, once, with input and expectation


AT = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def results(example_db) -> dict[str, AnalysisResult]:
    tasks = ("cs-regression-v3.1", "cs-regression-v3.2", "review-sentiment-improved")
    with duckdb.connect(str(example_db), read_only=True) as con:
        return {
            task: analysis_result(con, task, ReportOptions(AT, "en")) for task in tasks
        }


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
    return case.model_copy(
        update={"rounds": rounds, "n_rounds": len(rounds), "differences": []}
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
    case = folded(case, [round_(1, "a"), round_(2, "b"), round_(3, "a")])
    assert [[r.run_index for r in group] for group in alike(case, most=5)] == [
        [1, 3],
        [2],
    ]


def test_both_versions_saying_the_same_is_stated_once(results):
    case = case_of(results, "cs-regression-v3.1", "refund_over_seven_days")
    case = case.model_copy(update={"baseline_rounds": [round_(1, "a"), round_(2, "a")]})
    [(before, after)] = versions(folded(case, [round_(1, "a")]), most=3)
    assert word_diff(before[0].answer, after[0].answer).is_same


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
    assert prompt_text(None if text is None else json.loads(text)) == shown


def test_prompts_stand_side_by_side_with_what_changed(results):
    prompt = Prompt(text="Answer in two lines.", baseline_text="Answer in ten lines.")
    page = to_html(results["cs-regression-v3.2"].model_copy(update={"prompt": prompt}))
    assert "Answer in <del>ten</del> lines." in page
    assert "Answer in <ins>two</ins> lines." in page
    assert 'href="#prompt"' in page
    untold = results["cs-regression-v3.2"].model_copy(update={"prompt": None})
    assert 'href="#prompt"' not in to_html(untold)


# ---------- two texts side by side: what is marked, and what a text may not do to it


def shown(list_of_parts: list[TextPiece]) -> str:
    return "".join(f"[{p.text}]" if p.marked else p.text for p in list_of_parts)


@pytest.mark.parametrize(
    ("before", "after", "marked_before", "marked_after"),
    [
        ("the quick brown fox", "the slow brown fox", "the [quick] brown fox", "the [slow] brown fox"),
        ("one two", "one two three", "one two", "one two[ three]"),
        ("订单不能退款。", "订单可以退款。", "订单[不能]退款。", "订单[可以]退款。"),
        ("退款 128.5 元", "退款 159.0 元", "退款 [128].[5] 元", "退款 [159].[0] 元"),
        ('{"a":true}', '{"a":false}', '{"a":[true]}', '{"a":[false]}'),
        ("abc", "xyz", "abc", "xyz"),
        ("", "new", "", "new"),
        ("It is due for 7 days.", "Yes, I sent it for you.", "It is due for 7 days.", "Yes, I sent it for you."),
    ],
)  # fmt: skip
def test_words_are_compared_and_chinese_letter_by_letter(
    before, after, marked_before, marked_after
):
    diff = word_diff(before, after)
    assert (shown(diff.before), shown(diff.after)) == (marked_before, marked_after)


def test_equal_texts_are_the_same():
    assert word_diff("a b", "a b").is_same
    assert not word_diff("a b", "a c").is_same


@given(st.text(max_size=80), st.text(max_size=80))
def test_each_side_is_its_text_and_what_is_left_unmarked_is_common(before, after):
    diff = word_diff(before, after)
    for side, text in ((diff.before, before), (diff.after, after)):
        whole = marked_parts(text, marked=False)
        assert "".join(p.text for p in side) == "".join(p.text for p in whole)
    if any(p.marked for p in [*diff.before, *diff.after]):
        left = [
            "".join(p.text for p in s if not p.marked)
            for s in (diff.before, diff.after)
        ]
        assert left[0] == left[1]


def test_a_hidden_character_stays_named_inside_a_change():
    diff = word_diff("pay 5 euro", "pay 5\u202e euro now")
    assert [p.code for p in diff.after if p.code] == ["U+202E"]


@pytest.mark.parametrize("word", ["a ", "字", "\n", "_", "!"])
def test_long_texts_are_bounded(word):
    before, after = word * 100_000, (word + "b") * 100_000
    began = time.process_time()
    diff = word_diff(before, after)
    assert time.process_time() - began < 2
    assert sum(len(p.text) for p in diff.before) <= MOST_CHARS
