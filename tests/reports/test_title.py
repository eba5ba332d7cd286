"""The page of a title."""

from __future__ import annotations

import re
import shutil

import html5lib
import pytest

from promptlab.contracts.gate import CaseList
from promptlab.database import connect
from promptlab.reports.gate.verdict import worst
from promptlab.reports.index import read_index, to_index_html
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.title import (
    _charts,
    keep_histories,
    read_title,
    to_title_html,
)
from tests.reports.conftest import GENERATED_AT

EDITION = ReportOptions(GENERATED_AT)


@pytest.fixture(scope="module")
def six(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        yield con


@pytest.fixture
def title_of(six):
    def read(title, lang="en"):
        options = ReportOptions(GENERATED_AT, lang)
        keep_histories(six, [title])
        return read_title(six, title, options), options

    return read


def page(title_of, title, lang="en"):
    view, options = title_of(title, lang)
    return to_title_html(view, options, href=report_of, index="../../index.html")


def report_of(task_id):
    return f"../../{task_id}/report.html"


def charts_of(view):
    return dict(_charts(view, report_of, EDITION))


def test_each_story_is_identified_by_its_place_in_the_index(six):
    index = read_index(six, EDITION)
    course = {
        entry.title: name for name, entries in index.groups.items() for entry in entries
    }
    assert course["Account support"] == "worse"
    assert course["Parcel tracker"] == "worse"
    assert course["Sales FAQ"] == "better"
    assert course["Travel planner"] in {"cannot_tell", "unchanged"}
    assert course["Invoice reader"] == "unchanged"
    assert course["Meeting summary"] == "worse"


def test_the_worst_of_equal_decisions_has_the_most_broken_cases(six):
    groups = read_index(six, EDITION).groups
    [gate] = EDITION.gates_of(
        six, [groups["unchanged"][0].variants[0].task_id]
    ).values()
    one, two = (
        gate.model_copy(
            update={
                "decision": "do_not_ship",
                "broke": CaseList(n=n, case_ids=["c"] * n),
            }
        )
        for n in (1, 2)
    )
    undecided = two.model_copy(update={"decision": "cannot_tell"})
    assert worst([gate, one, two]) is two
    assert worst([undecided, one]) is one


def test_a_break_is_dated_from_the_run_that_broke_it(six):
    index = read_index(six, EDITION)
    worse = {entry.title: entry.variants[0] for entry in index.groups["worse"]}
    assert f"{worse['Account support'].since_at:%Y-%m-%d}" == "2026-11-17"
    entry = next(
        each
        for each in to_index_html(index, EDITION).split("<article")
        if "Account support" in each
    )
    assert "since 17 Nov" in entry


def test_what_became_slower_or_dearer_is_worse_and_says_since_when(six):
    index = read_index(six, EDITION)
    moves = {
        entry.title: [move.text for move in entry.variants[0].moves]
        for entries in index.groups.values()
        for entry in entries
        if entry.variants[0].moves
    }
    assert moves == {
        "Meeting summary": [
            "2.2 times slower since 17 Nov 2026: 1.2 s → 2.6 s",
            "1.5 times dearer since 17 Nov 2026: 0.0018 → 0.0028 per round",
        ],
        "Sales FAQ": ["pass rate up since 14 Nov 2026: 33.3% → 54.2%"],
    }


def test_the_page_of_a_title_says_so_too_below_the_decision(title_of):
    html = page(title_of, "Meeting summary")
    slower = "2.2 times slower since 17 Nov 2026: 1.2 s → 2.6 s"
    assert slower in html
    assert (
        html.index("nothing broke") < html.index(slower) < html.index('id="over_time"')
    )


def test_the_group_of_a_title_and_its_decisions_do_not_contradict(six):
    decisions = {"worse": {"do_not_ship"}, "cannot_tell": {"cannot_tell", "run_again"}}
    for course, entries in read_index(six, EDITION).groups.items():
        for entry in entries:
            found = {line.decision for line in entry.variants}
            is_named = any(line.moves for line in entry.variants)
            assert is_named or found & decisions.get(course, {"ship", "first_run"})
            assert course == "worse" or "do_not_ship" not in found


def test_scores_pass_rates_latency_and_cost_are_drawn_where_they_move(title_of):
    view, _ = title_of("Meeting summary")
    drawn = ["overall_score", "pass_rate", "latency_p50", "cost_total"]
    drawn.append("output_tokens_mean")
    assert list(charts_of(view)) == drawn
    assert all(len(chart.lines[0].dots) == 5 for chart in charts_of(view).values())
    flat, _ = title_of("Sales FAQ")
    assert list(charts_of(flat)) == drawn[:-2]


def test_each_new_prompt_version_is_marked(title_of):
    view, _ = title_of("Account support")
    assert [text for _, text in charts_of(view)["overall_score"].marks] == ["v4"]


def test_the_newest_version_is_marked_within_the_chart_and_without_markdown(
    six_titles_db, tmp_path
):
    """A label begins at its line, or ends there at the right edge."""
    title, options = "Account support", ReportOptions(GENERATED_AT)
    copy = shutil.copy(six_titles_db, tmp_path / "w.duckdb")
    with connect(copy, read_only=False) as con:
        con.execute(
            "update marts.dim_tasks set prompt_version = 'v_5*' where task_id = ("
            " select max_by(task_id, created_at) from marts.dim_tasks where title = ?)",
            [title],
        )
        keep_histories(con, [title])
        view = read_title(con, title, options)
    html = to_title_html(view, options)
    assert re.search(r'<text class="mark-label end" x="[^>]*>v_5\*</text>', html)
    assert re.search(r'<text class="mark-label" x="[^>]*>v4</text>', html)


def test_models_are_lines_of_one_chart(title_of):
    view, _ = title_of("Invoice reader")
    assert view.variants == ["acme/large-2", "acme/large"]
    lines = charts_of(view)["overall_score"].lines
    assert [line.name for line in lines] == view.variants


def test_the_cases_that_changed_are_shown_run_by_run(title_of):
    view, _ = title_of("Account support")
    [shown] = view.cases
    assert len(shown.task_ids) == 5
    broke = [
        case.case_id
        for case in shown.cases
        if case.changes["account-support-4"] == "newly_failing"
    ]
    assert len(broke) > 5


def test_the_prompt_versions_are_ranked(title_of):
    view, _ = title_of("Sales FAQ")
    assert view.versions[0].prompt_version == "v15"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_well_formed_and_has_no_script(title_of, lang):
    html = page(title_of, "Travel planner", lang)
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(html)
    assert [error[1] for error in parser.errors] == []
    assert not list(tree.iter("script"))
    text = "".join(tree.find("body").itertext())
    assert not [word for word in ("None", "nan", "null") if f" {word} " in text]


def test_links_in_charts_and_landmarks_reach_screen_readers(title_of):
    tree = html5lib.parse(
        page(title_of, "Account support"), namespaceHTMLElements=False
    )
    pictures = [node for node in tree.iter() if node.get("role") == "img"]
    assert not [node for picture in pictures for node in picture.iter("a")]
    landmarks = [
        node.get("aria-label")
        or tree.find(f".//*[@id='{node.get('aria-labelledby')}']").text
        for node in tree.iter()
        if node.get("role") == "region" or node.tag == "section"
    ]
    assert len(set(landmarks)) == len(landmarks) == 5


def test_every_chart_has_a_title_and_its_numbers_in_a_table(title_of):
    tree = html5lib.parse(page(title_of, "Sales FAQ"), namespaceHTMLElements=False)
    charts = [svg for svg in tree.iter("svg") if svg.get("role") == "img"]
    assert all("5 runs" in svg.get("aria-label") for svg in charts)
    runs = next(s for s in tree.iter("section") if s.get("id") == "runs")
    assert len(list(runs.iter("tr"))) == 1 + 5


def test_points_and_failed_cells_lead_to_the_reports(title_of):
    html = page(title_of, "Account support")
    assert '<a href="../../account-support-4/report.html"><circle' in html
    assert "../../account-support-4/report.html#case-account-support-01" in html


def test_without_reports_nothing_is_linked(title_of):
    view, options = title_of("Account support")
    html = to_title_html(view, options)
    assert "report.html" not in html


def test_hostile_names_are_shown_as_text(marts):
    title = "<script>alert(1)</script>\x1b"
    marts.execute(
        "update marts.dim_tasks set title = ?, prompt_version = ?", [title] * 2
    )
    options = ReportOptions(GENERATED_AT, "en")
    keep_histories(marts, [title])
    view = read_title(marts, title, options)
    html = to_title_html(view, options)
    assert "<script" not in html
    assert "\x1b" not in html


def test_a_run_counts_only_what_changed(title_of):
    html = page(title_of, "Sales FAQ")
    assert "newly failing" in html and "newly passing" in html
    assert "0 newly" not in html
