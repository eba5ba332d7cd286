"""The index over all tasks."""

from __future__ import annotations

import base64
import hashlib
import re

import html5lib
import pytest

from promptlab.reports.index import facets_of, marks_of, read_index, to_index_html
from promptlab.reports.report_options import ReportOptions
from tests.reports.conftest import GENERATED_AT

EDITION = ReportOptions(GENERATED_AT)


def page(marts, lang="zh", task=lambda _: None):
    options = ReportOptions(GENERATED_AT, lang)
    return to_index_html(read_index(marts, options), options, task=task)


def lines(index):
    return [
        line
        for group in index.groups.values()
        for entry in group
        for line in entry.variants
    ]


def test_variants_are_sorted_by_where_they_are_going(marts):
    index = read_index(marts, EDITION)
    assert {
        course: [line.task_id for entry in group for line in entry.variants]
        for course, group in index.groups.items()
    } == {
        "worse": ["run-20241024-001"],
        "cannot_tell": ["empty-task"],
        "new": ["doc-summary/v1/run-7"],
    }


def test_the_index_is_the_golden_file(marts, golden):
    golden.check("index.en.html", page(marts, "en", task=lambda t: f"{len(t)}/x"))


def test_only_pages_that_exist_are_linked(marts):
    assert 'href="a/' not in page(marts)
    assert page(marts, task=lambda _: "a/report.html").count('href="a/report.html') == 8


def test_a_title_leads_to_its_page_and_a_time_to_the_report(marts):
    links = {"task": lambda _: "task.html", "title": lambda _: "title.html"}
    html = to_index_html(read_index(marts, EDITION), EDITION, **links)
    assert '<h3><a href="title.html">' in html
    assert '<a href="task.html"><bdi>2024-10-24' in html


def test_the_index_is_well_formed_and_says_missing_values(marts):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(page(marts, "en"))
    assert [error[1] for error in parser.errors] == []
    text = "".join(tree.find("body").itertext())
    assert "not scored" in text
    assert not re.search(r"\b(None|nan|null)\b", text)


def test_an_empty_warehouse_has_an_index(marts):
    for table in ("dim_tasks", "fct_task_summaries"):
        marts.execute(f"delete from marts.{table}")
    assert "仓库里还没有任务" in page(marts)


def many(marts, n_titles, n_runs):
    """Add titles of so many runs each, with texts of the usual length."""
    marts.execute(
        """
        insert into marts.dim_tasks by name
        select
            'task-' || t || '-' || r as task_id,
            'run-' || t || '-' || r as run_id,
            'Customer support, question ' || t as title,
            'vendor/model-' || t % 7 as variant, 'vendor/model-' || t % 7 as model,
            'v' || r as prompt_version, r as run_number, 'full' as role,
            false as is_partial,
            created_at + r * interval 1 day as created_at
        from marts.dim_tasks, range(?) as titles (t), range(?) as runs (r)
        where task_id = 'run-20241003-001'
        """,
        [n_titles, n_runs],
    )
    marts.execute(
        """
        insert into marts.fct_task_summaries by name
        select
            'task-' || t || '-' || r as task_id,
            0.5 + (hash(t, r) % 400) / 1000 as overall_score,
            * exclude (task_id, overall_score, t, r)
        from marts.fct_task_summaries, range(?) as titles (t), range(?) as runs (r)
        where task_id = 'run-20241003-001'
        """,
        [n_titles, n_runs],
    )
    marts.execute("""
        insert into marts.fct_verdicts by name
        select
            tasks.task_id, tasks.run_id, tasks.title,
            verdicts.* exclude (task_id, run_id, title)
        from marts.dim_tasks as tasks
        inner join marts.fct_verdicts as verdicts
            on verdicts.task_id = 'run-20241003-001' and tasks.task_id like 'task-%'
    """)


def test_a_variant_is_drawn_with_its_last_runs_only(marts):
    many(marts, 1, 365)
    line = next(
        line
        for line in lines(read_index(marts, EDITION))
        if line.title == "Customer support, question 0"
    )
    assert len(line.drawn) == 30
    html = to_index_html(read_index(marts, EDITION), EDITION)
    [path] = re.findall(
        r'<path class="line[^"]*" d="([^"]+)"', html.split(line.title)[1]
    )
    assert path.count("L") == 29


def test_an_index_of_a_thousand_titles_is_smaller_than_a_megabyte(marts):
    many(marts, 1000, 40)
    marts.execute("""
        insert into marts.fct_leaderboard by name
        select
            title, task_id, prompt_version, variant, 40 - run_number as score_rank,
            0.8 as overall_score, run_number = 39 as overlaps_leader
        from marts.dim_tasks
        where task_id like 'task-%' and run_number >= 38
    """)
    marts.execute("""
        insert into marts.fct_trends by name
        select
            title, task_id, variant, run_number as task_number,
            unnest(['cost_total', 'latency_p50']) as measure,
            run_number * 100.0 as value
        from marts.dim_tasks
        where task_id like 'task-%' and run_number >= 30
    """)
    html = page(marts, "en", task=lambda name: f"{name}/report.html")
    assert html.count("<article") >= 1000
    assert len(html.encode()) < 1_000_000


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "Do not ship: 1 case broke (faq-004)"),
        ("zh", "不要发布：1 个用例退化（faq-004）"),
    ],
)
def test_an_entry_begins_with_the_decision_and_its_reasons(marts, lang, told):
    tree = html5lib.parse(page(marts, lang), namespaceHTMLElements=False)
    entries = [node for node in tree.iter("article") if node.get("class") == "e"]
    assert len(entries) == 3
    assert told in "".join(entries[0].itertext())
    assert "None" not in page(marts)


def test_an_entry_says_by_what_it_can_be_filtered(marts):
    marts.execute("""
        insert into marts.dim_case_tags values
        ('run-20241024-001', 'faq-001', 'hard'), ('run-20241024-001', 'faq-001', 'easy')
    """)
    marts.execute("""
        update marts.dim_tasks set owner = 'Ada'
        where task_id = 'run-20241024-001'
    """)
    index = read_index(marts, EDITION)
    [entry] = index.groups["worse"]
    facets = facets_of(index)
    found = {
        name
        for marks in facets.values()
        for name, mark in marks.items()
        if mark in marks_of(entry, facets)
    }
    assert found == {entry.variants[0].model, "Ada", "easy", "hard"}
    assert 'data-f="do_not_ship ' in page(marts)


def test_the_policy_names_the_one_script_of_the_index(marts):
    html = page(marts, "en", task=lambda _: "<script>alert(1)</script>")
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    [script] = tree.iter("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_the_index_is_whole_without_its_script(marts):
    tree = html5lib.parse(page(marts, "en"), namespaceHTMLElements=False)
    [tools] = [node for node in tree.iter("div") if node.get("id") == "find"]
    assert "hidden" in tools.attrib
    assert not [node for node in tree.iter("article") if "hidden" in node.attrib]
