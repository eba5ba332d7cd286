"""Files in, verdicts out: which runs a task is tested against, from build to build."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
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


def write(
    folder: Path,
    task_id: str,
    day: int,
    answers: dict[str, str],
    prompt: str = "v1",
    **dimension: Any,
) -> None:
    """A run; the answers of a case are one letter per round, ``y`` is right."""
    document = {
        "task": {
            "task_id": task_id, "title": "suite", "prompt_version": prompt,
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
    (folder / f"{task_id}.json").write_text(json.dumps(document), "utf-8")


GOOD = {f"c{n}": "yyy" for n in range(10)}
BROKEN = GOOD | {"c0": "nnn"}


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


def test_an_earlier_run_that_comes_late_is_counted(warehouse, tmp_path):
    late = tmp_path / "late"
    late.mkdir()
    write(late, "night1b", 2, GOOD)
    warehouse.ingest(late)
    warehouse.build()
    assert verdict(warehouse, "new")["n_reference_runs"] == 3
    assert verdict(warehouse, "night2")["n_reference_runs"] == 2
    built = verdict(warehouse, "new")
    warehouse.build(full_refresh=True)
    assert verdict(warehouse, "new") == built


def test_a_run_dated_before_all_that_were_loaded_is_no_first_run(tmp_path, warehouse):
    late = tmp_path / "late"
    late.mkdir()
    write(late, "wrong-clock", 1, dict.fromkeys(GOOD, "nnn"), "v3")
    text = (late / "wrong-clock.json").read_text("utf-8")
    (late / "wrong-clock.json").write_text(text.replace("2026-02-01", "2025-12-31"))
    warehouse.ingest(late)
    warehouse.build()
    [result] = judge(warehouse, "latest", built_in_policy(), lang="en")
    assert (result.task_id, result.decision) == ("wrong-clock", "cannot_tell")
    assert "no run that was loaded before is dated before this one" in result.headline


def decide(warehouse: Warehouse, task_id: str) -> str:
    """Ask the gate, and record what it says."""
    policy = built_in_policy()
    results = judge(warehouse, task_id, policy, lang="en")
    record(warehouse, results, policy)
    return results[0].decision


@pytest.mark.parametrize(
    ("lasting", "decision"),
    [
        (dict.fromkeys(list(GOOD)[:4], "yyy"), "cannot_tell"),
        (GOOD | {"c0": "yyn"}, "run_again"),
    ],
)
def test_what_the_gate_did_not_ship_is_no_baseline_of_the_night_after(
    tmp_path, lasting, decision
):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    decisions = []
    for night in range(1, 4):
        files = tmp_path / f"night{night}"
        files.mkdir()
        write(files, f"night{night}", night, GOOD if night == 1 else lasting)
        warehouse.ingest(files)
        warehouse.build()
        decisions.append(decide(warehouse, f"night{night}"))
    assert decisions == ["first_run", decision, decision]


def test_a_run_with_the_id_of_the_run_before_is_no_first_run(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")

    def load(answers: dict[str, str], year: str = "2026") -> str:
        write(tmp_path, "nightly", 1, answers)
        file = tmp_path / "nightly.json"
        text = file.read_text("utf-8").replace("2026-02-01", f"{year}-02-01")
        file.write_text(text, "utf-8")
        warehouse.ingest(file)
        warehouse.build()
        return decide(warehouse, "nightly")

    assert load(GOOD) == "first_run"
    corrected = GOOD | {"c0": "n"}
    assert load(corrected) == "first_run"
    # a night after the decision; it has to be after the time of this test
    assert load(BROKEN, "2199") == "cannot_tell"
    [result] = judge(warehouse, "nightly", built_in_policy(), lang="en")
    assert "give every run a `task_id` of its own" in result.headline


def references(warehouse: Warehouse, task_id: str) -> list[str]:
    with warehouse.examining() as con:
        rows = con.execute(
            "select reference_task_id from intermediate.int_reference_runs"
            " where task_id = ? order by place",
            [task_id],
        ).fetchall()
    return [row[0] for row in rows]


def test_a_break_that_stays_is_red_on_every_night(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    decisions = []
    for night in range(1, 7):
        files = tmp_path / f"night{night}"
        files.mkdir()
        write(files, f"night{night:02}", night, GOOD if night < 3 else BROKEN)
        warehouse.ingest(files)
        warehouse.build()
        decisions.append(decide(warehouse, f"night{night:02}"))
    assert decisions == ["first_run", "ship", *["do_not_ship"] * 4]
    assert references(warehouse, "night06") == ["night02", "night01"]
    built = verdict(warehouse, "night06")
    warehouse.build(full_refresh=True)
    assert verdict(warehouse, "night06") == built


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


def test_where_only_refused_runs_are_left_the_gate_cannot_tell(tmp_path, capsys):
    """The last run that was shipped is deleted after a while, and nights go on."""
    db = tmp_path / "w.duckdb"
    warehouse = Warehouse(db)

    def gate(task_id: str, *options: str) -> int:
        return run_cli(["gate", task_id, "--db", str(db), *options])

    codes = []
    for day, answers in enumerate((GOOD, *[GOOD | {"c0": "nnn"}] * 2), 1):
        write(tmp_path, f"night{day}", day, answers)
        warehouse.ingest(tmp_path / f"night{day}.json")
        warehouse.build()
        codes.append(gate(f"night{day}"))
    purge(warehouse, tasks=["night1"])
    warehouse.build()
    codes += [gate("night2", "--no-record"), gate("night3")]
    assert codes == [0, 1, 1, 4, 4]
    assert "`promptlab baseline set RUN`" in capsys.readouterr().out
    write(tmp_path, "night4", 4, GOOD | {"c0": "nnn"})
    warehouse.ingest(tmp_path / "night4.json")
    warehouse.build()
    assert gate("night4") == 4
    assert run_cli(["baseline", "set", "night4", "--db", str(db)]) == 0
    write(tmp_path, "night5", 5, GOOD | {"c0": "nnn"})
    warehouse.ingest(tmp_path / "night5.json")
    warehouse.build()
    assert gate("night5") == 0


def test_a_first_run_that_a_threshold_refused_is_the_baseline_of_the_next(tmp_path):
    db = tmp_path / "w.duckdb"
    warehouse = Warehouse(db)
    policy = tmp_path / "policy.toml"
    policy.write_text("min_score = 0.9\n", encoding="utf-8")
    codes = []
    for day, answers in enumerate((GOOD | {"c0": "nnn", "c1": "nnn"}, GOOD), 1):
        write(tmp_path, f"night{day}", day, answers)
        warehouse.ingest(tmp_path / f"night{day}.json")
        warehouse.build()
        gate = ["gate", f"night{day}", "--db", str(db), "--policy", str(policy)]
        codes.append(run_cli(gate))
    assert codes == [1, 0]


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


def test_a_run_that_is_purged_is_a_reference_no_more(warehouse):
    purge(warehouse, tasks=["night1"])
    warehouse.build()
    assert verdict(warehouse, "new")["n_reference_runs"] == 1


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


@pytest.mark.parametrize("is_gated", [False, True])
def test_a_run_that_replaced_an_earlier_one_with_its_id_is_no_first_run(
    tmp_path, is_gated
):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    decisions = []
    for day, answers in ((1, GOOD), (1, GOOD | {"c1": "nnn"}), (2, BROKEN), (2, GOOD)):
        write(tmp_path, "nightly", day, answers)
        warehouse.ingest(tmp_path / "nightly.json")
        warehouse.build()
        [result] = judge(warehouse, "latest", built_in_policy(), lang="en")
        decisions.append(result.decision)
        if is_gated:
            record(warehouse, [result], built_in_policy())
    # a correction of the same run is not another run
    assert decisions == ["first_run", "first_run", "cannot_tell", "cannot_tell"]


def test_the_same_file_with_another_time_is_the_same_run(tmp_path):
    """The config may say when the runs were."""
    db = tmp_path / "w.duckdb"
    write(tmp_path, "night1", 1, GOOD)
    for time in ("2026-03-01", "2026-03-02"):
        Warehouse(db).ingest(tmp_path / "night1.json", time=time)
        Warehouse(db).build()
        assert run_cli(["gate", "night1", "--db", str(db)]) == 0


def test_a_file_that_leaves_fewer_cases_of_another_file_is_no_first_run(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")

    def load(name: str, answers: dict[str, str]) -> str:
        write(tmp_path, "nightly", 1, answers)
        file = (tmp_path / "nightly.json").rename(tmp_path / name)
        warehouse.ingest(file)
        warehouse.build()
        return decide(warehouse, "nightly")

    assert load("one.json", GOOD) == "first_run"
    assert load("two.json", BROKEN) == "first_run"  # as many cases: a correction
    assert load("part.json", dict(list(GOOD.items())[:3])) == "cannot_tell"
    [result] = judge(warehouse, "nightly", built_in_policy(), lang="en")
    assert "give every run a `task_id` of its own" in result.headline


def test_a_run_id_that_an_earlier_run_has_is_named(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for day, answers in ((1, GOOD), (2, BROKEN)):
        write(tmp_path, f"night-{day}", day, answers)
        file = tmp_path / f"night-{day}.json"
        document = json.loads(file.read_text("utf-8"))
        document["task"]["run_id"] = "ci"
        file.write_text(json.dumps(document), "utf-8")
        warehouse.ingest(file)
        warehouse.build()
    [result] = judge(warehouse, "latest", built_in_policy(), lang="en")
    assert result.decision == "cannot_tell"
    assert "an earlier run has the same run_id" in result.headline


@pytest.mark.parametrize("is_named", [False, True])
def test_a_title_of_the_run_before_that_did_not_run_is_missing(tmp_path, is_named):
    """A run of several titles: they have one run_id."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for day, titles in (
        (1, ("caps", "safety")),
        (2, ("caps", "safety")),
        (3, ("caps",)),
    ):
        for title in titles:
            write(tmp_path, f"{title}-{day}", day, GOOD)
            file = tmp_path / f"{title}-{day}.json"
            document = json.loads(file.read_text("utf-8"))
            document["task"] |= {"run_id": f"night-{day}", "title": title}
            file.write_text(json.dumps(document), "utf-8")
    warehouse.ingest(tmp_path)
    warehouse.build()
    if is_named:
        warehouse.set_baseline("night-1")
    decisions = {
        day: judge(warehouse, f"caps-{day}", built_in_policy(), lang="en")[0]
        for day in (2, 3)
    }
    assert decisions[2].decision == "ship"
    assert decisions[3].decision == "cannot_tell"
    assert "1 of the 2 titles of the run before is not" in decisions[3].headline


def test_a_decision_is_about_the_content_that_was_there(tmp_path, capsys):
    """A shipped run is changed, and is no baseline until the gate judges it again."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    call = ["--db", str(tmp_path / "w.duckdb")]
    broken = GOOD | {"c0": "nnn"}

    def load(task_id: str, day: int, answers: dict[str, str]) -> None:
        write(tmp_path, task_id, day, answers)
        warehouse.ingest(tmp_path / f"{task_id}.json")
        warehouse.build()

    def baseline() -> tuple[str]:
        with warehouse.built() as con:
            [found] = con.execute(
                "select baseline_task_id from marts.dim_task_baselines"
                " where task_id = 'third'"
            ).fetchall()
        return found

    for day, task_id in enumerate(("first", "second"), 1):
        load(task_id, day, GOOD)
        assert run_cli(["gate", task_id, *call]) == 0
    load("second", 2, broken)
    load("third", 3, broken)
    assert baseline() == ("first",)
    assert run_cli(["gate", "third", "--no-record", *call]) != 0
    load("second", 2, GOOD)
    assert run_cli(["gate", "second", *call]) == 0
    warehouse.build()
    assert baseline() == ("second",)


def test_files_that_are_run_at_once_are_judged_like_files_that_are_run_one_by_one(
    tmp_path,
):
    good, broken = {f"c{n}": "yyy" for n in range(8)}, {"c0": "nnn", "c1": "nnn"}
    nights = [good, good, good | broken, good | broken, good, good | {"c2": "yyn"}]
    nights += [good | broken, good | broken]
    files = tmp_path / "in"
    files.mkdir()
    for day, answers in enumerate(nights, 1):
        write(files, f"night{day}", day, answers)

    def decided(name: str, *calls: str) -> tuple[list[Any], list[Any]]:
        db, out = str(tmp_path / f"{name}.duckdb"), str(tmp_path / name)
        for path in calls:
            assert run_cli(["run", path, "--db", db, "--out", out, "--quiet"]) == 0
        decisions = Warehouse(db).sql(
            "select task_id, decision from marts.fct_decisions"
            " qualify row_number() over (partition by task_id order by decided_at desc) = 1"
            " order by task_id"
        )
        baselines = Warehouse(db).sql(
            "select task_id, baseline_task_id from marts.dim_task_baselines order by 1"
        )
        return decisions.rows(), baselines.rows()

    at_once = decided("at_once", str(files))
    one_by_one = decided("one_by_one", *map(str, sorted(files.iterdir())))
    assert at_once == one_by_one
    assert dict(at_once[0]) == {
        "night1": "first_run", "night2": "ship", "night3": "do_not_ship",
        "night4": "do_not_ship", "night5": "ship", "night6": "run_again",
        "night7": "do_not_ship", "night8": "do_not_ship",
    }  # fmt: skip


def test_a_refused_run_that_is_named_the_baseline_is_accepted(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    good = {f"c{n}": "yyy" for n in range(8)}
    broken = good | {"c0": "nnn", "c1": "nnn", "c2": "nnn"}
    for day, answers in enumerate([good, broken, broken], 1):
        write(tmp_path, f"night{day}", day, answers)
    warehouse.ingest(tmp_path)
    warehouse.build()
    [refused] = judge(warehouse, "night2", built_in_policy(), lang="en")
    assert refused.decision == "do_not_ship"
    record(warehouse, [refused], built_in_policy())
    warehouse.set_baseline("night2")
    [result] = judge(warehouse, "night3", built_in_policy(), lang="en")
    assert (result.baseline_task_id, result.decision) == ("night2", "ship")


def test_a_refused_model_is_refused_again_after_the_old_one_came_back(tmp_path):
    """Compared with its own refused run, it would ship with what broke in it."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    bad = GOOD | dict.fromkeys(("c0", "c1", "c2", "c3"), "nnn")
    nights = [("old", GOOD), ("old", GOOD), ("new", bad), ("old", GOOD), ("new", bad)]
    decisions = []
    for day, (model, answers) in enumerate(nights, 1):
        write(tmp_path, f"night{day}", day, answers)
        file = tmp_path / f"night{day}.json"
        text = file.read_text("utf-8").replace('"model": "m"', f'"model": "{model}"')
        file.write_text(text, "utf-8")
        warehouse.ingest(file)
        warehouse.build()
        [result] = judge(warehouse, f"night{day}", built_in_policy(), lang="en")
        record(warehouse, [result], built_in_policy())
        decisions.append((result.baseline_task_id, result.decision))
    assert decisions[2:] == [
        ("night2", "do_not_ship"),
        ("night2", "ship"),
        ("night4", "do_not_ship"),
    ]
    assert result.advice == ["other_variant"]
    [earlier] = judge(warehouse, "night3", built_in_policy(), lang="en")
    assert (earlier.baseline_task_id, earlier.decision) == ("night2", "do_not_ship")


def test_a_named_baseline_that_is_loaded_again_is_not_what_was_accepted(
    tmp_path, capsys
):
    db = tmp_path / "w.duckdb"
    warehouse = Warehouse(db)

    def load(task_id: str, day: int, answers: dict[str, str]) -> None:
        write(tmp_path, task_id, day, answers)
        warehouse.ingest(tmp_path / f"{task_id}.json")
        warehouse.build()

    broken = GOOD | {"c0": "nnn"}
    load("named", 1, GOOD)
    assert run_cli(["baseline", "set", "named", "--db", str(db)]) == 0
    load("named", 1, broken)
    load("night", 2, broken)
    capsys.readouterr()
    assert run_cli(["gate", "night", "--db", str(db)]) == 4
    out = " ".join(capsys.readouterr().out.split())
    assert "the baseline was loaded or scored again after it was named" in out
    assert run_cli(["baseline", "set", "named", "--db", str(db)]) == 0
    assert run_cli(["gate", "night", "--db", str(db)]) == 0
