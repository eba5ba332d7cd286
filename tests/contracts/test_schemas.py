from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from promptlab.contracts.schemas import as_text, schemas, write_schemas

SCHEMAS = schemas()

CHECKED_IN = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_checked_in_schema_is_that_of_the_contract(name):
    file = CHECKED_IN / name
    assert file.exists(), f"{name} is missing: write_schemas(docs/schemas) makes it"
    assert file.read_text("utf-8") == as_text(SCHEMAS[name])


def test_no_schema_is_checked_in_without_its_contract():
    assert {file.name for file in CHECKED_IN.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_valid_and_describes_its_fields(name):
    schema = SCHEMAS[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["description"]
    assert any("description" in field for field in schema["properties"].values())


def test_schemas_are_written_one_file_each(tmp_path):
    files = write_schemas(tmp_path / "schemas")
    assert [file.name for file in files] == list(SCHEMAS)
    for file in files:
        assert json.loads(file.read_text("utf-8")) == SCHEMAS[file.name]
