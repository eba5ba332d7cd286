"""Runs of several prompts and models: what is compared with what, and what is judged."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.pages import RunPage
from promptlab.relations import dictionaries
from promptlab.reports import ReportOptions
from promptlab.reports.run import to_run_html
from promptlab.settings import load_settings
from promptlab.warehouse import Warehouse
from tests.history.runs import Run, even
from tests.marts import GATE, only


@dataclass
class Night:
    """A run of promptfoo: each prompt on each provider, on each test."""

    number: int
    prompts: Sequence[tuple[str | None, str]] = (("short", "Be brief: {{q}}"),)
    """Label and text; without a label promptfoo labels a prompt by its text."""
    providers: Sequence[str] = ("small",)
    asserted: Sequence[str] = ("x",)
    fails: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Provider → tests that fail on it, whatever the prompt."""
    tests: Sequence[str] = ("t1", "t2", "t3", "t4", "t5", "t6")
    variables: Mapping[str, str] = field(default_factory=dict)
    """Test → what is asked, where it is not its name."""
    rounds: int = 1
    title: str = "triage"
    given: Mapping[str, str] = field(default_factory=dict)
    """What `ingest` is told about it."""

    @property
    def run_id(self) -> str:
        suite = "eval" if self.title == "triage" else self.title
        return f"{suite}-{self.number}"

    def write(self, folder: Path) -> Path:
        columns = [
            (provider, label, text)
            for provider in self.providers
            for label, text in self.prompts
        ]
        rows = [
            self._row(index, column, test, n)
            for index, column in enumerate(columns)
            for test in self.tests
            for n in range(self.rounds)
        ]
        document = {
            "evalId": self.run_id,
            "config": {"description": self.title},
            "results": {
                "version": 3,
                "timestamp": f"2026-03-{self.number:02}T01:00:00.000Z",
                "prompts": [
                    {"raw": text, "label": label or text, "provider": provider,
                     "id": f"{abs(hash(text)):040x}"}
                    for provider, label, text in columns
                ],
                "results": rows,
            },
        }  # fmt: skip
        name = "night" if self.title == "triage" else self.title
        file = folder / f"{name}{self.number}.json"
        file.write_text(json.dumps(document), "utf-8")
        return file

    def _row(
        self, index: int, column: tuple[str, str | None, str], test: str, n: int
    ) -> dict[str, Any]:
        provider, label, text = column
        passed = test not in self.fails.get(provider, ())
        checks = [
            {"pass": passed, "score": float(passed), "reason": "",
             "assertion": {"type": "contains", "value": value}}
            for value in self.asserted
        ]  # fmt: skip
        asked = {"id": test, "q": self.variables.get(test, test)}
        return {
            "promptIdx": index, "testIdx": self.tests.index(test),
            "id": f"{self.run_id}-{index}-{test}-{n}",
            "provider": {"id": provider}, "prompt": {"raw": text, "label": label or text},
            "response": {"output": "x" if passed else "no", "cached": False},
            "score": float(passed), "success": passed,
            "failureReason": 0 if passed else 1, "namedScores": {},
            "gradingResult": {"pass": passed, "score": float(passed), "reason": "",
                              "componentResults": checks},
            "latencyMs": 5, "cost": 0.001, "vars": asked,
            "testCase": {"vars": asked, "assert": [
                {"type": "contains", "value": value} for value in self.asserted
            ]},
        }  # fmt: skip


@pytest.fixture(scope="module")
def titles(tmp_path_factory) -> Warehouse:
    """The nights of every title of ``TITLES`` and of results; tests only read them.

    Those of the first night are in the folder ``1`` beside the file.
    """
    folder = tmp_path_factory.mktemp("titles")
    warehouse = Warehouse(folder / "titles.duckdb")
    for title, nights in TITLES.items():
        for number, (night, change) in enumerate(nights, 1):
            (folder / str(number)).mkdir(exist_ok=True)
            write_changed(
                Night(number, title=title, **night), folder / str(number), change
            )
    for name, records in RESULTS.items():
        text = "\n".join(map(json.dumps, records))
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    for name, (text, documents) in CONFIGURED.items():
        (folder / name).mkdir()
        for number, change in enumerate(documents, 1):
            write_changed(Night(number, title=name), folder / name, change)
        configured(text, warehouse.settings.db).ingest(folder / name)
    with warehouse.kept_open():
        for number in (1, 2, 3):
            assert warehouse.ingest(folder / str(number)).n_rejected == 0
        for number, providers in enumerate((("small",), ("other",)), 1):
            night = Night(number, title="several calls", providers=providers)
            warehouse.ingest(night.write(folder), run_name="nightly-1")
        warehouse.ingest(folder / "1/renamed later1.json", title="renamed")
        warehouse.build()
    return warehouse


@pytest.fixture
def warehouse(tmp_path, monkeypatch) -> Warehouse:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROMPTLAB_DB", "w.duckdb")
    return Warehouse(tmp_path / "w.duckdb")


def load(warehouse: Warehouse, *nights: Night, **given: str) -> list[Path]:
    files = [night.write(Path.cwd()) for night in nights]
    for file in files:
        warehouse.ingest(file, **given)
    warehouse.build()
    return files


def baselines(warehouse: Warehouse) -> dict[str, str | None]:
    """Task → its baseline."""
    with warehouse.built() as con:
        found = dictionaries(con, "from marts.dim_task_baselines")
    return {row["task_id"]: row["baseline_task_id"] for row in found}


def case_changes(warehouse: Warehouse, title: str) -> list[dict[str, Any]]:
    """Rows of the comparison of the second night with the first."""
    with warehouse.built() as con:
        return dictionaries(
            con,
            "from marts.fct_case_changes where candidate_task_id = ?",
            [f"{title}-2/0"],
        )


TWO = (("short", "Be brief: {{q}}"), ("steps", "Think first: {{q}}"))
BOTH: dict[str, Any] = {"prompts": TWO, "providers": ("small", "large")}


def test_each_variant_of_a_run_is_compared_with_itself(titles):
    with titles.built() as con:
        variants = con.execute(
            "select variant from marts.dim_tasks where run_id = 'four-1'"
            " order by task_id"
        ).fetchall()
    assert [row[0] for row in variants] == [
        "small × short", "small × steps", "large × short", "large × steps"
    ]  # fmt: skip
    found = baselines(titles)
    assert found["four-2/0"] == "four-1/2"
    assert found["four-2/3"] == "four-1/1"
    assert found["four-1/0"] is None


def test_a_comparison_of_a_run_has_a_line_per_case_of_each_variant(
    titles, capsys, monkeypatch
):
    monkeypatch.setenv("PROMPTLAB_DB", str(titles.settings.db))
    assert run_cli(["compare", "four-2", "--format", "csv"]) in (0, 1, 4)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["task_id"] for row in rows} == {f"four-2/{n}" for n in range(4)}
    assert all(row["before"] and row["status_before"] for row in rows)


EDITS: dict[str, tuple[Sequence[tuple[str, str]], dict[int, int | None]]] = {
    "the text of a labelled prompt": (
        (("short", "Be very brief: {{q}}"), TWO[1]),
        {0: 0, 1: 1},
    ),
    "a prompt added before the others": (
        (("new", "Hi {{q}}"), *TWO),
        {0: None, 1: 0, 2: 1},
    ),
    "a prompt removed": (TWO[1:], {0: 1}),
    "the list turned round": (
        TWO[::-1],
        {0: 1, 1: 0},
    ),
    "the text of a prompt in a file": (
        (("short: short.txt: Be very brief: {{q}}", "Be very brief: {{q}}"), TWO[1]),
        {0: 0, 1: 1},
    ),
    "a label changed and its text kept": (
        (("brief", TWO[0][1]), TWO[1]),
        {0: 0, 1: 1},
    ),
}
"""Edit → the prompts after it, and the place of each one's baseline before it."""


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_the_prompts_ends_no_history(titles, edit):
    _, expected = EDITS[edit]
    found = baselines(titles)
    assert {place: found[f"{edit}-2/{place}"] for place in expected} == {
        place: None if before is None else f"{edit}-1/{before}"
        for place, before in expected.items()
    }


def test_prompts_without_labels_keep_their_histories(titles):
    found = baselines(titles)
    assert (found["plain-2/0"], found["plain-2/1"]) == ("plain-1/0", "plain-1/1")
    assert (found["plain-3/1"], found["plain-3/2"]) == ("plain-2/0", "plain-2/1")


CHANGES: dict[str, tuple[dict[str, Any], int]] = {
    "an assertion added": ({"asserted": ("x", "y")}, 6),
    "an assertion changed": ({"asserted": ("z",)}, 6),
    "every assertion removed": ({"asserted": ()}, 6),
    "more rounds": ({"rounds": 2}, 6),
    "the order of the tests": ({"tests": ("t6", "t5", "t4", "t3", "t2", "t1")}, 6),
    "a test left out": ({"tests": ("t1", "t2", "t3", "t4", "t5")}, 5),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_case_is_the_same_whatever_is_asserted_of_it(titles, change):
    _, shared = CHANGES[change]
    same = [row for row in case_changes(titles, change) if row["is_comparable"]]
    assert len(same) == shared


def test_a_case_with_an_id_that_asks_something_else_is_named_and_not_compared(titles):
    [case] = [
        row for row in case_changes(titles, "asked otherwise") if row["case_id"] == "t1"
    ]
    assert (case["change"], case["is_comparable"]) == ("not_comparable", False)
    assert notes(titles, "asked otherwise")["inputs_differ"] == 1


BROKEN = {"fails": {"small": ["t1", "t2", "t3"]}, "rounds": 3}


def test_the_shards_of_a_run_are_one_result(titles, capsys):
    known = baselines(titles)
    assert (known["mon"], known["tue"]) == (None, "mon")
    shards = [titles.settings.db.parent / f"{n}/tue.jsonl" for n in (2, 3)]
    for selection in ("tue", *map(str, shards)):
        _, (result,) = gate(capsys, titles, selection)
        assert (result["task_id"], result["n_not_compared"]) == ("tue", 0), selection


@only("dim_task_baselines", "dim_runs")
def test_a_pull_request_is_compared_with_the_base_branch(warehouse, monkeypatch):
    warehouse.ingest(Night(1).write(Path.cwd()), branch="main")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_HEAD_REF", "fix")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    broken = {"small": ["t1"]}
    load(warehouse, Night(2, fails=broken), Night(3, fails=broken))
    found = baselines(warehouse)
    assert found["eval-2/0"] == "eval-1/0"
    assert found["eval-3/0"] == "eval-1/0"
    with warehouse.built() as con:
        rows = con.execute(
            "select branch, commit_sha, is_base_branch from marts.dim_runs"
            " order by run_id"
        ).fetchall()
    assert rows == [("main", None, True), *[("fix", "abc123", False)] * 2]


def gate(capsys, warehouse: Warehouse, *args: str) -> tuple[int, list[dict[str, Any]]]:
    code = run_cli(
        ["gate", *args, "--db", str(warehouse.settings.db), "--format", "json"]
    )
    out, err = capsys.readouterr()
    found = json.loads(out) if out else err
    return code, found if isinstance(found, list) else [found]


@pytest.fixture(scope="module")
@only(*GATE, "fct_variant_averages")
def two_nights(tmp_path_factory) -> Path:
    """A folder with a built warehouse of two nights, and their files in ``in``."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "in").mkdir()
    warehouse = Warehouse(folder / "w.duckdb")
    for number in (1, 2):
        Night(number, rounds=3).write(folder / "in")
    warehouse.ingest(folder / "in")
    warehouse.build()
    return folder


@pytest.fixture
def nights(two_nights, warehouse) -> Iterator[Path]:
    """Their folder, to add a third; ``warehouse`` is a copy of their warehouse."""
    shutil.copy(two_nights / "w.duckdb", warehouse.settings.db)
    kept = {*(two_nights / "in").iterdir()}
    yield two_nights / "in"
    for added in {*(two_nights / "in").iterdir()} - kept:
        added.unlink()


@pytest.mark.parametrize(
    "left_out",
    ['{"evalId": "eval-3", "results": {"version": 3, "resu', "id,q,a\n1,2,3\n", "{}"],
    ids=["a broken file", "a table without a mapping", "no known kind"],
)
def test_a_newer_file_that_was_left_out_is_never_shipped_over(
    warehouse, nights, capsys, left_out
):
    newest = nights / f"night3.{'csv' if left_out.startswith('id') else 'json'}"
    newest.write_text(left_out)
    warehouse.ingest(nights)
    for selection in ("latest", str(nights)):
        code, found = gate(capsys, warehouse, selection)
        assert code == 4
        assert newest.name in found[0]["headline"]
        assert found[0]["advice"][0] == "load_files"
    assert gate(capsys, warehouse, "latest", "--allow-inconclusive")[0] == 4


@only(*GATE)
def test_next_to_a_newer_run_a_file_with_the_name_of_a_run_may_be_one(
    warehouse, nights, capsys
):
    Night(4, rounds=3).write(nights)
    for names, expected in ((["night-3.json", "README.md"], 0), (["night3.json"], 4)):
        for name in names:
            (nights / name).write_text("{}")
        warehouse.ingest(nights)
        if expected == 0:
            warehouse.build()
        code, [result, *_] = gate(capsys, warehouse, "latest")
        assert code == expected
        for name in names:
            assert (name in result["headline"]) == (expected == 4)


@only(*GATE)
def test_a_run_that_is_named_is_judged_and_a_repaired_file_ends_the_doubt(
    warehouse, nights, capsys
):
    assert gate(capsys, warehouse, "latest")[0] == 0
    newest = nights / "night3.json"
    newest.write_text("{}")
    warehouse.ingest(nights)
    # whoever names a run means it
    assert gate(capsys, warehouse, "eval-2")[0] == 0
    assert gate(capsys, warehouse, str(nights / "night2.json"))[0] == 0
    newest.unlink()
    Night(3, rounds=3).write(nights)
    warehouse.ingest(nights)
    warehouse.build()
    assert gate(capsys, warehouse, "latest")[0] == 0


def test_what_broke_in_one_variant_of_four_is_the_answer_for_the_run(
    titles, capsys, monkeypatch
):
    file = titles.settings.db.parent / "2/one broke2.json"
    monkeypatch.chdir(file.parent)
    for selection in ("one broke-2", "one broke", file.name, str(file)):
        code, variants = gate(capsys, titles, selection)
        assert code == 1, selection
        assert [variant["decision"] for variant in variants] == [
            "do_not_ship", "do_not_ship", "ship", "ship"
        ], selection  # fmt: skip
        assert variants[0]["broke"]["case_ids"] == ["t1", "t2", "t3"]
    assert gate(capsys, titles, "one broke-2/0")[0] == 0
    assert gate(capsys, titles, "one broke-1")[0] == 0
    call = ["--format", "json", "--db", str(titles.settings.db)]
    for selection in ("one broke-2", file.name):
        assert run_cli(["runs", selection, *call]) == 0
        runs = json.loads(capsys.readouterr().out)
        assert [run["task_id"] for run in runs] == [
            f"one broke-2/{n}" for n in (3, 2, 1, 0)
        ]
    assert run_cli(["runs", "night9.json", *call[2:]]) == 5
    capsys.readouterr()


def test_every_form_of_the_gate_says_the_worst_first(titles, capsys):
    command = ["gate", "worst first-2", "--db", str(titles.settings.db)]
    for form in ("table", "md", "junit", "json"):
        assert run_cli([*command, "--format", form]) == 1
        out = capsys.readouterr().out
        first, second = "Do not ship", "Ship" if form == "md" else "Ship: nothing"
        assert out.index(first) < out.rindex(second), form


def test_a_run_name_joins_what_was_loaded_in_several_calls(titles, capsys):
    code, joined = gate(capsys, titles, "nightly-1")
    variants = {result["variant"] for result in joined}
    assert (code, variants) == (0, {"other × short", "small × short"})


@pytest.mark.usefixtures("nights")
def test_a_file_that_brought_nothing_is_distinguished_from_a_task(warehouse, capsys):
    Path("other.json").write_text("{}")
    code, (message,) = gate(capsys, warehouse, "other.json")
    assert code == 2
    assert "no task of the warehouse was loaded from it" in message


def test_variants_of_one_file_of_results_are_side_by_side(titles, capsys):
    """They have no `run_id`; `long` breaks in the third night."""
    assert baselines(titles)["bot/long/bot3"] == "bot/long/bot2"
    assert baselines(titles)["bot/short/bot1"] is None
    code, variants = gate(capsys, titles, "bot")
    assert code == 1
    assert {result["variant"]: result["decision"] for result in variants} == {
        "long": "do_not_ship",
        "short": "ship",
    }


def test_the_last_runs_of_a_case_are_those_of_its_variant(titles):
    for task_id, status in (("large fails-2/0", "pass"), ("large fails-2/1", "fail")):
        [[title, variant]] = titles.sql(
            f"select title, variant from marts.dim_tasks where task_id = '{task_id}'"
        ).rows()
        found = titles.sql(
            "select status from marts.fct_case_history where case_id = 't1'"
            f" and title = '{title}' and variant = '{variant}' order by run_number"
        )
        assert found.rows() == [(status,), (status,)]


PATHS = (
    ("evals/{title}/{variant}/{date}*.json", "evals/faq/big/2026-03-09-a.json",
     ("faq", "big", "2026-03-09")),
    ("{title}_{variant}.json", "deep/er/faq_big.json", ("faq", "big", None)),
    ("**/{variant}/*.json", "x/y/small/1.json", ("triage", "small", None)),
)  # fmt: skip


@pytest.mark.parametrize(("pattern", "path", "expected"), PATHS)
def test_a_path_says_what_its_file_does_not(
    tmp_path, monkeypatch, pattern, path, expected
):
    monkeypatch.chdir(tmp_path)
    Path("promptlab.toml").write_text(f'[[sources]]\npath = "{pattern}"\n')
    file = Path(path)
    file.parent.mkdir(parents=True)
    Night(1).write(tmp_path).rename(file)
    assert run_cli(["ingest", path, "-q"]) == 0
    with Warehouse("promptlab.duckdb").reading() as con:
        found = con.execute(
            "select title, variant, strftime(created_at, '%Y-%m-%d') from live.tasks"
        ).fetchone()
    title, variant, day = expected
    assert found == (title, variant, day or "2026-03-01")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{model}/*.csv", "a path can hold {title}, {variant}, {date}"),
        ("{title}/{title}.csv", "{title} stands twice"),
        ("evals/*.csv", "says nothing: name {title} or {variant}"),
    ],
)
def test_a_pattern_that_says_nothing_is_refused(
    tmp_path, monkeypatch, capsys, pattern, message
):
    monkeypatch.chdir(tmp_path)
    Path("promptlab.toml").write_text(f'[[sources]]\npath = "{pattern}"\n')
    assert run_cli(["runs"]) == 2
    assert message in capsys.readouterr().err


def test_another_title_of_a_loaded_file_replaces_the_first(titles):
    found = titles.sql(
        "select run_id, title from marts.dim_tasks where run_id like 'renamed%'"
    ).rows()
    assert sorted(found) == [
        ("renamed later-1", "renamed"), ("renamed later-2", "renamed later")
    ]  # fmt: skip


# the second is in the year 10000 in UTC, which no report could print
@pytest.mark.parametrize("time", ["noon", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_is_none_is_refused(warehouse, capsys, time):
    Night(1).write(Path.cwd())
    db = os.fspath(warehouse.settings.db)
    assert run_cli(["ingest", "night1.json", "--time", time, "--db", db]) == 2
    assert "expected a date or time such as" in capsys.readouterr().err


@pytest.fixture(scope="module")
def pages(titles, tmp_path_factory) -> list[Path]:
    """Pages of some runs, and with them those of all titles with variants."""
    tasks = ["one fails-1/0", *(f"case by case-2/{n}" for n in range(4))]
    return titles.report(tasks, tmp_path_factory.mktemp("pages"), lang="en")


def test_the_page_of_a_run_shows_its_variants_case_by_case(pages):
    (page,) = [path for path in pages if path.match("runs/case*/*.html")]
    text = page.read_text("utf-8")
    content = page.with_name("run.json").read_text("utf-8")
    run = RunPage.model_validate_json(content)
    again = to_run_html(run, ReportOptions(run.generated_at, "en"))
    assert again.count("<tr") == text.count("<tr")
    assert text.count("<tr class=") == 1  # t2 alone fails anywhere
    assert "large × short leads with 100.0." in text
    assert ">t2<" in text
    assert f'href="runs/{page.parent.name}/report.html"' in pages[-1].read_text("utf-8")


def test_a_run_of_one_variant_has_no_page_of_its_own(pages):
    with_page = {path.parent.name for path in pages if "runs" in path.parts}
    assert with_page
    assert not [name for name in with_page if name.startswith("one-fails")]


def test_the_page_of_a_run_draws_quality_against_cost(pages):
    (page,) = [path for path in pages if path.match("runs/prices/*.html")]
    text = page.read_text("utf-8")
    assert text.count('<g class="on">') == 2
    assert "The score is" not in text  # it is called so


@only(*GATE, "fct_leaderboard", "fct_variant_averages", "fct_trends")
def test_verdicts_without_scores_have_a_score_an_interval_and_a_rank(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("promptlab.toml").write_text(
        '[tables.t]\ncase = "id"\ninputs = ["q"]\nverdict = "ok"\nmodel = "m"\n'
    )
    for model, n_right in (("good", 38), ("bad", 20)):
        lines = [f"c{n},q{n},{n < n_right},{model}" for n in range(40)]
        Path(f"{model}.csv").write_text("\n".join(["id,q,ok,m", *lines]))
    assert run_cli(["ingest", "good.csv", "bad.csv", "-q"]) == 0
    assert run_cli(["build", "-q"]) == 0
    capsys.readouterr()
    assert run_cli(["leaderboard", "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["variant"], first["overall_score"]) == ("good", 0.95)
    assert (first["ci_low"], first["ci_high"]) == (
        first["pass_rate_low"], first["pass_rate_high"]
    )  # fmt: skip
    assert (second["overall_score"], second["overlaps_leader"]) == (0.5, False)
    # models of one call are side by side, not one after the other
    assert run_cli(["gate", "latest", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["decision"] for each in found} == {"first_run"}


Document = dict[str, Any]


def write_changed(
    night: Night, folder: Path, change: Callable[[Document], None] | None
) -> Path:
    file = night.write(folder)
    if change is not None:
        document = json.loads(file.read_text("utf-8"))
        change(document)
        file.write_text(json.dumps(document), "utf-8")
    return file


def rows_of(document: Document) -> list[Document]:
    return document["results"]["results"]


def notes(warehouse: Warehouse, title: str) -> dict[str, int | None]:
    """Notes of the comparison of the second night with the first."""
    with warehouse.built() as con:
        found = con.execute(
            "select note, n from marts.fct_comparison_notes"
            " where candidate_task_id = ?",
            [f"{title}-2/0"],
        ).fetchall()
    return dict(found)


def judged_by(model: str, rubric: str = "Is it kind?") -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for row in rows_of(document):
            judged = {"type": "llm-rubric", "value": rubric, "metric": "tone"}
            row["testCase"]["assert"].append(judged)
            row["gradingResult"]["componentResults"].append(
                {"pass": True, "score": 1.0, "reason": "", "assertion": judged}
            )
            row["testCase"]["options"] = {"provider": {"id": model}}

    return change


def with_settings(**settings: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["config"]["providers"] = [{"id": "small", "config": settings}]

    return change


def expecting(value: str) -> Callable[[Document], None]:
    """Keep what is expected in a variable that no prompt has."""

    def change(document: Document) -> None:
        for row in rows_of(document):
            asked = {"q": row["vars"]["q"], "wanted": value}
            row["vars"] = row["testCase"]["vars"] = asked
            row["testCase"]["assert"] = [{"type": "equals", "value": "{{wanted}}"}]

    return change


def remove(document: Document) -> None:
    expecting("blue")(document)
    for row in rows_of(document):
        row["testCase"]["assert"] = [{"type": "contains", "value": "x"}]


def without_ids(change: Callable[[Document], None]) -> Callable[[Document], None]:
    def changed(document: Document) -> None:
        change(document)
        for row in rows_of(document):
            row["vars"].pop("id", None)

    return changed


def asks(word: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for row in rows_of(document):
            asked = {"q": f"{word} {row['vars']['q']}"}
            row["vars"] = row["testCase"]["vars"] = asked

    return change


def one_more_rubric(document: Document) -> None:
    judged_by("gpt")(document)
    row = rows_of(document)[0]
    row["testCase"]["assert"][-1]["value"] = "Does it name a date?"


def with_option(change: Callable[[Document], None], **options: Any):
    """Set options of every test, each with a rubric of its own."""

    def changed(document: Document) -> None:
        change(document)
        for n, row in enumerate(rows_of(document)):
            row["testCase"]["assert"][-1]["value"] = f"Does it name {n}?"
            row["testCase"]["options"] |= options

    return changed


def priced(document: Document) -> None:
    prices = {"small": 0.001, "large": 0.002, "large2": 0.003}
    for row in rows_of(document):
        row["cost"] = prices[row["provider"]["id"]]


def with_threshold(threshold: float) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for row in rows_of(document):
            row["testCase"]["threshold"] = threshold

    return change


def system(text: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for prompt in document["results"]["prompts"]:
            prompt["raw"] = "{{ system }} {{q}}"
        for row in rows_of(document):
            asked = {"q": row["vars"]["q"], "system": text}
            row["vars"] = row["testCase"]["vars"] = asked

    return change


def tagged(document: Document) -> None:
    for place, row in enumerate(rows_of(document)):
        row["testCase"]["metadata"] = {
            "area": ("refund", "invoice")[place % 2], "ticket": f"T{place}"
        }  # fmt: skip


CONFIGURED: dict[str, tuple[str, tuple[Callable[[Document], None], ...]]] = {
    "system": (
        'prompt_vars = ["system"]\n',
        (system("Be kind."), system("Be very kind.")),
    ),
    "tagged": ("", (tagged, tagged)),
    "tagged by ticket": ('tag_keys = ["ticket"]\n', (tagged, tagged)),
    "without tags": ("tag_keys = []\n", (tagged, tagged)),
}
"""Title → what the config says as its nights are loaded, and how they are changed."""

TAGS = {
    "tagged": {"area:refund", "area:invoice"},
    "tagged by ticket": {f"ticket:T{n}" for n in range(6)},
    "without tags": set(),
}

PLAIN = ((None, "One {{q}}"), (None, "Two {{q}}"))
PLAIN_EDITED = ((None, "One, edited {{q}}"), PLAIN[1])

TITLES: dict[str, list[tuple[dict[str, Any], Callable[[Document], None] | None]]] = {
    "four": [
        (BOTH, None),
        ({"prompts": TWO, "providers": ("large", "small")}, None),
    ],
    **{
        edit: [({"prompts": TWO}, None), ({"prompts": prompts}, None)]
        for edit, (prompts, _) in EDITS.items()
    },
    "plain": [
        ({"prompts": PLAIN}, None),
        ({"prompts": PLAIN_EDITED}, None),
        ({"prompts": ((None, "New {{q}}"), *PLAIN_EDITED)}, None),
    ],
    **{
        change: [({}, None), (changed, None)]
        for change, (changed, _) in CHANGES.items()
    },
    "asked otherwise": [({}, None), ({"variables": {"t1": "asked otherwise"}}, None)],
    "one fails": [({}, None), ({"fails": {"small": ["t1"]}}, None)],
    "more asserted": [
        ({}, None),
        ({"asserted": ("x", "y"), "fails": {"small": ["t1"]}}, None),
    ],
    "corrected": [({}, expecting("blue")), ({}, expecting("red"))],
    "no assertion": [
        ({}, without_ids(expecting("blue"))),
        ({}, without_ids(remove)),
    ],
    "other question": [({}, asks("old")), ({}, asks("new"))],
    "renamed later": [({}, None), ({}, None)],
    "seed": [({}, with_settings(temperature=0)), ({}, with_settings(seed=42))],
    "secret": [({}, with_settings(seed=1, apiKey="abc", authHeader="def"))],
    "other judge": [({}, judged_by("gpt")), ({}, judged_by("gpt-mini"))],
    "other rubric": [({}, judged_by("gpt")), ({}, judged_by("gpt", "Is it polite?"))],
    "one more rubric": [({}, judged_by("gpt")), ({}, one_more_rubric)],
    "no rubric prompt": [
        ({}, with_option(judged_by("gpt"), rubricPrompt="Be strict: {{rubric}}")),
        ({}, with_option(judged_by("gpt"))),
    ],
    "same rubrics": [
        ({}, with_option(judged_by("gpt"))),
        ({}, with_option(judged_by("gpt"))),
    ],
    "looser threshold": [({}, with_threshold(0.9)), ({}, with_threshold(0.1))],
    "same threshold": [({}, with_threshold(0.9)), ({}, with_threshold(0.9))],
    "worst first": [
        ({"providers": ("large", "small"), "rounds": 3}, None),
        ({"providers": ("large", "small"), **BROKEN}, None),
    ],
    "large fails": [
        ({"providers": ("small", "large"), "fails": {"large": ["t1"]}}, None),
        ({"providers": ("small", "large"), "fails": {"large": ["t1"]}}, None),
    ],
    **{
        f"one of {name} breaks": [
            ({"providers": models, "rounds": 3}, None),
            ({"providers": models, "rounds": 3, "fails": {"m0": ["t1", "t2"]}}, None),
        ]
        for name, models in (("one", ("m0",)), ("four", ("m0", "m1", "m2", "m3")))
    },
    "one broke": [
        (BOTH | {"rounds": 3}, None),
        (BOTH | {"rounds": 3, "fails": {"large": ["t1", "t2", "t3"]}}, None),
    ],
    "case by case": [(BOTH, None), (BOTH | {"fails": {"small": ["t2", "<b>"]}}, None)],
    "prices": [
        (
            {
                "providers": ("small", "large", "large2"),
                "fails": {"small": ["t1"], "large2": ["t2"]},
            },
            priced,
        )
    ],
}
"""Title → its nights: what is unlike other nights, and how its document is changed."""


def shard(run: str, day: int, cases: str) -> list[Document]:
    """Results of a part of the cases of a run."""
    return [
        {
            "sample_id": case, "run_id": run, "entity_type": "prompt",
            "entity_id": "shards", "variant": "v1", "final_output": {"reply": "x"},
            "status": "pass", "created_at": f"2026-03-{day:02}T01:00:00Z",
        }
        for case in cases
    ]  # fmt: skip


def two_variants(day: int, *, long: str) -> list[Document]:
    """Results of two variants without a run; *long* is the status of one of them."""
    return [
        {
            "sample_id": f"s{n}", "entity_id": "bot", "variant": variant,
            "created_at": f"2026-01-{day:02}T00:00:00Z", "final_output": "x",
            "status": long if variant == "long" else "pass", "round_id": f"s{n}-{k}",
        }
        for variant in ("short", "long") for n in range(6) for k in range(3)
    ]  # fmt: skip


RESULTS = {
    "1/mon": shard("mon", 1, "abcd"),
    "2/tue": shard("tue", 2, "ab"),
    "3/tue": shard("tue", 2, "cd"),
    "1/bot1": two_variants(1, long="pass"),
    "2/bot2": two_variants(2, long="pass"),
    "3/bot3": two_variants(3, long="fail"),
}
"""File → its records, in the folder of its night."""


def test_a_new_assertion_is_named_and_both_verdicts_count(titles, capsys, monkeypatch):
    monkeypatch.setenv("PROMPTLAB_DB", str(titles.settings.db))
    assert notes(titles, "more asserted")["assertions_differ"] == 6
    assert run_cli(["compare", "more asserted-2", "--format", "json"]) in (0, 1, 4)
    [changed] = [
        case
        for case in json.loads(capsys.readouterr().out)["cases"]
        if case["case_id"] == "t1"
    ]
    assert (changed["baseline_status"], changed["candidate_status"]) == ("pass", "fail")


@pytest.mark.parametrize("title", ["corrected", "no assertion"])
def test_an_expected_value_in_a_variable_may_be_corrected_or_removed(titles, title):
    """The case is the same, also where its last assertion reads no variable."""
    found = case_changes(titles, title)
    assert len(found) == 6
    for row in found:
        assert row["change"] == "same"
        assert row["is_comparable"]
        assert row["has_other_assertions"]


def test_a_changed_variable_of_a_prompt_makes_another_case_without_an_id(titles):
    found = notes(titles, "other question")
    assert (found["cases_removed"], found["cases_added"]) == (6, 6)


def test_a_seed_is_a_setting_and_not_another_variant(titles):
    assert baselines(titles)["seed-2/0"] == "seed-1/0"
    assert "settings_differ" in notes(titles, "seed")


def test_a_setting_that_may_be_a_secret_is_not_kept(titles):
    with titles.built() as con:
        found = con.execute(
            "select settings from marts.dim_tasks where title = 'secret'"
        ).fetchall()
    assert found == [('{"seed":1}',)]


@pytest.mark.parametrize("title", ["other judge", "other rubric", "no rubric prompt"])
def test_a_changed_judge_is_a_changed_yardstick(titles, capsys, title):
    db = str(titles.settings.db)
    assert run_cli(["gate", f"{title}-2", "--db", db]) == 4
    out = capsys.readouterr().out
    assert out.startswith("? Cannot tell")
    said = " ".join(out.split())
    # the rubric of promptfoo is a part of the assertion
    why = "other assertions" if title == "other rubric" else "another judge"
    assert f"with {why}" in said
    assert f"`promptlab accept '{title}-2'" in said


def test_a_looser_threshold_of_a_test_is_a_changed_yardstick(titles, capsys):
    db = str(titles.settings.db)
    assert run_cli(["gate", "looser threshold-2", "--db", db]) == 4
    assert "assertions" in capsys.readouterr().out
    for title in ("same threshold", "same rubrics"):
        assert run_cli(["gate", f"{title}-2", "--db", db]) == 0


def test_a_test_with_a_rubric_of_its_own_does_not_change_the_judge(titles):
    with titles.built() as con:
        gaps = con.execute(
            "select task_id from marts.fct_gaps where reason = 'judge'"
        ).fetchall()
    judged = {title for (title,) in gaps}
    assert "other judge-2/0" in judged
    assert "one more rubric-2/0" not in judged


def configured(text: str, db: Path) -> Warehouse:
    """The warehouse as a command in a folder with this config opens it."""
    (db.parent / "promptlab.toml").write_text(text, "utf-8")
    settings = load_settings({"db": db}, folder=db.parent, environ={})
    return Warehouse(settings.db, settings=settings)


CONFIG = """
[titles."Support triage"]
alias = ["triage"]
[titles."owned"]
primary = "tone"
owner = "support"
[variants]
"small × short" = "small × brief"
[prices]
"SM*" = { input = 2, output = 10 }
"""


@dataclass
class Configured:
    """What the marts say after a build."""

    baselines: dict[str, str | None]
    summary: list[tuple]
    """Score and owner of the title "owned"."""
    costs: list[tuple]
    """Costs of the title "tokens"."""
    variants: list[str]
    """Names of the variants of the title "prompts"."""


@dataclass
class Configs:
    """Builds of the same files one after the other."""

    plain: Configured
    configured: Configured
    unconfigured: Configured
    """Then by a command without the config."""
    emptied: Configured
    """Then with a table without titles."""
    is_noticed: bool
    """Whether the warehouse was not up to date because of the config alone."""


@pytest.fixture(scope="module")
@only("dim_task_baselines", "dim_variants", "fct_task_summaries", "fct_costs")
def configs(tmp_path_factory) -> Configs:
    def rename(document: Document) -> None:
        document["config"]["description"] = "Support triage"

    def scores(document: Document) -> None:
        for row in rows_of(document):
            row["namedScores"] = {"tone": 0.25}

    def counted(document: Document) -> None:
        for row in rows_of(document):
            del row["cost"]
            row["response"]["tokenUsage"] = {"prompt": 1000, "completion": 100}

    def told() -> Configured:
        with warehouse.built() as con:
            summary = con.execute(
                "select primary_metric, overall_score, owner"
                " from marts.dim_tasks inner join marts.fct_task_summaries"
                " using (task_id) where title = 'owned'"
            ).fetchall()
            costs = con.execute(
                "select cost_total, cost_per_pass, n_pass from marts.fct_costs"
                " where task_id = 'tokens-1/0'"
            ).fetchall()
            variants = con.execute(
                "select variant from marts.dim_variants where title = 'prompts'"
                " order by variant"
            ).fetchall()
        names = [variant for (variant,) in variants]
        return Configured(baselines(warehouse), summary, costs, names)

    def built(config: str) -> Configured:
        configured(config, warehouse.settings.db).build()
        return told()

    folder = tmp_path_factory.mktemp("configs")
    warehouse = Warehouse(folder / "w.duckdb")
    brief = Night(2, (("brief", "Short! {{q}}"), TWO[1]), title="prompts")
    files = [
        write_changed(night, folder, change)
        for night, change in (
            (Night(1), None), (Night(2), rename),
            (Night(1, TWO, title="prompts"), None), (brief, None),
            (Night(1, title="owned"), scores), (Night(1, title="tokens"), counted),
        )
    ]  # fmt: skip
    warehouse.ingest(*files)
    warehouse.build()
    plain = told()
    with_it = configured(CONFIG, warehouse.settings.db)
    is_noticed = not with_it.last_build().has_all
    with_config = built(CONFIG)
    is_noticed &= with_it.last_build().has_all
    warehouse.build()
    return Configs(plain, with_config, told(), built("[titles]\n"), is_noticed)


@pytest.mark.slow
def test_a_renamed_title_keeps_its_history_by_an_alias(configs):
    assert configs.plain.baselines["eval-2/0"] is None
    assert configs.configured.baselines["eval-2/0"] == "eval-1/0"
    # a command without the config leaves it as it was; an empty table takes it back
    assert configs.unconfigured.baselines["eval-2/0"] == "eval-1/0"
    assert configs.emptied.baselines["eval-2/0"] is None


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """What `run` prints of a file, of two others, of a folder; and then the gate."""
    folder = tmp_path_factory.mktemp("runs")
    found = []

    def run(*files: Path) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            names = [str(file.relative_to(folder)) for file in files]
            assert run_cli(["run", *names, "--db", "w.duckdb", "--lang", "en"]) == 0
        found.append(out.getvalue())

    def support(document: Document) -> None:
        document["config"]["description"] = "Support triage"

    def others(document: Document) -> None:
        document["config"]["description"] = "the same ids, other questions"

    with contextlib.chdir(folder):
        for day, model in ((1, "a"), (1, "b"), (2, "a"), (2, "b")):
            score = 0.0 if (day, model) == (2, "a") else 1.0
            Run(
                f"{model}{day}", "t", day, {"quality": even(score, 12)}, model=model,
                parameters={"quality": {"pass_score": 0.5}},
            ).write(folder / f"day{day}")  # fmt: skip
        run(Night(1, TWO).write(folder))
        Warehouse("w.duckdb").ingest("day1")
        other = Night(2, variables={f"t{n}": f"other {n}" for n in range(1, 7)})
        run(
            write_changed(other, folder, others),
            write_changed(Night(3), folder, support),
        )
        broken = Night(5, rounds=3, fails={"small": ["t1", "t2", "t3"]})
        for night in (Night(4, rounds=3), broken):
            write_changed(night, folder / "day2", support)
        run(folder / "day2")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert run_cli(["gate", "Support triage", "--db", "w.duckdb"]) == 1
        found.append(out.getvalue())
    return found


def test_run_ends_with_a_decision_for_each_title_and_its_page(printed):
    first, *_ = printed
    assert first.startswith(
        "• First run: nothing to compare with; 6 of 6 cases passed."
    )
    assert "triage  small × short, one of 2 variants" in first
    assert first.splitlines()[-1] == "out/index.html"
    assert "out/runs/triage/report.html" in first


def test_run_asks_whether_a_first_title_with_the_same_cases_was_renamed(printed):
    first_of_title = printed[1]
    assert [out.count("renamed") for out in printed] == [0, 1, 0, 0]
    assert (
        'Has "triage" been renamed? 6 of the 6 cases are the same. To continue its'
        ' history, add to promptlab.toml: [titles."Support triage"] alias = ["triage"]'
    ) in " ".join(first_of_title.split())


def test_run_prints_the_worst_variant_of_its_call_also_without_run_ids(printed):
    """As the gate does: variants of one call are side by side."""
    assert "the worst of 2 variants: a" in printed[2]


def test_run_judges_the_newest_run_of_each_title_once_after_one_build(printed):
    _, _, last, gate = printed
    assert last.startswith("✗ Do not ship")
    assert last.count("✗ Do not ship") == 2
    headline = gate.partition("\nSupport triage")[0]
    assert " ".join(headline.split()) in " ".join(last.split())


def test_a_renamed_variant_keeps_its_history(configs):
    for build in (configs.plain, configs.configured):
        assert build.baselines["prompts-2/0"] == "prompts-1/0"
    assert set(configs.plain.variants) - set(configs.configured.variants) == {
        "small × short"
    }


def test_a_title_has_the_score_and_the_owner_that_the_config_names(configs):
    assert configs.plain.summary == [("score", 1.0, None)]
    assert configs.is_noticed
    assert configs.configured.summary == [("tone", 0.25, "support")]


def test_tokens_cost_what_the_config_says_where_the_tool_says_nothing(configs):
    assert configs.configured.costs == [(0.018, 0.003, 6)]


def test_a_price_without_output_is_refused_with_its_place(warehouse, capsys):
    Path("promptlab.toml").write_text("[prices.gpt]\ninput = 1\n", "utf-8")
    assert run_cli(["runs"]) == 2
    assert "promptlab.toml: prices.gpt.output" in capsys.readouterr().err


def test_a_variable_of_the_config_is_a_part_of_the_prompt(titles):
    assert notes(titles, "system") == {}
    prompts = titles.sql(
        "select prompt from marts.dim_prompts where prompt like '%kind.%'"
    ).rows()
    assert sorted(prompts) == [('"Be kind. {{q}}"',), ('"Be very kind. {{q}}"',)]


@pytest.mark.parametrize(("title", "tags"), TAGS.items())
def test_metadata_with_few_texts_makes_tags(titles, title, tags):
    for table, task in (
        ("dim_case_tags", "task_id"), ("fct_tag_comparisons", "candidate_task_id")
    ):  # fmt: skip
        found = titles.sql(
            f"select distinct tag from marts.{table} where {task} = '{title}-2/0'"
        ).rows()
        assert {tag for (tag,) in found} == tags, table


@pytest.fixture(scope="module")
@only("fct_leaderboard", "fct_variant_averages", "fct_trends", "fct_dimension_scores")
def titles_to_rank(tmp_path_factory) -> Warehouse:
    """Two titles with two variants each; the large one is better in both."""
    folder = tmp_path_factory.mktemp("ranked")
    warehouse = Warehouse(folder / "w.duckdb")
    for number, title in enumerate(("triage", "50% & more_|x|"), 1):
        night = Night(
            number,
            providers=("small", "large"),
            title=title,
            fails={"small": ["t1", "t2", "t3"]},
        )
        night.write(folder)
    warehouse.ingest(folder)
    warehouse.build()
    return warehouse


@pytest.fixture
def ranked(titles_to_rank, monkeypatch) -> None:
    """Commands read them."""
    monkeypatch.setenv("PROMPTLAB_DB", str(titles_to_rank.settings.db))


@pytest.mark.usefixtures("ranked")
def test_a_table_over_titles_has_means_and_titles_won(capsys):
    assert run_cli(["leaderboard", "--matrix", "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["variant"], first["macro_average"], first["n_won"]) == (
        "large × short", 1.0, 2
    )  # fmt: skip
    assert (second["macro_average"], second["n_won"]) == (0.5, 0)
    assert first["triage"] == 1.0
    assert run_cli(["leaderboard"]) == 0
    assert "won" in capsys.readouterr().out


@pytest.mark.usefixtures("ranked")
def test_a_table_for_a_paper_escapes_what_its_language_means(capsys):
    assert run_cli(["leaderboard", "--format", "latex"]) == 0
    out = capsys.readouterr().out
    assert r"\textbf{100.0}" in out
    assert r"50\% \& more\_|x|" in out
    assert out.count(r"\\") == 3
    assert run_cli(["leaderboard", "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(r"| Variant | 50% & more\_\|x\| | triage | Mean | Won |")
    assert len(lines) == 4
    assert run_cli(["leaderboard", "triage", "--format", "markdown"]) == 0
    assert "| triage | large × short | **100.0**" in capsys.readouterr().out


@pytest.mark.usefixtures("nights")
def test_a_matrix_needs_titles_with_several_variants(capsys):
    assert run_cli(["leaderboard", "--matrix"]) == 5
    assert "needs a title with several variants" in capsys.readouterr().err


INSPECT = Path(__file__).parents[1] / "data" / "foreign" / "inspect_ai" / "late.json"


def inspect_log(
    name: str, day: int, *, n_samples: int | None = None, **about: str
) -> Path:
    """Write a log of Inspect as its set writes it; with fewer samples it was stopped."""
    document = json.loads(INSPECT.read_text("utf-8"))
    document["eval"] |= {"created": f"2026-12-{day:02}T01:00:00+00:00", **about}
    for sample in document["samples"]:
        sample["uuid"] = f"{name}-{sample['uuid']}"
    if n_samples is not None:
        document |= {"status": "error", "samples": document["samples"][:n_samples]}
        del document["results"]
    file = Path(name + ".json")
    file.write_text(json.dumps(document), "utf-8")
    return file


def eval_sets(warehouse: Warehouse, *, stopped_is_read_last: bool) -> None:
    """Load two sets of two models; one log of the second was stopped and retried.

    Inspect writes a log for each attempt, and all of them have one `task_id`.
    """
    one, two = {"eval_set_id": "set-1"}, {"eval_set_id": "set-2"}
    retried = {"task_id": "b", **two}
    inspect_log("a", 1, task_id="a", **one)
    inspect_log("c", 1, task_id="c", model="mockllm/other", **one)
    inspect_log("d", 2, task_id="d", model="mockllm/other", **two)
    stopped = inspect_log("b1", 2, n_samples=2, eval_id="b1", **retried)
    inspect_log("b2", 3, eval_id="b2", run_id="later", **retried)
    if stopped_is_read_last:
        stopped.rename("z.json")
    warehouse.ingest(Path.cwd())


def test_of_a_log_and_its_retry_the_retry_counts(warehouse, capsys, tmp_path):
    eval_sets(warehouse, stopped_is_read_last=False)
    warehouse.build()
    assert baselines(warehouse) == {"a": None, "b": "a", "c": None, "d": "c"}
    for selection in ("set-2", ".", "latest"):
        _, found = gate(capsys, warehouse, selection)
        assert [each["task_id"] for each in found] == ["b", "d"], selection
    assert found[0]["n_not_compared"] == 0
    run_cli(["compare", "set-2", "--format", "json"])
    compared = json.loads(capsys.readouterr().out)
    assert [each["candidate"]["task_id"] for each in compared] == ["b", "d"]
    assert run_cli(["leaderboard", "--format", "json"]) == 0
    ranked = json.loads(capsys.readouterr().out)
    assert {each["task_id"] for each in ranked} == {"b", "d"}
    run_cli(["report", "set-2", "--out", "out", "-q"])
    (page,) = (tmp_path / "out" / "runs").rglob("report.html")
    text = page.read_text("utf-8")
    assert "mockllm/other (model=late)" in text
    assert "(model=late) (2)" not in text


def test_a_stopped_log_that_is_read_after_its_retry_is_older(warehouse):
    eval_sets(warehouse, stopped_is_read_last=True)
    with warehouse.reading() as con:
        tasks = con.execute("select task_id from live.tasks order by all").fetchall()
        (n,) = con.execute(
            "select count(*) from live.rounds where task_id = 'b'"
        ).fetchone()
        codes = con.execute("select code from raw.rejects").fetchall()
    assert (tasks, n) == ([("a",), ("b",), ("c",), ("d",)], 8)
    assert ("older_version",) in codes
