"""Files in, verdicts out: which runs a task is tested against, from build to build."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.database import dictionaries
from promptlab.history import judge, record
from promptlab.ingest.raw.requests import record_decisions
from promptlab.operations.purge import purge
from promptlab.reports.gate.policy import built_in_policy
from promptlab.warehouse import Warehouse
from tests.history.runs import Histories, live_through


def write(
    folder: Path,
    task_id: str,
    day: int,
    answers: dict[str, str],
    prompt: str = "v1",
    title: str = "suite",
    **dimension: Any,
) -> Path:
    """A run; the answers of a case are one letter per round, ``y`` is right."""
    document = {
        "task": {
            "task_id": task_id, "title": title, "prompt_version": prompt,
            "model": "m", "triggered_by": "ci", "env": {},
            "created_at": f"2026-02-{day:02}T00:00:00Z",
        },
        "cases": [
            {
                "case_id": case_id,
                "context": {"question": case_id},
                "rounds": [
                    {
                        "round_id": f"{case_id}-{n}", "run_index": n, "raw_output": text,
                        "parsed_output": None, "metadata": {},
                        "executed_at": "2026-02-01T00:00:00Z",
                    }
                    for n, text in enumerate(rounds, 1)
                ],
                "baselines": [
                    {
                        "baseline_id": "g", "type": "golden_answer",
                        "payload": {"text": "y"}, "owner": "t", "confidence": 1,
                    }
                ],
            }
            for case_id, rounds in answers.items()
        ],
        "dimensions": [
            {
                "dimension_id": "accuracy", "name": "Accuracy", "weight": 1, "target": {},
                "parameters": {"match_rule": "exact"}, "scoring_mode": "higher_better",
            }
            | dimension
        ],
        "extras": {},
    }  # fmt: skip
    file = folder / f"{task_id}.json"
    file.write_text(json.dumps(document), "utf-8")
    return file


def write_titled(
    folder: Path,
    title: str,
    name: str,
    day: int,
    answers: dict[str, str],
    prompt: str = "v1",
    **dimension: Any,
) -> Path:
    """A run of a title in a warehouse of several, called ``<title>-<name>``."""
    return write(folder, f"{title}-{name}", day, answers, prompt, title, **dimension)


GOOD = {f"c{n}": "yyy" for n in range(10)}
BROKEN = GOOD | {"c0": "nnn"}


@dataclass(frozen=True)
class Night:
    """A run in a history; it has an id of its own, unless another has its day."""

    day: int
    answers: Mapping[str, str]
    prompt: str = "v1"
    about: Mapping[str, str] = field(default_factory=dict)
    """Fields of its task."""
    year: int = 2026
    file: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    """What `ingest` is told about it."""
    title: str = ""

    def write(self, folder: Path) -> Path:
        name, answers = str(self.day), dict(self.answers)
        file = write_titled(folder, self.title, name, self.day, answers, self.prompt)
        text = file.read_text("utf-8").replace("2026-02-", f"{self.year}-02-")
        document = json.loads(text)
        document["task"] |= self.about
        file.write_text(json.dumps(document), "utf-8")
        return file.rename(folder / self.file) if self.file else file


HISTORIES: dict[str, list[Night | str | None]] = {}
"""Title → its nights and the commands after each, as `live_through` takes them."""


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Histories:
    folder = tmp_path_factory.mktemp("histories")
    (folder / "strict.toml").write_text("min_score = 0.9\n", "utf-8")
    return live_through(HISTORIES, folder)


@pytest.fixture(scope="module")
def rebuilt(
    histories: Histories, tmp_path_factory: pytest.TempPathFactory
) -> Warehouse:
    """Their warehouse, built anew as a whole."""
    copy = tmp_path_factory.mktemp("rebuilt") / "w.duckdb"
    warehouse = Warehouse(shutil.copy(histories.warehouse.settings.db, copy))
    warehouse.build(full_refresh=True)
    return warehouse


def gate(task_id: str) -> str:
    return f"gate {task_id} --format json"


def gated(title: str, *nights: Mapping[str, str]) -> list[Night | str | None]:
    """Each night and the gate."""
    steps: list[Night | str | None] = []
    for day, answers in enumerate(nights, 1):
        steps += [Night(day, answers), gate(f"{title}-{day}")]
    return steps


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nights of one prompt version, and a candidate in which a case broke."""
    folder = tmp_path_factory.mktemp("nights")
    files = folder / "in"
    files.mkdir()
    write(files, "night1", 1, GOOD)
    write(files, "night2", 3, GOOD)
    write(files, "new", 4, BROKEN, "v2")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()
    return warehouse.settings.db


@pytest.fixture
def warehouse(built: Path, tmp_path: Path) -> Warehouse:
    """A copy of it for one test."""
    return Warehouse(shutil.copy(built, tmp_path / "w.duckdb"))


def verdict(warehouse: Warehouse, task_id: str) -> dict:
    with warehouse.examining() as con:
        [row] = dictionaries(
            con, "from marts.fct_verdicts where task_id = ?", [task_id]
        )
        return row


def test_a_new_prompt_is_tested_against_all_runs_of_its_baselines_prompt(warehouse):
    row = verdict(warehouse, "new")
    assert (row["baseline_task_id"], row["n_reference_runs"]) == ("night2", 2)
    assert (row["n_rounds_now"], row["n_rounds_before"]) == (30, 60)
    assert row["p"] == pytest.approx(1 / 84 / 2, abs=1e-9)  # 3 of 9 rounds: 84 ways
    assert row["n_listed"] == 1
    with warehouse.examining() as con:
        [case] = dictionaries(con, "from marts.fct_verdict_cases where is_listed")
    assert (case["case_id"], case["n_passed_now"], case["n_rounds_now"]) == ("c0", 0, 3)
    assert (case["n_passed_before"], case["n_rounds_before"]) == (6, 6)


def test_a_file_that_was_loaded_and_not_built_is_never_shipped_over(
    warehouse, tmp_path, capsys
):
    newer = tmp_path / "newer"
    newer.mkdir()
    write(newer, "next", 5, BROKEN, "v3")
    warehouse.ingest(newer)
    for command in ("gate", "compare"):
        assert run_cli([command, "night2", "--db", str(warehouse.settings.db)]) == 5
        said = capsys.readouterr().err
        assert "loaded after the last build: next.json; `promptlab build`" in said


HISTORIES["late"] = [
    Night(1, GOOD),
    Night(3, GOOD),
    Night(4, BROKEN, "v2"),
    Night(2, GOOD),
]


def test_an_earlier_run_that_comes_late_is_counted(histories, rebuilt):
    built = verdict(histories.warehouse, "late-4")
    assert built["n_reference_runs"] == 3
    assert verdict(histories.warehouse, "late-3")["n_reference_runs"] == 2
    assert verdict(rebuilt, "late-4") == built


def test_a_run_dated_before_all_that_were_loaded_is_no_first_run(
    tmp_path, warehouse, capsys
):
    late = tmp_path / "late"
    late.mkdir()
    write(late, "wrong-clock", 1, dict.fromkeys(GOOD, "nnn"), "v3")
    text = (late / "wrong-clock.json").read_text("utf-8")
    (late / "wrong-clock.json").write_text(text.replace("2026-02-01", "2025-12-31"))
    db, out = str(warehouse.settings.db), str(tmp_path / "out")
    assert run_cli(["run", str(late), "--db", db, "--out", out]) == 0
    assert "got “Cannot tell”: wrong-clock" in capsys.readouterr().err
    [result] = judge(warehouse, "latest", built_in_policy(), lang="en")
    assert (result.task_id, result.decision) == ("wrong-clock", "cannot_tell")
    assert "no run that was loaded before is dated before this one" in result.headline


def decide(warehouse: Warehouse, task_id: str) -> str:
    """Ask the gate, and record what it says."""
    policy = built_in_policy()
    results = judge(warehouse, task_id, policy, lang="en")
    record(warehouse, results, policy)
    return results[0].decision


NOT_SHIPPED = {
    "few-cases": (dict.fromkeys(list(GOOD)[:4], "yyy"), "cannot_tell"),
    "a-round": (GOOD | {"c0": "yyn"}, "run_again"),
}
"""Title → what it has from the second night on, and what the gate says of that."""

for title, (lasting, _) in NOT_SHIPPED.items():
    HISTORIES[title] = gated(title, GOOD, lasting, lasting)


@pytest.mark.parametrize("title", NOT_SHIPPED)
def test_what_the_gate_did_not_ship_is_no_baseline_of_the_night_after(title, histories):
    _, decision = NOT_SHIPPED[title]
    decisions = histories.decisions(*(gate(f"{title}-{day}") for day in (1, 2, 3)))
    assert decisions == ["first_run", decision, decision]


HISTORIES["nightly"] = [
    Night(1, GOOD),
    gate("nightly-1"),
    Night(1, GOOD | {"c0": "n"}),  # a correction
    gate("nightly-1"),
    # a night after the decision; it has to be after the time of this test
    Night(1, BROKEN, year=2199),
    gate("nightly-1"),
    gate("nightly-1"),
]


def test_a_run_with_the_id_of_the_run_before_is_no_first_run(histories):
    first, corrected, replaced, again = histories.results(gate("nightly-1"))
    assert first["decision"] == corrected["decision"] == "first_run"
    assert replaced["decision"] == "cannot_tell"
    assert "give every run a `task_id` of its own" in again["headline"]


def references(warehouse: Warehouse, task_id: str) -> list[str]:
    with warehouse.examining() as con:
        rows = con.execute(
            "select reference_task_id from intermediate.int_reference_runs"
            " where task_id = ? order by place",
            [task_id],
        ).fetchall()
    return [row[0] for row in rows]


HISTORIES["stays"] = gated("stays", GOOD, GOOD, *[BROKEN] * 3)


def test_a_break_that_stays_is_red_on_every_night(histories, rebuilt):
    decisions = histories.decisions(*(gate(f"stays-{day}") for day in range(1, 6)))
    assert decisions == ["first_run", "ship", *["do_not_ship"] * 3]
    assert references(histories.warehouse, "stays-5") == ["stays-2", "stays-1"]
    built = verdict(histories.warehouse, "stays-5")
    assert verdict(rebuilt, "stays-5") == built


HISTORIES["fixed"] = gated("fixed", GOOD, GOOD, BROKEN, BROKEN, GOOD, BROKEN)


def test_a_break_that_was_fixed_hides_no_later_one(histories, rebuilt):
    decisions = histories.decisions(*(gate(f"fixed-{day}") for day in range(1, 7)))
    refuse = "do_not_ship"
    assert decisions == ["first_run", "ship", refuse, refuse, "ship", refuse]
    warehouse = histories.warehouse
    assert references(warehouse, "fixed-6") == ["fixed-5", "fixed-2", "fixed-1"]
    assert verdict(rebuilt, "fixed-6") == verdict(warehouse, "fixed-6")


def test_a_run_is_a_reference_again_once_it_is_accepted(warehouse):
    with warehouse.writable() as con:
        record_decisions(con, [("night1", "do_not_ship")], "policy")
    warehouse.build()
    assert references(warehouse, "new") == ["night2"]
    with warehouse.writable() as con:
        record_decisions(con, [("night1", "ship")], "another policy")
    warehouse.build()
    assert references(warehouse, "new") == ["night2", "night1"]


def test_a_task_is_compared_with_a_refused_run_only_where_it_was_the_first(warehouse):
    with warehouse.writable() as con:
        record_decisions(con, [("night2", "do_not_ship")], "policy")
    warehouse.build()
    assert references(warehouse, "new") == ["night1"]
    with warehouse.writable() as con:
        record_decisions(con, [("night1", "do_not_ship")], "policy")
    warehouse.build()
    assert references(warehouse, "new") == ["night1"]


HISTORIES["left"] = [
    *gated("left", GOOD, BROKEN, BROKEN),
    "purge --task left-1 --yes",
    Night(4, BROKEN),
    "gate left-2 --no-record",
    "gate left-3",
    "gate left-4",
    "baseline set left-4",
    Night(5, BROKEN),
    "gate left-5",
]


def test_where_only_refused_runs_are_left_the_gate_cannot_tell(histories):
    """The last run that was shipped is deleted after a while, and nights go on."""
    codes = histories.codes(*(gate(f"left-{day}") for day in (1, 2, 3)))
    assert codes == [0, 1, 1]
    assert histories.codes("purge --task left-1 --yes") == [0]
    for command in ("gate left-2 --no-record", "gate left-3"):
        [found] = histories.answers[command]
        assert found.code == 4
        assert "`promptlab baseline set RUN`" in found.said
    assert histories.codes("gate left-4", "baseline set left-4") == [4, 0]
    assert histories.codes("gate left-5") == [0]


HISTORIES["threshold"] = [
    Night(1, GOOD | {"c0": "nnn", "c1": "nnn"}),
    "gate threshold-1 --policy strict.toml",
    Night(2, GOOD),
    "gate threshold-2 --policy strict.toml",
]


def test_a_first_run_that_a_threshold_refused_is_the_baseline_of_the_next(histories):
    gates = [f"gate threshold-{day} --policy strict.toml" for day in (1, 2)]
    assert histories.codes(*gates) == [1, 0]


def test_a_decision_is_added_only_where_it_is_new(warehouse):
    assert decide(warehouse, "new") == decide(warehouse, "new") == "do_not_ship"
    with warehouse.writable() as con:
        record_decisions(con, [("new", "ship")], "another policy")
        record_decisions(con, [("new", "ship")], "a third policy")
    with warehouse.examining() as con:
        rows = con.execute(
            "select decision, is_newest from marts.fct_decisions order by decided_at"
        ).fetchall()
    assert rows == [("do_not_ship", False), ("ship", False), ("ship", True)]


def test_only_a_purge_of_the_task_removes_its_decisions(warehouse):
    decide(warehouse, "new")
    decide(warehouse, "night2")
    warehouse.build(full_refresh=True)
    purge(warehouse, tasks=["night2"])
    with warehouse.examining() as con:
        left = con.execute("select task_id from raw.decisions").fetchall()
    assert left == [("new",)]


def test_the_gate_answers_where_the_warehouse_takes_no_writes(
    warehouse, monkeypatch, capsys
):
    db = warehouse.settings.db
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert run_cli(["gate", "new", "--db", str(db), "--no-record"]) == 1
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True);"
    reader = subprocess.Popen(
        [sys.executable, "-c", f"{script} print('open', flush=True); input()", str(db)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert reader.stdout and reader.stdout.readline()
    code = run_cli(["gate", "new", "--db", str(db), "--lock-timeout", "0"])
    reader.communicate(b"\n")
    assert code == 1
    assert "the decision was not recorded" in capsys.readouterr().err
    with warehouse.examining() as con:
        assert con.execute("from raw.decisions").fetchall() == []


def test_the_first_run_has_no_verdict(warehouse):
    with warehouse.examining() as con:
        assert not dictionaries(con, "from marts.fct_verdicts where task_id = 'night1'")


HISTORIES["purged"] = [
    Night(1, GOOD),
    Night(3, GOOD),
    Night(4, BROKEN, "v2"),
    "purge --task purged-1 --yes",
    None,
]


def test_a_run_that_is_purged_is_a_reference_no_more(histories):
    assert histories.codes("purge --task purged-1 --yes") == [0]
    assert verdict(histories.warehouse, "purged-4")["n_reference_runs"] == 1


def test_a_case_that_is_asked_otherwise_is_another_case(warehouse, tmp_path):
    changed = tmp_path / "changed"
    changed.mkdir()
    write(changed, "next", 5, {"c0": "nnn", "new": "yyy"}, "v3")
    text = (changed / "next.json").read_text("utf-8")
    asked = '"question": "c0"'
    assert asked in text
    (changed / "next.json").write_text(text.replace(asked, '"question": "else"'))
    warehouse.ingest(changed)
    warehouse.build()
    row = verdict(warehouse, "next")
    assert (row["n_cases"], row["p"], row["calibration"]) == (0, None, None)


JUDGED = {
    False: "gate not-gated --no-record --format json",
    True: "gate is-gated --format json",
}
"""Whether the gate records its decisions → the command."""

for title, command in zip(("not-gated", "is-gated"), JUDGED.values(), strict=True):
    nights = ((1, GOOD), (1, GOOD | {"c1": "nnn"}), (2, BROKEN), (2, GOOD))
    HISTORIES[title] = []
    for day, answers in nights:
        HISTORIES[title] += [Night(day, answers, about={"task_id": title}), command]


@pytest.mark.parametrize("is_gated", JUDGED)
def test_a_run_that_replaced_an_earlier_one_with_its_id_is_no_first_run(
    is_gated, histories
):
    decisions = histories.decisions(JUDGED[is_gated])
    # a correction of the same run is not another run
    assert decisions == ["first_run", "first_run", "cannot_tell", "cannot_tell"]


HISTORIES["timed"] = []
for time in ("2026-03-01", "2026-03-02"):
    HISTORIES["timed"] += [Night(1, GOOD, given={"time": time}), "gate timed-1"]


def test_the_same_file_with_another_time_is_the_same_run(histories):
    """The config may say when the runs were."""
    assert histories.codes("gate timed-1") == [0, 0]


HISTORIES["fewer"] = [
    Night(1, GOOD, file="one.json"),
    gate("fewer-1"),
    Night(1, BROKEN, file="two.json"),  # as many cases: a correction
    gate("fewer-1"),
    Night(1, dict(list(GOOD.items())[:3]), file="part.json"),
    gate("fewer-1"),
    gate("fewer-1"),
]


def test_a_file_that_leaves_fewer_cases_of_another_file_is_no_first_run(histories):
    first, corrected, part, again = histories.results(gate("fewer-1"))
    assert first["decision"] == corrected["decision"] == "first_run"
    assert part["decision"] == "cannot_tell"
    assert "give every run a `task_id` of its own" in again["headline"]


HISTORIES["same-run"] = [
    Night(1, GOOD, about={"run_id": "ci"}),
    Night(2, BROKEN, about={"run_id": "ci"}),
    gate("same-run-2"),
]


def test_a_run_id_that_an_earlier_run_has_is_named(histories):
    [result] = histories.results(gate("same-run-2"))
    assert result["decision"] == "cannot_tell"
    assert "an earlier run has the same run_id" in result["headline"]


@pytest.fixture(scope="module")
def runs_of_titles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of several titles: those of a run have one run_id."""
    folder = tmp_path_factory.mktemp("titles")
    for day, titles in (
        (1, ("caps", "safety")),
        (2, ("caps", "safety")),
        (3, ("caps",)),
    ):
        for title in titles:
            Night(day, GOOD, about={"run_id": f"night-{day}"}, title=title).write(
                folder
            )
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder)
    warehouse.build()
    return warehouse.settings.db


@pytest.mark.parametrize("is_named", [False, True])
def test_a_title_of_the_run_before_that_did_not_run_is_missing(
    tmp_path, runs_of_titles, is_named
):
    warehouse = Warehouse(shutil.copy(runs_of_titles, tmp_path / "w.duckdb"))
    if is_named:
        warehouse.set_baseline("night-1")
    decisions = {
        day: judge(warehouse, f"caps-{day}", built_in_policy(), lang="en")[0]
        for day in (2, 3)
    }
    assert decisions[2].decision == "ship"
    assert decisions[3].decision == "cannot_tell"
    assert "1 of the 2 titles of the run before is not" in decisions[3].headline


HISTORIES["content"] = [
    *gated("content", GOOD, GOOD),
    Night(2, GOOD | {"more": "yyy"}),
    Night(3, BROKEN),
    "gate content-3 --no-record --format json",
    gate("content-2"),
    None,
]


def test_a_decision_is_about_the_content_that_was_there(histories):
    """A shipped run is changed, and is no baseline until the gate judges it again."""
    assert histories.codes(gate("content-1"), gate("content-2")) == [0, 0, 0]
    [changed] = histories.answers["gate content-3 --no-record --format json"]
    assert changed.code != 0
    assert changed.results[0]["baseline_task_id"] == "content-1"
    with histories.warehouse.built() as con:
        found = con.execute(
            "select baseline_task_id from marts.dim_task_baselines"
            " where task_id = 'content-3'"
        ).fetchall()
    assert found == [("content-2",)]


EIGHT = {f"c{n}": "yyy" for n in range(8)}
TWO_BROKE = EIGHT | {"c0": "nnn", "c1": "nnn"}

SEVERAL = {
    "first_run": EIGHT,
    "do_not_ship": TWO_BROKE,
    "ship": EIGHT,
    "run_again": EIGHT | {"c2": "yyn"},
    "do_not_ship again": TWO_BROKE,
}
"""What the gate says of each night, one after the other."""

HISTORIES["several"] = gated("several", *SEVERAL.values())


def test_files_that_are_run_at_once_are_judged_like_files_that_are_run_one_by_one(
    histories, tmp_path
):
    def decided(warehouse: Warehouse) -> tuple[list[Any], ...]:
        decisions = warehouse.sql(
            "select task_id, decision from marts.fct_decisions"
            " where task_id like 'several-%'"
            " qualify row_number() over (partition by task_id order by decided_at desc) = 1"
            " order by task_id"
        )
        baselines = warehouse.sql(
            "select task_id, baseline_task_id from marts.dim_task_baselines"
            " where task_id like 'several-%' order by 1"
        )
        verdicts = warehouse.sql(
            "select task_id, n_reference_runs, p, run_spread from marts.fct_verdicts"
            " where task_id like 'several-%' order by 1"
        )
        return decisions.rows(), baselines.rows(), verdicts.rows()

    files, db = tmp_path / "in", tmp_path / "w.duckdb"
    files.mkdir()
    for night in HISTORIES["several"]:
        if isinstance(night, Night):
            replace(night, title="several").write(files)
    out = str(tmp_path / "out")
    assert run_cli(["run", str(files), "--db", str(db), "--out", out, "--quiet"]) == 0
    at_once = decided(Warehouse(db))
    assert at_once == decided(histories.warehouse)
    assert [decision for _, decision in at_once[0]] == [
        name.split()[0] for name in SEVERAL
    ]


THREE_BROKE = EIGHT | dict.fromkeys(("c0", "c1", "c2"), "nnn")

HISTORIES["accepted"] = [
    Night(1, EIGHT),
    Night(2, THREE_BROKE),
    Night(3, THREE_BROKE),
    gate("accepted-2"),
    "baseline set accepted-2",
    gate("accepted-3"),
]


def test_a_refused_run_that_is_named_the_baseline_is_accepted(histories):
    assert histories.decisions(gate("accepted-2")) == ["do_not_ship"]
    assert histories.codes("baseline set accepted-2") == [0]
    [result] = histories.results(gate("accepted-3"))
    assert (result["baseline_task_id"], result["decision"]) == ("accepted-2", "ship")


BAD = GOOD | dict.fromkeys(("c0", "c1", "c2", "c3"), "nnn")

HISTORIES["back"] = []
for day, model in enumerate(("old", "old", "new", "old", "new"), 1):
    answers = GOOD if model == "old" else BAD
    HISTORIES["back"] += [
        Night(day, answers, about={"model": model}),
        gate(f"back-{day}"),
    ]
HISTORIES["back"] += ["gate back-3 --no-record --format json"]


def test_a_refused_model_is_refused_again_after_the_old_one_came_back(histories):
    """Compared with its own refused run, it would ship with what broke in it."""
    results = histories.results(*(gate(f"back-{day}") for day in (3, 4, 5)))
    assert [(each["baseline_task_id"], each["decision"]) for each in results] == [
        ("back-2", "do_not_ship"),
        ("back-2", "ship"),
        ("back-4", "do_not_ship"),
    ]
    assert results[-1]["advice"] == ["other_variant"]
    [earlier] = histories.results("gate back-3 --no-record --format json")
    assert (earlier["baseline_task_id"], earlier["decision"]) == (
        "back-2", "do_not_ship"
    )  # fmt: skip


HISTORIES["named"] = [
    Night(1, GOOD),
    "baseline set named-1",
    Night(1, BROKEN),
    Night(2, BROKEN),
    "gate named-2",
    "baseline set named-1",
    "gate named-2",
]


def test_a_named_baseline_that_is_loaded_again_is_not_what_was_accepted(histories):
    assert histories.codes("baseline set named-1") == [0, 0]
    changed, accepted = histories.answers["gate named-2"]
    assert changed.code == 4
    said = "the baseline was loaded or scored again after it was named"
    assert said in changed.said
    assert accepted.code == 0
