"""What the gate, the pages and the digest say about rounds, errors and baselines."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult
from promptlab.history import judge
from promptlab.ingest.raw.requests import record_decisions
from promptlab.reports import Edition, analysis_result
from promptlab.reports.digest import digest_text, read_digest
from promptlab.reports.edition import ListLimits
from promptlab.reports.gate.policy import built_in_policy
from promptlab.reports.printing import Filters
from promptlab.reports.queries import drifts
from promptlab.reports.sentences import headline
from promptlab.reports.texts import catalogue
from promptlab.reports.title import read_title, to_title_html
from promptlab.reports.views import worst_first
from promptlab.warehouse import Warehouse
from tests.history.test_reference_runs import GOOD, write, write_titled
from tests.history.test_variants import Night

EDITION = Edition(datetime(2026, 3, 1, tzinfo=UTC), "en")


TWENTY = {f"c{n}": "yyy" for n in range(20)}
BAD = GOOD | dict.fromkeys(("c0", "c1", "c2"), "nnn")
FAILED_BEFORE = GOOD | dict.fromkeys((f"c{n}" for n in range(6)), "nnn")


def fallen(n_broken: int) -> dict[str, str]:
    return TWENTY | dict.fromkeys((f"c{n}" for n in range(n_broken)), "nnn")


TITLES: dict[str, list[dict[str, str]]] = {
    "only errors": [GOOD, GOOD, GOOD | {"c0": "eee"}],
    "newly failing": [GOOD, GOOD, GOOD | {"c0": "yyn"}],
    # whole runs flip the cases, so the rounds of a run are alike
    "alike": [
        *(
            {f"c{n}": ("yyy" if (n + run) % 2 else "nnn") for n in range(10)}
            for run in range(5)
        ),
        GOOD | {"c0": "yyn"},
    ],
    "one between": [GOOD, GOOD | {"c0": "nnn"}, GOOD],
    "errors and failures": [GOOD, GOOD | {"c0": "eee", "c1": "nnn", "c2": "nnn"}],
    "one error": [GOOD | {"c0": "eee"}],
    "second in error": [GOOD, GOOD | {"c0": "eee"}],
    "failed before": [FAILED_BEFORE, FAILED_BEFORE | {"c8": "eee"}],
    "1 fell": [TWENTY] * 5 + [fallen(1)] * 3,
    "2 fell": [TWENTY] * 5 + [fallen(2)] * 3,
    "3 fell": [TWENTY] * 5 + [fallen(3)] * 3,
    "exact": [GOOD] * 5 + [BAD] * 3,
    "contains": [GOOD] * 5 + [BAD] * 3,
    "outage": [GOOD, GOOD, dict.fromkeys(GOOD, "eee"), *[GOOD] * 3, *[BAD] * 3],
}
"""Title → runs of one prompt, a day apart, called ``<title>-r1`` and so on; ``e`` is an
error. From the sixth, those of ``contains`` are judged in another way."""


def write_runs(files: Path, title: str, *runs: dict[str, str]) -> None:
    for number, answers in enumerate(runs, 1):
        rule = "contains" if title == "contains" and number > 5 else "exact"
        parameters = {"match_rule": rule}
        file = write_titled(
            files, title, f"r{number}", number, answers, parameters=parameters
        )
        text = file.read_text("utf-8").replace(
            '"raw_output": "e"', '"raw_output": "[ERROR]"'
        )
        file.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def titles(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The runs of every title; tests only read them."""
    folder = tmp_path_factory.mktemp("titles")
    files = folder / "in"
    files.mkdir()
    for title, runs in TITLES.items():
        write_runs(files, title, *runs)
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.ingest(files).n_rejected == 0
    warehouse.build()
    return warehouse


def built(folder: Path, *runs: dict[str, str]) -> Warehouse:
    """A warehouse of one title, ``suite``, for what is told of all titles."""
    files = folder / "in"
    files.mkdir()
    write_runs(files, "suite", *runs)
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()
    return warehouse


def gate_of(warehouse: Warehouse, task: str, lang: str = "en") -> GateResult:
    [result] = judge(warehouse, task, built_in_policy(), lang=lang)
    return result


@pytest.mark.parametrize(
    ("lang", "said", "broke"),
    [
        ("en", "1 case ended only in errors (c0)", "broke"),
        ("zh", "1 个用例只有出错（c0）", "变坏"),
    ],
)
def test_a_case_that_only_ended_in_errors_did_not_break(titles, lang, said, broke):
    result = gate_of(titles, "only errors-r3", lang)
    assert said in result.headline
    assert broke not in result.headline
    assert (result.broke.n, result.only_errors.case_ids) == (0, ["c0"])
    if lang == "en":
        assert [case.text for case in result.cases] == [
            "only errors now (3), 6 of 6 before"
        ]


def test_where_no_test_decided_a_case_newly_fails_whatever_the_decision(titles):
    result = gate_of(titles, "newly failing-r3")
    filters = Filters(catalogue("en"))
    assert result.decision == "run_again"
    for decision in ("run_again", "cannot_tell", "do_not_ship"):
        said = headline(result.model_copy(update={"decision": decision}), filters)
        assert "1 case newly fails (c0)" in said
        assert "broke" not in said


def test_rounds_that_count_once_are_said_to_be_alike(titles):
    result = gate_of(titles, "alike-r6")
    said = "3 rounds of a case count as 1: the rounds of a run are alike"
    assert "rounds_alike" in result.assumptions
    assert (result.rounds_per_case, result.rounds_run_per_case) == (1, 3)
    assert result.headline.count(said) == 1
    assert any(said in (rule.note or "") for rule in result.rules)
    for case in result.cases:
        assert case.n_rounds == 3
        assert "(counted as 1 and 5)" in case.text


def test_errors_of_the_reference_runs_are_counted_where_they_decide():
    words = catalogue("en").text
    said = words("gate_note.errors_decide", n=72, newest=0, before=72)
    assert said.startswith("without the 72 rounds in error (0 now, 72 in the reference")


def test_a_page_and_its_digest_count_runs_and_not_their_variants(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for number in (1, 2):
        night = Night(number, providers=("small", "large"))
        warehouse.ingest(night.write(tmp_path))
    warehouse.build()
    with warehouse.built() as con:
        [(title, day)] = con.execute(
            "select title, min(created_at) from marts.dim_tasks group by title"
        ).fetchall()
        view = read_title(con, title, lambda _: None, EDITION)
        digest = read_digest(con, day - timedelta(days=1), EDITION)
    assert (view["n_runs"], view["n_results"]) == (2, 4)
    assert digest.spent["n_runs"] == 2


def test_the_reason_of_a_baseline_says_that_it_is_not_the_previous_run(
    titles, tmp_path, capsys
):
    warehouse = Warehouse(shutil.copy(titles.settings.db, tmp_path / "w.duckdb"))
    task, db = "one between-r3", str(warehouse.settings.db)
    assert run_cli(["compare", task, "--db", db]) == 0
    assert "the previous task of this title" in capsys.readouterr().out
    with warehouse.writable() as con:
        record_decisions(con, [("one between-r2", "do_not_ship")], "policy")
    warehouse.build()
    run_cli(["compare", task, "--db", db])
    out = " ".join(capsys.readouterr().out.split())
    assert "the previous task" not in out
    assert "not the previous run: 1 in between" in out
    run_cli(["compare", task, "--db", db, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["n_runs_between"] == 1
    run_cli(["compare", task, "--db", db, "--format", "md"])
    assert "an older run: 1 run in between is no baseline" in capsys.readouterr().out


def test_the_page_of_a_title_counts_errors_beside_failures(titles):
    with titles.built() as con:
        view = read_title(con, "errors and failures", lambda _: None, EDITION)
        html = to_title_html(view, EDITION, index=None)
    run = view["runs"][0]
    assert (run["n_broke"], run["n_only_errors"], run["n_fixed"]) == (2, 1, 0)
    assert "2 newly failing" in html
    assert "1 in error" in html
    assert "newly passing</div>" not in html


def test_a_case_in_error_is_not_said_to_be_evaluated(titles):
    with titles.built() as con:
        said = analysis_result(con, "one error-r1", EDITION).summary.conclusion
    assert "9 of 10 cases passed, 1 ended in an error" in said
    assert "evaluated" not in said


def test_the_list_of_runs_marks_a_run_with_errors(titles, capsys):
    args = ["second in error", "--db", str(titles.settings.db)]
    assert run_cli(["runs", *args]) == 0
    out = capsys.readouterr().out
    assert out.count("9/10 !") == 1
    assert "10/10 " in out
    assert out.count("!: rounds ended in an error") == 1
    assert run_cli(["runs", "--wide", *args]) == 0
    assert "error share" in capsys.readouterr().out


def test_run_counts_what_its_own_files_changed(tmp_path, capsys):
    files = [tmp_path / str(number) for number in (1, 2)]
    for number, folder in enumerate(files, 1):
        folder.mkdir()
        write(folder, f"r{number}", number, GOOD)
    db = ["--db", str(tmp_path / "w.duckdb"), "--out", str(tmp_path / "out")]
    assert run_cli(["run", str(files[0]), *db]) == 0
    assert "tasks new or changed: 1;" in capsys.readouterr().err
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files[1])
    warehouse.build()
    assert run_cli(["run", str(files[0]), *db]) == 0
    said = "tasks new or changed: 0, built before and not yet reported: 1;"
    assert said in capsys.readouterr().err
    assert run_cli(["run", str(files[0]), *db]) == 0
    assert "tasks new or changed: 0;" in capsys.readouterr().err


def test_the_digest_names_a_flaky_case_once_for_each_variant(tmp_path):
    """Two versions of a prompt are two rows of the mart, and one line here."""
    files = tmp_path / "in"
    files.mkdir()
    flips = ("yyy", "nnn", "yyy")
    for number, answers in enumerate(flips * 2, 1):
        prompt = f"v{(number + 2) // 3}"
        write(files, f"r{number}", number, GOOD | {"c0": answers}, prompt)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()
    with warehouse.built() as con:
        [(n_rows,)] = con.execute(
            "select count(*) from marts.fct_flaky_cases"
        ).fetchall()
        day = datetime(2026, 2, 1, tzinfo=UTC)
        digest = read_digest(con, day, EDITION)
    assert n_rows == 2
    [case] = digest.flaky
    assert (case["case_id"], case["n_flips"], case["n_rounds"]) == ("c0", 4, 18)
    assert (digest.n_flaky, digest.n_flaky_lines) == (1, 1)
    said = digest_text(digest, EDITION)
    assert f"suite · {case['variant']} · c0: 4 flips, 12 of 18" in said


def test_a_list_of_failed_cases_begins_with_those_that_broke(titles, capsys):
    """A mail has room for a few cases; those that failed before say nothing new."""
    task = "failed before-r2"
    with titles.built() as con:
        result = analysis_result(con, task, EDITION, limits=ListLimits(cases=2))
    assert {case.case_id for case in result.case_results} == {"c0", "c8"}
    assert [case.case_id for case in worst_first(result)] == ["c8", "c0"]
    assert run_cli(["show", task, "--db", str(titles.settings.db)]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if re.match(r"\s*c\d ", line)]
    assert listed[0] == "c8"


def test_a_digest_tells_of_a_run_without_a_decision(tmp_path, capsys):
    warehouse = built(tmp_path, GOOD, {"c0": "yyy", "c1": "yyy"})
    assert gate_of(warehouse, "suite-r2").decision == "cannot_tell"
    with warehouse.built() as con:
        digest = read_digest(con, datetime(2026, 2, 2, tzinfo=UTC), EDITION)
    assert list(digest.groups) == ["cannot_tell"]
    assert digest.has_news
    said = digest_text(digest, EDITION)
    assert said.startswith("1 unclear since 2 Feb")


def test_a_digest_calls_new_what_had_no_run_before(tmp_path):
    warehouse = built(tmp_path, GOOD, GOOD, GOOD)
    with warehouse.built() as con:
        new = read_digest(con, datetime(2026, 2, 1, tzinfo=UTC), EDITION)
        known = read_digest(con, datetime(2026, 2, 2, tzinfo=UTC), EDITION)
    assert (list(new.groups), new.has_news) == (["new"], True)
    assert (list(known.groups), known.has_news) == (["unchanged"], False)


@pytest.mark.parametrize("n_broken", [1, 2, 3])
def test_a_sudden_fall_is_dated_by_its_first_run_whatever_its_digits(n_broken, titles):
    """0.95 - 1 is -0.05 but for its last digit."""
    last = f"{n_broken} fell-r8"
    with titles.built() as con:
        drift = drifts(con, [last])[last]
    assert drift["course"] == "falling"
    assert drift["since_at"] == datetime(2026, 2, 6, tzinfo=UTC)


@pytest.mark.parametrize("rule", ["exact", "contains"])
def test_runs_that_were_judged_in_another_way_are_no_history(rule, titles):
    """What fails under another rule is neither a fall nor flaky."""
    with titles.built() as con:
        drift = drifts(con, [f"{rule}-r8"])
        flaky = con.execute(
            "select case_id from marts.fct_flaky_cases where title = ?", [rule]
        ).fetchall()
    assert bool(drift) == (rule == "exact")
    assert len(flaky) == (3 if rule == "exact" else 0)


def test_a_night_of_errors_takes_no_history_from_the_nights_after_it(titles):
    with titles.built() as con:
        found = drifts(con, ["outage-r3", "outage-r9"], measure="pass_rate")
    assert list(found) == ["outage-r9"]
    last = found["outage-r9"]
    assert (last["n_runs"], last["n_cases"]) == (8, 10)
    assert last["since_at"] == datetime(2026, 2, 7, tzinfo=UTC)
