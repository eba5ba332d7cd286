"""Reading a test case: what it expects, what it switches on, how leniently it compares.

A case is a mapping in the testset format (v2), or any object with those attributes,
such as ``promptlab.TestCase``. ``expected_output`` is the format's short form of
``expected_outputs: {"output": …}``. Lines in the older v1 form become cases by
``load_testset``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptlab.errors import UsageError
from promptlab.evaluator.json_values import copy_json
from promptlab.evaluator.matching import MatchOptions

_FIELDS: Final = (
    "id",
    "tags",
    "inputs",
    "intermediate_expectations",
    "expected_aggregation",
    "expected_outputs",
    "evaluation_config",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A test case, as far as evaluation is concerned; all values are copies."""

    id: str | None
    tags: list[str]
    intermediate: dict[str, Any]
    """Step id → expectation; empty when switched off."""

    aggregation: Any
    """``None``: nothing is expected, or it is switched off."""

    outputs: dict[str, Any]
    """Field of the final output → expectation, ignored fields left out."""

    expected_outputs: dict[str, Any]
    """The same as written."""

    options: MatchOptions


def case_fields(test_case: Any) -> Mapping[str, Any]:
    """Return a test case as a mapping.

    Raises:
        UsageError: It is neither a mapping nor an object with an ``id``.
    """
    if isinstance(test_case, Mapping):
        return test_case
    if hasattr(test_case, "id"):
        return {name: getattr(test_case, name, None) for name in _FIELDS}
    raise UsageError(
        f"test case is {type(test_case).__name__}; pass an object such as "
        '{"id": "case-1", "expected_outputs": {…}}'
    )


def read_case(test_case: Any) -> Case:
    """Read a test case.

    Raises:
        UsageError: A field has the wrong type; the message names it.
    """
    fields = case_fields(test_case)
    config = _object(fields, "evaluation_config")
    options = match_options(config)
    expected_outputs = _expected_outputs(fields)
    aggregation = copy_json(fields.get("expected_aggregation"), "expected_aggregation")
    is_on = {name: _flag(config, name) for name in ("intermediate", "aggregation")}
    has_final = _flag(config, "final")
    return Case(
        id=_identity(fields.get("id")),
        tags=_tags(fields.get("tags")),
        intermediate=(
            _object(fields, "intermediate_expectations")
            if is_on["intermediate"]
            else {}
        ),
        aggregation=aggregation if is_on["aggregation"] else None,
        outputs={
            key: value
            for key, value in expected_outputs.items()
            if has_final and key not in options.ignore
        },
        expected_outputs=expected_outputs,
        options=options,
    )


def match_options(config: Mapping[str, Any]) -> MatchOptions:
    """Read the leniency out of a case's ``evaluation_config``.

    Raises:
        UsageError: A value has the wrong type; keys that are not known are left alone.
    """
    strict = config.get("strict_mode", False)
    if not isinstance(strict, bool):
        raise _wrong("strict_mode", strict, "true or false")
    tolerance = config.get("tolerance", 0)
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= tolerance < math.inf:
        raise _wrong("tolerance", tolerance, "a number of at least 0")
    ignore = config.get("ignore_fields", [])
    is_list = isinstance(ignore, list | tuple)
    if not is_list or not all(isinstance(name, str) for name in ignore):
        raise _wrong("ignore_fields", ignore, "a list of key names")
    try:
        return MatchOptions(strict, float(tolerance), frozenset(ignore))
    except OverflowError:
        raise _wrong("tolerance", "a huge integer", "a number a double holds") from None


def _flag(config: Mapping[str, Any], scope: str) -> bool:
    value = config.get(f"evaluate_{scope}", True)
    if not isinstance(value, bool):
        raise _wrong(f"evaluate_{scope}", value, "true or false")
    return value


def _expected_outputs(fields: Mapping[str, Any]) -> dict[str, Any]:
    if fields.get("expected_outputs") is None and "expected_output" in fields:
        return {"output": copy_json(fields["expected_output"], "expected_output")}
    return _object(fields, "expected_outputs")


def _object(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if value is None:
        return {}
    copied = copy_json(value, name)
    if not isinstance(copied, dict):
        raise UsageError(
            f"test case: {name}: found {type(value).__name__}, expected an object"
        )
    return copied


def _identity(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"test case: id: found {value!r}, expected a non-blank text")
    return value


def _tags(value: Any) -> list[str]:
    tags = copy_json(value, "tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise UsageError(f"test case: tags: found {value!r}, expected a list of texts")
    return tags


def _wrong(name: str, found: object, wanted: str) -> UsageError:
    return UsageError(f"evaluation_config/{name}: found {found!r}, expected {wanted}")
