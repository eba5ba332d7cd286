"""What a contract rejects, in sentences that say what was found and what was expected.

A fault says where it is inside a record; with the record's place it becomes a problem.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from promptlab.ingest.reading.contract_fields import asked_for
from promptlab.ingest.reading.json_messages import nearest, printable, shown
from promptlab.ingest.reading.json_places import Key, SpanIndex, flaws, value_end

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "list_type": "a list",
    "datetime_type": "a time as text, such as 2024-10-24T12:30:00Z",
    "none_required": "null",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a contract does not accept."""

    keys: tuple[Key, ...]
    """Keys and list positions on the way to it, from the top of the checked value."""
    code: str
    message: str


def faults(
    error: ValidationError, value: Any, model: type[BaseModel] | None = None
) -> list[Fault]:
    """Return every fault once, in the order of the contract's fields.

    Args:
        error: What the contract raised.
        value: What it was given; tells real keys from pydantic's names of branches.
        model: The contract, to say of what is missing what belongs there.
    """
    found: dict[tuple[tuple[Key, ...], str], list[str]] = {}
    for details in error.errors(include_url=False):
        keys = _real_keys(details, value)
        code, message = _say(details, model)
        if code == "missing" and model is not None and "did you mean" not in message:
            wanted = asked_for(model, keys)
            message += f". Write {wanted}" if wanted else ""
        found.setdefault((keys, code), []).append(message)
    return [
        Fault(keys, code, _joined(messages)) for (keys, code), messages in found.items()
    ]


def judge(model: type[BaseModel], text: str) -> list[Fault]:
    """Return all that is wrong with a record, none if its contract accepts it.

    Args:
        model: The contract.
        text: The record's JSON, decoded with `surrogateescape`; its grammar is right.
    """
    index = SpanIndex(text)
    found = [
        Fault(tuple(index.keys_at(place)), code, message)
        for place, code, message in flaws(text)
    ]
    try:
        value = json.loads(text)
    except (RecursionError, ValueError):
        return found or [Fault((), "too_deep", "nested too deeply to be read")]
    try:
        model.model_validate(value)
    except ValidationError as error:
        known = {fault.keys for fault in found}
        found += [
            each for each in faults(error, value, model) if each.keys not in known
        ]
    return found


def text_member(index: SpanIndex, key: str) -> str | None:
    """Return a member of an object, if there is one and it is a text."""
    place = index.find((key,))
    if place == index.start or not index.text.startswith('"', place):
        return None
    return printable(str(json.loads(index.text[place : value_end(index.text, place)])))


def _real_keys(details: ErrorDetails, value: Any) -> tuple[Key, ...]:
    keys: list[Key] = []
    for key in details["loc"]:
        inside = (isinstance(value, dict) and key in value) or (
            isinstance(value, list) and isinstance(key, int) and key < len(value)
        )
        if inside:
            value = value[key]
            keys.append(key)
        elif details["type"] == "missing":
            keys.append(key)
    return (*keys, *details.get("ctx", {}).get("below", ()))


def _unknown_keys(details: ErrorDetails, model: type[BaseModel] | None) -> list[str]:
    """Keys beside a missing one that its contract does not know: one may be meant."""
    if not isinstance(details["input"], dict):
        return []
    above = [key for key in details["loc"] if isinstance(key, str | int)][:-1]
    return [
        key
        for key in details["input"]
        if model is None or not asked_for(model, (*above, key))
    ]


def _say(details: ErrorDetails, model: type[BaseModel] | None) -> tuple[str, str]:
    kind, context = details["type"], details.get("ctx", {})
    found = shown(details["input"])
    if kind == "missing":
        name = str(details["loc"][-1])
        keys = _unknown_keys(details, model)
        if name.endswith("_id") and "id" in keys:  # what others call it
            return "missing", 'required, but missing; did you mean "id"?'
        return "missing", f"required, but missing{nearest(name, keys)}"
    if kind in _EXPECTED:
        return "wrong_type", f"expected {_EXPECTED[kind]}, found {found}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return "out_of_range", f"expected {words} {context[key]}, found {found}"
    if kind == "string_pattern_mismatch":
        return "blank", f"expected text that is not blank, found {found}"
    if kind == "literal_error":
        words = context["expected"].replace(" or ", ", ").replace("'", "")
        known = words.split(", ")
        message = f"expected one of {', '.join(known)}, found {found}"
        return "unknown_value", message + nearest(str(details["input"]), known)
    if kind == "value_error":
        return "bad_value", f"{context['error']}, found {found}"
    return kind, details["msg"]


def _joined(messages: list[str]) -> str:
    """Join what the branches of a union say: ``expected text or null, found 5``."""
    first = messages[0]
    head, middle, tail = first.partition(", found ")
    others = [each.partition(", found ")[0] for each in messages[1:]]
    words = [each.removeprefix("expected ") for each in others if each != head]
    return " or ".join([head, *dict.fromkeys(words)]) + middle + tail
