"""From page to page: index, reports, baselines, cases; comparisons as pages."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from urllib.parse import unquote

import duckdb
import html5lib
import pytest

from promptlab.cli import run_cli
from promptlab.reports import write_all
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.write import write_comparison

AT = datetime(2026, 2, 1, tzinfo=UTC)
TASKS = ["cs-regression-v3.1", "cs-regression-v3.2", "review-sentiment-improved"]
MEMORY_RUNS = ["travel_diary/250601_2100", "travel_diary/250615_2100"]


@pytest.fixture(scope="module")
def out(example_db, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    with duckdb.connect(str(example_db), read_only=True) as con:
        write_all(con, [*TASKS, *MEMORY_RUNS], folder, ReportOptions(AT))
    return folder


@cache
def parsed(page):
    return html5lib.parse(page.read_text("utf-8"), namespaceHTMLElements=False)


def test_every_link_of_every_page_leads_somewhere(out):
    pages = list(out.rglob("*.html"))
    assert len(pages) > len(TASKS)
    ids = {
        page.resolve(): {e.get("id") for e in parsed(page).iter() if e.get("id")}
        for page in pages
    }
    for page in pages:
        for link in parsed(page).iter("a"):
            file, _, anchor = unquote(link.get("href")).partition("#")
            target = (page.parent / file).resolve() if file else page.resolve()
            assert target.is_file(), (page, link.get("href"))
            assert not anchor or anchor in ids[target], (page, link.get("href"))


def test_headings_step_down_one_level_at_a_time(out):
    for page in out.rglob("*.html"):
        levels = [
            int(e.tag[1])
            for e in parsed(page).iter()
            if e.tag in ("h1", "h2", "h3", "h4", "h5")
        ]
        assert levels[0] == 1, page
        steps = [after - before for before, after in pairwise(levels)]
        assert max(steps) == 1, page


def test_reports_lead_to_the_index_and_to_the_baseline(out):
    hrefs = {
        a.get("href")
        for a in parsed(out / "cs-regression-v3.2" / "report.html").iter("a")
    }
    assert {
        "../index.html",
        "../cs-regression-v3.1/report.html",
        "../cs-regression-v3.1/report.html#case-refund_partial_amount",
        "result.json",
        "#case-refund_partial_amount",
    } <= hrefs
    memory = {
        a.get("href", "")
        for page in (out / "memory").rglob("report.html")
        for a in parsed(page).iter("a")
    }
    assert "../../index.html" in memory
    assert any("travel_diary-250601_2100" in unquote(link) for link in memory)
    of_run = {
        a.get("href", "")
        for page in out.glob("travel_diary*/report.html")
        for a in parsed(page).iter("a")
    }
    assert any(link.startswith("../memory/travel_diary") for link in of_run)


def test_a_baseline_without_report_is_not_linked(example_db, tmp_path):
    with duckdb.connect(str(example_db), read_only=True) as con:
        write_all(con, TASKS[1:2], tmp_path, ReportOptions(AT), formats=["html"])
    page = (tmp_path / TASKS[1] / "report.html").read_text("utf-8")
    assert "cs-regression-v3.1/report.html" not in page
    assert "result.json<" not in page


def test_any_two_tasks_compare_as_a_page(writable_example_db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = run_cli(
        [
            "compare",
            TASKS[1],
            TASKS[0],
            "--db",
            str(writable_example_db),
            "--out",
            "pages",
            "--lang",
            "en",
        ]
    )
    assert code == 1
    page = tmp_path / "pages" / "compare" / f"{TASKS[1]}..{TASKS[0]}" / "report.html"
    tree = parsed(page)
    text = " ".join("".join(tree.itertext()).split())
    assert f"Baseline: v3.2 ({TASKS[1]}" in text
    sections = [e.get("id") for e in tree.iter("section")]
    assert sections == ["summary", "changes", "prompt", "cases", "method"]


def test_the_page_of_a_comparison_names_both_and_leads_to_both(example_db, out):
    with duckdb.connect(str(example_db), read_only=True) as con:
        page = parsed(write_comparison(con, *TASKS[:2], out, ReportOptions(AT)))
    [heading] = page.iter("h1")
    assert "".join(heading.itertext()).endswith(": v3.1 → v3.2")
    [masthead] = page.iter("header")
    assert {*TASKS[:2]} <= {"".join(e.itertext()) for e in masthead.iter("span")}
    assert {
        "../../index.html",
        "../../cs-regression-v3.1/report.html",
        "../../cs-regression-v3.2/report.html",
    } <= {a.get("href") for a in page.iter("a")}
