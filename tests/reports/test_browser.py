"""The pages in a browser: no horizontal scrolling, no external resources."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime

import pytest

from promptlab.database import connect
from promptlab.reports import to_html, to_memory_html
from promptlab.reports.index import read_index, to_index_html
from promptlab.reports.mail import task_message
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.title import keep_histories, read_title, to_title_html
from promptlab.reports.write import write_all
from tests.reports.test_index import page as index_page
from tests.reports.test_report_html import poisoned

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

# Pages in frames of several widths, one after the other. Our pages allow no script, so
# what is looked for is computed from outside.
FRAMES = """<!doctype html><meta charset="utf-8"><body><script>
const look = LOOK;
const seen = {};
const show = (page, width) => new Promise(done => {
  const f = document.createElement('iframe');
  f.style.cssText = 'border:0;height:800px;width:' + width + 'px';
  f.src = page + '.html';
  f.onload = () => {
    (seen[page] ??= []).push(look(f.contentDocument));
    f.remove();
    done();
  };
  document.body.append(f);
});
(async () => {
  for (const page of PAGES) for (const width of WIDTHS) await show(page, width);
  document.title = 'seen ' + JSON.stringify(seen);
})();
</script>"""

MEASURE = "d => d.documentElement.scrollWidth"

# Position of the first letter of a text, in pixels from the top.
FIND = """d => {
  const words = d.createTreeWalker(d.body, 4), box = d.createRange();
  while (words.nextNode()) {
    box.selectNodeContents(words.currentNode);
    const seen = box.getBoundingClientRect();
    if (words.currentNode.data.includes('refund_over_seven_days') && seen.height > 2)
      return Math.round(seen.bottom);
  }
}"""

# Letters and badges that overlap, with all folds open, and what has to be
# scrolled sideways. A line box is higher than its letters: only the middle counts.
OVERLAPS = """d => {
  const found = [], boxes = [], range = d.createRange();
  const words = d.createTreeWalker(d.body, NodeFilter.SHOW_TEXT);
  const seen = e => e.checkVisibility() && !e.closest('.sr, .skip, svg, select, script, .numbers thead, .drawn-rows thead');
  const add = (owner, rect) => {
    const inset = rect.height / 4;
    if (rect.width > 2 && rect.height > 4)
      boxes.push({owner, left: rect.left + 1, right: rect.right - 1, top: rect.top + inset, bottom: rect.bottom - inset});
  };
  while (words.nextNode()) {
    const node = words.currentNode;
    if (!node.data.trim() || !seen(node.parentElement)) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) add(node, rect);
  }
  for (const e of d.querySelectorAll('.chip, .tag, button, .grade, .sign, .decision'))
    if (seen(e)) add(e, e.getBoundingClientRect());
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom; k++) {
      const b = boxes[k];
      if (a.left < b.right && b.left < a.right && a.owner !== b.owner
          && !a.owner.contains(b.owner) && !b.owner.contains(a.owner))
        found.push(a.owner.textContent.trim() + ' / ' + b.owner.textContent.trim());
    }
  });
  for (const e of d.querySelectorAll('.scroll'))
    if (e.scrollWidth > e.clientWidth) found.push('scroll');
  return found.slice(0, 5);
}"""

# Cases that a search and two filters leave, and how many there are.
FILTER = """d => {
  const seen = [];
  const shown = () => [...d.querySelectorAll('.e')].filter(e => e.checkVisibility())
    .map(e => e.querySelector('h3').textContent.trim()).join(',');
  for (const [name, value, kind] of [['text', 'SALES', 'input'],
      ['decision', 'do_not_ship', 'change'], ['model', 'm1', 'change']]) {
    const field = d.getElementById('find-' + name);
    field.value = value;
    field.dispatchEvent(new Event(kind));
    seen.push(shown());
    field.value = '';
    field.dispatchEvent(new Event(kind));
  }
  return [...seen, d.querySelectorAll('.e').length];
}"""


def browse(url, folder, *options):
    return subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--allow-file-access-from-files",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=4000",
            *options,
            url,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    ).stdout


def seen_on(pages, folder, look, widths):
    """Return what *look* finds on each page, at each width."""
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, "utf-8")
    frames = FRAMES.replace("LOOK", look).replace("WIDTHS", str(widths))
    frames = frames.replace("PAGES", str(list(pages)))
    (folder / "frames.html").write_text(frames, "utf-8")
    dom = browse(f"file://{folder}/frames.html", folder, "--dump-dom")
    found = re.search("<title>seen (.*?)</title>", dom, re.DOTALL)
    assert found, dom[:500]
    return json.loads(html.unescape(found[1]))


def opened(page):
    """The page with all its folds open."""
    return page.replace("<details", "<details open")


@pytest.fixture
def titles(six_titles_db):
    """The pages of two titles."""
    options = ReportOptions(datetime(2026, 11, 20, tzinfo=UTC), "en")
    names = ("Account support", "Invoice reader")
    with connect(six_titles_db, read_only=True) as con:
        keep_histories(con, names)
        pages = {name: read_title(con, name, options) for name in names}
    return {
        name: to_title_html(
            page, options, href=lambda task: f"{task}/report.html", index="index.html"
        )
        for name, page in pages.items()
    }


def test_nothing_is_wider_than_the_window(result_of, memory_of, titles, tmp_path):
    pages = titles | {
        "report": opened(to_html(result_of())),
        "hostile": opened(to_html(poisoned(result_of("en")))),
        "memory": opened(to_memory_html(memory_of("en"))),
    }
    widths = [375, 600, 1200]
    assert seen_on(pages, tmp_path, MEASURE, widths) == dict.fromkeys(pages, widths)


def test_a_case_that_broke_is_named_on_the_first_screen(example_db, tmp_path):
    made = datetime(2025, 6, 18, tzinfo=UTC)
    task = "cs-regression-v3.2"
    pages = {}
    with connect(example_db, read_only=True) as con:
        for lang in ("zh", "en"):
            options = ReportOptions(made, lang)
            message = task_message(con, task, options)
            pages[f"mail-{lang}"] = message.get_body(("html",)).get_content()
            for file in write_all(con, [task], tmp_path / lang, options):
                if file.name in ("report.html", "index.html"):
                    pages[f"{file.stem}-{lang}"] = file.read_text("utf-8")
    assert len(pages) == 6
    for name, (wide, narrow) in seen_on(pages, tmp_path, FIND, [1280, 375]).items():
        assert wide <= 600, name
        assert narrow <= 800, name


def of_every_status(result):
    """The result with every status among its cases, also the longest word."""
    statuses = itertools.cycle(["unevaluated", "error", "fail", "pass"])
    cases = [
        case.model_copy(update={"status": status})
        for case, status in zip(result.case_results, statuses, strict=False)
    ]
    return result.model_copy(update={"case_results": cases})


def test_nothing_lies_upon_another_or_beyond_the_edge(
    result_of, memory_of, marts, tmp_path
):
    pages = {}
    for lang in ("zh", "en"):
        pages[f"report-{lang}"] = to_html(of_every_status(result_of(lang)))
        pages[f"memory-{lang}"] = to_memory_html(memory_of(lang))
        pages[f"index-{lang}"] = index_page(marts, lang)
    wide = "grid-template-columns: 112px"
    assert wide in pages["report-en"]
    pages["narrow"] = pages["report-en"].replace(wide, "grid-template-columns: 60px")
    pages = {name: opened(page) for name, page in pages.items()}
    faults = seen_on(pages, tmp_path, OVERLAPS, [375, 768, 1280])
    assert "? unevaluated" in str(faults.pop("narrow"))  # badges upon their neighbours
    assert [name for name, found in faults.items() if any(found)] == []


def test_the_page_asks_for_nothing(result_of, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(to_html(poisoned(result_of())), "utf-8")
    log = tmp_path / "net.json"
    browse(f"file://{file}", tmp_path, f"--log-net-log={log}", "--dump-dom")
    asked = set(re.findall(r'"url":"((?!file:|chrome|data:)[^"]+)"', log.read_text()))
    assert not [url for url in asked if "example" in url or "invalid" in url]


def test_the_index_is_searched_and_filtered(six_titles_db, tmp_path):
    with connect(six_titles_db, read_only=True) as con:
        options = ReportOptions(datetime(2026, 11, 20, tzinfo=UTC))
        pages = {"index": to_index_html(read_index(con, options), options)}
    (shown,) = seen_on(pages, tmp_path, FILTER, [300])["index"]
    assert shown == ["Sales FAQ", "Account support,Parcel tracker", "Invoice reader", 6]
