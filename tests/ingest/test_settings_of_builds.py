"""Titles, variants and prices of config files, kept in the warehouse for builds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from promptlab.build.unknown_settings import warn_of_unknown_names
from promptlab.errors import SettingsError
from promptlab.ingest.raw.requests import keep_settings
from promptlab.settings import Settings, TitleSettings, load_settings
from promptlab.warehouse import Warehouse
from tests.ingest.analysis_documents import document
from tests.marts import only

A = """
[titles."T"]
alias = ["Told"]
owner = "team A"
[prices]
"m1" = {input = 1000, output = 1000}
"""
B = """
[titles."U"]
owner = "team B"
[prices]
"m*" = {input = 0.001, output = 0.001}
[variants]
"old" = "new"
"""


class Project:
    """A folder with a config, and a warehouse that it shares with others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder.parent / "shared.duckdb"

    def configure(self, config: str) -> None:
        (self.folder / "promptlab.toml").write_text(config, "utf-8")

    @property
    def warehouse(self) -> Warehouse:
        settings = load_settings({"db": self.db}, folder=self.folder, environ={})
        return Warehouse(self.db, settings=settings)

    def keep(self) -> None:
        """Do what a build does with the settings, without its models."""
        warehouse = self.warehouse
        with warehouse.writable() as con:
            keep_settings(con, warehouse.settings)
            warn_of_unknown_names(con, warehouse.settings)

    def kept(self) -> set[tuple[str, str, str | None]]:
        found = self.warehouse.sql(
            "select setting, setting_name, setting_value from staging.stg_builds__settings"
        )
        return set(found.rows())


only_settings = only("dim_tasks", "fct_case_results", "fct_costs")


@pytest.fixture(scope="module")
@only_settings
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two projects on one warehouse of three titles, each built once."""
    folder = tmp_path_factory.mktemp("projects")
    warehouse = Warehouse(folder / "shared.duckdb")
    for title in ("Told", "T", "U"):
        found = document()
        found["task"] |= {"title": title, "task_id": title, "model": "m1"}
        for case in found["cases"]:
            for answer in case["rounds"]:
                answer["output_tokens"] = 1000
        (folder / f"{title}.json").write_text(json.dumps(found), "utf-8")
    warehouse.ingest(folder)
    for name, config in (("a", A), ("b", B)):
        project = Project(folder / name)
        project.folder.mkdir()
        project.configure(config)
        project.warehouse.build()
    return folder


@pytest.fixture
def projects(built: Path, tmp_path: Path) -> tuple[Project, Project]:
    """A copy of them for one test."""
    folder = shutil.copytree(built, tmp_path / "projects")
    return Project(folder / "a"), Project(folder / "b")


OF_A = {("title", "Told", "T"), ("owner", "T", "team A"), ("price", "m1", None)}
OF_B = {("owner", "U", "team B"), ("price", "m%", None), ("variant", "old", "new")}


def test_a_build_replaces_only_the_settings_of_its_own_config(projects):
    a, b = projects
    assert a.kept() == OF_A | OF_B
    owners = b.warehouse.sql("select title, owner from marts.dim_tasks order by all")
    assert owners.rows() == [("T", "team A"), ("T", "team A"), ("U", "team B")]
    costs = b.warehouse.sql("select min(cost_total) > 1 from marts.fct_costs")
    assert costs.rows() == [(True,)]  # `m1` of A, and not `m*` of B
    b.configure('[titles."U"]\nprimary = "x"')
    b.keep()
    assert a.kept() == OF_A | {("primary", "U", "x")}
    b.configure("")
    b.keep()
    assert a.kept() == OF_A


@only_settings
def test_a_build_without_a_config_changes_nothing(projects, tmp_path):
    a, _ = projects
    Warehouse(a.db).build()
    assert a.kept() == OF_A | OF_B


def test_a_build_of_unchanged_settings_leaves_their_time(projects):
    a, b = projects

    def times() -> list[tuple]:
        return a.warehouse.sql("select * from raw.settings order by all").rows()

    before = times()
    assert {row[0] for row in before} == {"a/promptlab.toml", "b/promptlab.toml"}
    for project in (a, b, a):
        project.keep()
    assert times() == before


def test_of_two_files_that_set_the_same_the_newest_counts_and_both_are_named(
    projects, caplog
):
    a, b = projects
    b.configure('[titles."T"]\nowner = "team B"\nalias = ["Told"]')
    for project in (b, a):  # it was set last, whoever builds last
        caplog.clear()
        project.keep()
        [said] = [x.message for x in caplog.records if x.levelname == "WARNING"]
        assert said == (
            "`owner` of the title 'T' is set by b/promptlab.toml and otherwise by"
            " a/promptlab.toml; the former counts, as it was set last: delete one of"
            " them"
        )
        assert ("owner", "T", "team B") in a.kept()


def test_flaky_cases_and_outages_are_kept_with_their_last_day(projects):
    a, b = projects
    a.configure(
        '[titles."U"]\nknown_outage = ["run 7"]\n'
        'known_flaky = [{case = "c1", until = 2026-12-31, why = "slow"}]'
    )
    b.configure('[titles."U"]\nknown_flaky = [{case = "c2", until = "2027-01-31"}]')
    for project in projects:
        project.keep()
    found = a.warehouse.sql(
        "select setting, setting_value, cast(ends_on as varchar)"
        " from staging.stg_builds__settings order by all"
    )
    assert found.rows() == [
        ("known_flaky", "c1", "2026-12-31"),
        ("known_flaky", "c2", "2027-01-31"),
        ("known_outage", "run 7", None),
    ]


def test_a_case_or_run_that_no_run_of_the_title_has_is_named(projects, caplog):
    a, _ = projects
    a.configure(
        '[titles."T"]\nknown_outage = ["r2"]\n'
        'known_flaky = [{case = "c11", until = 2026-12-31}]\n'
        '[titles."not loaded yet"]\nknown_outage = ["r2"]'
    )
    a.keep()
    said = [x.message for x in caplog.records if x.levelname == "WARNING"]
    assert said == [
        "`known_flaky` of the title 'T' names 'c11', which none of its runs has;"
        ' did you mean "c1"?',
        "`known_outage` of the title 'T' names 'r2', which none of its runs has",
    ]


@only_settings
def test_settings_of_a_program_are_kept_too(projects):
    a, _ = projects
    settings = Settings(db=a.db, titles={"T": TitleSettings(primary="accuracy")})
    Warehouse(a.db, settings=settings).build()
    assert a.kept() == OF_A | OF_B | {("primary", "T", "accuracy")}


WRONG = {
    'known_flaky = ["c1"]': "each case needs its id and the last day, such as",
    'known_flaky = [{case = "c1"}]': "each case needs its id and the last day",
    'known_flaky = [{case = "c1", until = 2026-12-31, reason = "x"}]': "no setting",
    'known_flaky = [{case = "c1", until = "soon"}]': "known_flaky.0.until: Input should",
    'known_flaky = [{case = "", until = 2026-12-31}]': "known_flaky.0.case: String",
    'known_flaky = [{case = "c", until = 2026-01-01}, {case = "c", until = 2026-01-02}]':
        "'c' has two last days; keep one",
    "known_outage = 7": "known_outage: Input should be a valid tuple",
    'knwon_flaky = []': "no setting `titles.T.knwon_flaky`; did you mean `known_flaky`",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_exception_says_how_it_is_written(tmp_path, text):
    (tmp_path / "promptlab.toml").write_text(f'[titles."T"]\n{text}', "utf-8")
    with pytest.raises(SettingsError) as error:
        load_settings({}, folder=tmp_path, environ={})
    assert WRONG[text] in str(error.value)
