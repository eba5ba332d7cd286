"""The full report: whole, readable, inert, small."""

from __future__ import annotations

import re
from typing import Any

import html5lib
import pytest

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports import to_html
from promptlab.reports.report_options import PAGE_LIMITS
from tests.mail.made import checker

HOSTILE = [
    "<script>alert('HOSTILE00')</script>",
    "<img src=x onerror=alert('HOSTILE01')>",
    '" onmouseover="alert(\'HOSTILE02\')" x="',
    "' onfocus='alert(1)HOSTILE03' autofocus x='",
    "</title></textarea></style><svg onload=alert('HOSTILE04')>",
    "--><img src=x onerror=alert('HOSTILE05')><!--",
    "javascript:alert('HOSTILE06')",
    "{{7*7}} {% if 1 %}HOSTILE07 {{ result }}",
    "&lt;b&gt;HOSTILE08&lt;/b&gt; &amp;amp;",
    "HOSTILE09 \u202egnp.exe\u202c end",
    "HOSTILE10\x00\x08\x1b[31mred\x85",
    "HOSTILE11" + "A" * 400,
    "HOSTILE12\r\nBcc: evil@example.invalid",
    "</td></tr></table>HOSTILE13<table><tr><td>",
    '=HYPERLINK("http://example.invalid","HOSTILE14")',
    "]]> ```HOSTILE15 | **x** [y](http://example.invalid)",
]

# What our own code chose from a closed list; everything else is text of others.
CLOSED = {
    "severity",
    "status",
    "baseline_status",
    "candidate_status",
    "status_change",
    "change",
    "verdict",
    "pair_source",
    "scope",
    "lang",
    "target_status",
    "code",
    "decision",
    "measure",
    "state",
    "what",
    "why",
    "since_at",
    "advice",
    "created_at",
    "executed_at",
    "generated_at",
    "version",
}


def poisoned(result: AnalysisResult) -> AnalysisResult:
    """Put a hostile string before every text in the result that is not ours."""
    chosen: dict[str, str] = {}

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {poison_key(k, key): poison(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [poison(item, key) for item in value]
        if isinstance(value, str) and key not in CLOSED:
            return chosen.setdefault(value, HOSTILE[len(chosen) % len(HOSTILE)] + value)
        return value

    def poison_key(key: str, parent: str) -> str:
        free = parent in {"context", "env", "extras", "raw_metrics"}
        if parent == "dimension_scores" or (free and key not in {"promptlab"}):
            return poison(key)
        return key

    data = result.model_dump()
    own = data["extras"].pop("promptlab")
    data = poison(data)
    data["extras"]["promptlab"] = own
    return AnalysisResult.model_validate(data)


def parsed(page: str) -> Any:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert [error[1] for error in parser.errors] == []
    return tree


def text_of(tree: Any) -> str:
    """The words of the page, without its script."""
    body = tree.find("body")
    scripts = {text for script in body.iter("script") for text in script.itertext()}
    return "".join(text for text in body.itertext() if text not in scripts)


def test_the_report_is_the_golden_file(result_of, golden):
    golden.check("report.en.html", to_html(result_of("en")))


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("task_id", ["run-20241024-001", "empty-task"])
def test_the_page_is_well_formed_and_says_its_language(result_of, lang, task_id):
    tree = parsed(to_html(result_of(lang, task_id)))
    assert tree.get("lang") == {"zh": "zh-CN", "en": "en"}[lang]
    assert tree.findtext("head/title").strip()
    assert len(list(tree.iter("h1"))) == 1


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("task_id", ["run-20241024-001", "empty-task"])
def test_a_missing_value_is_stated_in_words(result_of, lang, task_id):
    text = text_of(parsed(to_html(result_of(lang, task_id))))
    assert not re.search(r"\b(None|nan|NaN|null|undefined|inf)\b", text)
    assert {"zh": "未评分", "en": "not scored"}[lang] in text


def test_the_first_screen_has_the_verdict(result_of):
    tree = parsed(to_html(result_of("en")))
    words = " ".join(next(e for e in tree.iter("section")).itertext())
    verdict = " ".join(words.split())
    for part in (
        "Do not ship : 1 case broke;",
        "broke faq-004 : 0 of 2 now, 6 of 6 before",
        "54.5% Pass rate: 6 of 11 passed",
    ):
        assert part in verdict
    assert verdict.count("faq-004") == 1


def test_a_grade_does_not_stand_next_to_a_decision(result_of):
    tree = parsed(to_html(result_of("en")))
    first, *others = (" ".join(e.itertext()) for e in tree.iter("section"))
    assert "Grade" not in first
    assert any("77.4 / 100 · Grade D" in " ".join(each.split()) for each in others)


def test_failed_cases_come_first(result_of):
    tree = parsed(to_html(result_of()))
    cases = next(e for e in tree.iter("section") if e.get("id") == "cases")
    assert [h.text.strip() for h in cases.iter("h3")] == [
        "失败",
        "错误",
        "未评估",
        "通过",
    ]


def test_every_link_on_the_page_leads_somewhere(result_of):
    tree = parsed(to_html(result_of()))
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    links = [e.get("href") for e in tree.iter("a")]
    assert len(ids) == len(set(ids))
    assert len(links) > 10
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_tables_and_folds_can_be_read_without_seeing_them(result_of):
    tree = parsed(to_html(result_of()))
    for header in tree.iter("th"):
        assert header.get("scope") in {"col", "row"}
    for table in tree.iter("table"):
        assert table.find("caption") is not None
    for fold in tree.iter("details"):
        assert fold[0].tag == "summary"
    drawings = list(tree.iter("{http://www.w3.org/2000/svg}svg"))
    assert drawings
    for drawing in drawings:
        assert drawing.get("aria-hidden") == "true" or drawing.get("aria-label")


def test_evidence_is_marked_at_its_offsets(result_of):
    tree = parsed(to_html(result_of()))
    marks = {mark.text for mark in tree.iter("mark")}
    assert {"重新下单", "7 个工作日", "会自动续费"} <= marks


def test_what_the_page_loads_is_nothing(result_of):
    page = to_html(result_of())
    tree = parsed(page)
    assert "default-src 'none'" in page
    assert not [script for script in tree.iter("script") if script.attrib]
    assert not {e.tag for e in tree.iter()} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
    }
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_hostile_text_is_shown_and_never_lives(result_of, lang):
    page = to_html(poisoned(result_of(lang)))
    tree = parsed(page)
    clean = parsed(to_html(result_of(lang)))
    assert {e.tag for e in tree.iter()} == {e.tag for e in clean.iter()}
    attributes = {name for e in tree.iter() for name in e.attrib}
    assert attributes <= {name for e in clean.iter() for name in e.attrib} | {
        "data-code",
        "role",
        "aria-label",
    }
    for e in tree.iter():
        for name in ("id", "class", "href", "style"):
            value = e.get(name) or ""
            assert "HOSTILE" not in value or re.fullmatch(r"#?case-[\w.~-]+", value)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    text = text_of(tree)
    for hostile in HOSTILE:
        shown = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", "", hostile)
        assert shown[:60] in text


def test_a_hidden_character_is_named_on_the_page(result_of):
    page = to_html(poisoned(result_of()))
    assert 'data-code="U+202E"' in page
    assert 'data-code="U+0000 U+0008 U+001B"' in page


def huge(result: AnalysisResult, answer: str, n_cases: int) -> AnalysisResult:
    case = result.case_results[3]
    first = case.rounds[0]
    cases = [
        case.model_copy(
            update={
                "case_id": f"case {no}",
                "rounds": [
                    first.model_copy(
                        update={"round_id": f"{no}-{k}", "answer": answer[:2000]}
                    )
                    for k in range(6)
                ],
                "n_rounds": 6,
                "context": {f"key {k}": answer for k in range(30)},
                "differences": case.differences * 30,
                "n_differences": 120,
            }
        )
        for no in range(n_cases)
    ]
    counts = {"n_cases": n_cases, "n_fail": n_cases, "n_pass": 0, "n_error": 0}
    summary = result.summary.model_copy(update=counts | {"n_unevaluated": 0})
    return result.model_copy(update={"case_results": cases, "summary": summary})


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        pytest.param("short", 600_000, id="many"),
        pytest.param("答" * 5000, 600_000, id="zh"),
        # the worst case is listed, however long it is
        pytest.param("a\x1b" * 500, 1_000_000, id="control"),
    ],
)
def test_the_page_stays_below_600_kb(result_of, answer, most):
    page = to_html(huge(result_of(), answer, 400))
    assert len(page.encode()) < most
    listed = page.count('<details class="case"')
    assert 1 <= listed < PAGE_LIMITS.cases
    assert f"另有 {400 - listed} 个失败用例没有列出" in page


def test_the_rest_of_a_big_task_is_counted_in_words(result_of):
    page = to_html(huge(result_of("en"), "short", 250))
    listed = page.count('<details class="case"')
    assert f"{250 - listed} more cases (fail) are not listed" in page
    assert "1 more round is not listed" in page


def test_the_page_of_a_cut_result_is_that_of_the_whole(result_of):
    assert to_html(result_of(limits=PAGE_LIMITS)) == to_html(result_of())


def test_the_checker_finds_no_error(result_of, tmp_path):
    check = checker()
    if check is None:
        pytest.skip("no checker beside this checkout (../shared/tools)")
    for lang in ("zh", "en"):
        file = tmp_path / f"report.{lang}.html"
        file.write_text(to_html(result_of(lang), with_script=False), "utf-8")
        printed = check("--profile", "attachment", file)
        assert " errors=0 " in printed, printed
