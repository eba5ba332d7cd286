"""Problems of a file, which `validate` prints and `raw.rejects` stores.

The second half converts errors of a contract to sentences: the found and the expected
value. An error has a path inside a record; with the record's place it becomes a
problem.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from promptlab.contracts.base import descriptions
from promptlab.encoding import LONE_SURROGATE
from promptlab.errors import nearest
from promptlab.json_text.places import Key, Keys, pointer
from promptlab.json_text.reading import Fault, parse_all, printable
from promptlab.json_text.writing import shown

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails


Severity = Literal["reject", "warning"]

Place = Callable[[Keys], tuple[int, int]]
"""Line and column of the value at a path, or of its deepest existing parent."""

LONGEST_RAW_TEXT = 1 << 20
"""Maximum stored length of a rejected record."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or warning about one record of a file.

    A record with a ``reject`` is left out and stored as ``raw_text``; a record with a
    ``warning`` is loaded. ``line`` and ``column`` count from 1 (column in characters);
    ``pointer`` is a JSON Pointer (RFC 6901) inside the record of a JSONL file, or
    inside a JSON file.
    """

    code: str
    message: str
    severity: Severity = "reject"
    line: int | None = None
    column: int | None = None
    record_id: str | None = None
    pointer: str | None = None
    raw_text: str | None = None


def warning(code: str, message: str, **where: Any) -> Problem:
    """Return a problem of a record, or of a file, that is loaded."""
    return Problem(code, message, "warning", **where)


def lone_surrogate_warning(count: int, **where: Any) -> Problem:
    """Return the warning of lone surrogates; *where* is the first."""
    more = f" (here and in {count - 1} more places)" if count > 1 else ""
    return warning(
        LONE_SURROGATE,
        "half of a surrogate pair, such as \\ud83d: a text cut inside an emoji."
        f" It is read as U+FFFD (\N{REPLACEMENT CHARACTER}){more}. Cut texts between"
        " characters",
        **where,
    )


def problem_at(
    place: Place,
    fault: Fault,
    severity: Severity = "reject",
    *,
    record_id: str | None = None,
    way: Keys = (),
    raw_text: str | None = None,
) -> Problem:
    """Return an error of a text as a problem, with its place in the file.

    Args:
        place: Finds a value of the text in the file, for an error without a line.
        fault: Its keys start at the top of the text; its line is that of the file.
        severity: ``reject`` or ``warning``.
        record_id: The record that it belongs to.
        way: The path to the text, if it is a part of a JSON document.
        raw_text: The stored text of a rejected record.
    """
    line, column = fault.line, fault.column
    if line is None:
        line, column = place(fault.keys)
    return Problem(
        code=fault.code,
        message=printable(fault.message),
        severity=severity,
        line=line,
        column=column,
        record_id=record_id and printable(record_id),
        pointer=printable(pointer((*way, *fault.keys))),
        raw_text=raw_text,
    )


def kept(text: str) -> str:
    """Return the stored text of a rejected record; a long one is shortened."""
    text = printable(text)
    if len(text) <= LONGEST_RAW_TEXT:
        return text
    return f"{text[:LONGEST_RAW_TEXT]}… ({len(text)} characters in all)"


def with_place(path: str | Path, problem: Problem) -> str:
    """Return ``file:line:column: pointer: message`` without unknown parts."""
    places = (path, problem.line, problem.column)
    place = ":".join(str(part) for part in places if part is not None)
    pointer = f" {problem.pointer}:" if problem.pointer else ""
    return f"{place}:{pointer} {problem.message}"


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in the order of the file."""
    return sorted(
        problems, key=lambda problem: (problem.line or 0, problem.column or 0)
    )


def _with_count(_kind: object, first: Problem, count: int) -> str:
    return first.message + (f" (here and in {count - 1} more)" if count > 1 else "")


class CountedProblems:
    """Problems that many records share: reported once, at the first, with their number.

    Args:
        message: Called with the kind, its first problem, and their number.
    """

    def __init__(
        self, message: Callable[[Any, Problem, int], str] = _with_count
    ) -> None:
        self._message = message
        self._first: dict[Hashable, Problem] = {}
        self._counts: dict[Hashable, int] = {}

    def add(self, kind: Hashable, first: Callable[[], Problem], count: int = 1) -> None:
        """Count problems of a kind; *first* is only called for the first of them."""
        if kind not in self._first:
            self._first[kind] = first()
        self._counts[kind] = self._counts.get(kind, 0) + count

    def problems(self) -> list[Problem]:
        """Return one problem of each kind."""
        return [
            replace(first, message=self._message(kind, first, self._counts[kind]))
            for kind, first in self._first.items()
        ]


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


def faults(
    error: ValidationError, value: Any, model: type[BaseModel] | None = None
) -> list[Fault]:
    """Return every error once, in the order of the contract's fields.

    Args:
        error: The exception of the contract.
        value: The input; distinguishes real keys from pydantic's names of branches.
        model: The contract, which describes missing values.
    """
    messages_at: dict[tuple[tuple[Key, ...], str], list[str]] = {}
    for details in error.errors(include_url=False):
        keys = _real_keys(details, value)
        code, message = _message(details, model)
        if code == "missing" and model is not None and "did you mean" not in message:
            wanted = expected_at(model, keys)
            message += f". Write {wanted}" if wanted else ""
        messages_at.setdefault((keys, code), []).append(message)
    return [
        Fault(keys, code, _joined(messages))
        for (keys, code), messages in messages_at.items()
    ]


def judge(model: type[BaseModel], text: str) -> list[Fault]:
    """Return all errors of a record; an empty list if it is valid.

    Args:
        model: The contract.
        text: The record's JSON, decoded with `surrogateescape`.
    """
    value, errors = parse_all(text)
    try:
        model.model_validate(value)
    except ValidationError as error:
        known = {error.keys for error in errors}
        errors += [
            fault for fault in faults(error, value, model) if fault.keys not in known
        ]
    return errors


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
    """Return unknown keys next to a missing one: one may be misspelled."""
    if not isinstance(details["input"], dict):
        return []
    above = [key for key in details["loc"] if isinstance(key, str | int)][:-1]
    return [
        key
        for key in details["input"]
        if model is None or not expected_at(model, (*above, key))
    ]


def _message(details: ErrorDetails, model: type[BaseModel] | None) -> tuple[str, str]:
    kind, context = details["type"], details.get("ctx", {})
    value = shown(details["input"])
    if kind == "missing":
        name = str(details["loc"][-1])
        keys = _unknown_keys(details, model)
        if name.endswith("_id") and "id" in keys:  # names in other tools
            return "missing", 'required, but missing; did you mean "id"?'
        return "missing", f"required, but missing{nearest(name, keys)}"
    if kind in _EXPECTED:
        return "wrong_type", f"expected {_EXPECTED[kind]}, found {value}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return "out_of_range", f"expected {words} {context[key]}, found {value}"
    if kind == "string_pattern_mismatch":
        return "blank", f"expected text that is not blank, found {value}"
    if kind == "literal_error":
        words = context["expected"].replace(" or ", ", ").replace("'", "")
        known = words.split(", ")
        message = f"expected one of {', '.join(known)}, found {value}"
        return "unknown_value", message + nearest(str(details["input"]), known)
    if kind == "value_error":
        return "bad_value", f"{context['error']}, found {value}"
    return kind, details["msg"]


def _joined(messages: list[str]) -> str:
    """Join the errors of a union's branches: ``expected text or null, found 5``."""
    first = messages[0]
    head, middle, tail = first.partition(", found ")
    others = [message.partition(", found ")[0] for message in messages[1:]]
    words = [
        expected.removeprefix("expected ") for expected in others if expected != head
    ]
    return " or ".join([head, *dict.fromkeys(words)]) + middle + tail


_END_OF_SENTENCE = re.compile(r"\. (?=[A-Z])")  # not the one of "e.g. manual"

_TYPES: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    datetime: "a time such as 2024-10-24T12:30:00Z",
    list: "a list",
    dict: "an object",
}


def expected_at(model: type[BaseModel], way: Sequence[Key]) -> str:
    """Return what a contract expects at a path: a type, and a short description.

    Returns:
        Such as ``text: Trigger of the run, e.g. manual, ci``; nothing for a path
        outside of the contract.
    """
    annotation: Any = model
    description = ""
    for key in way:
        annotation = _plain(annotation)
        if isinstance(key, int):
            annotation = next(iter(get_args(annotation)), None)
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
            field = model.model_fields.get(key)
            annotation = None if field is None else field.annotation
            description = descriptions(model).get(key, "")
        else:
            return ""
    sentences = _END_OF_SENTENCE.split(" ".join(description.split()))
    first = sentences[0].replace("`", "").removeprefix("Ours: ")
    words = _type_in_words(_plain(annotation))
    return ": ".join(part for part in (words, first.rstrip(".")) if part)


def _plain(annotation: Any) -> Any:
    """Return the type without constraints and without null."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(
            next(argument for argument in get_args(annotation) if argument is not None)
        )
    return annotation


def _type_in_words(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "an object"
    return _TYPES.get(get_origin(annotation) or annotation, "")
