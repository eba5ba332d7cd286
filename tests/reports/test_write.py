"""Reports as files."""

from __future__ import annotations

import json
from email import message_from_bytes
from email.policy import default
from urllib.parse import unquote

import pytest

from promptlab.errors import NothingToDo, SettingsError, UsageError
from promptlab.reports import ReportOptions, write_all
from tests.reports.conftest import GENERATED_AT, TASK_ID


@pytest.fixture
def write(marts, tmp_path):
    def run(*task_ids, lang="en", templates=None, report_url=None, **named):
        options = ReportOptions(GENERATED_AT, lang, templates, report_url=report_url)
        return write_all(marts, task_ids, tmp_path / "out", options, **named)

    return run


def test_a_task_gets_its_folder_and_all_an_index(write, tmp_path):
    files = write(TASK_ID, formats=["json", "html", "md", "junit", "csv"])
    names = [str(file.relative_to(tmp_path / "out")) for file in files]
    assert names[:5] == [
        f"{TASK_ID}/result.json",
        f"{TASK_ID}/report.html",
        f"{TASK_ID}/report.md",
        f"{TASK_ID}/junit.xml",
        f"{TASK_ID}/cases.csv",
    ]
    assert [name.split("/")[-1] for name in names[5:]] == [
        "report.html",
        "title.json",
        "index.json",
        "index.html",
    ]
    assert all(name.startswith("titles/") for name in names[5:7])
    assert all(file.stat().st_size > 0 for file in files)


def test_a_mail_links_to_where_the_reports_stand(write):
    def link_of(**options):
        (mail,) = [
            f
            for f in write(TASK_ID, formats=["email"], **options)
            if f.suffix == ".eml"
        ]
        message = message_from_bytes(mail.read_bytes(), policy=default)
        return message.get_body(("plain",)).get_content()

    url = "https://reports.example/lab"
    assert f"{url}/{TASK_ID}/report.html" in link_of(report_url=url)
    assert "https://" not in link_of()


def test_writing_twice_gives_the_same_bytes(write):
    before = {file: file.read_bytes() for file in write(TASK_ID)}
    assert {file: file.read_bytes() for file in write(TASK_ID)} == before


def test_the_index_links_to_the_reports_that_are_there(write, tmp_path):
    index = write("doc-summary/v1/run-7")[-1].read_text("utf-8")
    assert index.count('href="doc-summary-v1-run-7~') == 1
    assert f"{TASK_ID}/report.html" not in index
    write(TASK_ID)
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert f'href="{TASK_ID}/report.html"' in index
    for link in [part.split('"')[0] for part in index.split('href="')[1:]]:
        file = unquote(link.partition("#")[0])
        assert not file or (tmp_path / "out" / file).is_file()


@pytest.mark.parametrize("task_id", ["../../x", "/abs", "a/b", "CON", "..", "客服"])
def test_no_task_writes_outside_whatever_its_id(write, marts, tmp_path, task_id):
    for table in ("dim_tasks", "fct_task_summaries", "fct_verdicts"):
        marts.execute(
            f"update marts.{table} set task_id = ? where task_id = 'empty-task'",
            [task_id],
        )
    files = write(task_id)
    out = tmp_path / "out"
    assert all(file.resolve().is_relative_to(out.resolve()) for file in files)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert json.loads(files[0].read_text("utf-8"))["task"]["task_id"] == task_id


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"formats": ["pdf"]}, UsageError),
        ({"lang": "fr"}, UsageError),
    ],
)
def test_a_wrong_option_writes_nothing(write, tmp_path, options, error):
    with pytest.raises(error):
        write(TASK_ID, **options)
    assert not (tmp_path / "out").exists()


def test_a_missing_folder_of_templates_writes_nothing(write, tmp_path):
    with pytest.raises(SettingsError):
        write(TASK_ID, templates=tmp_path / "gone")
    assert not (tmp_path / "out").exists()


def test_an_unknown_task_is_nothing_to_do(write):
    with pytest.raises(NothingToDo):
        write("nope")


def test_the_language_of_every_page_is_the_one_asked_for(write):
    for file in write(TASK_ID, lang="en"):
        if file.suffix == ".html":
            assert '<html lang="en">' in file.read_text("utf-8")
