"""``promptlab docs``: one page that needs nothing else, in which every link leads on."""

from __future__ import annotations

import re

import html5lib
import pytest

from promptlab import dictionary
from promptlab.build import plan
from promptlab.cli import run_cli

NAMESPACE = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def text() -> str:
    return dictionary.page(plan.load())


def test_the_command_writes_the_page_without_a_warehouse(tmp_path, capsys, text):
    file = tmp_path / "site" / "docs.html"
    assert run_cli(["docs", "--out", str(file)]) == 0
    assert capsys.readouterr().out.strip() == str(file)
    assert file.read_text("utf-8") == text


def test_a_folder_gets_an_index(tmp_path, capsys):
    assert run_cli(["docs", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").exists()


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert run_cli(["docs", "--out", str(tmp_path / "taken" / "docs.html")]) == 2
    assert "docs.html: cannot be written" in capsys.readouterr().err


def test_every_table_and_column_is_there(text):
    told = plan.load()
    marts, policy = told.descriptions.marts, told.descriptions.policy
    for table in [*marts, *policy, *dictionary.raw(told)]:
        assert f'<h4 id="{table.relation}">' in text
        for column in table.columns:
            assert f"<code>{column.name}</code>" in text


def test_a_table_names_its_key_and_the_tables_of_its_parents(text):
    told = plan.load().descriptions
    found = {table.name: table for table in [*told.marts, *told.policy]}
    without_key = [name for name, table in found.items() if not table.keys]
    assert without_key == [
        "promptlab_comparison_policy",
        "promptlab_verdict_policy",
        "promptlab_recheck_policy",
    ]
    assert found["fct_rounds"].keys == ["task_id", "case_id", "round_id"]
    assert "`task_id`, `case_id` is in `dim_cases`" in found["fct_rounds"].rules
    assert (
        "`severity` is in `promptlab_severities`"
        in found["promptlab_drop_severities"].rules
    )
    answers = found["fct_memory_answers"].rules
    assert "`run_id`, `task_id` is in `dim_memory_tasks`" in answers
    assert "<code>severity</code> is in <code>severities</code>" in text


def test_every_link_leads_to_a_table_of_the_page(text):
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="([^"]+)"', text)) <= {f"#{name}" for name in ids}


def test_nothing_is_loaded_and_nothing_runs(text):
    assert not re.findall(r"<script|<link|@import|url\(|\ssrc=|\son\w+=", text)
    assert "default-src 'none'" in text


def test_the_page_is_small(text):
    assert len(text.encode()) < 330_000


def test_the_page_is_sound_html(text):
    parser = html5lib.HTMLParser(strict=True)
    document = parser.parse(text)
    assert document.find(f"{NAMESPACE}head/{NAMESPACE}title") is not None


def test_a_description_is_text_and_only_its_code_marks_mean_anything():
    shown = dictionary._code("a < b & `x <y>` <b>no</b>")
    assert shown == "a &lt; b &amp; <code>x &lt;y&gt;</code> &lt;b&gt;no&lt;/b&gt;"
