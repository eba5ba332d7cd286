"""The pages as JSON: what their templates take."""

from __future__ import annotations

import json

import jsonschema
import pytest

from promptlab.contracts.pages import DigestPage, IndexPage, RunPage, TitlePage
from promptlab.contracts.schemas import schemas
from promptlab.database import connect
from promptlab.reports import ReportOptions, write_all
from promptlab.reports.digest import digest_html, read_digest
from promptlab.reports.index import read_index, to_index_html
from promptlab.reports.run import read_run, to_run_html
from promptlab.reports.title import keep_histories, read_title, to_title_html
from tests.reports.conftest import GENERATED_AT

EDITION = ReportOptions(GENERATED_AT)
TITLE = "Account support"


@pytest.fixture(scope="module")
def six(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        keep_histories(con, [TITLE])
        yield con


def pages(con):
    """Each page with its contract and its HTML."""
    yield "index_page", IndexPage, read_index(con, EDITION), to_index_html
    yield "title_page", TitlePage, read_title(con, TITLE, EDITION), to_title_html
    yield "run_page", RunPage, read_run(con, "Invoice reader", EDITION), to_run_html
    yield (
        "digest_page",
        DigestPage,
        read_digest(con, GENERATED_AT, EDITION),
        digest_html,
    )


def test_a_page_is_the_same_from_its_json(six):
    """Nothing but the object is on it, and links."""
    for name, contract, page, to_html in pages(six):
        text = page.as_json()
        jsonschema.validate(json.loads(text), schemas()[f"{name}.schema.json"])
        again = contract.model_validate_json(text)
        assert to_html(again, EDITION) == to_html(page, EDITION), name


def test_every_page_is_written_as_json_beside_its_html(six, tmp_path):
    task_id = "account-support-5"
    write_all(six, [task_id], tmp_path, EDITION, formats=["html"])
    assert not list(tmp_path.rglob("*.json"))
    files = write_all(six, [task_id], tmp_path, EDITION, formats=["html", "json"])
    written = {file.name: file for file in files}
    title = json.loads(written["title.json"].read_text("utf-8"))
    assert title["title"] == TITLE
    index = json.loads(written["index.json"].read_text("utf-8"))
    assert [entry["title"] for entry in index["groups"]["better"]] == ["Sales FAQ"]
    assert written["title.json"].with_name("report.html").is_file()
