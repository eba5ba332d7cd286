"""Records are decoded into structs, which refuse what their contract refuses."""

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
from promptlab.contracts.base import CaseId, JsonObject, NonBlank, in_utc, read_time
from promptlab.ingest.reading.odd_values import in_utc_or_none
from promptlab.ingest.reading.source import Limits, no_garbage_collection
from promptlab.ingest.reading.structs import struct_of

CONTRACTS = [TestCaseBundle, RoundRun, EvaluationRecord, ScoreRecord]


class Inner(BaseModel):
    n: Annotated[int, Field(ge=1, lt=5)]


class Outer(BaseModel):
    name: NonBlank
    at: datetime
    free: JsonObject
    case: CaseId = "case"
    maybe_free: JsonObject | None = None
    inner: list[Inner] = Field(default_factory=list)
    share: Annotated[float, Field(gt=0, le=1)] | None = None


WHOLE = {"name": "a", "at": "2024-10-24T12:30:00Z", "free": {}}


def decode(text: str | bytes, **options: Any) -> Any:
    return msgspec.json.decode(text, type=struct_of(Outer, **options))


def made(**changed: Any) -> Any:
    return decode(json.dumps({**WHOLE, **changed}))


@pytest.mark.parametrize("model", CONTRACTS)
def test_a_struct_has_the_fields_of_its_contract_and_needs_the_same(model):
    fields = msgspec.structs.fields(struct_of(model))
    assert [field.name for field in fields] == list(model.model_fields)
    assert {field.name for field in fields if field.required} == {
        name for name, field in model.model_fields.items() if field.is_required()
    }


def test_free_objects_stay_as_they_are_written():
    text = '{"name": "a", "at": "2024-10-24", "free": {"b" : 1.50, "c": "好"}}'
    read = decode(text)
    assert read.free == '{"b" : 1.50, "c": "好"}'
    assert read.maybe_free is None
    assert made(maybe_free={}).maybe_free == "{}"
    assert read.inner == []


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_finite_number_is_kept(value):
    text = json.dumps({**WHOLE, "free": value}, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert json.loads(decode(text).free) == value


def test_values_that_were_decoded_before_stay_as_they_are():
    given = {**WHOLE, "free": {"b": 1.5}, "inner": [{"n": 1}]}
    read = msgspec.convert(given, struct_of(Outer, free=Any))
    assert read.free is given["free"]
    assert read.maybe_free is None


@pytest.mark.parametrize(
    "change",
    [
        '"name": null',
        '"name": ""',
        '"name": "\\u2003\\n"',
        '"case": " "',
        '"at": "soon"',
        '"at": "2024-02-30T00:00:00Z"',
        '"at": "0001-01-01T00:00:00+09:00"',
        '"free": []',
        '"free": null',
        '"maybe_free": "{}"',
        '"inner": [{"n": 0}]',
        '"inner": [{"n": 5}]',
        '"inner": [{"n": 1.0}]',
        '"share": 0',
        '"share": 1.5',
        '"share": true',
    ],
)
def test_a_struct_refuses_what_its_contract_refuses(change):
    decode(json.dumps(WHOLE))
    with pytest.raises(msgspec.ValidationError):
        decode(json.dumps(WHOLE)[:-1] + ", " + change + "}")


def test_bytes_that_are_not_utf_8_are_refused_in_free_objects_too():
    text = json.dumps({**WHOLE, "free": {"a": "?"}}).encode()
    with pytest.raises(msgspec.ValidationError):
        decode(text.replace(b"?", b"\xff"))


def test_names_of_cases_are_made_plain():
    assert made(case=" Caf\u0065\u0301 ").case == "Caf\u00e9"
    assert made(name=" b ").name == " b "


@pytest.mark.parametrize(
    "changed",
    [{"name": "x" * 41}, {"free": {"a": "x" * 41}}, {"free": {"a": [[[[[]]]]]}}],
)
def test_limits_are_checked_in_every_value(changed):
    limits = Limits(max_string=40, max_depth=5)
    text = json.dumps({**WHOLE, **changed})
    assert decode(text)
    with pytest.raises(msgspec.ValidationError):
        decode(text, limits=limits)


MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
)
ZONES = st.sampled_from(["Z", "", "+08:00", "-03:30", "+0530", "+00:00", "-23:59"])
SHAPES = st.sampled_from(
    ["%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y%m%dT%H%M%S"]
)


@given(MOMENTS, SHAPES, ZONES)
def test_a_time_is_what_the_contract_reads(moment, shape, zone):
    year = f"{moment:%Y}"
    text = year.rjust(4, "0") + moment.strftime(shape)[len(year) :] + zone
    assert made(at=text).at == read_time(text)


DIGITS = st.text("0123456789", min_size=2, max_size=2)


@given(st.tuples(DIGITS, DIGITS, DIGITS, DIGITS, DIGITS, DIGITS, DIGITS))
def test_a_time_is_refused_exactly_when_the_contract_refuses_it(parts):
    year, month, day, hour, minute, second, zone = parts
    text = f"20{year}-{month}-{day}T{hour}:{minute}:{second}+{zone}:00"
    try:
        expected = read_time(text)
    except ValueError:
        with pytest.raises(msgspec.ValidationError):
            made(at=text)
    else:
        assert made(at=text).at == expected


def test_times_without_a_zone_are_utc_and_named_by_row():
    east = datetime(2024, 10, 24, 20, tzinfo=timezone(timedelta(hours=8)))
    column, zoneless = in_utc_or_none([None, east, datetime(2024, 10, 24)])
    assert column == [None, in_utc(east), datetime(2024, 10, 24, tzinfo=UTC)]
    assert zoneless == [2]


def test_the_collector_is_held_only_inside():
    assert gc.isenabled()
    with no_garbage_collection():
        assert not gc.isenabled()
        with no_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_closed_struct_refuses_unknown_keys_at_every_depth():
    text = '{"name": "a", "at": "2024-10-24", "free": {}, "inner": [{"n": 1, "m": 2}]}'
    assert decode(text).inner[0].n == 1
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        decode(text, closed=True)


def test_a_kind_that_has_no_fast_form_is_named():
    class Odd(BaseModel):
        value: set[int]

    with pytest.raises(TypeError, match=r"set\[int\]"):
        struct_of(Odd)
