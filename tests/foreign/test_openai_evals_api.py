"""Output items of OpenAI's Evals API and of Azure Foundry, as people export them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table

EARLY = DATA / "openai_evals_api" / "early"
PAGES = [
    json.loads((EARLY / f"output_items_{n}.json").read_text("utf-8")) for n in (1, 2)
]
ITEMS: list[dict[str, Any]] = [item for page in PAGES for item in page["data"]]
RUN, EVAL = (
    json.loads((EARLY / f"{name}.json").read_text("utf-8")) for name in ("run", "eval")
)
ROWS = ("cases", "rounds", "reported_checks", "reported_scores")


def _copy() -> list[dict[str, Any]]:
    copied: list[dict[str, Any]] = json.loads(json.dumps(ITEMS))
    return copied


def _read(folder: Path, document: Any, name: str = "items.json") -> Reading:
    (folder / name).write_text(json.dumps(document), "utf-8")
    return reading_of(folder / name)


def _lines(objects: list[Any]) -> str:
    return "\n".join(map(json.dumps, objects))


def test_an_item_is_a_case_with_its_answer_verdict_and_scores() -> None:
    reading = reading_of(EARLY)
    assert not reading.problems
    (task,) = table(reading, "tasks").to_dicts()
    assert task["title"] == "seas of rivers"
    assert task["model"] == "acme-small-2026-10"
    assert task["prompt_version"] == "short prompt"
    assert task["run_id"] == "evalrun_early"
    assert json.loads(task["settings"])["temperature"] == 0.2
    assert json.loads(task["extras"])["prompt"][0]["role"] == "developer"
    cases = table(reading, "cases")
    assert cases["case_id"][0] == "Into which sea does the Rhine flow?"
    assert json.loads(cases["context"][0]) == {"question": cases["case_id"][0]}
    assert json.loads(table(reading, "baselines")["payload"][0]) == {
        "answer": "North Sea"
    }
    rounds = table(reading, "rounds")
    assert rounds["reported_status"].to_list() == ["pass", "pass", "pass", "fail"]
    assert rounds["raw_output"][3] == "North Sea"
    assert rounds["input_tokens"].to_list() == [19, 20, 21, 22]
    checks = table(reading, "reported_checks")
    assert checks["name"].unique().sort().to_list() == ["Right sea", "Tone"]
    right = table(reading, "reported_scores").filter(dimension_id="Right sea")
    assert right["score"].to_list() == [1, 1, 1, 0]
    assert table(reading, "judges").select("name", "model").rows() == [
        ("Tone", "acme-judge")
    ]
    assert table(reading, "claims")["value"].to_list() == [4]


LAYOUTS: dict[str, Callable[[], str]] = {
    "one page": lambda: json.dumps({**PAGES[0], "data": ITEMS, "has_more": False}),
    "an indented page": lambda: json.dumps(
        {**PAGES[0], "data": ITEMS, "has_more": False}, indent=2
    ),
    "a list": lambda: json.dumps(ITEMS),
    "an indented list": lambda: json.dumps(ITEMS, indent=2),
    "a list of pages": lambda: json.dumps(PAGES),
    "lines": lambda: _lines(ITEMS),
    "lines from the last to the first": lambda: _lines(ITEMS[::-1]),
    "lines of pages": lambda: _lines(PAGES),
    "with its run and eval": lambda: json.dumps(
        {"eval": EVAL, "run": RUN, "output_items": ITEMS}
    ),
    "lines after its run and eval": lambda: _lines([EVAL, RUN, *ITEMS]),
    "two exports joined": lambda: _lines([*ITEMS, *ITEMS]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_of_an_export_is_the_same_run(layout: str, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(LAYOUTS[layout](), "utf-8")
    reading = reading_of(file)
    pages = reading_of(EARLY)
    assert reading.runs == pages.runs
    for name in ROWS:
        assert table(reading, name).equals(table(pages, name)), name
    codes = [each.code for each in reading.problems]
    assert codes == (["repeated_row"] if "joined" in layout else [])


def test_a_page_that_is_missing_is_reported(tmp_path: Path) -> None:
    reading = _read(tmp_path, PAGES[0])
    assert [each.code for each in reading.problems] == ["rows_missing"]


def test_runs_of_one_file_and_of_one_folder_are_runs(tmp_path: Path) -> None:
    late = DATA / "openai_evals_api" / "late"
    for n, file in enumerate([*EARLY.iterdir(), *late.iterdir()]):
        shutil.copy(file, tmp_path / f"{n}.json")
    found = plan([tmp_path])
    assert len(found) == 2
    joined = _copy()
    for each in joined:
        each |= {"run_id": "evalrun_2", "id": f"{each['id']}-2"}
    reading = _read(tmp_path, [*ITEMS, *joined], "both.json")
    assert set(reading.runs) == {"evalrun_early", "evalrun_2"}
    assert table(reading, "rounds").height == 8


def test_a_run_without_items_says_what_to_export(tmp_path: Path) -> None:
    reading = _read(tmp_path, RUN)
    (problem,) = reading.problems
    assert problem.code == "totals_only"
    assert "output_items" in problem.message
    assert not reading.runs


Item = dict[str, Any]


def _judge_broke(item: Item) -> None:
    item["results"][1] |= {"passed": False, "score": 0.0}
    item["results"][1]["sample"] = {"error": {"code": "429", "message": "too many"}}
    item["status"] = "fail"


def _judge_broke_beside_a_failure(item: Item) -> None:
    _judge_broke(item)
    item["results"][0] |= {"passed": False, "score": 0.0}


def _failed_in_a_request(item: Item) -> None:
    item["status"] = "completed"
    item["results"][0]["passed"] = False


def _answer_broke(item: Item) -> None:
    item["sample"] |= {"error": {"code": "500", "message": "no answer"}, "output": []}
    item |= {"results": [], "status": "fail"}


STATES: dict[str, tuple[Callable[[Item], None], str | None]] = {
    "as it is": (lambda _: None, "pass"),
    "the state of a request": (lambda item: item.update(status="completed"), "pass"),
    "a state, and a grader that failed it": (_failed_in_a_request, "fail"),
    "a judge that broke": (_judge_broke, "unevaluated"),
    "a judge that broke beside a failure": (_judge_broke_beside_a_failure, "fail"),
    "a judge without a verdict and a number": (
        lambda item: item["results"][1].update(passed=None, score=None),
        "unevaluated",
    ),
    "a judge that skipped": (
        lambda item: item["results"][1].update(status="skipped", passed=False),
        "unevaluated",
    ),
    "a number without a verdict": (
        lambda item: item["results"][1].update(passed=None),
        "pass",
    ),
    "an answer that broke": (_answer_broke, "error"),
    "an item that broke": (lambda item: item.update(status="errored"), "error"),
    "no results, but a verdict": (lambda item: item.update(results=[]), "pass"),
    "no results, and a state": (
        lambda item: item.update(results=[], status="completed"),
        None,
    ),
}


@pytest.mark.parametrize("what", STATES)
def test_what_broke_is_no_failure_of_the_answer(what: str, tmp_path: Path) -> None:
    change, expected = STATES[what]
    items = _copy()
    change(items[0])
    reading = _read(tmp_path, items)
    rounds = table(reading, "rounds")
    assert rounds["reported_status"][0] == expected
    told = [each.code for each in reading.problems]
    is_unjudged = what.startswith(("a judge that", "a judge without"))
    assert told == (["verdict_missing"] if is_unjudged else [])
    scores = table(reading, "reported_scores").filter(
        case_id=rounds["case_id"][0], dimension_id="Tone"
    )
    if is_unjudged:
        assert scores["value"].to_list() == [None]
    errors = table(reading, "reported_checks")["error"].drop_nulls().to_list()
    assert errors == (
        ["too many"] if "broke" in what and is_unjudged else
        ["status skipped"] if "skipped" in what else []
    )  # fmt: skip


def test_a_case_is_known_by_what_it_asks_in_a_data_set_of_another_order(
    tmp_path: Path,
) -> None:
    moved = _copy()
    for each in moved:
        each["datasource_item_id"] = 3 - each["datasource_item_id"]
        each["datasource_item"]["ground_truth"] = "another sea"
    names = table(_read(tmp_path, moved), "cases")["case_id"].to_list()
    assert names == [each["datasource_item"]["question"] for each in ITEMS[::-1]]


def test_own_ids_name_cases_and_equal_questions_stay_apart(tmp_path: Path) -> None:
    own = _copy()
    for n, each in enumerate(own):
        each["datasource_item"]["case_id"] = f"q{n}"
    assert table(_read(tmp_path, own), "cases")["case_id"].to_list() == [
        *("q0", "q1", "q2", "q3"),
    ]
    for each in own:
        each["datasource_item"] = {"question": "Which sea?", "case_id": "q"}
    rounds = table(_read(tmp_path, own), "rounds")["case_id"].to_list()
    assert len(set(rounds)) == 4
    for each in own:
        each["datasource_item_id"] = 0
    assert len(set(table(_read(tmp_path, own), "rounds")["case_id"])) == 1


def _foundry(n: int, answer: str, *results: Item) -> Item:
    return {
        "object": "eval.run.output_item",
        "id": str(n),
        "run_id": "evalrun_f",
        "eval_id": "eval_f",
        "created_at": 1795190400,
        "status": "completed",
        "datasource_item_id": n,
        "datasource_item": {
            "query": f"Where does river {n} end?",
            "response_id": f"resp_{answer}",
            "agent_name": "guide",
            "agent_version": "10",
            "sample.output_text": answer,
        },
        "sample": {
            "error": None,
            "input": [],
            "output": [],
            "model": "",
            "usage": None,
        },
        "results": [{"type": "azure_ai_evaluator", **each} for each in results],
    }


def test_an_agent_of_foundry_is_read_with_ratings_and_severities(
    tmp_path: Path,
) -> None:
    def results(coherence: float, passed: bool) -> list[Item]:
        return [
            {"name": "Agent Quality", "score": 0.8, "threshold": 0.5, "passed": True},
            {"name": "Violence", "metric": "violence", "score": 0.0, "threshold": 3}
            | {"passed": True},
            {"name": "Coherence", "metric": "coherence", "score": coherence}
            | {"threshold": 3, "passed": passed, "reason": "it reads well"},
            {"name": "own", "metric": "custom_score", "score": 1.0, "passed": None},
            {"name": "own", "metric": "own", "score": None, "passed": True},
        ]

    items = [
        _foundry(0, "sea", *results(1.0, False)),
        _foundry(1, "lake", *results(1.0, True)),
    ]
    reading = _read(tmp_path, items)
    assert not reading.problems
    (task,) = table(reading, "tasks").to_dicts()
    assert (task["title"], task["model"], task["prompt_version"]) == (
        *("eval_f", "guide", "10"),
    )
    rounds = table(reading, "rounds")
    assert rounds["raw_output"].to_list() == ["sea", "lake"]
    assert rounds["reported_status"].to_list() == ["fail", "pass"]
    assert json.loads(table(reading, "cases")["context"][0]) == {
        "query": "Where does river 0 end?"
    }
    found = table(reading, "dimension_configs").select("name", "is_graded", "direction")
    assert found.rows() == [
        ("Agent Quality", True, "higher_better"),
        ("Violence", False, "lower_better"),  # 0 of 7 is the best
        ("Coherence", False, "higher_better"),  # 1 of 5 is the worst
        ("own.custom_score", False, None),
    ]


def test_a_grader_with_a_range_of_its_own_has_no_score_from_0_to_1(
    tmp_path: Path,
) -> None:
    of_eval = json.loads(json.dumps(EVAL))
    of_eval["testing_criteria"][1]["range"] = [1, 5]
    items = _copy()
    for each in items:
        each["results"][1]["score"] = 1.0
    reading = _read(tmp_path, [of_eval, *items])
    tone = table(reading, "dimension_configs").filter(pl.col("name") == "Tone")
    assert tone["is_graded"].to_list() == [False]
    right = _read(tmp_path, [EVAL, *items])
    parameters = [
        table(each, "dimension_configs")["parameters"][1] for each in (reading, right)
    ]
    assert parameters[0] != parameters[1]  # another yardstick


def test_two_nights_pair_by_case(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    loads = warehouse.ingest(DATA / "openai_evals_api").files
    assert [each.status for each in loads] == ["loaded", "loaded"]
    cases = warehouse.sql(
        "select case_id, count(*) from live.rounds group by case_id order by 1"
    ).rows()
    assert {n for _, n in cases} == {2}
    assert len(cases) == 4
