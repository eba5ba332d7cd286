"""The digest: what moved since a day."""

from __future__ import annotations

import email
import email.policy
import json
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from promptlab.cli import run_cli
from promptlab.database import connect
from promptlab.errors import UsageError
from promptlab.reports.digest import (
    digest_html,
    digest_text,
    read_digest,
    since_of,
    subject_of,
)
from promptlab.reports.files import folder_name
from promptlab.reports.report_options import ReportOptions

NOW = datetime(2026, 11, 20, tzinfo=UTC)
EDITION = ReportOptions(NOW, "en", report_url="https://reports.example.com/")


@pytest.fixture(scope="module")
def digest(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        return read_digest(con, NOW - timedelta(days=7), EDITION)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-12", datetime(2026, 11, 12, tzinfo=UTC)),
        ("2026-11-12T08:00+02:00", datetime(2026, 11, 12, 6, tzinfo=UTC)),
    ],
)
def test_a_span_or_a_date_says_since_when(text, time):
    assert since_of(text, NOW) == time


@pytest.mark.parametrize("text", ["", "7", "7 days", "yesterday", "-7d"])
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError, match="neither a span"):
        since_of(text, NOW)


def test_a_day_whose_time_before_no_calendar_has_is_refused():
    with pytest.raises(UsageError, match="before 1970"):
        since_of("0001-01-01", NOW)


def test_what_got_worse_comes_first(digest):
    assert {entry.title for entry in digest.groups["worse"]} == {
        "Account support",
        "Parcel tracker",
        "Meeting summary",
    }
    assert next(iter(digest.groups)) == "worse"
    assert subject_of(digest, EDITION).startswith("3 worse, ")


def test_runs_of_before_are_not_news(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        quiet = read_digest(con, NOW, EDITION)
    assert not quiet.groups
    assert not quiet.has_news


def test_the_text_says_what_broke_and_since_when(digest):
    text = digest_text(digest, EDITION)
    assert re.search(r"since 17 Nov\s+Do not ship: \d+ cases? broke", text)
    assert "2.2 times slower since 17 Nov: 1.2 s → 2.6 s" in text
    assert "https://reports.example.com/titles/Account-support~" in text


def test_an_entry_has_three_lines_and_links_to_its_page(digest):
    text = digest_text(digest, EDITION)
    entries = re.findall(r"^- .+\n {2}.+\n {2}.+$", text, re.MULTILINE)
    listed = [
        entry
        for course, entries in digest.groups.items()
        for entry in entries
        if course != "unchanged"
    ]
    assert len(entries) == len(listed)
    assert all("https://reports.example.com/titles/" in entry for entry in entries)


def test_a_page_links_to_the_pages_beside_it(six_titles_db, tmp_path):
    options = ReportOptions(NOW, "en")
    folder = tmp_path / "titles" / folder_name("Account support")
    folder.mkdir(parents=True)
    (folder / "report.html").touch()
    with connect(six_titles_db, read_only=True) as con:
        found = read_digest(con, NOW - timedelta(days=7), options)
    html = digest_html(found, options, out=tmp_path)
    assert re.findall('href="([^"]+)"', html) == [
        f"titles/{quote(folder.name)}/report.html"
    ]


def test_the_worst_flaky_cases_are_named_and_the_others_counted(digest):
    assert len(digest.flaky) == 3
    broken = {
        (variant.title, part.case_id)
        for entries in digest.groups.values()
        for entry in entries
        for variant in entry.variants
        for part in variant.headline
    }
    assert not broken & {(case.title, case.case_id) for case in digest.flaky}
    assert f"{digest.n_flaky - 3} more" in digest_text(digest, EDITION)


def test_a_day_of_another_year_has_its_year(digest):
    said = subject_of(digest, ReportOptions(datetime(2027, 1, 2, tzinfo=UTC), "zh"))
    assert said.startswith("自2026年11月13日以来")


def test_so_has_the_day_since_when_a_number_moved(six_titles_db):
    options = ReportOptions(datetime(2027, 1, 2, tzinfo=UTC))
    with connect(six_titles_db, read_only=True) as con:
        found = read_digest(con, NOW - timedelta(days=30), options)
    text = digest_text(found, options)
    assert "2.2 times slower since 17 Nov 2026: 1.2 s → 2.6 s" in text
    assert not re.search(r"since \d+ \w+(?! 2026)[,:\n]", text)


def test_the_cost_is_compared_with_the_same_time_before(digest):
    # three of five days are in the week, two in the week before
    assert (digest.n_runs, digest.n_runs_before) == (18, 12)
    assert digest.cost > digest.cost_before > 0
    assert "18 runs, cost 2.547 (12 runs, cost 1.606 in" in digest_text(digest, EDITION)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_has_no_script_and_loads_nothing(digest, lang):
    html = digest_html(digest, ReportOptions(NOW, lang))
    assert "<script" not in html
    assert "<img" not in html
    assert "Account support" in html


def run(capsys, *args):
    code = run_cli([*map(str, args)])
    return code, *capsys.readouterr()


def test_the_command_writes_a_page(six_titles_db, tmp_path, capsys):
    code, out, _ = run(
        capsys,
        "digest",
        "--db",
        six_titles_db,
        "--since",
        "2026-11-15",
        "--out",
        tmp_path,
    )
    assert code == 0
    written = [str(tmp_path / f"digest.{kind}") for kind in ("json", "html")]
    assert out.split() == written
    content = json.loads((tmp_path / "digest.json").read_text("utf-8"))
    assert [entry["title"] for entry in content["groups"]["better"]] == ["Sales FAQ"]
    assert "Account support" in (tmp_path / "digest.html").read_text("utf-8")


def test_a_dry_run_writes_the_mail_and_the_payloads(six_titles_db, tmp_path, capsys):
    code, out, _ = run(
        capsys, "digest", "--db", six_titles_db, "--since", "2026-11-15",
        "--to", "team@example.com", "--webhook", "slack", "--webhook", "teams",
        "--dry-run", "--out", tmp_path,
    )  # fmt: skip
    assert code == 0
    assert len(out.split()) == 3
    message = email.message_from_bytes(
        (tmp_path / "digest.eml").read_bytes(), policy=email.policy.default
    )
    assert message["to"] == "team@example.com"
    assert "3 worse" in message["subject"]
    assert json.loads((tmp_path / "digest.slack.json").read_text("utf-8"))["blocks"]
    assert json.loads((tmp_path / "digest.teams.json").read_text("utf-8"))[
        "attachments"
    ]


def test_where_nothing_moved_nothing_is_written(six_titles_db, tmp_path, capsys):
    code, out, _ = run(
        capsys, "digest", "--db", six_titles_db, "--since", "2030-01-01",
        "--out", tmp_path,
    )  # fmt: skip
    assert (code, out) == (5, "")
    assert list(tmp_path.iterdir()) == []
