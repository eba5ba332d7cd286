"""What a browser makes of the pages: no sideways scrolling, nothing loaded."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from reports import to_html, to_memory_html
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


def test_the_page_asks_for_nothing(result_of, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(to_html(poisoned(result_of())), "utf-8")
    log = tmp_path / "net.json"
    browse(f"file://{file}", tmp_path, f"--log-net-log={log}", "--dump-dom")
    asked = set(re.findall(r'"url":"((?!file:|chrome|data:)[^"]+)"', log.read_text()))
    assert not [url for url in asked if "example" in url or "invalid" in url]
