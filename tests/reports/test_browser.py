"""The pages in a browser: no horizontal scrolling, no external resources."""

from __future__ import annotations

import itertools
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

# Frames of three widths, each reporting how wide its content is, all folds open.
# Our pages allow no script, so the measuring is done from outside, on a copy.
MEASURE = """<!doctype html><meta charset="utf-8"><body><script>
const widths = [375, 600, 1200];
Promise.all(widths.map(w => new Promise(done => {
  const f = document.createElement('iframe');
  f.style.cssText = 'border:0;height:600px;width:' + w + 'px';
  f.src = 'page.html';
  f.onload = () => done(w + ':' + f.contentDocument.documentElement.scrollWidth);
  document.body.append(f);
}))).then(all => { document.title = 'widths ' + all.join(' '); });
</script>"""


# Position of the first letter of a text, in pixels from the top, at each width.
FIND = """<!doctype html><meta charset="utf-8"><body><script>
const text = decodeURIComponent(location.hash.slice(1));
Promise.all([1280, 375].map(w => new Promise(done => {
  const f = document.createElement('iframe');
  f.style.cssText = 'border:0;height:800px;width:' + w + 'px';
  f.src = 'page.html';
  f.onload = () => {
    const d = f.contentDocument, words = d.createTreeWalker(d.body, 4), box = d.createRange();
    while (words.nextNode()) {
      box.selectNodeContents(words.currentNode);
      const seen = box.getBoundingClientRect();
      if (words.currentNode.data.includes(text) && seen.height > 2) {
        return done(w + ':' + Math.round(seen.bottom));
      }
    }
    done(w + ':nowhere');
  };
  document.body.append(f);
}))).then(all => { document.title = 'found ' + all.join(' '); });
</script>"""

# Letters and badges that overlap, with all folds open, and what has to be
# scrolled sideways. A line box is higher than its letters: only the middle counts.
OVERLAPS = """<!doctype html><meta charset="utf-8"><body><script>
const found = [];
Promise.all([375, 768, 1280].map(width => new Promise(done => {
  const f = document.createElement('iframe');
  f.style.cssText = 'border:0;height:800px;width:' + width + 'px';
  f.src = 'page.html';
  f.onload = () => {
    const d = f.contentDocument, boxes = [], range = d.createRange();
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
          found.push(width + ' ' + a.owner.textContent.trim() + ' / ' + b.owner.textContent.trim());
      }
    });
    for (const e of d.querySelectorAll('.scroll'))
      if (e.scrollWidth > e.clientWidth) found.push(width + ' scroll');
    done();
  };
  document.body.append(f);
}))).then(() => {
  document.title = 'faults ' + found.length + ' ' + found.slice(0, 5).join(' | ');
});
</script>"""


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


@pytest.mark.parametrize("kind", ["report", "hostile", "memory"])
def test_nothing_is_wider_than_the_window(result_of, memory_of, tmp_path, kind):
    page = {
        "report": lambda: to_html(result_of()),
        "hostile": lambda: to_html(poisoned(result_of("en"))),
        "memory": lambda: to_memory_html(memory_of("en")),
    }[kind]()
    page = page.replace("<details", "<details open")
    (tmp_path / "page.html").write_text(page, "utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, "utf-8")
    dom = browse(f"file://{tmp_path}/measure.html", tmp_path, "--dump-dom")
    found = re.search(r"widths ([\d: ]+)", dom)
    assert found, dom[:500]
    assert found[1].split() == ["375:375", "600:600", "1200:1200"]


@pytest.mark.parametrize("page", ["report", "index", "mail"])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_case_that_broke_is_named_on_the_first_screen(
    example_db, tmp_path, page, lang
):
    made = datetime(2025, 6, 18, tzinfo=UTC)
    out, task = tmp_path / "out", "cs-regression-v3.2"
    options = ReportOptions(made, lang)
    with connect(example_db, read_only=True) as con:
        if page == "mail":
            message = task_message(con, task, options)
            html = message.get_body(("html",)).get_content()
        else:
            files = write_all(con, [task], out, options)
            name = {"report": "report.html", "index": "index.html"}[page]
            html = next(f for f in files if f.name == name).read_text("utf-8")
    (tmp_path / "page.html").write_text(html, "utf-8")
    (tmp_path / "find.html").write_text(FIND, "utf-8")
    url = f"file://{tmp_path}/find.html#refund_over_seven_days"
    found = re.search(
        r"found 1280:(\d+) 375:(\d+)", browse(url, tmp_path, "--dump-dom")
    )
    assert found
    wide, narrow = map(int, found.groups())
    assert wide <= 600
    assert narrow <= 800


def of_every_status(result):
    """The result with every status among its cases, also the longest word."""
    statuses = itertools.cycle(["unevaluated", "error", "fail", "pass"])
    cases = [
        case.model_copy(update={"status": status})
        for case, status in zip(result.case_results, statuses, strict=False)
    ]
    return result.model_copy(update={"case_results": cases})


def faults_of(page, folder):
    (folder / "page.html").write_text(
        page.replace("<details", "<details open"), "utf-8"
    )
    (folder / "overlaps.html").write_text(OVERLAPS, "utf-8")
    dom = browse(f"file://{folder}/overlaps.html", folder, "--dump-dom")
    found = re.search("<title>faults (.*?)</title>", dom, re.DOTALL)
    assert found, dom[:500]
    return found[1].strip()


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("kind", ["report", "memory", "index"])
def test_nothing_lies_upon_another_or_beyond_the_edge(
    result_of, memory_of, marts, tmp_path, kind, lang
):
    page = {
        "report": lambda: to_html(of_every_status(result_of(lang))),
        "memory": lambda: to_memory_html(memory_of(lang)),
        "index": lambda: index_page(marts, lang),
    }[kind]()
    assert faults_of(page, tmp_path) == "0"


def test_badges_that_lie_upon_their_neighbours_are_found(result_of, tmp_path):
    page = to_html(of_every_status(result_of("en")))
    narrow = page.replace("grid-template-columns: 112px", "grid-template-columns: 60px")
    assert narrow != page
    assert "? unevaluated" in faults_of(narrow, tmp_path)


def test_the_page_asks_for_nothing(result_of, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(to_html(poisoned(result_of())), "utf-8")
    log = tmp_path / "net.json"
    browse(f"file://{file}", tmp_path, f"--log-net-log={log}", "--dump-dom")
    asked = set(re.findall(r'"url":"((?!file:|chrome|data:)[^"]+)"', log.read_text()))
    assert not [url for url in asked if "example" in url or "invalid" in url]


FILTER = """<!doctype html><meta charset="utf-8"><body><script>
const f = document.createElement('iframe');
f.src = 'page.html';
f.onload = () => {
  const d = f.contentDocument, seen = [];
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
  document.title = 'shown ' + seen.join(';') + ';' + d.querySelectorAll('.e').length;
};
document.body.append(f);
</script>"""


def test_the_index_is_searched_and_filtered(six_titles_db, tmp_path):
    with connect(six_titles_db, read_only=True) as con:
        options = ReportOptions(datetime(2026, 11, 20, tzinfo=UTC))
        html = to_index_html(read_index(con, options), options)
    (tmp_path / "page.html").write_text(html, "utf-8")
    (tmp_path / "filter.html").write_text(FILTER, "utf-8")
    dom = browse(f"file://{tmp_path}/filter.html", tmp_path, "--dump-dom")
    found = re.search("<title>shown (.*?)</title>", dom)
    assert found, dom[:500]
    assert found[1] == "Sales FAQ;Account support,Parcel tracker;Invoice reader;6"


@pytest.mark.parametrize("title", ["Account support", "Invoice reader"])
def test_the_page_of_a_title_fits_every_window(six_titles_db, tmp_path, title):
    options = ReportOptions(datetime(2026, 11, 20, tzinfo=UTC), "en")
    with connect(six_titles_db, read_only=True) as con:
        keep_histories(con, [title])
        page = read_title(con, title, options)
    html = to_title_html(
        page, options, href=lambda task: f"{task}/report.html", index="index.html"
    )
    (tmp_path / "page.html").write_text(html, "utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, "utf-8")
    dom = browse(f"file://{tmp_path}/measure.html", tmp_path, "--dump-dom")
    found = re.search(r"widths ([\d: ]+)", dom)
    assert found, dom[:500]
    assert found[1].split() == ["375:375", "600:600", "1200:1200"]
