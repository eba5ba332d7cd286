"""The contracts of `promptlab.contracts` as msgspec structs, for files with many rows.

msgspec decodes several times faster than pydantic and leaves free-form objects as raw
slices of the file. The struct is derived from the contract, which defines names,
types, ranges and defaults. The reader checks by column what the struct does not check
(a slice is an object, a text is a time or not blank: msgspec's patterns are slow);
records that fail are checked by the contract itself.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from promptlab.contracts.base import JsonObject
from promptlab.json_text.places import Key

EMPTY = msgspec.Raw(b"{}")
NULL = msgspec.Raw(b"null")

Structs = type[msgspec.Struct]
Members = dict[str, msgspec.Raw]
"""An object whose values are not decoded."""


class UnknownKey(NamedTuple):
    """An unknown key of a record."""

    way: tuple[Key, ...]
    """Path from the top of the record, the key itself last."""
    model: type[BaseModel]
    """The contract of the object that has it."""
    value: msgspec.Raw


@cache
def struct_of(
    model: type[BaseModel], *, closed: bool = False, free: Any = msgspec.Raw
) -> Structs:
    """Derive a struct that decodes records of *model*.

    Free-form objects (``JsonObject``, or null where the contract allows it) and ``Any``
    become `msgspec.Raw`, times become text, models become structs.

    Args:
        model: The contract.
        closed: Refuse unknown keys.
        free: Type of the model's free-form fields. `Any` for values that were already
            decoded (`msgspec.convert`).
    """
    fields = [
        (name, _field_kind(field, closed, free), _default(field, free))
        for name, field in model.model_fields.items()
    ]
    return msgspec.defstruct(
        model.__name__,
        [entry if entry[2] is not msgspec.NODEFAULT else entry[:2] for entry in fields],
        kw_only=True,
        gc=False,
        forbid_unknown_fields=closed,
    )


def unknown_keys(
    model: type[BaseModel], members: Members, way: tuple[Key, ...] = ()
) -> Iterator[UnknownKey]:
    """Yield the unknown keys of *model*, and those of the models in its lists.

    Args:
        model: The contract; its struct decoded the object.
        members: The object.
        way: Path of the object in its record.
    """
    known = _names(model)
    for key, value in members.items():
        if key not in known:
            yield UnknownKey((*way, key), model, value)
    for name, part in _listed(model).items():
        for place, each in enumerate(_LIST.decode(members.get(name, _NOTHING))):
            if not _names(part).issuperset(each):
                yield from unknown_keys(part, each, (*way, name, place))


_LIST = msgspec.json.Decoder(list[Members])
_NOTHING = msgspec.Raw(b"[]")


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields)


@cache
def _listed(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Fields that are lists of models."""
    listed = {}
    for name, field in model.model_fields.items():
        (inner,) = get_args(field.annotation)[:1] or (None,)
        is_list = get_origin(field.annotation) is list
        if is_list and isinstance(inner, type) and issubclass(inner, BaseModel):
            listed[name] = inner
    return listed


def _default(field: FieldInfo, free: Any) -> Any:
    if field.is_required():
        return msgspec.NODEFAULT
    is_raw = free is msgspec.Raw and _is_raw(field.annotation)
    if field.default_factory is None:
        return NULL if is_raw and field.default is None else field.default
    if is_raw:
        return EMPTY
    return msgspec.field(default_factory=field.default_factory)  # type: ignore[arg-type]  # ours take no argument


def _is_raw(annotation: Any) -> bool:
    return annotation in (Any, JsonObject, JsonObject | None)


def _field_kind(field: FieldInfo, closed: bool, free: Any) -> Any:
    if _is_raw(field.annotation):
        return free
    return _kind(field.annotation, tuple(field.metadata), closed)


def _kind(annotation: Any, metadata: tuple[Any, ...], closed: bool) -> Any:
    if annotation is datetime:
        return str
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return struct_of(annotation, closed=closed)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], arguments[1:], closed)
    if origin in (Union, types.UnionType):
        return Union[tuple(_kind(each, (), closed) for each in arguments)]  # noqa: UP007
    if origin is list:
        return list[_kind(arguments[0], (), closed)]  # type: ignore[misc]  # built
    if origin in (dict, Literal) or annotation in (str, int, float, bool, type(None)):
        limits = _limits(metadata)
        return Annotated[annotation, msgspec.Meta(**limits)] if limits else annotation
    message = f"no fast form for {annotation!r}: add it to ingest/reading/structs.py"
    raise TypeError(message)


def _limits(metadata: tuple[Any, ...]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for note in metadata:
        match note:
            case FieldInfo():
                limits |= _limits(tuple(note.metadata))
            case Ge(ge=bound):
                limits["ge"] = bound
            case Gt(gt=bound):
                limits["gt"] = bound
            case Le(le=bound):
                limits["le"] = bound
            case Lt(lt=bound):
                limits["lt"] = bound
    return limits
