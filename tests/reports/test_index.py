"""The index over all tasks."""

from __future__ import annotations

import re

import html5lib
import pytest

from promptlab.reports.charts.sparkline import sparkline
from promptlab.reports.index import read_index, to_index_html
from tests.reports.conftest import GENERATED_AT


def page(marts, lang="zh", task=lambda _: None):
    index = read_index(marts, task, lang=lang)
    return to_index_html(index, lang=lang, generated_at=GENERATED_AT)


def test_tasks_stand_by_title_the_newest_first(marts):
    index = read_index(marts, lambda _: None)
    assert [(t.title, t.latest.task_id) for t in index.titles] == [
        ("客服问答回归测试", "run-20241024-001"),
        ("没有用例的任务", "empty-task"),
        ("文档摘要流水线", "doc-summary/v1/run-7"),
    ]
    assert [run.task_id for run in index.titles[0].previous] == [
        "run-20241017-001",
        "run-20241010-001",
        "run-20241003-001",
    ]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_index_is_the_golden_file(marts, golden, lang):
    golden.check(f"index.{lang}.html", page(marts, lang, task=lambda t: f"{len(t)}/x"))


def test_a_report_that_is_not_there_is_not_linked(marts):
    assert "href" not in re.sub(r'href="#main"', "", page(marts))
    assert page(marts, task=lambda _: "a/report.html").count("a/report.html") == 8


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


def test_old_runs_are_counted_not_listed(marts):
    marts.execute("""
        insert into marts.dim_tasks by name
        select
            'old-' || n as task_id, title, variant, -n as run_number, prompt_version, model,
            created_at - n * interval 1 day as created_at
        from marts.dim_tasks, (select unnest(range(1, 41)) as n)
        where task_id = 'run-20241003-001'
    """)
    marts.execute("""
        insert into marts.fct_task_summaries by name
        select 'old-' || n as task_id, * exclude (task_id, n)
        from marts.fct_task_summaries, (select unnest(range(1, 41)) as n)
        where task_id = 'run-20241003-001'
    """)
    title = read_index(marts, lambda _: None).titles[0]
    assert (len(title.previous), title.n_more) == (29, 14)
    assert "另有更早的 14 次没有列出" in page(marts)


@pytest.mark.parametrize("scores", [[], [0.5], [0.5, 0.6], [0.5, None, None, 0.6]])
def test_a_trend_needs_three_scores(scores):
    assert sparkline(scores) is None


def test_a_trend_goes_up_when_scores_do_and_leaves_gaps_open():
    line = sparkline([0.2, None, 0.5, 1.0])
    points = [tuple(map(float, p.split(","))) for p in line.points.split()]
    assert [x for x, _ in points] == [4.0, 78.7, 116.0]
    assert [y for _, y in points] == [24.0, 16.5, 4.0]
    assert (line.first, line.newest, line.n) == (0.2, 1.0, 3)


def test_noise_is_not_drawn_as_a_trend():
    line = sparkline([0.800, 0.801, 0.800])
    heights = [float(p.split(",")[1]) for p in line.points.split()]
    assert max(heights) - min(heights) < 1


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "Do not ship: 2 cases broke (faq-004, faq-003), 1 was fixed;"),
        ("zh", "不要发布：2 个用例变坏（faq-004，faq-003），1 个修复；"),
    ],
)
def test_the_latest_task_of_a_title_begins_with_its_verdict(marts, lang, told):
    tree = html5lib.parse(page(marts, lang), namespaceHTMLElements=False)
    lines = [p for p in tree.iter("p") if "answer-first" in (p.get("class") or "")]
    assert len(lines) == 3
    assert told in "".join(lines[0].itertext())
    assert "None" not in page(marts)
