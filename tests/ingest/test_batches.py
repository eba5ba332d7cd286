"""A file read in batches says what it says when it is read at once."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.ingest import testsets
from promptlab.ingest.files.input_file import Block, TooLong, blocks
from promptlab.ingest.formats import read_batches
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading import records
from tests.ingest.at_once import (
    joined,
    read_results,
    read_scores,
    read_testset,
    source_of,
)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testsets, "BATCH_CHARACTERS", 100)
    monkeypatch.setattr(records, "BATCH_CHARACTERS", 100)


def cut(data: bytes, size: int, longest: int = 10_000) -> Iterator[Block]:
    return blocks(io.BytesIO(data), longest, size)


def in_blocks(kind: str, data: bytes, size: int) -> Iterator[Reading]:
    return read_batches(kind, source_of(data, "n", blocks=cut(data, size)))


def told(reading: Reading) -> dict[str, Any]:
    """All that a reading says, whatever the order of its rows."""
    return {
        "rows": {
            table: sorted(
                repr(row) for row in zip(*map(list, columns.values()), strict=True)
            )
            for table, columns in sorted(reading.rows.items())
        },
        "problems": sorted(map(repr, reading.problems)),
        "counts": (reading.records_loaded, reading.records_rejected, reading.rejected),
        "keys": sorted(reading.keys),
    }


# An id equal to a number that was already generated is reported, at any size.
_RESULT = st.fixed_dictionaries(
    {"sample_id": st.sampled_from(["a", "b", ""])},
    optional={
        "entity_type": st.just("pipeline"),
        "entity_id": st.just("e"),
        "variant": st.just("v"),
        "run_id": st.sampled_from(["r1", "r2"]),
        "round_id": st.sampled_from(["x", "y", "z"]),
        "model": st.sampled_from(["m1", "m2", None]),
        "tags": st.lists(st.sampled_from(["t1", "t2"]), max_size=2),
        "executed_at": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01"]),
        "created_at": st.just("2026-01-02T00:00:00Z"),
        "odd": st.just(1),
    },
)
_NEEDED = {"entity_type": "pipeline", "entity_id": "e", "variant": "v"}
_SCORE = st.fixed_dictionaries(
    {
        "task_id": st.just("t"),
        "case_id": st.sampled_from(["a", "b"]),
        "round_id": st.sampled_from(["1", "2", "3"]),
        "dimension_id": st.just("d"),
        "score": st.sampled_from([0.5, 2, None]),
        "scorer": st.just("s"),
    },
    optional={"odd": st.just(1)},
)
_CASE = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "c", "", 5]), "x": st.text(max_size=30)},
    optional={"expected": st.text(max_size=5), "inputs": st.just({})},
)
_JUNK = st.sampled_from(["", "{", "// note", "[1]", '{"a":', "}", "null", " {}"])


def lines(records: st.SearchStrategy[dict]) -> st.SearchStrategy[bytes]:
    line = st.one_of(records.map(json.dumps), records.map(json.dumps), _JUNK)
    return st.lists(line, max_size=12).map(lambda all_: "\n".join(all_).encode())


@given(data=lines(_RESULT.map(lambda r: {**_NEEDED, **r})), size=st.integers(1, 400))
def test_results_in_batches_are_those_read_at_once(data, size):
    parts = joined(in_blocks("results", data, size))
    assert told(parts) == told(read_results(data, "n"))


@given(data=lines(_SCORE), size=st.integers(1, 400))
def test_scores_in_batches_are_those_read_at_once(data, size):
    parts = joined(in_blocks("scores", data, size))
    assert told(parts) == told(read_scores(data, "n"))


@given(data=lines(_CASE), size=st.integers(1, 400))
def test_a_testset_in_batches_is_the_one_read_at_once(data, size):
    parts = joined(in_blocks("testset", data, size))
    assert told(parts) == told(read_testset(data, "n"))


@given(
    data=st.lists(st.sampled_from(["a", "bb", "\n", "\r\n", "c" * 30]), max_size=30),
    size=st.integers(1, 20),
)
def test_blocks_are_the_file_cut_between_lines(data, size):
    text = "".join(data).encode()
    found = list(blocks(io.BytesIO(text), 10_000, size))
    assert b"".join(found) == text
    assert all(block.endswith(b"\n") for block in found[:-1])


def test_of_a_line_that_is_too_long_only_its_size_is_kept():
    data = b"a\n" + b"x" * 5000 + b"\nb\n" + b"y" * 3000
    found = list(blocks(io.BytesIO(data), 1000, 100))
    assert found == [b"a\n", TooLong(5001), b"b\n", TooLong(3000)]


def test_a_result_of_a_later_batch_keeps_its_case_task_and_number():
    first = {"sample_id": "a", **_NEEDED, "run_id": "r", "tags": ["t"], "model": "m"}
    later = {
        "sample_id": "a",
        **_NEEDED,
        "run_id": "r",
        "tags": ["u"],
        "model": "other",
    }
    data = "\n".join(map(json.dumps, [first, first, later])).encode()
    batches = list(in_blocks("results", data, 100))
    assert len(batches) > 1
    reading = joined(iter(batches))
    assert list(reading.rows["rounds"]["round_id"]) == ["a-1", "a-2", "a-3"]
    assert list(reading.rows["cases"]["tags"]) == ['["t","u"]']
    assert list(reading.rows["tasks"]["model"]) == ["m"]
    codes = [problem.code for problem in reading.problems]
    assert codes == ["task_field_differs"]
    assert reading.keys == [("task", "r")]
