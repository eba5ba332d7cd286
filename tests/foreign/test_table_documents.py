"""JSON documents that hold a list of objects, read as tables with paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.ingest.foreign.table.guessing import guess
from promptlab.ingest.foreign.table.opening import rows_in
from promptlab.ingest.plan import plan
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table

ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{n}",
        "input": f"Into which sea does river {n} flow?",
        "response": {"output": "North Sea", "usage": None},
        "grading": {"passed": n > 0, "accuracy": n / 2, "count": 7},
        "usage": {"prompt_tokens": 9 + n, "completion_tokens": 2},
        "steps": [{"tool": "map"}, {"tool": "atlas"}, {"tool": "globe"}],
    }
    for n in range(3)
]
MAPPING = TableMapping(
    case="id",
    inputs=("input",),
    output="response.output",
    verdict="grading.passed",
    scores=("grading.accuracy",),
    input_tokens="usage.prompt_tokens",
    output_tokens="usage.completion_tokens",
)
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "a list": lambda: ROWS,
    "a list below a key": lambda: {"model": "m", "results": ROWS},
    "a list below two keys": lambda: {"run": {"id": 7, "rows": ROWS}, "tags": ["a"]},
    "beside a shorter list": lambda: {"metrics": [{"accuracy": 0.5}], "rows": ROWS},
    "beside a longer list of numbers": lambda: {"seeds": [*range(9)], "rows": ROWS},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("layout", DOCUMENTS)
def test_a_list_of_objects_is_guessed_and_read_with_paths(
    layout: str, indent: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(DOCUMENTS[layout](), indent=indent), "utf-8")
    assert guess(file).mapping == MAPPING
    reading = reading_of(file, {"run": MAPPING})
    assert not reading.problems
    rounds = table(reading, "rounds")
    assert rounds["reported_status"].to_list() == ["fail", "pass", "pass"]
    assert rounds["raw_output"].to_list() == ["North Sea"] * 3
    assert rounds["input_tokens"].to_list() == [9, 10, 11]
    scores = table(reading, "reported_scores")
    assert scores.select("dimension_id", "score").rows() == [
        ("grading.accuracy", n / 2) for n in range(3)
    ]
    (task,) = table(reading, "tasks").to_dicts()
    lines = tmp_path / "run.jsonl"
    lines.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    assert reading_of(lines, {"run": MAPPING}).runs == reading.runs
    assert task["source_kind"] == "table"


def test_the_longest_list_of_objects_has_the_rows() -> None:
    assert rows_in({"a": [{"x": 1}], "b": {"c": [{"x": 1}, {"x": 2}]}}) == [
        {"x": 1},
        {"x": 2},
    ]
    assert rows_in({"a": [1, 2, 3]}) == []
    assert rows_in([[{"x": 1}], [{"x": 2}]]) == []
    assert rows_in(7) == []


def test_an_item_that_is_no_object_is_rejected_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps([*ROWS, "total: 3"]), "utf-8")
    reading = reading_of(file, {"run": MAPPING})
    (problem,) = reading.problems
    assert (problem.severity, problem.pointer) == ("reject", "/3")
    assert table(reading, "rounds").height == 3


def test_a_document_without_a_mapping_is_refused_with_what_to_do_and_stops_no_folder(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(ROWS), "utf-8")
    ((found, kind),) = plan([file])
    assert kind is None
    assert found.fault is not None
    assert "init --table" in found.fault
    assert len(found.fault) <= 200
    ((found, kind),) = plan([tmp_path])
    assert (kind, found.fault) == (None, None)


def test_a_document_of_a_tool_is_its_own_whatever_a_mapping_names(
    tmp_path: Path,
) -> None:
    mapping = TableMapping(inputs=("id",), output="id")
    late = DATA / "inspect_ai" / "late.json"
    ((_, kind),) = plan([late], tables={"any": mapping})
    assert kind == "inspect_ai"


def test_documents_are_redacted(tmp_path: Path) -> None:
    rows = json.loads(json.dumps(ROWS))
    rows[0]["response"]["output"] = "ask ann@example.org"
    file = tmp_path / "run.json"
    file.write_text(json.dumps(rows), "utf-8")
    settings = Settings(redact="strict", tables={"run": MAPPING})
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
    (load,) = warehouse.ingest(file).files
    assert load.status == "loaded"
    said = str(warehouse.sql("select raw_output from live.rounds").rows())
    assert "ann@example" not in said
