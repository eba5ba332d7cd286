"""Tolerant reading of a memory-benchmark file: invalid values are set aside.

The answers of a conversation are useful even if its statistics are invalid, so a value
of the wrong type becomes an extra with a warning, and only fields that identify a
record are required.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from promptlab.ingest.memory.findings import Findings
from promptlab.ingest.reading.contract_faults import faults
from promptlab.json_text.places import Keys
from promptlab.json_text.writing import shown

Model = TypeVar("Model", bound=BaseModel)


def tolerant(
    model: type[Model], value: Any, keys: Keys, findings: Findings
) -> tuple[Model, Any]:
    """Read an object by its contract and set invalid values aside.

    Args:
        model: A contract whose required fields, if any, exist in the object.
        value: The object; null and missing count as an empty object.
        keys: Its path in the file.
        findings: Receives a warning for every value that is set aside.

    Returns:
        The known fields, and the rest as a JSON object, which may be empty.
    """
    if value is None:
        return model(), {}
    if not isinstance(value, dict):
        _refuse(f"expected an object, found {shown(value)}", keys, findings)
        return model(), value
    try:
        read = model.model_validate(value)
        refused = {}
    except ValidationError as error:
        found = faults(error, value)
        for fault in found:
            _refuse(fault.message, (*keys, *fault.keys), findings)
        names = {fault.keys[0] for fault in found}
        refused = {name: value[name] for name in value if name in names}
        kept = {name: value[name] for name in value if name not in names}
        read = model.model_validate(kept)
    return read, refused | unknown_keys(read, keys, findings)


def unknown_keys(read: BaseModel, keys: Keys, findings: Findings) -> dict[str, Any]:
    """Return unknown fields at all depths, with a warning for each."""
    rest: dict[str, Any] = dict(read.model_extra or {})
    for name in rest:
        findings.unknown((*keys, name))
    for name in type(read).model_fields:
        inner = getattr(read, name)
        if isinstance(inner, BaseModel):
            inner_rest = unknown_keys(inner, (*keys, name), findings)
            if inner_rest:
                rest[name] = inner_rest
    return rest


def _refuse(message: str, keys: Keys, findings: Findings) -> None:
    findings.count("unreadable_value", f"{message}; it is kept in extras.", keys)
