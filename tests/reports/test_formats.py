"""The other files: Markdown, JUnit XML, CSV."""

from __future__ import annotations

import csv
import html
import io
import re
import xml.etree.ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from markupsafe import escape

from promptlab.contracts.analysis_result import AssertionOutcome
from promptlab.errors import UsageError
from promptlab.reports import FORMATS, to_csv, to_html, to_junit, to_markdown
from promptlab.reports.mail import Envelope, to_message
from promptlab.reports.pages import environment
from promptlab.reports.printing import plain, visible
from promptlab.reports.write import chosen_formats

FORMULAS = [
    '=HYPERLINK("http://example.invalid")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "  =1+1",
    "\t=1+1",
    "\n=1+1",
    "＝1+1",
    "＋1",
    "－1",
    "＠x",
]
SPREADSHEET_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")


def renamed(result, texts, field="case_id"):
    """The result with its first cases' ids (or another field) replaced."""
    cases = list(result.case_results)
    for at, text in enumerate(texts):
        cases[at] = cases[at].model_copy(update={field: text})
    return result.model_copy(update={"case_results": cases})


def table(text):
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def test_formats_are_known_by_name():
    assert {name: fmt.file_name for name, fmt in FORMATS.items()} == {
        "json": "result.json",
        "html": "report.html",
        "email": "report.eml",
        "md": "report.md",
        "junit": "junit.xml",
        "csv": "cases.csv",
    }


def test_no_file_shows_expected_values_with_json_quotes_or_escapes(result_of):
    result = result_of(lang="en")
    failed = next(case for case in result.case_results if case.differences)
    said = {"expected": r'"within \\d+ \"days\""', "actual": '"explain_policy"'}
    failed.differences[0] = failed.differences[0].model_copy(update=said)
    message = to_message(result, envelope=Envelope())
    files = [
        to_html(result),
        to_junit(result),
        *(message.get_body((kind,)).get_content() for kind in ("html", "plain")),
    ]
    for text in map(html.unescape, files):
        assert r'within \d+ "days"' in text
        assert "explain_policy" in text
        assert '"explain_policy"' not in text
        assert r"\\d+" not in text


def test_an_unknown_format_is_refused_with_those_there_are():
    with pytest.raises(
        UsageError, match="pdf, doc is not one of json, html, email, md"
    ):
        chosen_formats(["html", "pdf", "doc"])


def test_a_format_asked_for_twice_is_made_once():
    assert [f.file_name for f in chosen_formats(["html", "json", "html"])] == [
        "report.html",
        "result.json",
    ]


# ---------------------------------------------------------------- CSV


def test_the_table_has_a_row_per_case_and_a_column_per_dimension(result_of):
    rows = table(to_csv(result_of()))
    assert len(rows) == 12
    assert next(row for row in rows if row["case_id"] == "faq-004") == {
        "case_id": "faq-004",
        "status": "fail",
        "must_have_pass": "false",
        "aggregated_score": "0.125",
        "score.accuracy": "0.0",
        "score.consistency": "0.0",
        "score.latency": "1.0",
        "score.politeness": "",
        "n_rounds": "2",
        "n_rounds_passed": "0",
        "n_differences": "4",
        "first_reason": "not_contained",
        "tags": "faq invoice",
        "question": "发票抬头写错了怎么办？",
    }


def test_the_reason_may_be_an_error_or_an_assertion_of_a_tool(result_of):
    result = result_of()
    error = next(case for case in result.case_results if case.status == "error")
    failed = AssertionOutcome.model_construct(
        status="fail", name="llm-rubric", reason="rude"
    )
    asserted = result.case_results[0].model_copy(
        update={"rounds": [], "differences": [], "assertions": [failed]}
    )
    rows = table(to_csv(result.model_copy(update={"case_results": [asserted, error]})))
    code = next(each.error_code for each in error.rounds if each.error_code)
    assert [row["first_reason"] for row in rows] == ["rude", code]


@pytest.mark.parametrize("field", ["case_id", "tags", "context"])
def test_no_cell_can_act_as_a_formula(result_of, field):
    result = result_of()
    for formula in FORMULAS:
        value = {"tags": [formula], "context": {"question": formula}}.get(
            field, formula
        )
        row = table(to_csv(renamed(result, [value], field)))[0]
        for cell in row.values():
            assert not cell.startswith(SPREADSHEET_STARTS)
            assert not cell.lstrip().startswith(SPREADSHEET_STARTS)
        assert any(formula.strip() in cell for cell in row.values())


def test_a_dimension_s_id_cannot_act_as_a_formula_either(result_of):
    result = result_of()
    dimensions = [
        d.model_copy(update={"dimension_id": "=1"}) for d in result.dimensions
    ]
    header = to_csv(result.model_copy(update={"dimensions": dimensions})).splitlines()[
        0
    ]
    assert "score.=1" in header


def test_commas_quotes_and_line_feeds_stay_in_their_cell(result_of):
    text = 'a,"b"\nc;\x00'
    assert table(to_csv(renamed(result_of(), [text])))[0]["case_id"] == (
        'a,"b"\nc;⟦U+0000⟧'
    )


# ---------------------------------------------------------------- JUnit


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_failures_errors_and_skipped_are_distinguished(result_of, lang):
    suite = ET.fromstring(to_junit(result_of(lang))).find("testsuite")
    counts = {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "12", "failures": "4", "errors": "1", "skipped": "1"}
    for name in ("failure", "error", "skipped"):
        of = {"failure": "failures", "error": "errors"}.get(name, name)
        assert len(suite.findall(f"testcase/{name}")) == int(counts[of])


def test_a_failure_says_what_differs(result_of):
    suite = ET.fromstring(to_junit(result_of("en"))).find("testsuite")
    case = next(c for c in suite.findall("testcase") if c.get("name") == "faq-004")
    assert case.get("time") == "1.982"
    assert "final output /intent: wrong value; expected fix_invoice, got reorder" in (
        case.findtext("failure")
    )


def test_a_time_that_was_not_measured_is_left_out(result_of):
    result = result_of()
    case = result.case_results[0]
    rounds = [r.model_copy(update={"latency_ms": None}) for r in case.rounds]
    cut = renamed(result, [rounds], "rounds")
    suite = ET.fromstring(to_junit(cut)).find("testsuite")
    assert suite.find("testcase").get("time") is None


@pytest.mark.parametrize(
    "text",
    [
        "]]><x>&amp;\"'",
        "\x00\x08\x0b\x1b\ufffe\uffff",
        "a\nb\tc\r",
        "\ud800",
        "<!--<![CDATA[-->",
        "\u2028 😀 中文",
    ],
)
def test_any_text_makes_valid_xml(result_of, text):
    result = renamed(result_of(), [text] * 5)
    differences = [
        d.model_copy(update={"actual": text})
        for d in result.case_results[3].differences
    ]
    result = renamed(result, [differences] * 12, "differences")
    task = result.task.model_copy(update={"title": text, "model": text})
    xml = to_junit(result.model_copy(update={"task": task}))
    assert len(ET.fromstring(xml.encode()).findall("testsuite/testcase")) == 12


# ---------------------------------------------------------------- Markdown


def test_the_summary_is_the_golden_file(result_of, golden):
    golden.check("report.en.md", to_markdown(result_of("en")))


def test_the_summary_of_nothing_says_so(result_of):
    text = to_markdown(result_of("en", "empty-task"))
    assert "not scored" in text
    assert "No case failed" in text
    assert not re.search(r"\b(None|nan)\b", text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a|b", r"a\|b"),
        ("*x* _y_ `z`", r"\*x\* \_y\_ \`z\`"),
        ("[a](b) ![c](d)", r"\[a\](b) \!\[c\](d)"),
        ("a\n# b\n- c", r"a \# b - c"),
        ("http://x.invalid www.x.invalid", r"http\://x.invalid www\.x.invalid"),
        ("me@x.invalid $a$ ~~b~~", "me\\@\u200bx.invalid \\$a\\$ \\~\\~\u200bb\\~\\~"),
        ("\x1b", "⟦U+001B⟧"),
        ("文字，“引号”", "文字，“引号”"),
    ],
)
def test_a_text_of_others_is_plain_in_markdown(text, safe):
    assert plain(text) == safe


# Of GitHub's and GitLab's documentation: what they make links and notifications of,
# in the text that is left of Markdown.
REFERENCES = re.compile(
    r"""@[\w"-] | [#!&$]\d | [%~][\w"] | \bgh-\d | \[\w+:[^]]+\]""",
    re.VERBOSE | re.IGNORECASE,
)


@pytest.mark.parametrize(
    "text",
    [
        "@octocat", "ask @octocat.", "\\@octocat", "\\\\@octocat", "`@octocat`", "@org/team", "@all",
        "(@octocat)", "*@octocat*", "a@example.com", "@@octocat", "@_x", "@-x", "&commat;octocat", "&#64;octocat",
        "#12", "\\#12", "(#12)", "group/project#12", "org/repo#12+", "fixes #12", "GH-12", "gh-12",
        "closes GH-12.", "#12+s", "!12", "group/project!12", "&12", "group&12", "&amp;12", "%12",
        '%"v1.0"', "%v1", "$12", "~12", '~"a label"', "~label", "^alert#12", "[issue:12]", "[epic:g/12]",
        "[work_item:12]", "[vulnerability:12]", "/close", "  /assign @octocat", "/label ~bug", "/title x",
        "@octo\u200bcat", "#\u20601", "@\u7528\u6237",
    ],
)  # fmt: skip
def test_a_text_of_others_mentions_nobody_and_links_no_issue(text):
    """Both drop backslashes and entities before they look for references."""
    source = plain(text)
    assert not source.startswith("/")  # GitLab's quick actions begin a line
    tokens = MarkdownIt().parse(str(escape(source)))
    shown = "".join(child.content for token in tokens for child in token.children or ())
    assert not REFERENCES.search(shown), shown
    assert shown.replace("\u200b", "") == " ".join(visible(text).split())


def test_a_template_does_not_name_what_keeps_a_mention_apart():
    env = environment("en")
    shown = env.from_string("{{ text | plain }}").render(text="<b> @team \u200b")
    assert shown == "&lt;b&gt; \\@\u200bteam ⟦U+200B⟧"


@pytest.mark.parametrize(
    "text", ["50 % of $ 5", "a & b", "#", "100%", "C# and F#!", "1 ~ 2", "a/b", "R&D"]
)
def test_signs_that_name_nothing_are_written_as_they_are(text):
    assert "\u200b" not in plain(text)


def test_a_table_row_stays_one_row_whatever_its_text(result_of):
    result = result_of()
    dimensions = [
        d.model_copy(update={"name": "a|b\n<b>|*c*"}) for d in result.dimensions
    ]
    text = to_markdown(result.model_copy(update={"dimensions": dimensions}))
    rows = [line for line in text.splitlines() if "&lt;b&gt;" in line]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_the_summary_stays_below_60_kb(result_of):
    result = result_of()
    long = "字" * 3000
    worst = result.case_results[3].model_copy(
        update={"case_id": long, "context": {"question": long}}
    )
    alerts = [result.summary.alerts[0].model_copy(update={"message": long})] * 90
    summary = result.summary.model_copy(
        update={"alerts": alerts, "n_cases": 900, "n_fail": 900}
    )
    text = to_markdown(
        result.model_copy(update={"case_results": [worst] * 900, "summary": summary})
    )
    assert len(text.encode()) <= 60_000
    assert "另有" in text
