"""A run that was scored again is a new version of it, and counts instead of the old."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.sources import SourcePath, TableMapping
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of


def _inspect(document: Any) -> None:
    for sample in document["samples"]:
        for score in sample["scores"].values():
            score["value"] = "I" if score["value"] == "C" else "C"


def _promptfoo(document: Any) -> None:
    for row in document["results"]["results"]:
        row["success"] = not row["success"]
        row["score"] = 1 - row["score"]


def _langsmith(row: Any) -> None:
    for key, value in row.items():
        if key.startswith("feedback.") and isinstance(value, int | float):
            row[key] = 1 - value


def _mlflow(row: Any) -> None:
    for each in row["info"]["assessments"]:
        if isinstance(each.get("feedback", {}).get("value"), int | float):
            each["feedback"]["value"] = 0.125
        elif "feedback" in each:
            each["feedback"]["value"] = "no"


def _openai(row: Any) -> None:
    data = row.get("data") or {}
    if "correct" in data:
        data["correct"] = not data["correct"]


def _deepeval(document: Any) -> None:
    for case in document["testCases"]:
        for metric in case["metricsData"]:
            metric["score"] = 0.125


def _pydantic(document: Any) -> None:
    for case in document["cases"]:
        for each in case["assertions"].values():
            each["value"] = not each["value"]


def _openai_api(document: Any) -> None:
    for item in document["data"]:
        for result in item["results"]:
            result |= {"passed": not result["passed"], "score": 1 - result["score"]}


def _langfuse(document: Any) -> None:
    for item in document["data"]:
        for score in item["scores"]:
            if score["dataType"] == "BOOLEAN":
                score["value"] = not score["value"]


AGAIN: dict[str, Callable[[Any], None]] = {
    "inspect_ai/late.json": _inspect,
    "promptfoo/rivers.json": _promptfoo,
    "langsmith/late.jsonl": _langsmith,
    "mlflow/late_genai_traces.jsonl": _mlflow,
    "openai_evals/rivers.jsonl": _openai,
    "deepeval/late/.latest_run_full.json": _deepeval,
    "pydantic_evals/late_2.json": _pydantic,
    "openai_evals_api/late/output_items_2.json": _openai_api,
    "langfuse/late_experiment/experiment_items.json": _langfuse,
}
KINDS = {name: name.split("/")[0] for name in AGAIN}
_BY_KIND = (
    " inner join raw.loads using (load_id)"
    " where load_id in (select load_id from live.objects) group by kind"
)
SAID = {
    "statuses": "select kind, list(reported_status order by task_id, round_id)"
    f" from live.rounds {_BY_KIND}",
    "values": "select kind, list(value order by task_id, round_id, dimension_id)"
    f" from raw.reported_scores {_BY_KIND}",
    "assertions": "select kind, list(passed order by task_id, round_id, position)"
    f" from raw.reported_checks {_BY_KIND}",
    "tasks": f"select kind, list(task_id order by task_id) from live.tasks {_BY_KIND}",
}


def scored_again(name: str) -> str:
    """The file's text, with other scores and verdicts."""
    written, change = (DATA / name).read_text("utf-8"), AGAIN[name]
    if not name.endswith(".jsonl"):
        document = json.loads(written)
        change(document)
        return json.dumps(document)
    rows = [json.loads(line) for line in written.splitlines()]
    for row in rows:
        change(row)
    return "".join(f"{json.dumps(row)}\n" for row in rows)


ROWS: dict[str, tuple[str, ...]] = {
    "azure_ai_evaluation/early.json": ("rows",),
    "deepeval/late/.latest_run_full.json": ("testCases",),
    "inspect_ai/late.json": ("samples",),
    "langfuse/late_experiment/experiment_items.json": ("data",),
    "langsmith/late.csv": (),
    "langsmith/late.jsonl": (),
    "mlflow/late_genai_traces.jsonl": (),
    "openai_evals_api/late/output_items_2.json": ("data",),
    "promptfoo/rivers.json": ("results", "results"),
    "promptfoo/rivers.jsonl": (),
    "pydantic_evals/late_2.json": ("cases",),
    "ragas/late.jsonl": (),
}
"""File → where its rows are; without a path its lines, or the rows of a CSV file."""


def _turned(name: str) -> str:
    """The file's text, with its rows from the last to the first."""
    written = (DATA / name).read_text("utf-8")
    if name.endswith(".csv"):
        head, *rows = csv.reader(io.StringIO(written))
        csv.writer(turned := io.StringIO()).writerows([head, *rows[::-1]])
        return turned.getvalue()
    if not ROWS[name]:
        return "\n".join(written.splitlines()[::-1])
    document = json.loads(written)
    *path, last = ROWS[name]
    holder = document
    for key in path:
        holder = holder[key]
    holder[last].reverse()
    return json.dumps(document)


@pytest.mark.parametrize("name", ROWS)
def test_the_id_of_a_run_does_not_depend_on_the_order_of_its_rows(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / Path(name).name
    file.write_text(_turned(name), "utf-8")
    assert reading_of(file).runs.keys() == reading_of(DATA / name).runs.keys()


def _said(warehouse: Warehouse) -> dict[str, dict[str, Any]]:
    """Kind of run → its statuses, values, assertions and tasks."""
    with warehouse.connect() as con:
        return {what: dict(con.execute(sql).fetchall()) for what, sql in SAID.items()}


def _files(name: str, folder: Path) -> tuple[Path, Path]:
    """The run, and the same run scored again, whose name comes after it."""
    first = folder / Path(name).name
    second = folder / f"{first.stem}-scored{first.suffix}"
    folder.mkdir(exist_ok=True)
    first.write_text((DATA / name).read_text("utf-8"), "utf-8")
    second.write_text(scored_again(name), "utf-8")
    return first, second


@pytest.fixture
def of_all_tools(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """A run of each tool, and the same runs scored again."""
    pairs = [_files(name, tmp_path / KINDS[name]) for name in AGAIN]
    return [first for first, _ in pairs], [second for _, second in pairs]


def _changed(before: Any, after: Any) -> set[str]:
    """The kinds of runs with another status, value or assertion."""
    return {
        kind
        for what in SAID
        for kind in KINDS.values()
        if after[what].get(kind) != before[what].get(kind)
    }


def test_a_run_that_was_scored_again_replaces_the_run(
    of_all_tools: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    firsts, seconds = of_all_tools
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(*firsts)
    before = _said(warehouse)
    assert before["tasks"].keys() == {*KINDS.values()}
    for load in warehouse.ingest(*seconds).files:
        assert load.status == "loaded", load.path
        assert "run_replaced" in {each.code for each in load.problems}, load.path
    after = _said(warehouse)
    assert after["tasks"] == before["tasks"]
    assert _changed(before, after) == {*KINDS.values()}
    # nothing is loaded again by reading the same files again
    loads = warehouse.ingest(*firsts, *seconds).files
    assert {each.status for each in loads} == {"unchanged"}
    assert _said(warehouse) == after


def test_what_was_scored_again_at_its_own_path_replaces_it_both_ways(
    of_all_tools: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    firsts, seconds = of_all_tools
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(*firsts)
    before, old = _said(warehouse), [file.read_bytes() for file in firsts]
    for first, second in zip(firsts, seconds, strict=True):
        first.write_bytes(second.read_bytes())
    warehouse.ingest(*firsts)
    assert _changed(before, _said(warehouse)) == {*KINDS.values()}
    for first, content in zip(firsts, old, strict=True):
        first.write_bytes(content)
    loads = warehouse.ingest(*firsts).files
    assert {load.status for load in loads} == {"loaded"}
    assert _said(warehouse) == before


def test_of_two_versions_in_one_call_the_later_counts(
    of_all_tools: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    firsts, seconds = of_all_tools
    one, other = (Warehouse(tmp_path / f"{name}.duckdb") for name in ("one", "other"))
    loads = one.ingest(*firsts, *seconds).files
    assert {load.status for load in loads} == {"loaded"}
    other.ingest(*firsts)
    other.ingest(*seconds)
    assert _said(one) == _said(other)


def _at(file: Path, moment: str) -> None:
    document = json.loads(file.read_text("utf-8"))
    document.setdefault("metadata", {})["exportedAt"] = f"{moment}T00:00:00.000Z"
    file.write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize("calls", [1, 2])
def test_of_two_versions_with_a_time_the_later_counts_in_any_order(
    calls: int, tmp_path: Path
) -> None:
    later, older = _files("promptfoo/rivers.json", tmp_path)
    _at(later, "2026-02-02")
    _at(older, "2026-01-02")
    found = []
    for name, files in (("one", (later, older)), ("other", (older, later))):
        warehouse = Warehouse(tmp_path / f"{name}.duckdb")
        each_call = [files] if calls == 1 else [files[:1], files[1:]]
        loads = [load for call in each_call for load in warehouse.ingest(*call).files]
        found.append(_said(warehouse))
        if name == "one":
            assert [load.status for load in loads] == ["loaded", "skipped"]
            assert [each.code for each in loads[1].problems] == ["older_version"]
            (again,) = warehouse.ingest(older).files
            assert again.status == "skipped"
    assert found[0] == found[1]


def test_an_older_version_that_is_put_back_in_its_own_file_counts(
    tmp_path: Path,
) -> None:
    later, older = _files("promptfoo/rivers.json", tmp_path)
    _at(later, "2026-02-02")
    _at(older, "2026-01-02")
    warehouse, other = (
        Warehouse(tmp_path / "w.duckdb"),
        Warehouse(tmp_path / "o.duckdb"),
    )
    warehouse.ingest(later)
    later.write_bytes(older.read_bytes())
    assert [load.status for load in warehouse.ingest(later).files] == ["loaded"]
    other.ingest(older)
    assert _said(warehouse) == _said(other)


def test_a_copy_that_was_left_out_brings_nothing(tmp_path: Path) -> None:
    first, second = _files("inspect_ai/late.json", tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(first)
    before, old = _said(warehouse), json.loads(first.read_text("utf-8"))
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(old, indent=3), "utf-8")
    assert [each.status for each in warehouse.ingest(copy).files] == ["skipped"]
    # the run changes and comes back, in the bytes of the copy that was left out
    first.write_text(second.read_text("utf-8"), "utf-8")
    assert [each.status for each in warehouse.ingest(first).files] == ["loaded"]
    first.write_text(copy.read_text("utf-8"), "utf-8")
    assert [each.status for each in warehouse.ingest(first).files] == ["loaded"]
    assert _said(warehouse) == before


# ---------- nights


KINDS_WITHOUT_IDS = ("table", "memory_benchmarks")


def _night(kind: str, names: str, n_failed: int) -> str:
    """A file without ids of runs and without times, as a script at temperature 0.

    *names* makes its answers others than those of files that are named in another way.
    """
    rows: list[dict[str, Any]] = []
    for n in range(20):
        passed = n >= n_failed
        row: dict[str, Any] = {"id": f"c{n}", "answer": names, "passed": passed}
        if kind == "memory_benchmarks":
            label = {"model": "judge-a", "label": passed}
            row = {
                "question_id": f"q{n}",
                "hypothesis": f"{names} {passed}",
                "autoeval_label": label,
            }
        rows.append(row)
    return "".join(f"{json.dumps(row)}\n" for row in rows)


NIGHTS = {
    "a date in each name": ["qa_2026-10-{}.jsonl"],
    "a date and a time": ["qa_202610{}T0300.jsonl"],
    "a folder for each night": ["2026-10-{}/qa.jsonl"],
    "a number in each name": ["qa_v{}.jsonl"],
    "one file, written again": ["qa.jsonl"],
    "one file and a copy with a date": ["latest.jsonl", "qa_2026-10-{}.jsonl"],
}


@pytest.fixture(scope="module")
def after_four_nights(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Warehouse, list[set[Path]]]:
    """A warehouse of all ways to name files, and what was loaded in each night."""
    folder = tmp_path_factory.mktemp("nights")
    mapping = TableMapping(case="id", output="answer", verdict="passed")
    settings = Settings(tables={"qa": mapping})
    warehouse = Warehouse(folder / "w.duckdb", settings=settings)
    loaded = []
    for day, n_failed in (("12", 6), ("13", 0), ("14", 6), ("15", 6)):
        for kind, names in product(KINDS_WITHOUT_IDS, NIGHTS):
            for name in NIGHTS[names]:
                file = folder / "in" / names / kind / name.format(day)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_night(kind, names, n_failed), "utf-8")
        loads = warehouse.ingest(folder / "in").files
        loaded.append({load.path for load in loads if load.status == "loaded"})
        assert warehouse.ingest(folder / "in").n_loaded == 0
    return warehouse, loaded


@pytest.mark.parametrize("kind", KINDS_WITHOUT_IDS)
@pytest.mark.parametrize("names", NIGHTS)
def test_a_night_with_the_answers_of_an_earlier_night_is_a_run(
    after_four_nights: tuple[Warehouse, list[set[Path]]], names: str, kind: str
) -> None:
    warehouse, nights = after_four_nights
    folder = warehouse.settings.db.parent / "in" / names / kind
    loaded = [sum(file.is_relative_to(folder) for file in night) for night in nights]
    # the same bytes at the same path change nothing
    is_one_path = "{}" not in NIGHTS[names][0]
    assert loaded == [1, 1, 1, 0 if is_one_path else 1]
    n_passed = warehouse.sql(
        "select count(*) filter (where reported_status = 'pass')"
        " from live.tasks inner join live.rounds using (task_id)"
        " inner join raw.loads on tasks.load_id = loads.load_id"
        f" where starts_with(file_uri, '{folder.resolve()}/')"
        " group by task_id, created_at order by created_at"
    )
    assert [n for (n,) in n_passed.rows()] == [14, 20, 14, 14][: sum(loaded)]


@pytest.mark.parametrize(
    ("column", "cells", "n_loaded"),
    [
        ("when", ("2026-10-12", "2026-10-12"), 1),
        ("seconds", ("1.5", "1.25"), 1),
        ("seconds", ("0", "0"), 2),
        ("seconds", ("", ""), 2),
    ],
)
def test_rows_with_times_or_latencies_are_one_run_under_any_name(
    tmp_path: Path, column: str, cells: tuple[str, str], n_loaded: int
) -> None:
    meaning = {"when": "time", "seconds": "latency_s"}[column]
    mapping = TableMapping(case="id", output="answer", **{meaning: column})
    for name in ("export (1).csv", "export (2).csv"):
        (tmp_path / name).write_text(
            f"id,answer,{column}\nc1,x,{cells[0]}\nc2,y,{cells[1]}\n", "utf-8"
        )
    settings = Settings(tables={"qa": mapping})
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    assert warehouse.ingest(tmp_path).n_loaded == n_loaded


def test_equal_rows_of_other_titles_variants_and_times_are_other_runs(
    tmp_path: Path,
) -> None:
    mapping = TableMapping(case="id", verdict="passed")
    sources = [SourcePath(path="evals/{title}/{variant}/{date}*.csv")]
    settings = Settings(tables={"qa": mapping}, sources=sources)
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    names = ("qa/a/2026-10-11", "qa/b/2026-10-11", "rag/a/2026-10-11")
    for name in (*names, "qa/a/2026-10-12-1", "qa/a/2026-10-13T0930"):
        file = tmp_path / "evals" / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id,passed\nc1,yes\nc2,no\n", "utf-8")
    assert warehouse.ingest(tmp_path / "evals").n_loaded == 5
    assert warehouse.ingest(tmp_path / "evals").n_loaded == 0


def test_a_file_that_is_loaded_under_another_title_is_the_same_run_under_it(
    tmp_path: Path,
) -> None:
    mapping = TableMapping(case="id", verdict="passed")
    settings = Settings(tables={"qa": mapping})
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    file = tmp_path / "qa.csv"
    file.write_text("id,passed\nc1,yes\nc2,no\n", "utf-8")
    titles = []
    for told in ({}, {"title": "Other"}, {"title": "Other", "time": "2026-10-12"}, {}):
        warehouse.ingest(file, **told)
        titles.append(warehouse.sql("select title from live.tasks").rows())
    assert titles == [[("qa",)], [("Other",)], [("Other",)], [("qa",)]]
