"""Laws of reading analysis inputs, over documents broken at random."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from promptlab.contracts.analysis_input import AnalysisInput
from promptlab.ingest import raw
from promptlab.ingest.raw.rows import Reading
from tests.ingest.analysis_documents import as_bytes, document
from tests.ingest.at_once import read_analysis

# One of nearly every kind of value that could be somewhere by mistake.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 0.5, 1.0, 2, 2**63 - 1, 2**63, 10**40, -0.0),
    *("", " ", "\x1c", "\u2003", "\x00", "x", "好", "null", "{}", "1e999", "\ud83d"),
    *("2024-10-24T12:30:00Z", "2024-10-24T12:30:00", "2024-10-24", "2024-02-30T00:00Z"),
    *("0001-01-01T00:00:00+09:00", "2024-10-24T24:00:00Z", "2024-10-24T12:30:60Z"),
    *("2024-W43-4", "12:30", "1729773000", "2024-10-24T12:30:00.1234567Z"),
    *("golden_answer", "rules", "Rules", "range", "c0", "c0-1", "accuracy"),
    *(float("nan"), float("inf"), [], {}, [1], ["x"], [[]], {"a": 1}, {"": {"*": 2}}),
    *([{}], [{"a": [1e308, 1e-400]}], {"run_index": 1}),
]
KEYS = ["latency", "case_id", "rounds", "task_id", "weight", "a/b~c", "", "extra"]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every way to a value inside, in a fixed order."""
    found = [way] if way else []
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*way, key))
    if isinstance(value, list):
        for position, each in enumerate(value):
            found += places(each, (*way, position))
    return found


@st.composite
def broken_documents(draw: st.DrawFn) -> Any:
    """A document with up to four changes, each at any place."""
    changed = document(draw(st.integers(0, 3)))
    for _ in range(draw(st.integers(0, 4))):
        way = draw(st.sampled_from(places(changed)))
        parent = changed
        for key in way[:-1]:
            parent = parent[key]
        kind = draw(st.sampled_from(["put", "put", "drop", "add", "repeat"]))
        value = copy.deepcopy(draw(st.sampled_from(VALUES)))
        if kind == "put":
            parent[way[-1]] = value
        elif kind == "drop":
            del parent[way[-1]]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(KEYS))] = value
        else:
            again = copy.deepcopy(parent[way[-1]]) if kind == "repeat" else value
            parent.insert(draw(st.integers(0, len(parent))), again)
    return changed


def accepts(value: Any) -> bool:
    try:
        AnalysisInput.model_validate(value)
    except ValidationError:
        return False
    return True


def is_plain(value: Any) -> bool:
    """No NaN, no infinity, no half of a surrogate pair: JSON that a database keeps."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def rejects(reading: Reading) -> list[str]:
    return [p.pointer or "" for p in reading.problems if p.severity == "reject"]


def rejects_of_cases(reading: Reading) -> list[str]:
    return [each for each in rejects(reading) if each.startswith("/cases/")]


def with_sound_head(changed: Any) -> Reading:
    """The same cases under a task, dimensions and extras without a fault."""
    cases = changed.get("cases")
    sound = document(0) | {"cases": cases if isinstance(cases, list) else []}
    return read_analysis(json.dumps(sound).encode())


def columns(reading: Reading) -> dict[str, dict[str, list[Any]]]:
    return {
        table: {name: list(values) for name, values in rows.items()}
        for table, rows in reading.rows.items()
    }


@given(broken_documents())
def test_a_file_loads_wholly_exactly_when_the_contract_accepts_it(changed):
    reading = read_analysis(json.dumps(changed).encode())
    assert (not rejects(reading)) == (accepts(changed) and is_plain(changed))


@given(broken_documents())
def test_every_case_is_loaded_or_its_faults_are_named(changed):
    reading = read_analysis(json.dumps(changed).encode())
    if reading.rejected:
        assert rejects(reading)
        assert reading.rows == {}
        assert any(not pointer.startswith("/cases/") for pointer in rejects(reading))
        assert rejects_of_cases(reading) == rejects_of_cases(with_sound_head(changed))
        return
    loaded = list(reading.rows["cases"]["position"])
    named = {int(pointer.split("/")[2]) for pointer in rejects(reading)}
    assert sorted({*loaded, *named}) == list(range(len(changed["cases"])))
    assert named.isdisjoint(loaded)
    assert reading.records_loaded == len(loaded)
    assert reading.records_rejected == len(named)


@given(broken_documents())
def test_problems_have_a_place_and_can_be_stored(changed):
    text = json.dumps(changed, indent=1)
    lines = text.split("\n")
    for problem in read_analysis(text.encode()).problems:
        assert problem.line is not None and problem.column is not None
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        stored = [problem.message, problem.pointer, problem.record_id, problem.raw_text]
        "".join(each or "" for each in stored).encode()
        assert (problem.raw_text is None) or problem.severity == "reject"


@given(broken_documents())
def test_a_file_decoded_in_one_go_gives_what_its_cases_give_one_by_one(changed):
    at_once = read_analysis(json.dumps(changed).encode())
    one_by_one = read_analysis(json.dumps({**changed, "a new key": 1}).encode())
    assert columns(at_once) == columns(one_by_one)
    assert at_once.problems == [
        each for each in one_by_one.problems if each.pointer != "/a new key"
    ]


@pytest.fixture(scope="module")
def raw_tables() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        raw.ensure_schema(con, ingest_version="0")
        yield con


@given(changed=broken_documents())
def test_what_is_loaded_fits_the_raw_tables_and_their_json_is_json(raw_tables, changed):
    reading = read_analysis(json.dumps(changed).encode())
    raw_tables.begin()
    for table, rows in reading.rows.items():
        height = len(next(iter(rows.values())))
        raw.append(raw_tables, table, [{"load_id": [1] * height, **rows}])
        stored = raw_tables.execute(f"select count(*) from raw.{table}").fetchall()
        assert stored == [(height,)]
    raw_tables.execute(
        "select parsed_output ->> '$.days', json_keys(metadata) from raw.rounds"
    ).fetchall()
    raw_tables.rollback()


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    reading = read_analysis(data)
    assert reading.rejected
    assert reading.problems


@given(st.data())
def test_bytes_put_into_a_file_are_loaded_or_named(data):
    whole = as_bytes(document(2))
    at = data.draw(st.integers(0, len(whole) - 1))
    length = data.draw(st.integers(0, 3))
    changed = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + length :]
    reading = read_analysis(changed)
    assert rejects(reading) or not reading.rejected
    if not rejects(reading):
        assert accepts(msgspec.json.decode(changed.removeprefix(b"\xef\xbb\xbf")))
