"""The one script of the report: named by the policy, harmless, dispensable."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import html5lib
import pytest

from promptlab import reports
from promptlab.errors import SettingsError
from promptlab.reports import to_html
from tests.reports.test_browser import CHROMIUM, browse
from tests.reports.test_report_html import poisoned

SCRIPT = Path(reports.__file__).parent / "templates" / "report.js"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


def parsed(page: str):
    return html5lib.parse(page, namespaceHTMLElements=False)


def policy(tree) -> str:
    metas = [m for m in tree.iter("meta") if m.get("http-equiv")]
    return metas[0].get("content")


def hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_policy_names_the_script_that_is_on_the_page_and_no_other(result_of, lang):
    tree = parsed(to_html(poisoned(result_of(lang))))
    scripts = list(tree.iter("script"))
    assert [s.text for s in scripts] == [SCRIPT.read_text("utf-8")]
    assert policy(tree).split("; ")[:2] == [
        "default-src 'none'",
        f"script-src {hash_of(scripts[0].text)}",
    ]
    assert "unsafe" not in policy(tree).split("; ")[1]


def test_every_report_has_the_same_script(result_of):
    pages = [to_html(poisoned(result_of(lang))) for lang in ("zh", "en")]
    assert len({re.search(r"script-src [^;]+", page)[0] for page in pages}) == 1


def test_a_page_without_script_differs_in_nothing_but_the_tools(result_of):
    def bare(page: str) -> str:
        page = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
        page = re.sub(r'  <div id="find".*?</div>\n', "", page, flags=re.DOTALL)
        return re.sub(r"script-src [^;]+; ", "", page)

    without = to_html(result_of(), with_script=False)
    assert "script" not in without
    assert bare(to_html(result_of())) == without


def test_the_tools_are_hidden_until_the_script_shows_them(result_of):
    tree = parsed(to_html(result_of()))
    tools = next(e for e in tree.iter("div") if e.get("id") == "find")
    assert "hidden" in tools.attrib
    for field in ("input", "select"):
        for control in tools.iter(field):
            assert control.get("id")
    assert len(list(tools.iter("label"))) == 6


def test_the_script_makes_no_markup_runs_no_text_and_asks_nothing():
    text = SCRIPT.read_text("utf-8")
    for way in (
        r"[a-z]+HTML\b",
        r"\beval\b",
        r"\bFunction\b",
        r"createElement",
        r"document\.write",
        r"setAttribute",
        r"\.href\b",
        r"\.src\b",
        r"setTimeout",
        r"\bfetch\b",
        r"XMLHttp",
        r"import\b",
        r"Storage\b",
        r"cookie",
        r"\{\{|\{%|\{#",
    ):
        assert not re.search(way, text), way
    assert len(text.encode()) < 6_000


def test_a_script_of_ones_own_is_named_by_its_own_hash(result_of, tmp_path):
    (tmp_path / "report.js").write_text("1;", "utf-8")
    page = to_html(result_of(), templates=tmp_path)
    assert hash_of("1;") in page
    assert "<script>1;</script>" in page


def test_a_script_cannot_print_a_result(result_of, tmp_path):
    (tmp_path / "report.js").write_text("'{{ result.task.title }}'", "utf-8")
    with pytest.raises(SettingsError, match="'result' is undefined"):
        to_html(result_of(), templates=tmp_path)


# The page in a frame, driven from outside: its own policy lets nothing in.
DRIVE = """<!doctype html><meta charset="utf-8"><body><script>
const f = document.createElement('iframe');
f.src = 'page.html';
f.onload = () => {
  const d = f.contentDocument, said = [];
  const put = (id, value, event) => {
    d.getElementById(id).value = value;
    d.getElementById(id).dispatchEvent(new Event(event));
  };
  const say = () => said.push([...d.querySelectorAll('.case')]
    .filter(c => !c.closest('[hidden]'))
    .map(c => c.querySelector('summary .id').textContent).join(','));
  said.push(String(d.getElementById('find').hidden), d.title.includes('LIVE'));
  put('find-text', '发票', 'input'); say();
  put('find-text', '', 'input'); put('find-status', 'error', 'change'); say();
  put('find-status', '', 'change'); put('find-order', 'down', 'change'); say();
  put('find-order', '', 'change'); say();
  said.push(d.getElementById('find-count').textContent);
  put('find-change', 'broke', 'change'); say();
  said.push(decodeURIComponent(f.contentWindow.location.hash));
  said.push(d.querySelector('#cases .cases:not([hidden]) .count').textContent);
  put('find-change', '', 'change'); put('find-tag', '0', 'change'); say();
  const press = (key) => d.dispatchEvent(new f.contentWindow.KeyboardEvent('keydown', { key }));
  put('find-tag', '', 'change'); press('?');
  said.push(String(d.getElementById('find-help').hidden));
  press('/'); said.push(d.activeElement.id);
  document.title = 'said ' + said.join(' | ');
};
document.body.append(f);
</script>"""


@pytest.mark.slow
@needs_browser
def test_a_browser_runs_our_script_and_no_other(result_of, tmp_path):
    page = to_html(result_of())
    intruder = "<script>document.title = 'LIVE'</script></body>"
    assert page.count("</body>") == 1
    (tmp_path / "page.html").write_text(page.replace("</body>", intruder), "utf-8")
    (tmp_path / "drive.html").write_text(DRIVE, "utf-8")
    dom = browse(f"file://{tmp_path}/drive.html", tmp_path, "--dump-dom")
    found = re.search(r"<title>said (.*?)</title>", dom)
    assert found, dom[:500]
    told = found[1].split(" | ")
    hidden, live, found_text, errors, sorted_down, as_listed, count = told[:7]
    broke, address, heads, tagged, help_hidden, focused = told[7:]
    assert (hidden, live) == ("false", "false")
    assert found_text == "faq-004,faq-010"
    assert errors == "faq-009"
    assert sorted_down.startswith("faq-005,faq-003,faq-008,faq-004,faq-009")
    assert as_listed.startswith("faq-004,faq-003,faq-008,faq-005,faq-009")
    assert count == "12"
    assert sorted(broke.split(",")) == ["faq-003", "faq-004"]
    assert address == "#change=broke"
    assert heads == "2 / 4 个用例"
    assert 0 < len(tagged.split(",")) < 12
    assert (help_hidden, focused) == ("false", "find-text")


@pytest.mark.slow
@needs_browser
def test_the_address_of_a_page_chooses_its_cases(result_of, tmp_path):
    (tmp_path / "page.html").write_text(to_html(result_of()), "utf-8")
    drive = DRIVE.replace("page.html'", "page.html#change=broke&status=fail'")
    say = "say(); document.title = 'said ' + said.join(' | '); };"
    drive = drive[: drive.index("  said.push(String(d.getEl")] + say
    drive += "\ndocument.body.append(f);\n</script>"
    (tmp_path / "drive.html").write_text(drive, "utf-8")
    dom = browse(f"file://{tmp_path}/drive.html", tmp_path, "--dump-dom")
    found = re.search(r"<title>said (.*?)</title>", dom)
    assert found, dom[:500]
    assert sorted(found[1].split(",")) == ["faq-003", "faq-004"]
