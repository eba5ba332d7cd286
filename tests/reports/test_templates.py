"""Templates: escaped, strict, replaceable, without script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptlab import reports
from promptlab.errors import SettingsError, UsageError
from promptlab.reports import to_html
from promptlab.reports.pages import SECTIONS, environment, render

ROOT = Path(reports.__file__).parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
OUR_SCRIPTS = {
    f"{page}.html.j2": f'<script>{{% include "{page}.js" without context %}}</script>'
    for page in ("report", "index")
}
ALL = [*TEMPLATES, *sorted(ROOT.rglob("*.py"))]


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.name)
def test_nothing_leads_past_escaping(path):
    text = path.read_text("utf-8")
    for way in (r"\|\s*safe", r"\bMarkup\b", r"autoescape (?:true|false)", "__html__"):
        assert not re.search(way, text), way


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_templates_hold_no_script_handler_or_remote_address(path):
    text = path.read_text("utf-8").lower()
    text = text.replace(OUR_SCRIPTS.get(path.name, "\0"), "", 1)
    for way in (r"<script", r"\son[a-z]+\s*=", "javascript:", r"(?:src|href)=\"http"):
        assert not re.search(way, text), way


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_every_attribute_value_from_data_is_quoted(path):
    assert not re.search(r"=\{\{", path.read_text("utf-8"))


def test_the_style_sheet_loads_nothing():
    css = (ROOT / "templates" / "report.css").read_text("utf-8")
    assert "url(" not in css
    assert "@import" not in css


def test_every_section_has_its_template_and_title():
    for section in SECTIONS:
        assert (ROOT / "templates" / "sections" / f"{section}.html.j2").is_file()


def test_a_template_of_the_same_name_replaces_ours(result_of, tmp_path):
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "alerts.html.j2").write_text(
        "<section id='alerts'>{{ result.summary.n_judged }} <b>{{ result.task.title }}</b>",
        "utf-8",
    )
    page = to_html(result_of(), templates=tmp_path)
    assert "<section id='alerts'>11 <b>客服问答回归测试</b>" in page
    assert 'class="dimensions"' in page


def test_a_replaced_template_is_escaped_and_shown_too(result_of, tmp_path):
    (tmp_path / "report.html.j2").write_text("{{ result.task.title }}", "utf-8")
    result = result_of()
    task = result.task.model_copy(update={"title": "<b>&\x1b"})
    page = to_html(result.model_copy(update={"task": task}), templates=tmp_path)
    assert page == "&lt;b&gt;&amp;⟦U+001B⟧"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("line one\n{% if %}", r"report\.html\.j2:2: Expected an expression"),
        ("a\nb\n{{ result.nope }}", r"report\.html\.j2:3: .*no attribute 'nope'"),
        ("{{ nope }}", r"report\.html\.j2:1: 'nope' is undefined"),
        ("{% include 'missing.j2' %}", r"report\.html\.j2:1: missing\.j2"),
        ("{{ 1 / 0 }}", r"report\.html\.j2:1: division by zero"),
        ("{{ t('no.such.text') }}", r"report\.html\.j2:1: 'no\.such\.text'"),
        ("{{ none | score | percent }}", r"report\.html\.j2:1: "),
    ],
)
def test_a_wrong_template_is_told_with_its_line(result_of, tmp_path, text, problem):
    (tmp_path / "report.html.j2").write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=problem):
        to_html(result_of(), templates=tmp_path)


def test_a_folder_of_templates_must_be_there(tmp_path):
    with pytest.raises(SettingsError, match="gone is not a folder"):
        environment("zh", tmp_path / "gone")


def test_an_unknown_language_is_refused():
    with pytest.raises(UsageError, match="'xx'"):
        environment("xx")


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(SettingsError, match="nothing"):
        render(environment("zh"), "nothing.j2")


def test_what_is_compiled_in_one_language_is_not_taken_for_another(
    result_of, tmp_path, monkeypatch
):
    """Jinja works texts out as it compiles."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pages = []
    for _ in range(2):  # the second time from what was kept
        environment.cache_clear()
        pages.append([to_html(result_of(lang)) for lang in ("zh", "en")])
    environment.cache_clear()
    assert len(list((tmp_path / "promptlab/templates").iterdir())) == 2
    assert pages[0] == pages[1]
    assert "不再满足必选要求" not in pages[1][1]


def test_no_template_folds_the_letters_of_a_name():
    """Jinja's `capitalize` makes all other letters small: "V2-RC" became "v2-rc"."""
    folding = [
        template.name
        for template in TEMPLATES
        if re.search(r"\|\s*(capitalize|title)\b", template.read_text("utf-8"))
    ]
    assert folding == []


@pytest.mark.parametrize("first", ["page", "text"])
def test_a_macro_of_pages_and_texts_is_escaped_in_pages_only(
    first, tmp_path, monkeypatch
):
    """Whether it escapes is compiled into a template, and compiled ones are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "names.j2").write_text(
        "{% macro name(x) %}{{ x }}{% endmacro %}", "utf-8"
    )
    (folder / "page.j2").write_text(
        '{% from "names.j2" import name %}{{ name("<b>") }}', "utf-8"
    )
    wanted = {"page": "&lt;b&gt;", "text": "<b>"}
    for kind in (first, *(wanted.keys() - {first})):
        environment.cache_clear()
        env = environment("en", folder, autoescape=kind == "page")
        assert env.get_template("page.j2").render() == wanted[kind]
    environment.cache_clear()
