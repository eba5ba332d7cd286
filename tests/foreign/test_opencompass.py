"""OpenCompass's folders, and LawBench's and AISBench's: what each file has of a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.registry import recognise
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_from, reading_of, table
from tests.foreign.test_evalscope import FACTS
from tests.foreign.test_oracles import SHARED

RUN = "20260901_100000"
SEAS = ("Red", "Black", "White", "Yellow")


def _written(path: Path, files: Mapping[str, Any]) -> Path:
    """Write a run: text as it is, a list as lines, other values as JSON."""
    for name, content in files.items():
        file = path / RUN / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(f"{json.dumps(each)}\n" for each in content)
        text = content if isinstance(content, str) else json.dumps(content)
        file.write_text(text, "utf-8")
    return path


def _readings(path: Path) -> dict[str, Reading]:
    """The readings of a folder by ``model/title``; a file that is no run, by name."""
    found = {}
    for file, kind in plan([path]):
        if kind != "opencompass":
            continue
        reading = reading_from(file, kind)
        tasks = table(reading, "tasks")
        name = file.path.name
        if tasks.height:
            name = f"{tasks['model'][0]}/{tasks['title'][0]}"
        found[name] = reading
    return found


def _row(sea: str, answer: str | None = None, **more: Any) -> dict[str, Any]:
    prediction = sea if answer is None else answer
    return {"origin_prompt": f"{sea}?", "prediction": prediction, "gold": sea} | more


def _rows(*seas: str) -> dict[str, Any]:
    return {str(n): _row(sea) for n, sea in enumerate(seas)}


def _grouped(n: int, *verdicts: Any, abbr: str = "seas") -> dict[str, Any]:
    return {
        "example_abbr": f"{abbr}_{n}",
        "pred": ["x"] * len(verdicts),
        "correct": [*verdicts],
    }


def _answered(reading: Reading, *names: str) -> list[tuple[Any, ...]]:
    columns = names or ("case_id", "run_index", "raw_output", "reported_status")
    return table(reading, "rounds").select(columns).rows()


def _scores(reading: Reading, name: str = "value") -> dict[str, Any]:
    scores = table(reading, "reported_scores")
    return dict(scores.select("round_id", name).rows()) if scores.height else {}


def _told(reading: Reading) -> list[str]:
    return [f"{each.code}: {each.message}" for each in reading.problems]


PPL = {
    "in-context examples": "",
    "origin_prompt": "Sea?\nAnswer: Red",
    "label: Red": {"prompt": "Sea?\nAnswer: Red", "PPL": 2.5},
    "label: Black": {"prompt": "Sea?\nAnswer: Black", "PPL": 1.5},
    "prediction": "Black",
    "gold": "Black",
}
_PROMPTS = {"Red": PPL["label: Red"], "Black": PPL["label: Black"]}
SHAPES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "lists of replicas": (
        _rows("Red", "Black"),
        [_grouped(0, True), _grouped(1, False)],
        {"0-1": 1.0, "1-1": 0.0},
    ),
    "compared by perplexity": (
        {"0": PPL, "1": {**PPL, "gold": "Red"}},
        {
            "type": "PPL",
            "0": {
                "origin_prediction": _PROMPTS,
                "predictions": "Black",
                "correct": True,
            },
            "1": {
                "origin_prediction": _PROMPTS,
                "predictions": "Black",
                "correct": False,
            },
        },
        {"0-1": 1.0, "1-1": 0.0},
    ),
    "compared as texts": (
        _rows("Red", "Black"),
        {
            "type": "GEN",
            "0": {"predictions": "Red", "references": "Red"},
            "1": {"predictions": "1.0", "references": "1"},
        },
        {"0-1": 1.0, "1-1": 0.0},
    ),
    "of an evaluator that is older": (
        _rows("Red", "Black"),
        {"0": {"pred": "x", "is_correct": True}, "1": {"pred": "x", "is_correct": 0}},
        {"0-1": 1.0, "1-1": 0.0},
    ),
    "a judge's letters": (
        _rows("Red", "Black"),
        {
            "0": {"origin_prompt": "ok?", "prediction": "A", "gold": "Red"},
            "1": {"origin_prompt": "ok?", "prediction": "B", "gold": "Black"},
        },
        {"0-1": 1.0, "1-1": 0.0},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_details_of_every_shape_are_the_verdicts_of_the_answers(
    shape: str, tmp_path: Path
) -> None:
    rows, details, expected = SHAPES[shape]
    files = {
        "predictions/m/seas.json": rows,
        "results/m/seas.json": {"accuracy": 50.0, "details": details},
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert not reading.problems
    assert _scores(reading) == expected
    assert [output for _, _, output, _ in _answered(reading)] == [
        row["prediction"] for row in rows.values()
    ]
    claims = table(reading, "claims").select("dimension_id", "value").rows()
    main = table(reading, "dimension_configs")["dimension_id"][0]
    assert claims == [(None, 2.0), (main, 0.5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_alone_has_the_same_verdicts(shape: str, tmp_path: Path) -> None:
    _, details, expected = SHAPES[shape]
    result = {"accuracy": 50.0, "details": details}
    folder = _written(tmp_path, {"results/m/seas.json": result})
    (reading,) = _readings(folder).values()
    assert _scores(reading) == expected


def test_what_a_file_is_of_stands_in_its_path(tmp_path: Path) -> None:
    files = {
        "predictions/m/seas.json": _rows("Red"),
        "results/m/seas.json": {"accuracy": 100.0, "details": [_grouped(0, True)]},
        "summary/summary_1.csv": "dataset,version,metric,mode,m\nseas,aaaaaa,accuracy\n",
        "summary/summary_2.csv": "dataset,version,metric,mode,m\nseas,1b2c3d,accuracy\n",
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    (task,) = table(reading, "tasks").to_dicts()
    assert (task["title"], task["model"]) == ("seas", "m")
    assert (task["run_id"], task["prompt_version"]) == (RUN, "1b2c3d")
    assert task["created_at"].isoformat() == "2026-09-01T10:00:00+00:00"


@pytest.mark.parametrize(
    ("name", "line", "version"),
    [
        ("seas", "seas,1b2c3d,accuracy,gen,100.00", "1b2c3d"),
        # the tool quotes nothing, and writes a blank for a comma
        ("seas,north", "seas north,1b2c3d,accuracy,gen,100.00", "1b2c3d"),
        # groups are means of data sets
        ("all", "all,-,naive_average,gen,100.00", "unknown"),
        ("seas", "rivers,1b2c3d,accuracy,gen,100.00", "unknown"),
        ("seas", "seas", "unknown"),
    ],
)
def test_the_version_of_the_prompt_is_that_of_the_summary(
    name: str, line: str, version: str, tmp_path: Path
) -> None:
    files = {
        f"predictions/m/{name}.json": _rows("Red"),
        "summary/summary_1.csv": f"dataset,version,metric,mode,m\n{line}\n",
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert table(reading, "tasks")["prompt_version"].to_list() == [version]


QUESTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "a text": (_row("Red"), {"prompt": "Red?"}),
    "messages of an API": (
        _row("Red", origin_prompt=[{"role": "HUMAN", "prompt": "Red?"}]),
        {"messages": [{"role": "user", "content": "Red?"}]},
    ),
    # the first label's prompt was not what was asked
    "labels": (PPL, {"prompt": "Sea?\nAnswer: ", "labels": ["Red", "Black"]}),
    "nothing": (_row("Red", origin_prompt=None), {}),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_the_question_is_what_was_asked(what: str, tmp_path: Path) -> None:
    row, context = QUESTIONS[what]
    (reading,) = _readings(
        _written(tmp_path, {"predictions/m/seas.json": {"0": row}})
    ).values()
    assert json.loads(table(reading, "cases")["context"][0]) == context


@pytest.mark.parametrize(
    ("row", "detail", "golden"),
    [
        ({"gold": "a"}, {"references": "b"}, "a"),
        ({"refr": "a"}, {}, "a"),
        # the tool leaves out what is 0 or empty
        ({}, {"references": 0}, 0),
        ({}, {"references": ""}, ""),
        ({}, {"answer": ["a", "b"]}, ["a", "b"]),
    ],
)
def test_the_golden_answer_is_that_of_the_row_or_of_its_detail(
    row: dict[str, Any], detail: dict[str, Any], golden: Any, tmp_path: Path
) -> None:
    row = {"origin_prompt": "?", "prediction": "x", **row}
    files = {
        "predictions/m/seas.json": {"0": row},
        "results/m/seas.json": {
            "accuracy": 0,
            "details": {"0": {"pred": "x", **detail}},
        },
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert json.loads(table(reading, "baselines")["payload"][0]) == {"answer": golden}


def test_what_was_graded_is_kept_where_it_is_not_the_answer(tmp_path: Path) -> None:
    parsed = _grouped(0, True) | {"parsed": ["B"]}
    files = {
        "predictions/m/seas.json": {"0": _row("B", "It is B.")},
        "results/m/seas.json": {"accuracy": 100.0, "details": [parsed]},
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert table(reading, "rounds")["raw_output"].to_list() == ["It is B."]
    assert json.loads(table(reading, "rounds")["metadata"][0]) == {"graded": "B"}


@pytest.mark.parametrize(
    ("files", "tasks"),
    [
        # parts in the order of their numbers, and the places begin again in each
        ([*(f"seas_{n}" for n in range(11))], {"seas": 11}),
        (["seas_0", "seas_1"], {"seas": 2}),
        (["seas_0"], {"seas_0": 1}),
        (["seas_1", "seas_2"], {"seas_1": 1, "seas_2": 1}),
        # a result says what is a data set
        (["seas_0", "result seas"], {"seas": 1}),
        (
            ["seas_0", "seas_1", "result seas_0", "result seas_1"],
            {"seas_0": 1, "seas_1": 1},
        ),
        # a whole file counts before its parts, as in the tool
        (["seas", "seas_0", "seas_1"], {"seas": 1}),
    ],
    ids=" ".join,
)
def test_parts_of_a_data_set_are_one_task(
    files: list[str], tasks: dict[str, int], tmp_path: Path
) -> None:
    written: dict[str, Any] = {}
    for n, name in enumerate(files):
        abbr = name.removeprefix("result ")
        if name == abbr:
            written[f"predictions/m/{name}.json"] = {"0": _row(f"sea {n}")}
        else:
            written[f"results/m/{abbr}.json"] = {"accuracy": 100.0}
    readings = _readings(_written(tmp_path, written))
    assert {name: table(each, "cases").height for name, each in readings.items()} == {
        f"m/{name}": n for name, n in tasks.items()
    }
    if len(files) == 11:
        assert _answered(readings["m/seas"], "case_id", "raw_output") == [
            (str(n), f"sea {n}") for n in range(11)
        ]


_TWICE = _rows("Red", "Black", "Red", "Black")
REPEATS: dict[str, tuple[Any, Any]] = {
    "details": (
        {"accuracy (2 runs average)": 75.0, "seas/G-Pass@2_0.5": 100.0},
        [_grouped(0, True, True) | {"G-Pass@2_0.5": 1.0}, _grouped(1, False, True)],
    ),
    "totals alone": ({"accuracy (2 runs average)": 75.0}, None),
    "details of all rows": (
        {"accuracy (2 runs average)": 75.0},
        {
            str(n): {"predictions": sea, "references": "Black" if n % 2 else "Red"}
            for n, sea in enumerate(("Red", "White", "Red", "Black"))
        },
    ),
    "no result": (None, None),
}


@pytest.mark.parametrize("result", REPEATS)
def test_replicas_are_rounds(result: str, tmp_path: Path) -> None:
    totals, details = REPEATS[result]
    files: dict[str, Any] = {"predictions/m/seas.json": _TWICE}
    if totals is not None:
        document = {**totals} if details is None else {**totals, "details": details}
        files["results/m/seas.json"] = document
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert sorted(_answered(reading, "case_id", "run_index", "raw_output")) == [
        ("0", 1, "Red"),
        ("0", 2, "Red"),
        ("1", 1, "Black"),
        ("1", 2, "Black"),
    ]
    expected = {"0-1": 1.0, "0-2": 1.0, "1-1": 0.0, "1-2": 1.0}
    assert _scores(reading) == (expected if details else {})
    assert {each["dimension_id"] for each in table(reading, "claims").to_dicts()} == (
        {None, "correct"} if details else {None}
    )


@pytest.mark.parametrize(
    ("seas", "n_cases"),
    [
        (("Red", "Red", "Red"), 3),  # one question is perhaps three
        (("Red", "Black", "Red"), 3),
        (("Red", "Black", "Black", "Red"), 4),
    ],
)
def test_questions_that_come_again_otherwise_are_cases(
    seas: tuple[str, ...], n_cases: int, tmp_path: Path
) -> None:
    folder = _written(tmp_path, {"predictions/m/seas.json": _rows(*seas)})
    (reading,) = _readings(folder).values()
    assert table(reading, "cases").height == n_cases


def test_a_sampled_case_is_known_by_its_place_in_the_whole_data_set(
    tmp_path: Path,
) -> None:
    details = [_grouped(7, True), _grouped(0, True, abbr="seas_of the north")]
    files = {
        "predictions/m/seas.json": _rows("Red", "Black"),
        "results/m/seas.json": {"accuracy": 100.0, "details": details},
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    cases = table(reading, "cases")["case_id"].to_list()
    assert cases == ["7", "of the north_0"]


UNJUDGED: dict[str, tuple[Any, str]] = {
    "no result": (None, "no `results` are there"),
    "totals alone": ({"accuracy": 50.0}, "--dump-eval-details"),
    "another metric": (
        {
            "rouge1": 31.5,
            "details": {
                "0": {"predictions": "Red", "references": "Red"},
                "1": {"predictions": "White", "references": "Black"},
            },
        },
        "the details of the result have none",
    ),
    "another accuracy": (
        {
            "accuracy": 75.0,
            "details": {
                "0": {"predictions": "Red", "references": "Red"},
                "1": {"predictions": "White", "references": "Black"},
            },
        },
        "the details of the result have none",
    ),
}


@pytest.mark.parametrize("what", UNJUDGED)
def test_answers_without_a_verdict_are_unevaluated_and_one_line_says_why(
    what: str, tmp_path: Path
) -> None:
    result, why = UNJUDGED[what]
    files = {"predictions/m/seas.json": _rows("Red", "Black")}
    if result is not None:
        files["results/m/seas.json"] = result
    (reading,) = _readings(_written(tmp_path, files)).values()
    (line,) = _told(reading)
    assert line.startswith("verdict_missing: 2 answers have no verdict")
    assert why in line
    assert len(line) <= 200
    assert [status for *_, status in _answered(reading)] == ["unevaluated"] * 2
    assert not _scores(reading)


@pytest.mark.parametrize("key", ["origin_grade_response", "prediction"])
def test_a_judge_that_gave_no_grade_fails_no_answer(key: str, tmp_path: Path) -> None:
    grades = ("A", "the request failed", "B")
    details = {str(n): {"pred": "x", key: grade} for n, grade in enumerate(grades)}
    if key == "origin_grade_response":
        for n, each in details.items():
            each["correct"] = n == "0"  # type: ignore[assignment]
    files = {
        "predictions/m/seas.json": _rows("Red", "Black", "White"),
        "results/m/seas.json": {"accuracy": 100 / 3, "details": details},
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert _scores(reading) == {"0-1": 1.0, "2-1": 0.0}
    statuses = [status for *_, status in _answered(reading)]
    assert statuses == [None, "unevaluated", None]
    (line,) = _told(reading)
    assert "its judge gave no grade" in line


@pytest.mark.parametrize("accuracy", [0.5, 1.0])
def test_a_total_that_may_be_a_share_is_not_claimed(
    accuracy: float, tmp_path: Path
) -> None:
    result = {"accuracy": accuracy, "details": [_grouped(0, True), _grouped(1, False)]}
    (reading,) = _readings(_written(tmp_path, {"results/m/seas.json": result})).values()
    assert table(reading, "claims")["dimension_id"].to_list() == [None]


def _chat(n: int, **more: Any) -> dict[str, Any]:
    base = {"data_abbr": "seas", "id": n, "success": True, "uuid": f"u{n}"}
    return base | _row(SEAS[n]) | more


FAILED = {"data_abbr": "seas", "id": 2, "input": "White?", "error_info": "503: busy"}
MISSING: dict[str, dict[str, Any]] = {
    "a file of failed requests": {
        "predictions/m/seas.jsonl": [_chat(3), _chat(1), _chat(0)],
        "predictions/m/seas_failed.jsonl": [FAILED],
    },
    "a row that says so": {
        "predictions/m/seas.jsonl": [
            *(_chat(n) for n in (3, 1, 0)),
            _chat(2, success=False, prediction="", error_info="503: busy"),
        ],
    },
    "a gap in the places": {
        "predictions/m/seas.json": {
            key: row for key, row in _rows(*SEAS).items() if key != "2"
        },
    },
}


@pytest.mark.parametrize("what", MISSING)
def test_a_request_that_failed_is_a_missing_case_and_is_named(
    what: str, tmp_path: Path
) -> None:
    ((name, reading),) = _readings(_written(tmp_path, MISSING[what])).items()
    assert name == "m/seas"
    assert [case for case, *_ in _answered(reading)] == ["0", "1", "3"]
    line = _told(reading)[0]
    assert line.startswith("rows_missing: 1 request has no answer")
    assert "place 2" in line
    assert ("(503: busy)" in line) == (what != "a gap in the places")
    assert table(reading, "claims")["value"].to_list() == [4.0]


def test_a_failed_request_is_missing_though_a_stand_in_was_evaluated(
    tmp_path: Path,
) -> None:
    details = [_grouped(n, n != 2) for n in range(4)]
    result = {"accuracy": 75.0, "details": details}
    files = MISSING["a file of failed requests"] | {"results/m/seas.json": result}
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert _scores(reading) == {f"{n}-1": 1.0 for n in (0, 1, 3)}
    (line,) = _told(reading)
    assert "place 2" in line
    # the accuracy of the tool counts the stand-in
    claims = table(reading, "claims").select("dimension_id", "value").rows()
    assert claims == [(None, 4.0)]


def test_a_failed_request_that_was_sent_again_is_not_missing(tmp_path: Path) -> None:
    files = {
        "predictions/m/seas.jsonl": [_chat(n) for n in (2, 0, 1, 3)],
        "predictions/m/seas_failed.jsonl": [FAILED],
        "results/m/seas.json": {
            "accuracy": 100.0,
            "details": [_grouped(n, True) for n in range(4)],
        },
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert not reading.problems
    assert _scores(reading) == {f"{n}-1": 1.0 for n in range(4)}


_TMP = [{"idx": "0", "origin_prompt": "Red?", "prediction": "Red", "gold": "Red"}]
NO_RUN: dict[str, dict[str, Any]] = {
    "is what a run that stopped has so far": {"predictions/m/tmp_seas.jsonl": _TMP},
    "has only requests that failed": {"predictions/m/seas_failed.jsonl": [FAILED]},
    "has times of requests": {
        "predictions/m/seas_details.jsonl": [
            {"data_abbr": "seas", "id": 0, "success": True, "db_name": "seas.db"}
        ]
    },
    "has the answers of a judge": {"results/m/seas.json": _rows("A")},
    "has totals, and no cases": {
        "summary/summary_1.csv": "dataset,version,metric,mode,m\nseas,1,accuracy,gen,5\n"
    },
}


@pytest.mark.parametrize("what", NO_RUN)
def test_a_file_that_is_no_run_is_left_out_with_one_line(
    what: str, tmp_path: Path
) -> None:
    (reading,) = _readings(_written(tmp_path, NO_RUN[what])).values()
    assert not reading.rejected
    assert not reading.rows
    (line,) = _told(reading)
    assert what in line
    assert len(line) <= 200
    assert ". Give the whole folder" in line or ". Finish" in line or "times" in line


def test_beside_a_run_they_are_not_reported(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "predictions/m/seas.json": _rows("Red"),
        "results/m/seas.json": {"accuracy": 100.0, "details": [_grouped(0, True)]},
        "predictions/m/tmp_seas.jsonl": _TMP,
        "results/m/tmp_seas.jsonl": _TMP,
        "summary/summary_1.csv": "dataset,version,metric,mode,m\nseas,1,accuracy,gen,5\n",
        "summary/summary_1.md": "| dataset | version | metric | mode | m |\n"
        "|----- | -----|-----|-----|-----|\n| seas | 1 | accuracy | gen | 100.00 |\n",
        "summary/summary_1.txt": "1\ntabulate format\n^^^^\ndataset,version,metric,mode\n",
        "configs/1.py": "datasets=[]\n",
    }
    loads = Warehouse(tmp_path / "w.duckdb").ingest(_written(tmp_path / "in", files))
    assert loads.n_loaded == 1
    assert not [each for load in loads.files for each in load.problems]


def test_a_summary_in_a_folder_of_several_runs_is_that_of_its_own(
    tmp_path: Path,
) -> None:
    files = {
        "a/predictions/m/seas.json": _rows("Red"),
        "b/predictions/m/seas.json": _rows("Black"),
        "b/zero_shot_results.csv": "task,model_name,score,abstention_rate\nseas,m,1,0\n",
        "c/summary/summary_1.csv": "dataset,version,metric,mode,m\nseas,1,acc,gen,5\n",
    }
    found = plan([_written(tmp_path, files)])
    assert sorted(len(file.companions) for file, _ in found) == [0, 0, 1]


SETTINGS = ("zero_shot", "one_shot")


def test_lawbench_has_totals_and_no_verdicts(tmp_path: Path) -> None:
    csv = "task,model_name,score,abstention_rate\n1-2,m,0.5,0.0\n"
    files = {
        "predictions/zero_shot/m/1-2.json": _rows("Red", "Black"),
        "zero_shot_results.csv": csv,
    }
    (reading,) = _readings(_written(tmp_path, files)).values()
    (line,) = _told(reading)
    assert "2 answers have no verdict" in line
    assert "only totals are there" in line
    assert table(reading, "claims")["dimension_id"].to_list() == [None]


def test_settings_of_lawbench_are_tasks_of_their_own(tmp_path: Path) -> None:
    asked = [{"role": "HUMAN", "prompt": "Which? A or B."}]
    row = {"origin_prompt": asked, "prediction": "B", "refr": "Answer: B."}
    files = {f"predictions/{each}/m/1-2.json": {"0": row} for each in SETTINGS}
    readings = _readings(_written(tmp_path, files))
    assert set(readings) == {f"m/{each}/1-2" for each in SETTINGS}
    for reading in readings.values():
        assert json.loads(table(reading, "baselines")["payload"][0]) == {
            "answer": "Answer: B."
        }


def test_a_folder_without_a_time_in_its_name_is_a_run_by_its_content(
    tmp_path: Path,
) -> None:
    runs = []
    for n, seas in enumerate((("Red", "Black"), ("Red", "White"))):
        folder = tmp_path / str(n)
        for name in ("latest", "same"):
            file = folder / name / "predictions" / "m" / "seas.json"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(_rows(*seas)), "utf-8")
            (reading,) = _readings(folder / name).values()
            runs.append(set(reading.runs))
    assert runs[0] == runs[1]
    assert runs[2] == runs[3]
    assert not runs[0] & runs[2]


def test_what_was_evaluated_again_in_its_folder_is_a_newer_version(
    tmp_path: Path,
) -> None:
    files: dict[str, Any] = {
        "predictions/m/seas.json": _rows("Red", "Black"),
        "results/m/seas.json": {"accuracy": 50.0},
    }
    folder = _written(tmp_path / "in", files)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(folder)
    details = [_grouped(0, True), _grouped(1, False)]
    files["results/m/seas.json"] = {"accuracy": 50.0, "details": details}
    _written(tmp_path / "in", files)
    assert warehouse.ingest(folder).n_loaded == 1
    assert warehouse.sql("select count(*) from live.tasks").rows() == [(1,)]
    scored = "select count(*) from live.rounds where reported_status is null"
    assert warehouse.sql(scored).rows() == [(2,)]


ODD: dict[str, tuple[Any, Any]] = {
    "a row that is no object": ({"0": _row("Red"), "1": [1]}, None),
    "a key that is no place": ({"0": _row("Red"), "x": _row("Black")}, None),
    "a place beyond all": ({"0": _row("Red"), "9" * 40: _row("Black")}, None),
    "a detail that is no object": (_rows("Red"), {"accuracy": 1.5, "details": [3]}),
    "replicas of other lengths": (
        _rows("Red", "Black"),
        {
            "accuracy": 50.0,
            "details": [_grouped(0, True, False, True), _grouped(1, True)],
        },
    ),
    "more rows than details": (
        _rows(*SEAS),
        {"accuracy": 100.0, "details": [_grouped(0, True)]},
    ),
    "a result that is a list": (_rows("Red"), "[1]"),
    "a number of replicas without end": (
        _rows("Red"),
        {"accuracy (999999999 runs average)": 5.0, "details": {"0": {"pred": 1}}},
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_file_is_read_as_far_as_it_goes_and_its_fault_is_reported(
    what: str, tmp_path: Path
) -> None:
    rows, result = ODD[what]
    files = {"predictions/m/seas.json": rows}
    if result is not None:
        files["results/m/seas.json"] = result
    found = [
        (file, kind)
        for file, kind in plan([_written(tmp_path, files)])
        if kind == "opencompass"
    ]
    for file, kind in found:
        reading = reading_from(file, kind)
        assert reading.problems
        assert all(len(each) <= 240 for each in _told(reading))
        if not reading.rejected:
            assert table(reading, "rounds").height >= 1


def test_a_result_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    files = {"predictions/m/seas.json": _rows("Red"), "results/m/seas.json": '{"acc'}
    (reading,) = _readings(_written(tmp_path, files)).values()
    assert reading.rejected
    (problem,) = reading.problems
    assert problem.pointer == "results/m/seas.json"
    assert len(problem.message) <= 200


NOT_THEIRS = {
    "answers of a conversation": b'{"0": {"question": "a", "response": "b"}}',
    "totals of somebody": b'{"accuracy": 0.5}',
    "details of somebody": b'{"score": 1, "details": {"a": 1}}',
    "details without answers": b'{"details": [{"case": 1, "ok": true}]}',
    "rows of somebody": b'{"id": 1, "prediction": "a", "gold": "b"}\n',
    "a table": b"dataset,metric,score\nseas,accuracy,1\n",
}


@pytest.mark.parametrize("what", NOT_THEIRS)
def test_what_only_looks_alike_is_nobodys(what: str) -> None:
    assert (recognise(Head(NOT_THEIRS[what])) or ("", ""))[0] != "opencompass"


def test_a_file_beyond_what_is_looked_at_is_recognised_by_its_beginning() -> None:
    rows = {str(n): _row("Red", "x" * 500) for n in range(50)}
    written = json.dumps(rows).encode()
    assert recognise(Head(written[: len(written) // 2])) == (
        "opencompass",
        "prediction",
    )


def test_two_nights_pair_by_case(tmp_path: Path) -> None:
    nights = sorted((DATA / "opencompass").iterdir())
    first, second = (dict(_scores(reading_of(night))) for night in nights)
    assert first == {"0-1": 1.0, "1-1": 1.0, "2-1": 0.0, "3-1": 1.0}
    assert second == {"0-1": 1.0, "1-1": 1.0, "2-1": 1.0, "3-1": 0.0}


# ---------- facts of real files


def _runs(tool: str) -> list[tuple[str, str]]:
    return [(tool, run) for run in FACTS.get(tool, {"runs": ()})["runs"]]


def _shared(tool: str, run: str) -> dict[str, Reading]:
    return _readings(SHARED / tool / run)


@pytest.mark.parametrize(("_", "run"), _runs("opencompass"))
def test_results_have_the_rows_cases_and_verdicts_of_the_files(
    _: str, run: str
) -> None:
    readings, facts = _shared("opencompass", run), FACTS["opencompass"]["runs"][run]
    n_rows: Counter[str] = Counter()
    for name, fact in facts["predictions"].items():
        if fact["unfinished"]:
            (reading,) = readings.values()
            assert _told(reading)[0].startswith("no_run")
            return
        _, model, file = name.split("/")
        title = file.removesuffix(".json")
        if "split_offsets" in facts:
            title = re.sub(r"_\d+$", "", title)
        n_rows[f"{model}/{title}"] += fact["rows"]
    assert set(n_rows) == set(readings)
    for fact in facts["results"].values():
        reading = readings[f"{fact['model']}/{fact['dataset']}"]
        rounds = table(reading, "rounds")
        assert rounds.height == n_rows[f"{fact['model']}/{fact['dataset']}"]
        if fact["cases"] is None:
            assert set(rounds["reported_status"]) == {"unevaluated"}
            continue
        assert rounds["case_id"].n_unique() == fact["cases"]
        scores = table(reading, "reported_scores")
        passes = fact.get("passes", fact.get("attempts_correct"))
        assert scores["value"].sum() == passes
        claims = dict(table(reading, "claims").select("dimension_id", "value").rows())
        share = fact.get("accuracy_from_cases", fact.get("accuracy_over_attempts"))
        assert claims["correct"] == pytest.approx(share / 100, abs=1e-6)
        for case, pattern in fact.get("pattern", {}).items():
            values = scores.filter(case_id=case).sort("round_id")["value"]
            assert "".join(f"{value:.0f}" for value in values) == pattern
        versions = {row[0]: row[1] for row in facts["summary"] if row[1] != "-"}
        task = table(reading, "tasks").row(0, named=True)
        assert task["prompt_version"] == versions[fact["dataset"]]


def test_parts_have_the_places_of_the_whole() -> None:
    if "opencompass" not in FACTS:
        pytest.skip("no real files of the tool at hand")
    (split,) = _shared("opencompass", "split").values()
    whole = _shared("opencompass", "night1")["qwen-plus-sim/合同法_选择_gen"]
    for name in ("cases", "rounds", "reported_scores"):
        first, second = (table(each, name).drop("task_id") for each in (split, whole))
        assert first.equals(second)


def _passes(tool: str, reading: Reading) -> dict[str, bool]:
    """Case → whether it passes: by its score, else as the facts define it."""
    if tool == "opencompass":
        scores = table(reading, "reported_scores")
        return {case: value == 1 for case, value in scores["case_id", "value"].rows()}
    golden = dict(table(reading, "baselines")["case_id", "payload"].rows())
    found = {}
    for case, output in table(reading, "rounds")["case_id", "raw_output"].rows():
        right = json.loads(golden[case])["answer"]
        found[case] = output == right
        if tool == "lawbench":  # the right letter, and no other
            letter = re.findall("[A-D]", right)
            found[case] = set(re.findall("[A-D]", output.replace("<eoa>", ""))) == {
                *letter
            }
    return found


PAIRS = [
    (tool, pair)
    for tool in ("opencompass", "lawbench", "aisbench")
    for pair in FACTS.get(tool, {"pairs": ()})["pairs"]
]


@pytest.mark.parametrize(("tool", "pair"), PAIRS)
def test_two_nights_differ_as_the_facts_say(tool: str, pair: str) -> None:
    fact = FACTS[tool]["pairs"][pair]
    name = pair.replace(" / ", "/")
    if tool == "lawbench":
        name = name.replace("/", "/zero_shot/")
    if tool == "aisbench":
        name = "vllm-api-general-chat/算术_问答"
    first, second = (
        _passes(tool, _shared(tool, night)[name]) for night in ("night1", "night2")
    )
    both = sorted(first.keys() & second.keys())
    assert len(both) == fact["in_both"]
    assert sorted(first.keys() - second.keys()) == [*map(str, fact["only_first"])]
    assert sorted(second.keys() - first.keys()) == [*map(str, fact["only_second"])]
    broke = [case for case in both if first[case] and not second[case]]
    fixed = [case for case in both if second[case] and not first[case]]
    assert (broke, fixed) == tuple([*map(str, fact[k])] for k in ("broke", "fixed"))
    assert sum(first[case] for case in both) == fact["passed_first"]
    assert sum(second[case] for case in both) == fact["passed_second"]


@pytest.mark.parametrize(("tool", "run"), _runs("lawbench") + _runs("aisbench"))
def test_predictions_of_relatives_have_the_rows_of_the_files(
    tool: str, run: str
) -> None:
    readings = _shared(tool, run)
    facts = FACTS[tool]["runs"][run]["files"]
    finished = {name: fact for name, fact in facts.items() if not fact.get("failed")}
    assert len(readings) == len(finished)
    for name, fact in finished.items():
        key = name.replace("/", "/zero_shot/")
        reading = readings[key] if key in readings else next(iter(readings.values()))
        passes = _passes(tool, reading)
        assert table(reading, "rounds").height == fact["rows"]
        assert sum(passes.values()) == fact.get("passes", fact.get("equal_to_gold"))
    failed = [
        id_
        for each in facts.values()
        if each.get("failed")
        for id_ in each["ids_in_file_order"]
    ]
    told = " ".join(line for each in readings.values() for line in _told(each))
    assert all(f"place {each}" in told for each in failed)
    assert bool(failed) == ("rows_missing" in told)
