"""The contracts of `promptlab.contracts` as msgspec structs, for files with many rows.

msgspec decodes several times faster than pydantic and leaves free-form objects as raw
slices of the file. The contract stays the only owner of names, types, ranges and
defaults: the struct is derived from it. What the struct does not check (that a slice
is an object, that a text is a time or not blank: msgspec's patterns are slow) the
reader checks by column; whatever fails any of these is judged by the contract itself.
"""

from __future__ import annotations

import types
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from promptlab.contracts.base import JsonObject

EMPTY = msgspec.Raw(b"{}")
NULL = msgspec.Raw(b"null")

Structs = type[msgspec.Struct]


@cache
def struct_of(model: type[BaseModel], *, closed: bool = False) -> Structs:
    """Derive the struct that decodes what *model* accepts.

    Free-form objects (``JsonObject``, or null where the contract allows it) and ``Any``
    become `msgspec.Raw`, times become text, models become structs.

    Args:
        model: The contract.
        closed: Refuse keys that the contract does not know.
    """
    fields = [
        (name, _field_kind(field, closed), _default(field))
        for name, field in model.model_fields.items()
    ]
    return msgspec.defstruct(
        model.__name__,
        [entry if entry[2] is not msgspec.NODEFAULT else entry[:2] for entry in fields],
        kw_only=True,
        gc=False,
        forbid_unknown_fields=closed,
    )


def _default(field: FieldInfo) -> Any:
    if field.is_required():
        return msgspec.NODEFAULT
    is_raw = _is_raw(field.annotation)
    if field.default_factory is None:
        return NULL if is_raw and field.default is None else field.default
    if is_raw:
        return EMPTY
    return msgspec.field(default_factory=field.default_factory)  # type: ignore[arg-type]  # ours take no argument


def _is_raw(annotation: Any) -> bool:
    return annotation in (Any, JsonObject, JsonObject | None)


def _field_kind(field: FieldInfo, closed: bool) -> Any:
    if _is_raw(field.annotation):
        return msgspec.Raw
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
    message = f"no fast form for {annotation!r}: add it to ingest/fast_structs.py"
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
