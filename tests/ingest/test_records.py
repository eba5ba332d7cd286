"""Records are decoded into structs and checked by column as their contract does it."""

from __future__ import annotations

import gc
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from promptlab.contracts.analysis_input import (
    EvaluationRecord,
    RoundRun,
    ScoreRecord,
    TestCaseBundle,
)
from promptlab.contracts.base import JsonObject, NonBlank, in_utc, read_time
from promptlab.ingest.reading.checked_columns import (
    Doubtful,
    json_objects,
    json_values_or_null,
    names,
    times,
)
from promptlab.ingest.reading.records import struct_of
from promptlab.ingest.reading.source import no_garbage_collection


def raws(*texts: bytes | str) -> list[msgspec.Raw]:
    return [msgspec.Raw(t if isinstance(t, bytes) else t.encode()) for t in texts]


def test_json_stays_as_it_is_written():
    written = ['{"a" : 1.50}', '{"b": "好"}', "{}"]
    assert json_objects(raws(*written)) == written
    assert json_values_or_null(raws("null", '"x"')) == [None, '"x"']


def test_null_is_missing_where_an_object_may_be_null():
    assert json_objects(raws("null", "{}"), may_be_null=True) == [None, "{}"]


@pytest.mark.parametrize(
    ("texts", "rows"),
    [
        (["{}", "[]", "{}", "null"], [1, 3]),
        (["{}", b'{"a": "\xff"}', b"\xff"], [1, 2]),
    ],
)
def test_what_is_no_storable_object_is_doubted_by_row(texts, rows):
    with pytest.raises(Doubtful) as raised:
        json_objects(raws(*texts))
    assert raised.value.rows == rows


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_blank_names_are_doubted_by_row_and_missing_ones_are_not(blank):
    assert names(["a", None, " b ", "\x1c"]) == ["a", None, " b ", "\x1c"]
    with pytest.raises(Doubtful) as raised:
        names(["a", blank, None, blank])
    assert raised.value.rows == [1, 3]


MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
)
ZONES = st.sampled_from(["Z", "", "+08:00", "-03:30", "+0530", "+00:00", "-23:59"])
SHAPES = st.sampled_from(
    ["%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y%m%dT%H%M%S"]
)


@given(st.lists(st.tuples(MOMENTS, SHAPES, ZONES), max_size=5))
def test_a_column_of_times_is_what_the_contract_reads_one_by_one(parts):
    texts = [
        f"{at:%Y}".rjust(4, "0") + at.strftime(shape)[len(f"{at:%Y}") :] + zone
        for at, shape, zone in parts
    ]
    column, zoneless = times(texts)
    moments = [read_time(text) for text in texts]
    assert column == [in_utc(moment) for moment in moments]
    assert zoneless == [n for n, at in enumerate(moments) if at.tzinfo is None]


DIGITS = st.text("0123456789", min_size=2, max_size=2)


@given(st.tuples(DIGITS, DIGITS, DIGITS, DIGITS, DIGITS, DIGITS, DIGITS))
def test_a_column_of_times_refuses_what_the_contract_refuses(parts):
    year, month, day, hour, minute, second, zone = parts
    text = f"20{year}-{month}-{day}T{hour}:{minute}:{second}+{zone}:00"
    try:
        expected = in_utc(read_time(text))
    except ValueError:
        with pytest.raises(Doubtful):
            times([text])
    else:
        assert times([text])[0] == [expected]


def test_missing_times_stay_missing_and_bad_ones_are_doubted_by_row():
    column, zoneless = times([None, "2024-10-24T20:00:00+08:00", "2024-10-24"])
    east = timezone(timedelta(hours=8))
    assert column == [
        None,
        datetime(2024, 10, 24, 20, tzinfo=east),
        datetime(2024, 10, 24, tzinfo=UTC),
    ]
    assert zoneless == [2]
    with pytest.raises(Doubtful) as raised:
        times([None, "2024-02-30T00:00:00Z", "2024-10-24", "soon"])
    assert raised.value.rows == [1, 3]


def test_the_collector_is_held_only_inside():
    assert gc.isenabled()
    with no_garbage_collection():
        assert not gc.isenabled()
        with no_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_finite_number_is_kept(value):
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        return
    assert json.loads(json_objects(raws(text))[0]) == value


CONTRACTS = [TestCaseBundle, RoundRun, EvaluationRecord, ScoreRecord]


class Inner(BaseModel):
    n: Annotated[int, Field(ge=1, lt=5)]


class Outer(BaseModel):
    name: NonBlank
    at: datetime
    free: JsonObject
    maybe_free: JsonObject | None = None
    inner: list[Inner] = Field(default_factory=list)
    share: Annotated[float, Field(gt=0, le=1)] | None = None


def decode(text: str, **options: bool) -> object:
    return msgspec.json.decode(text, type=struct_of(Outer, **options))


@pytest.mark.parametrize("model", CONTRACTS)
def test_a_struct_has_the_fields_of_its_contract_and_needs_the_same(model):
    fields = msgspec.structs.fields(struct_of(model))
    assert [field.name for field in fields] == list(model.model_fields)
    assert {field.name for field in fields if field.required} == {
        name for name, field in model.model_fields.items() if field.is_required()
    }


def test_free_objects_stay_as_they_are_written():
    read = decode('{"name": "a", "at": "x", "free": {"b" : 1.50}}')
    assert bytes(read.free) == b'{"b" : 1.50}'
    assert bytes(read.maybe_free) == b"null"
    assert read.at == "x"
    assert read.inner == []


def test_values_that_were_decoded_before_stay_as_they_are():
    given = {"name": "a", "at": "x", "free": {"b": 1.5}, "inner": [{"n": 1}]}
    read = msgspec.convert(given, struct_of(Outer, free=Any))
    assert read.free is given["free"]
    assert read.maybe_free is None


@pytest.mark.parametrize(
    "change",
    [
        '"name": null',
        '"inner": [{"n": 0}]',
        '"inner": [{"n": 5}]',
        '"inner": [{"n": 1.0}]',
        '"share": 0',
        '"share": 1.5',
        '"share": true',
    ],
)
def test_ranges_and_types_of_the_contract_hold(change):
    with pytest.raises(msgspec.ValidationError):
        decode('{"name": "a", "at": "x", "free": {}, ' + change + "}")


def test_a_closed_struct_refuses_unknown_keys_at_every_depth():
    text = '{"name": "a", "at": "x", "free": {}, "inner": [{"n": 1, "m": 2}]}'
    assert decode(text).inner[0].n == 1
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        decode(text, closed=True)


def test_a_kind_that_has_no_fast_form_is_named():
    class Odd(BaseModel):
        value: set[int]

    with pytest.raises(TypeError, match=r"set\[int\]"):
        struct_of(Odd)
