from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from promptlab.contracts.schemas import as_text, schemas, write_schemas

CHECKED_IN = Path(__file__).parents[2] / "docs" / "schemas"
NAMES = sorted(file.name for file in CHECKED_IN.iterdir())


@pytest.fixture(scope="module")
def contracts() -> dict[str, dict[str, Any]]:
    return schemas()


@pytest.mark.parametrize("name", NAMES)
def test_the_checked_in_schema_is_that_of_the_contract(contracts, name):
    assert (CHECKED_IN / name).read_text("utf-8") == as_text(contracts[name])


def test_every_contract_has_its_checked_in_schema(contracts):
    """`write_schemas` makes those that are missing."""
    assert set(NAMES) == set(contracts)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_describes_its_fields(contracts, name):
    schema = contracts[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["description"]
    assert any("description" in field for field in schema["properties"].values())


def test_schemas_are_written_one_file_each(contracts, tmp_path):
    files = write_schemas(tmp_path / "schemas")
    assert [file.name for file in files] == list(contracts)
    for file in files:
        assert json.loads(file.read_text("utf-8")) == contracts[file.name]
