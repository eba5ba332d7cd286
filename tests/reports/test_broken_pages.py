"""A page that cannot be rendered stops no other page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import duckdb
import pytest

from promptlab.errors import RenderError, SettingsError
from promptlab.reports import ReportOptions, write_all
from promptlab.reports.diff import word_diff
from promptlab.reports.formats import FORMATS
from promptlab.reports.pages import environment, render

BROKEN, WHOLE = "cs-regression-v3.1", "cs-regression-v3.2"


@pytest.fixture
def write(example_db, tmp_path, monkeypatch):
    def run(error: Exception, **named):
        html = FORMATS["html"]

        def rendered(result, *around):
            if result.task.task_id == BROKEN:
                raise error
            return html.render(result, *around)

        monkeypatch.setitem(FORMATS, "html", replace(html, render=rendered))
        options = ReportOptions(datetime(2026, 2, 1, tzinfo=UTC), "en")
        with duckdb.connect(str(example_db), read_only=True) as con:
            return write_all(con, [BROKEN, WHOLE], tmp_path, options, **named)

    return run


@pytest.mark.parametrize(
    "error",
    [RenderError("case.html.j2:64: no attribute"), KeyError("x"), TypeError("x")],
    ids=lambda error: type(error).__name__,
)
def test_all_other_pages_and_the_index_are_written(write, tmp_path, error):
    stale = tmp_path / BROKEN / "report.html"
    stale.parent.mkdir()
    stale.write_text("an earlier report")
    with pytest.raises(RenderError, match=BROKEN) as caught:
        write(error)
    assert caught.value.exit_code == 70
    assert str(error) in str(caught.value)
    assert (tmp_path / WHOLE / "report.html").is_file()
    index = (tmp_path / "index.html").read_text()
    assert f"{WHOLE}/report.html" in index
    assert f"{BROKEN}/report.html" not in index
    assert not stale.exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), SettingsError("x")])
def test_what_concerns_every_page_stops_at_once(write, error):
    with pytest.raises(type(error)):
        write(error)


def test_a_built_in_template_that_fails_is_a_fault_of_ours_and_a_users_is_theirs(
    tmp_path,
):
    with pytest.raises(RenderError, match=r"index\.html\.j2:\d+"):
        render(environment("en"), "index.html.j2")
    (tmp_path / "index.html.j2").write_text("{{ nothing.at_all }}")
    with pytest.raises(SettingsError, match=r"index\.html\.j2:1"):
        render(environment("en", tmp_path), "index.html.j2")


def test_the_error_of_a_baseline_is_not_the_missing_answer_of_a_candidate():
    assert not word_diff(None, None).is_same
    assert not word_diff(None, "an answer").is_same
