from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
import pytest
from pydantic import BaseModel, Field

from promptlab.contracts.analysis_input import (
    EvaluationRecord,
    RoundRun,
    ScoreRecord,
    TestCaseBundle,
)
from promptlab.contracts.base import JsonObject, NonBlank
from promptlab.ingest.reading.structs import struct_of

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
