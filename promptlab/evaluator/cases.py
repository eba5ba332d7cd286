"""Read a test case: its expectations and its options.

A case is a mapping in the testset format (v2), or any object with those attributes,
such as ``promptlab.TestCase``. ``expected_output`` is the format's short form of
``expected_outputs: {"output": …}``. Lines in the older v1 form become cases by
``load_testset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from promptlab.contracts.testset import EvaluationOptions
from promptlab.errors import UsageError
from promptlab.evaluator.matching import MatchOptions
from promptlab.json_text.reading import copy_json

_FIELDS: Final = (
    "id",
    "tags",
    "inputs",
    "step_inputs",
    "batch_items",
    "intermediate_expectations",
    "expected_aggregation",
    "expected_outputs",
    "evaluation_config",
)


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """The parts of a test case for evaluation; all values are copies."""

    id: str | None
    tags: list[str]
    intermediate: dict[str, Any]
    """Step id → expectation; empty when switched off."""

    aggregation: Any
    """``None``: no expectations, or switched off."""

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


def read_case(test_case: Any) -> JudgedCase:
    """Read a test case.

    Raises:
        UsageError: A field has the wrong type; the message names it.
    """
    fields = case_fields(test_case)
    options = options_of(_object(fields, "evaluation_config"))
    expected_outputs = _expected_outputs(fields)
    aggregation = copy_json(fields.get("expected_aggregation"), "expected_aggregation")
    return JudgedCase(
        id=_identity(fields.get("id")),
        tags=_tags(fields.get("tags")),
        intermediate=(
            _object(fields, "intermediate_expectations")
            if options.evaluate_intermediate
            else {}
        ),
        aggregation=aggregation if options.evaluate_aggregation else None,
        outputs={
            key: value
            for key, value in expected_outputs.items()
            if options.evaluate_final and key not in options.ignore_fields
        },
        expected_outputs=expected_outputs,
        options=match_options(options),
    )


def options_of(config: Mapping[str, Any]) -> EvaluationOptions:
    """Read a case's ``evaluation_config`` with all defaults.

    Raises:
        UsageError: A value has the wrong type; unknown keys are ignored.
    """
    try:
        return EvaluationOptions.model_validate(config)
    except ValidationError as error:
        faults = [
            f"evaluation_config/{'/'.join(map(str, fault['loc']))}: "
            f"found {fault['input']!r}: {fault['msg']}"
            for fault in error.errors()
        ]
        raise UsageError("; ".join(faults)) from None


def match_options(options: EvaluationOptions) -> MatchOptions:
    """Return the comparison options of a case."""
    return MatchOptions(
        strict=options.strict_mode,
        tolerance=options.tolerance,
        ignore=frozenset(options.ignore_fields),
    )


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
