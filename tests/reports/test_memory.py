"""The report of a memory run."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import html5lib
import jsonschema
import pytest

from promptlab.contracts.memory_result import MemoryResult
from promptlab.errors import NothingToDo
from promptlab.reports import to_memory_html, to_memory_json
from promptlab.reports.pages import environment


def words(page):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert [error[1] for error in parser.errors] == []
    return " ".join(" ".join(tree.find("body").itertext()).split())


def headings(result, section):
    """The headings of the rows of a section's tables."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    found = parser.parse(to_memory_html(result)).find(f".//*[@id='{section}']")
    return ["".join(th.itertext()) for th in found.findall(".//th[@scope='row']")]


def test_the_memory_report_is_the_golden_file(memory_of, golden):
    golden.check("memory.en.html", to_memory_html(memory_of("en")))


def test_the_json_obeys_the_schema_and_survives_reading(memory_of):
    result = memory_of()
    text = to_memory_json(result)
    schema = MemoryResult.model_json_schema(mode="serialization")
    jsonschema.validate(json.loads(text), schema)
    assert MemoryResult.model_validate_json(text) == result


def test_the_headline_names_its_rule_and_its_questions(memory_of):
    text = words(to_memory_html(memory_of("en")))
    assert "62.0 / 100 LoCoMo F1" in text
    assert "11 questions, 1 calls failed" in text
    assert "last round of each conversation, failed calls count as 0" in text
    assert "The run before, diary/250601_2100 , scored 50.0" in text.replace(
        "diary/250601_2100,", "diary/250601_2100 ,"
    )


def test_scores_have_intervals_by_conversation_or_say_why_not(memory_of, marts):
    text = words(to_memory_html(memory_of("en")))
    assert "95% interval 41.0–83.0, over 2 conversations" in text
    marts.execute("update marts.fct_memory_scores set ci_low = null, ci_high = null")
    text = words(to_memory_html(memory_of("en")))
    assert "No interval: all 2 conversations have the same score." in text


def test_categories_are_called_by_their_names(memory_of):
    text = words(to_memory_html(memory_of("en")))
    assert "multi-hop 1" in text
    assert "non-adversarial 1-4" in text


def test_what_is_not_defined_is_not_scored(memory_of):
    text = words(to_memory_html(memory_of("en")))
    assert "not scored" in text
    assert not re.search(r"\b(None|nan|null)\b", text)


def test_every_other_rule_is_listed_once(memory_of):
    rules = headings(memory_of("en"), "method")
    listed = [rule for rule in rules if ", " in rule]
    assert len(listed) == len(set(listed)) == 7


def test_the_curve_has_a_line_per_round(memory_of):
    assert headings(memory_of("en"), "rounds") == ["1", "2", "3"]


def test_the_curves_are_drawn_and_described_in_words(memory_of):
    page = html5lib.parse(to_memory_html(memory_of("en")))
    svg = "{http://www.w3.org/2000/svg}"
    drawn = [
        each
        for each in page.iter(f"{svg}svg")
        if each.find(f"{svg}polyline") is not None
    ]
    assert [each.get("role") for each in drawn] == ["img", "img"]
    learning, retention = (each.get("aria-label") for each in drawn)
    assert learning.startswith("Learning curve, ")
    assert learning.count(" dialogs") == 3
    assert retention == "Retention, 77.8% after 1, 50.0% after 3"


def curve(*pairs):
    """The points of a drawn curve, if it is drawn."""
    charts = environment("en").get_template("charts.html.j2").module
    items = [SimpleNamespace(at=at, score=score) for at, score in pairs]
    drawn = charts.curve(items, "at", "score", "", "", caller=lambda: "")
    return re.findall(r'points="([^"]*)"', str(drawn))


def test_a_curve_starts_at_0_and_leaves_out_what_is_missing():
    points = curve((0, 1.0), (10, None), (20, 0.5), (40, 0.0))
    assert points == ["6.0,6.0 300.0,80.0 594.0,154.0"]


@pytest.mark.parametrize(
    "pairs", [[], [(1, 0.5)], [(0, 0.5), (0, 1)], [(None, 1), (2, 1)]]
)
def test_less_than_two_places_are_no_curve(pairs):
    assert curve(*pairs) == []


def test_durations_have_their_quantiles_or_say_that_there_are_none(memory_of):
    text = words(to_memory_html(memory_of("en")))
    assert "insert · extract 80 1,200 ms 1,100 ms 2,000 ms 2,401 ms 9,000 ms" in text
    assert "retrieve · search 24 100 ms not measured" in text


def test_failed_calls_come_before_wrong_answers_and_unjudged_ones_last(memory_of):
    result = memory_of()
    assert [a.status for a in result.wrong] == ["error", "fail", "fail", "unevaluated"]
    assert result.n_wrong == 4
    assert [a.score for a in result.wrong] == [None, 0.0, 0.4, None]


def test_references_keep_their_type(memory_of):
    assert [a.reference_answer for a in memory_of().wrong] == [
        3200,
        "Humble Administrator's Garden",
        "四月三日",
        None,
    ]


def test_a_forgotten_question_shows_both_answers(memory_of):
    text = words(to_memory_html(memory_of("en")))
    assert "Round 2, right Humble Administrator" in text
    assert "Round 3, wrong The Lion Grove" in text


def test_names_of_categories_follow_the_language(memory_of):
    for lang, name in (("zh", "时间推理"), ("en", "temporal")):
        assert name in {each.name for each in memory_of(lang).categories}


def test_a_run_without_figures_has_a_page(memory_of, marts):
    for table in ("scores", "retention", "answers", "forgotten", "timings"):
        marts.execute(f"delete from marts.fct_memory_{table}")
    marts.execute("delete from marts.dim_memory_categories")
    marts.execute(
        "update marts.dim_memory_runs set n_questions = null, n_never_asked = null,"
        " started_at = null, right_metric = null, score_metric = null,"
        " right_threshold = null"
    )
    text = words(to_memory_html(memory_of("en")))
    assert "not scored" in text
    assert not re.search(r"\b(None|nan|null)\b", text)


def test_hostile_answers_are_only_text(memory_of, marts):
    hostile = "</td><script>alert(1)</script>\x1b"
    marts.execute(
        "update marts.fct_memory_answers set question_text = $1,"
        " predicted_answer = $1, error = $1, task_id = $1, category = $1",
        [hostile],
    )
    page = to_memory_html(memory_of())
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


def test_an_unknown_run_is_nothing_to_do(memory_of):
    with pytest.raises(NothingToDo, match="'nope'"):
        memory_of(run_id="nope")
