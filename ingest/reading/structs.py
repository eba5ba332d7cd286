"""Structs that are derived from the contracts, and refuse what their contract refuses.

msgspec decodes several times faster than pydantic and leaves free-form objects as raw
slices of the file. Names, types, ranges and defaults are those of the contract
(`promptlab.contracts`). What msgspec does not check (a text is a time or not blank, a
slice is an object, a limit holds) is checked when a struct is made. Why it refuses a
record is not reported: the contract reads that record again, and names every error.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from promptlab.contracts.base import BLANKS, JsonObject, plain_name, read_time
from promptlab.ingest.reading.source import DEFAULT, Limits

EMPTY = msgspec.Raw(b"{}")
NULL = msgspec.Raw(b"null")

Structs = type[msgspec.Struct]

_encode = msgspec.json.Encoder().encode


@cache
def struct_of(
    model: type[BaseModel],
    *,
    closed: bool = False,
    free: Any = msgspec.Raw,
    limits: Limits = DEFAULT,
) -> Structs:
    """Derive a struct that decodes records of *model*.

    Free-form objects (``JsonObject``) and ``Any`` become their text, or None for null;
    times are read and have no ``tzinfo`` without a zone; models become structs.

    Args:
        model: The contract.
        closed: Refuse unknown keys.
        free: Type of the model's free-form fields. `Any` for values that were already
            decoded (`msgspec.convert`), of which msgspec checks enough.
        limits: Limits of texts and of nesting.
    """
    fields = [
        (
            name,
            free
            if _is_free(field.annotation)
            else _kind(field.annotation, tuple(field.metadata), closed, limits),
            _default(field, free),
        )
        for name, field in model.model_fields.items()
    ]
    return msgspec.defstruct(
        model.__name__,
        [entry if entry[2] is not msgspec.NODEFAULT else entry[:2] for entry in fields],
        namespace={} if free is Any else {"__post_init__": _check_of(model, limits)},
        kw_only=True,
        gc=False,
        forbid_unknown_fields=closed,
    )


def _check_of(model: type[BaseModel], limits: Limits) -> Callable[[Any], None]:
    """Return the check of a new struct, which raises a ``ValueError``."""
    fields = model.model_fields
    notes = {
        name: set(_notes(field.annotation, tuple(field.metadata)))
        for name, field in fields.items()
    }
    free = [
        (name, starts)
        for name, field in fields.items()
        for annotation, starts in _FREE
        if field.annotation == annotation
    ]
    times = [name for name in fields if datetime in notes[name]]
    not_blank = [name for name in fields if _NOT_BLANK in notes[name]]
    plain_names = [name for name in fields if _PLAIN_NAME in notes[name]]
    sized = [name for name in fields if notes[name] & {str, list}]
    harmless, longest = limits.harmless, limits.max_string // 4

    def check(struct: Any) -> None:
        for name, starts in free:
            text = str(getattr(struct, name), "utf-8")
            if text[0] not in starts:
                raise ValueError
            if len(text) > harmless:
                limits.check(text)
            setattr(struct, name, None if text == "null" else text)
        for name in sized:
            if (value := getattr(struct, name)) and (
                type(value) is not str or len(value) > longest
            ):
                limits.check(_encode(value).decode())
        for name in not_blank:
            if (value := getattr(struct, name)) and value.strip(BLANKS):
                continue
            if value is not None:
                raise ValueError
        for name in times:
            if (value := getattr(struct, name)) is not None:
                setattr(struct, name, read_time(value))
        for name in plain_names:
            setattr(struct, name, plain_name(getattr(struct, name)))

    return check


_NOT_BLANK = r"\S"
_PLAIN_NAME = "plain_name"


def _notes(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield the types of a field, and marks of its checks."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _notes(arguments[0], arguments[1:])
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _notes(argument)
    elif origin is list:
        is_of_models = isinstance(arguments[0], type) and issubclass(
            arguments[0], BaseModel
        )
        yield None if is_of_models else list
    else:
        yield origin or annotation
    for note in metadata:
        if isinstance(note, StringConstraints) and note.pattern == r"\S":
            yield _NOT_BLANK
        elif note == AfterValidator(plain_name):
            yield _PLAIN_NAME


def _default(field: FieldInfo, free: Any) -> Any:
    if field.is_required():
        return msgspec.NODEFAULT
    is_raw = free is msgspec.Raw and _is_free(field.annotation)
    if field.default_factory is None:
        return NULL if is_raw and field.default is None else field.default
    if is_raw:
        return EMPTY
    return msgspec.field(default_factory=field.default_factory)  # type: ignore[arg-type]  # ours take no argument


_FREE = (
    (JsonObject, "{"),
    (JsonObject | None, "{n"),
    (Any, '{["-0123456789tfn'),
)
"""Types of free-form fields, and the characters with which their JSON may begin."""


def _is_free(annotation: Any) -> bool:
    return any(annotation == free for free, _ in _FREE)


def _kind(
    annotation: Any, metadata: tuple[Any, ...], closed: bool, limits: Limits
) -> Any:
    if annotation is datetime:
        return str
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return struct_of(annotation, closed=closed, limits=limits)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], arguments[1:], closed, limits)
    if origin in (Union, types.UnionType):
        kinds = tuple(_kind(argument, (), closed, limits) for argument in arguments)
        return Union[kinds]  # noqa: UP007
    if origin is list:
        return list[_kind(arguments[0], (), closed, limits)]  # type: ignore[misc]  # built
    if origin in (dict, Literal) or annotation in (str, int, float, bool, type(None)):
        bounds = _bounds(metadata)
        return Annotated[annotation, msgspec.Meta(**bounds)] if bounds else annotation
    message = f"no fast form for {annotation!r}: add it to ingest/reading/structs.py"
    raise TypeError(message)


def _bounds(metadata: tuple[Any, ...]) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for note in metadata:
        match note:
            case FieldInfo():
                bounds |= _bounds(tuple(note.metadata))
            case Ge(ge=bound):
                bounds["ge"] = bound
            case Gt(gt=bound):
                bounds["gt"] = bound
            case Le(le=bound):
                bounds["le"] = bound
            case Lt(lt=bound):
                bounds["lt"] = bound
    return bounds
