"""Labels of people are read from every format, and each mistake has its row."""

from __future__ import annotations

import base64
import contextlib
import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.sources import LabelOptions
from promptlab.errors import NothingToDo
from promptlab.ingest import labels
from promptlab.ingest.labels import row_id
from promptlab.ingest.reading.source import Source
from promptlab.warehouse import Warehouse
from tests.conftest import ROOT
from tests.history.runs import Run, even
from tests.judges.suite import formats, judged
from tests.marts import only

only_judges = only(
    "dim_tasks",
    "dim_cases",
    "fct_labels",
    "fct_judge_agreement",
    "fct_corrected_pass_rates",
    "fct_judge_stability",
    "fct_judge_changes",
)

NAMES = tuple(formats())


@pytest.fixture(scope="module")
@only_judges
def built(tmp_path_factory) -> Path:
    return judged(tmp_path_factory.mktemp("judged")).settings.db


@pytest.fixture
def warehouse(built, tmp_path) -> Warehouse:
    """A copy of the built warehouse for one test."""
    return Warehouse(shutil.copy(built, tmp_path / "w.duckdb"))


def rows(warehouse: Warehouse, sql: str) -> list[tuple]:
    with warehouse.connect() as con:
        return con.execute(sql).fetchall()


def load(warehouse, path, text: str, **options):
    path.write_text(text, "utf-8")
    found = warehouse.ingest(path, kind="labels", labels=LabelOptions(**options))
    return found.files[0]


def read(tmp_path, name: str, text: str, **options):
    return load(Warehouse(tmp_path / "labels.duckdb"), tmp_path / name, text, **options)


OF_A_FILE = {"line", "labeled_at", "comment"}
"""Columns in which the same labels differ from format to format."""


@pytest.mark.parametrize("name", NAMES)
def test_the_same_labels_are_read_from_every_format(tmp_path, name):
    def read(name: str) -> list[tuple]:
        data = formats()[name].encode()
        (reading,) = labels.read(Source(tmp_path, name, name, data=data))
        assert not reading.problems
        assert reading.records_loaded == 200
        columns = dict(reading.rows["labels"])
        # LangSmith names the round alone
        columns["task_id"] = [task or "run-1" for task in columns["task_id"]]
        kept = [columns[column] for column in sorted(columns.keys() - OF_A_FILE)]
        return sorted(zip(*kept, strict=True), key=str)

    assert read(name) == read("long.csv")


def test_the_same_file_again_changes_nothing_and_a_changed_one_replaces(
    warehouse, tmp_path
):
    text = formats()["long.csv"]
    assert load(warehouse, tmp_path / "a.csv", text).status == "loaded"
    assert load(warehouse, tmp_path / "a.csv", text).status == "unchanged"
    fewer = "\n".join(text.split("\n")[:-3])
    load(warehouse, tmp_path / "a.csv", fewer)
    assert rows(warehouse, "select count(*) from live.labels")[0][0] < 200
    with_policy = load(warehouse, tmp_path / "a.csv", text, policy="v2")
    assert with_policy.status == "loaded"
    assert rows(warehouse, "select distinct policy from live.labels") == [("v2",)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("round_id,labeler,label\nr,ann,maybe\n", 2, '"maybe" is not known'),
        ("round_id,label\nr,pass\n", 2, "does not say who labelled"),
        ("labeler,label\nann,pass\n", 2, "names no answer"),
        ("round_id,labeler,label\nr,ann,4\nr,bob,7\nr,eve,good\n", 4, "a grade from 0"),
        ('round_id,note,labeler,label\nr,"a,ann,pass\ns,b"c,ann,fail\n', 2, "quotes"),
        ("round_id,note,labeler,label\nr,a,b,ann,pass\n", 2, "a row of 5 cells"),
        ("round_id,labeler,label,weight\nr,ann,pass,-1\n", 2, "the weight"),
        (
            f"labeler,label,row\nann,pass,{row_id({'round': 'r', 'weight': -1})}\n",
            2,
            "the weight",
        ),
    ],
)
def test_a_bad_label_is_rejected_with_its_row(tmp_path, text, line, message):
    file = read(tmp_path, "bad.csv", text)
    problem = next(p for p in file.problems if p.severity == "reject")
    assert problem.line == line
    assert message in problem.message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "holds no labels; expected columns"),
        ("a.csv", "just a text\n", "holds no labels; expected columns"),
        ("a.csv", "a text\nin lines\n", "not a table of labels"),
        ("a.csv", "case_id,output\nc,x\n", "no column of labels"),
        ("a.json", "[]", "holds no labels"),
        ("a.jsonl", '{"a": 1}\n{"b"', "line 2 is not JSON"),
        ("a.json", "[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_a_file_without_labels_is_rejected_whole(tmp_path, name, text, message):
    file = read(tmp_path, name, text)
    assert file.status == "rejected"
    assert message in file.problems[0].message


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(("json", "jsonl"))])
def test_no_value_in_a_record_stops_the_other_labels(tmp_path, name):
    text = formats()[name]
    records = (
        json.loads(text)
        if name.endswith(".json")
        else [json.loads(line) for line in text.split("\n")]
    )
    for key in records[0]:
        for value in (None, 2**70, "", [], {}, "x", True, [[1]], {"a": [1]}):
            broken = [{**records[0], key: value}, *records[1:4]]
            source = Source(tmp_path, name, name, data=json.dumps(broken).encode())
            (file,) = labels.read(source)
            assert file.records_loaded >= 3, (key, value)
            numbers = {"line": int, "grade": float, "scale": float, "weight": float}
            for column, values in file.rows["labels"].items():
                kind = numbers.get(column, datetime if column == "labeled_at" else str)
                assert {type(each) for each in values} <= {kind, type(None)}, column


@pytest.mark.parametrize(
    "packed",
    ["[" * 50_000, "[1]", '{"task": "\\ud800"}', '{"task": 1' + "0" * 5_000 + "}"],
)
def test_a_damaged_row_id_stops_no_label(tmp_path, packed):
    row = base64.urlsafe_b64encode(packed.encode()).decode()
    text = f"round_id,labeler,label,row\nr,ann,pass,{row}\ns,ann,fail,\n"
    assert read(tmp_path, "a.csv", text).records_loaded == 2


def test_a_sheet_with_a_long_answer_is_read_back(tmp_path):
    text = f"round_id,output,labeler,label\nr,{'x' * 200_000},ann,pass\n"
    assert read(tmp_path, "a.csv", text).records_loaded == 1


def test_numbers_beyond_one_are_grades_and_not_verdicts(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    load(
        warehouse,
        tmp_path / "a.csv",
        "round_id,labeler,label\nr1,ann,1\nr2,ann,0\nr3,ann,4\n",
    )
    assert rows(
        warehouse, "select label, grade, scale from live.labels order by line"
    ) == [
        (None, 1.0, 5.0),
        (None, 0.0, 5.0),
        (None, 4.0, 5.0),
    ]


@only_judges
def test_rows_of_the_judges_prompt_and_of_disagreements_are_in_no_rate(
    warehouse, tmp_path
):
    load(
        warehouse,
        tmp_path / "a.csv",
        "round_id,labeler,label,split,draw\n"
        "c0-1,ann,fail,train,\nc1-1,ann,pass,,\nc2-1,ann,fail,,disagree\n",
        dimension="quality",
    )
    warehouse.build()
    assert rows(
        warehouse,
        "select n_judged from marts.fct_judge_agreement where slice_kind = 'all'",
    ) == [(1,)]


def test_a_purge_of_a_task_deletes_its_labels(warehouse, tmp_path, capsys):
    load(warehouse, tmp_path / "a.csv", formats()["long.csv"])
    db = str(tmp_path / "w.duckdb")
    assert run_cli(["purge", "--task", "run-1", "--yes", "--db", db]) == 0
    assert rows(warehouse, "select count(*) from live.labels") == [(0,)]


TUTORIAL = ROOT / "docs" / "judge-tutorial.md"


def commands(text: str, name: str) -> list[list[str]]:
    """Return the commands of this name in a text: in lines of a console, or in words."""
    found = re.findall(rf"(?:^\$ |`)promptlab ({name}[^`\n]*)", text, re.MULTILINE)
    return [shlex.split(each) for each in found]


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory) -> Path:
    """A folder after the first command of the tutorial."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(ROOT / "examples_labels", folder / "examples_labels")
    run, *_ = commands(TUTORIAL.read_text("utf-8"), "run")
    with contextlib.chdir(folder):
        assert run_cli([*run, "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("people", [1, 2])
def test_the_sheet_of_the_tutorial_is_loaded_by_the_command_that_is_reported(
    tutorial, tmp_path, monkeypatch, capsys, people
):
    monkeypatch.chdir(shutil.copytree(tutorial, tmp_path / "tutorial"))
    page = TUTORIAL.read_text("utf-8")
    out, *_ = commands(page, "labels out")
    out[out.index("--people") + 1] = str(people)
    assert run_cli(out) == 0
    [told] = commands(capsys.readouterr().err, "labels in")
    [wanted] = (
        each
        for each in commands(page, "labels in")
        if {"sheet.csv", "--db"} <= set(each)
    )
    with Path("sheet.csv").open(encoding="utf-8-sig") as file:
        head, *answers = list(csv.reader(file))
    for row in answers:
        row[3 : 3 + people] = ["pass"] * people
    if people == 2:
        head[3:5] = ["ann", "bob"]
    with Path("sheet.csv").open("w", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *answers])
    by = [each.replace("NAME", "ann") for each in told if each not in wanted]
    assert by == ([] if people == 2 else ["--by", "ann"])
    assert run_cli([*wanted, *by]) == 0
    assert f"{100 * people} labels by {people} labeler(s)" in capsys.readouterr().out


def test_labels_without_a_name_are_one_message(tmp_path):
    text = "round_id,label\n" + "r,pass\n" * 20 + "r,maybe\n"
    file = read(tmp_path, "bad.csv", text)
    assert file.records_rejected == 21
    nameless, unknown = file.problems
    assert nameless.line == 2
    assert nameless.message == (
        "20 labels do not say who labelled, the first in this line; name one person"
        " with --by NAME, or add a column `labeler`"
    )
    assert unknown.line == 22


@only_judges
def test_a_sheet_hides_the_judge_and_is_read_back(
    warehouse, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    call = ["--db", "w.duckdb"]
    out = ["labels", "out", "sheet.csv", "--dimension", "quality", "--n", "20"]
    assert run_cli([*out, "--draw", "verdict", "--people", "2", *call]) == 0
    with Path("sheet.csv").open(encoding="utf-8-sig") as file:
        sheet = list(csv.DictReader(file))
    assert len(sheet) == 20
    assert list(sheet[0]) == [
        "case_id", "input", "output", "label_1", "label_2", "comment", "row",
    ]  # fmt: skip
    assert not any("judge" in value for row in sheet for value in row.values())
    assert run_cli([*out, *call]) == 2  # labels are not overwritten
    assert "--force" in capsys.readouterr().err
    for row in sheet:
        row |= {"label_1": "pass", "label_2": "通过"}
    with Path("sheet.csv").open("w", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(sheet[0]))
        table.writeheader()
        table.writerows(sheet)
    assert run_cli(["labels", "in", "sheet.csv", "--format", "json", *call]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "labels": 40,
        "labelers": 2,
        "matched": 40,
        "unmatched": 0,
        "disputed": 0,
        "rejected": 0,
    }
    weights = rows(
        Warehouse("w.duckdb"),
        "select verdict, any_value(weight), count(distinct round_id)"
        " from marts.fct_labels group by all order by 1",
    )
    (failed, passed) = rows(
        Warehouse("w.duckdb"),
        "select count(*) from marts.fct_judge_verdicts where dimension_id = 'quality'"
        " group by verdict order by verdict",
    )
    assert weights == [("fail", failed[0] / 10, 10), ("pass", passed[0] / 10, 10)]


Step = Callable[[Path, str], Path]
"""Writes files of a story below a folder."""


def night(name: str, day: int, answer: str, title: str = "", **about: Any) -> Step:
    """Four answers that a judge passed: a text and the number of the case."""

    def write(folder: Path, story: str) -> Path:
        cases = even(1.0, 4, f"{story} c")
        texts = [{"raw_output": f"{answer}{n}"} for n in range(4)]
        Run(
            f"{name} of {story}", title or story, day, {story: cases}, **about,
            parameters={story: {"pass_score": 0.5}},
            rounds=dict(zip(cases, texts, strict=True)),
        ).write(folder / name)  # fmt: skip
        return folder / name

    return write


def labelling(
    words: str = "pass fail fail fail",
    name: str = "labels",
    task: str = "",
    output: str = "",
) -> Step:
    """Labels of these rounds, by their ids alone unless a task or an output is named."""

    def write(folder: Path, story: str) -> Path:
        row = {"round_id": f"{story} c{{n}}-1", "dimension": story, "labeler": "ann"}
        if task:
            row["task_id"] = f"{task} of {story}"
        if output:
            del row["round_id"]
            row |= {"case_id": f"{story} c{{n}}", "output": f"{output}{{n}}"}
        lines = [",".join([*row, "label"])] + [
            ",".join([*row.values(), word]).format(n=n)
            for n, word in enumerate(words.split())
        ]
        file = folder / f"{name}.csv"
        file.write_text("\n".join(lines), "utf-8")
        return file

    return write


SEEN = night("seen", 4, "yes ")
ANSWERED_ANEW = night("seen", 5, "no ")
STORIES: dict[str, list[Step]] = {
    "a round alone": [
        night("first", 4, "no "), night("seen", 5, "yes "), labelling(),
        night("of a day before", 1, "other "), night("of a later day", 9, "another "),
    ],
    "labels first": [labelling(), SEEN, night("second", 5, "other ")],
    "a repeated answer": [SEEN, labelling(output="yes "), night("second", 5, "yes ")],
    **{
        f"answered anew{task}": [
            SEEN, labelling(task=task), ANSWERED_ANEW, labelling(task=task, name="copy"),
            labelling("pass fail fail pass", task=task),
        ]
        for task in ("", "seen")
    },
    "long": [night("one", 1, "x" * 2_400)],
    "one title": [night("one", 4, "yes ", model="m1"), night("two", 4, "no ", model="m2")],
    "two titles": [night("one", 4, "a ", model="m1"), night("two", 4, "b ", "another", model="m2")],
}  # fmt: skip
"""Story → what is loaded, call by call; its name is its dimension and in its ids."""


@pytest.fixture(scope="module")
@only_judges
def told(tmp_path_factory) -> Warehouse:
    """A warehouse of all stories; tests only read it."""
    folder = tmp_path_factory.mktemp("stories")
    warehouse = Warehouse(folder / "w.duckdb")
    with warehouse.kept_open():
        for step in range(max(map(len, STORIES.values()))):
            files = []
            for story, steps in STORIES.items():
                (folder / story).mkdir(exist_ok=True)
                files += [
                    write(folder / story, story) for write in steps[step : step + 1]
                ]
            of_people = [file for file in files if file.suffix]
            warehouse.ingest(*(file for file in files if not file.suffix))
            if of_people:
                warehouse.ingest(*of_people, kind="labels")
        warehouse.build()
    return warehouse


def labelled(warehouse: Warehouse, story: str) -> list[str]:
    """Tasks of a story whose answers have labels."""
    found = rows(
        warehouse,
        "select distinct task_id from marts.fct_labels"
        f" where dimension_id = '{story}' order by all",
    )
    return [task_id.removesuffix(f" of {story}") for (task_id,) in found]


def counted(warehouse: Warehouse, story: str) -> list[tuple]:
    return rows(
        warehouse,
        "select n_judged, n_pass, n_fail, tnr from marts.fct_judge_agreement"
        f" where slice_kind = 'all' and dimension_id = '{story}'",
    )


def test_a_label_of_a_round_alone_belongs_to_the_run_that_was_there(told):
    """A run that is loaded later has rounds of the same ids, whatever its date."""
    assert labelled(told, "a round alone") == ["seen"]
    assert counted(told, "a round alone") == [(4, 1, 3, 0.0)]


def test_labels_may_come_before_the_run_that_they_are_of(told):
    assert labelled(told, "labels first") == ["seen"]


def test_a_repeated_answer_gives_no_more_labels(told):
    assert labelled(told, "a repeated answer") == ["second", "seen"]
    assert counted(told, "a repeated answer") == [(4, 1, 3, 0.0)]


@only_judges
def test_labels_of_a_round_go_with_the_answer_that_it_had(told, tmp_path):
    """A later run with the task id answered anew; so says the file that grows, too."""
    warehouse = Warehouse(shutil.copy(told.settings.db, tmp_path / "w.duckdb"))
    stories = ("answered anew", "answered anewseen")
    messages = rows(
        warehouse, "select message from raw.rejects where code = 'labels_outdated'"
    )
    for story in stories:
        assert (
            f'task "seen of {story}" has other answers than those that were loaded:'
            " 4 labels name rounds of that run, and no longer count. Label the new"
            " answers, or give another run a `task_id` of its own",
        ) in messages
    found = (
        "select dimension_id, case_id[-2:], label from marts.fct_labels"
        " where dimension_id like 'answered anew%' order by all"
    )
    assert rows(warehouse, found) == [(story, "c3", "pass") for story in stories]
    for story, task in zip(stories, ("", "seen"), strict=True):
        (tmp_path / story).mkdir()
        labelling("pass fail 1 fail", "other", task)(tmp_path / story, story)
    warehouse.ingest(*(tmp_path / story for story in stories), kind="labels")
    warehouse.build()
    assert [story for story, *_ in rows(warehouse, found)] == sorted(4 * stories)


@only_judges
def test_a_round_of_several_answers_is_distinguished_from_one_that_is_not_there(
    told, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    warehouse = Warehouse(shutil.copy(told.settings.db, "w.duckdb"))
    stories = ("one title", "two titles")
    one, other = (
        labelling()(tmp_path, story).read_text("utf-8").split("\n") for story in stories
    )
    text = "\n".join([*one, *other[1:], "gone,one title,ann,pass"])
    (tmp_path / "labels.csv").write_text(text, "utf-8")
    assert run_cli(["labels", "in", "labels.csv", "--db", "w.duckdb"]) == 0
    said = capsys.readouterr()
    assert "0 matched, 9 of answers that are not in the warehouse" in said.out
    assert "8 of the labels name a round that several answers have: add a" in said.err
    assert [labelled(warehouse, story) for story in stories] == [[], []]


@only_judges
def test_people_see_the_whole_answer_and_their_label_is_found(
    told, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    warehouse = Warehouse(shutil.copy(told.settings.db, "w.duckdb"))
    call = ["--dimension", "long", "--db", "w.duckdb"]
    out = ["labels", "out", "sheet.csv", "--task", "one of long", *call]
    assert run_cli(out) == 0
    with Path("sheet.csv").open(encoding="utf-8-sig") as file:
        sheet = list(csv.DictReader(file))
    assert sorted(row["output"] for row in sheet) == [
        "x" * 2_400 + str(n) for n in range(4)
    ]
    with Path("filled.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ["case_id", "output", "row", "labeler", "label"])
        table.writeheader()
        for row in sheet:
            # by the row of the sheet, and by the output alone
            for labeler, name in (("ann", "row"), ("bob", "output")):
                kept = {"case_id": row["case_id"], name: row[name]}
                table.writerow({**kept, "labeler": labeler, "label": "fail"})
    capsys.readouterr()
    assert run_cli(["labels", "in", "filled.csv", *call]) == 0
    assert "8 matched, 0 of answers that are not in" in capsys.readouterr().out
    assert counted(warehouse, "long") == [(4, 0, 4, 0.0)]


@only_judges
def test_judges_names_what_is_missing(warehouse, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["judges", "--db", "w.duckdb"]) == NothingToDo.exit_code
    assert "promptlab labels out" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text(formats()["long.csv"], "utf-8")
    assert run_cli(["labels", "in", "a.csv", "--db", "w.duckdb"]) == 0
    assert run_cli(["judges", "--db", "w.duckdb"]) == 0
    assert "judge-model rubric-1" in capsys.readouterr().out
    assert run_cli(["judges", "--min-tnr", "0.99", "--db", "w.duckdb"]) == 1
    for by in ("tag", "length", "model", "month", "title"):
        assert run_cli(["judges", "--by", by, "--db", "w.duckdb"]) == 0
    assert run_cli(["judges", "quality", "--db", "w.duckdb"]) == 0
    assert "corrected for the judge" in capsys.readouterr().out
    assert run_cli(["judges", "--by", "family", "--db", "w.duckdb"]) == 5
    assert "no labelled answer has a family" in capsys.readouterr().err


@pytest.mark.parametrize("second", ["Wrong fact", "pass"])
def test_a_question_is_a_dimension_where_several_have_pass_or_fail(second, tmp_path):
    """The second question is answered for one answer only."""

    def task(number: int, *said: tuple[str, str]) -> dict[str, Any]:
        results = [
            {"from_name": name, "type": "choices", "value": {"choices": [word]}}
            for name, word in said
        ]
        about = {"case_id": f"c{number}", "round_id": f"c{number}-1"}
        done = [{"completed_by": {"email": "ann@example.org"}, "result": results}]
        return {"id": number, "data": about, "annotations": done}

    tasks = [
        task(1, ("verdict", "fail"), ("tone", second)),
        task(2, ("verdict", "pass")),
    ]
    data = json.dumps(tasks).encode()
    options = LabelOptions(dimension="judge")
    source = Source(tmp_path, "a.json", "a.json", data=data, labels=options)
    [reading] = labels.read(source)
    found = list(reading.rows["labels"]["dimension_id"])
    is_word = second == "pass"
    assert found == (["verdict", "tone", "verdict"] if is_word else ["judge", "judge"])
