"""``promptlab score``: from a stored task to scores in the marts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from promptlab import Warehouse
from promptlab.cli import run_cli
from promptlab.contracts.analysis_input import ScoreRecord
from promptlab.scorers import RoundScore
from tests.conftest import EXAMPLES
from tests.scorers.conftest import SEMANTIC
from tests.scorers.fakes import lengths, scorer
from tests.scoring import tasks

TASK = tasks.task(
    "t/1",
    [
        tasks.case("big", "oh", golden="big", tags=["a"], context={"q": "size?"}),
        tasks.case("tiny", tasks.failed(), golden="small"),
        tasks.case("red", tasks.failed()),
    ],
    [
        tasks.dimension("tone"),
        tasks.dimension("mood", scorer="tone"),
        tasks.dimension("accuracy", match_rule="semantic"),
        tasks.dimension("length", target={"max": 3}, mode="lower_better"),
        tasks.dimension("wit"),
    ],
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> Path:
    """A warehouse with one task, ``t/1``; tests copy it."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "task.json").write_text(json.dumps(TASK), "utf-8")
    warehouse = Warehouse(folder / "promptlab.duckdb")
    warehouse.ingest(folder / "task.json")
    return warehouse.settings.db


@pytest.fixture
def run(capsys, monkeypatch, tmp_path, loaded):
    """Run a command next to a warehouse with one task, ``t/1``."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("PROMPTLAB_"):
            monkeypatch.delenv(name)
    shutil.copy(loaded, tmp_path)

    def call(*args: object) -> tuple[int, str, str]:
        code = run_cli([str(arg) for arg in args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def stored(query: str) -> list[tuple]:
    with duckdb.connect("promptlab.duckdb", read_only=True) as con:
        return con.execute(query).fetchall()


def written(pattern: str) -> list[ScoreRecord]:
    (file,) = Path("out/scores").glob(pattern)
    return [ScoreRecord.model_validate_json(line) for line in file.open("rb")]


Tone = scorer(lengths, scale=10.0)


def test_every_dimension_that_names_an_installed_scorer_is_scored(run, register):
    register(tone=Tone)
    code, out, err = run("score", "--format", "json")
    assert code == 0
    first, second = json.loads(out)
    file = first.pop("file")
    assert first == {
        "task_id": "t/1",
        "dimension_id": "tone",
        "scorer": "tone",
        "rounds": 6,
        "scored": 6,
        "without_score": 0,
        "left_out": 0,
        "failed_cases": 0,
    }
    assert (second["dimension_id"], second["scorer"]) == ("mood", "tone")
    assert Path(file).parent == Path("out/scores")
    assert "`promptlab build`" in err
    assert stored(
        "select dimension_id, scorer, scale, count(*) from live.scores"
        " group by all order by all"
    ) == [("mood", "tone", 10.0, 6), ("tone", "tone", 10.0, 6)]


def test_a_task_goes_by_the_words_and_prefixes_of_other_commands(run, register):
    register(tone=Tone)
    for task_id, year in (("t/2", 2025), ("late", 2020)):
        of_task = {"task_id": task_id, "created_at": f"{year}-01-01T00:00:00Z"}
        document = TASK | {"task": TASK["task"] | of_task}
        Path("in").mkdir(exist_ok=True)
        Path(f"in/{year}.json").write_text(json.dumps(document), "utf-8")
    run("ingest", "in")
    shutil.copy("promptlab.duckdb", "loaded.duckdb")
    for wanted, scored in (
        ("latest", "t/2"),
        ("previous", "t/1"),
        ("t/2", "t/2"),
        ("t/1", "t/1"),
        ("lat", "late"),
    ):
        shutil.copy("loaded.duckdb", "promptlab.duckdb")
        assert run("score", wanted, "--quiet")[0] == 0
        assert stored("select distinct task_id from live.scores") == [(scored,)]


def test_what_a_word_stands_for_may_be_missing(run, register):
    register(tone=Tone)
    code, _, err = run("score", "previous")
    assert (code, err) == (
        5,
        "promptlab: previous: t/1 is the first task of its variant titled 't/1'\n",
    )
    code, _, err = run("score", "baseline")
    assert code == 5
    assert "promptlab build" in err


def test_the_scorer_sees_the_case_as_its_file_has_it(run, register):
    seen = []

    def look(dimension, case):
        seen.append((dimension, case))
        return []

    register(tone=scorer(look))
    run("score", "--dimension", "mood")
    given = TASK["dimensions"][1], TASK["cases"][0]
    for found, file in zip(seen[0], given, strict=True):
        assert found == type(found).model_validate(file)
    assert [case.case_id for _, case in seen] == ["c1", "c2", "c3"]


def test_a_second_run_replaces_the_scores_of_the_first(run, register):
    given = [1.0]

    def changing(_dimension, case):
        return [RoundScore(each.round_id, given[0]) for each in case.rounds]

    register(tone=scorer(changing))
    for value in (1.0, 0.5):
        given[0] = value
        run("score", "--dimension", "tone")
    assert stored("select score, count(*) from live.scores group by all") == [(0.5, 6)]


def test_without_ingest_only_the_file_is_written(run, register):
    register(tone=Tone)
    assert run("score", "--no-ingest", "--out", "mine.jsonl")[0] == 0
    records = Path("mine.jsonl").read_text("utf-8").splitlines()
    assert len(records) == 12
    assert not Path("out").exists()
    assert stored("select count(*) from live.scores") == [(0,)]


def test_one_bad_case_is_warned_of_and_loses_no_other(run, register):
    def moody(_dimension, case):
        if case.case_id == "c2":
            raise RuntimeError("tired")
        return [RoundScore(each.round_id, 1) for each in case.rounds]

    register(tone=scorer(moody))
    code, out, err = run("score", "--dimension", "tone", "--format", "json")
    assert code == 0
    (row,) = json.loads(out)
    assert (row["scored"], row["without_score"], row["failed_cases"]) == (4, 2, 1)
    assert "tone: scorer `tone`, case c2: RuntimeError: tired" in err
    assert {(r.case_id, r.score, r.summary) for r in written("*.jsonl")} == {
        ("c1", 1.0, None),
        ("c2", None, "scorer failed: RuntimeError: tired"),
        ("c3", 1.0, None),
    }


def test_a_scorer_that_cannot_work_leaves_the_others_alone(run, register):
    register(tone=Tone, wit="no_such_package_here:Wit")
    code, out, err = run("score", "--format", "json")
    assert code == 2
    assert [row["scored"] for row in json.loads(out)] == [6, 6, 0]
    assert "wit: not scored: scorer `wit` (no_such_package_here:Wit)" in err
    assert stored("select count(*) from live.scores") == [(12,)]


def test_a_named_scorer_replaces_the_one_that_the_dimension_names(run, register):
    register(tone=Tone, other=scorer(lengths, name="other", scale=4))
    run("score", "--dimension", "tone", "--scorer", "other")
    assert stored("select distinct dimension_id, scorer from live.scores") == [
        ("tone", "other")
    ]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("t/2",), 2, "t/2: there is no such task"),
        (("--dimension", "tine"), 2, "configures no dimension `tine` (it has: tone, mood,"),
        (("--dimension", "wit"), 2, "wit: there is no scorer `wit`"),
        (("--dimension", "length"), 2, "`length` is built in and takes no scores"),
        (("--scorer", "tonne"), 2, "did you mean `tone`?"),
        (("--scorer", "idle"), 5, "tone: names `tone`, not idle"),
        (("--scorer", "idle"), 5, "wit: no scorer `wit` is installed"),
        (("--scorer", "idle"), 5, "accuracy: no scorer `semantic` is installed"),
        (("--no-ingest", "--build"), 2, "--build needs the scores"),
        (("--db", "gone.duckdb"), 2, "there is no warehouse here yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_reported(run, register, args, code, message):
    register(tone=Tone, idle=scorer(lengths, name="idle"))
    found = run("score", *args)
    assert found[0] == code
    assert message in found[2]


def test_scores_that_would_not_count_are_warned_of(run, register):
    asked = tasks.dimension("tone", scorer_name="judge-1")
    document = tasks.task("t/2", TASK["cases"], [asked])
    Path("task.json").write_text(json.dumps(document), "utf-8")
    run("ingest", "task.json")
    register(tone=Tone)
    _, _, err = run("score", "t/2", "--dimension", "tone", "--scorer", "tone")
    assert "asks for 'judge-1', so the scores of `tone` will not count" in err


def test_ids_with_dots_and_slashes_have_files_of_their_own(run, register):
    from promptlab.scorers.job import _file_name

    pairs = [("a", "b.c"), ("a.b", "c"), ("a/b", "c"), ("../a", "c"), ("a", "../c")]
    names = {_file_name(*pair) for pair in pairs}
    assert len(names) == len(pairs)
    assert all("/" not in name and not name.startswith(".") for name in names)


@pytest.mark.slow
def test_scores_by_meaning_arrive_in_the_marts(run, register, model, monkeypatch):
    register(tone=Tone, semantic=SEMANTIC)
    monkeypatch.setenv("PROMPTLAB_SEMANTIC_MODEL", str(model))
    code, _, err = run("score", "--build")
    assert (code, err.splitlines()[-1]) == (0, "built promptlab.duckdb")
    found = stored(
        "select case_id, round_id, metric, score, reason from marts.fct_round_scores"
        " where dimension_id = 'accuracy' order by all"
    )
    assert found == [
        ("c1", "r1", 1.0, 1.0, None),
        ("c1", "r2", None, None, "scorer_could_not_judge"),
        ("c2", "r1", None, None, "scorer_could_not_judge"),
        ("c2", "r2", 0.0, 0.0, "error_round"),
        ("c3", "r1", None, None, "no_score"),
        ("c3", "r2", None, None, "error_round"),
    ]
    assert stored(
        "select dimension_id, score, n_rounds from marts.fct_dimension_scores"
        " where dimension_id in ('accuracy', 'tone') order by all"
    ) == [("accuracy", 0.5, 2), ("tone", 0.316667, 4)]
    codes = stored("select code from marts.fct_alerts where code like '%unknown%'")
    assert codes == [("unknown_scorer",)]  # wit


def test_a_memory_run_is_refused_in_words(run):
    run("ingest", EXAMPLES / "memory", "--quiet")
    [(memory_run,), *_] = stored("select distinct run_id from raw.memory_runs")
    code, _, err = run("score", memory_run)
    assert code == 2
    assert f"{memory_run} is a memory run" in err
