"""What a field of a contract asks for, in words: for messages where it is missing."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from promptlab.ingest.reading.json_places import Key

_END_OF_SENTENCE = re.compile(r"\. (?=[A-Z])")  # not the one of "e.g. manual"

_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    datetime: "a time such as 2024-10-24T12:30:00Z",
    list: "a list",
    dict: "an object",
}


def asked_for(model: type[BaseModel], way: Sequence[Key]) -> str:
    """Say what belongs at a place: its type, and its description's first sentence.

    Args:
        model: The contract of the whole value.
        way: Keys and list positions down to the field.

    Returns:
        Such as ``text: How the run was started, e.g. manual, ci``; nothing where the
        way leads out of the contract.
    """
    annotation: Any = model
    description = ""
    for key in way:
        annotation = _plain(annotation)
        if isinstance(key, int):
            annotation = next(iter(get_args(annotation)), None)
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(key)
            annotation = None if field is None else field.annotation
            description = "" if field is None else field.description or ""
        else:
            return ""
    sentences = _END_OF_SENTENCE.split(" ".join(description.split()))
    first = sentences[0].replace("`", "").removeprefix("Ours: ")
    words = _type_in_words(_plain(annotation))
    return ": ".join(each for each in (words, first.rstrip(".")) if each)


def _plain(annotation: Any) -> Any:
    """The type without what narrows it, and without null beside it."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(next(each for each in get_args(annotation) if each is not None))
    return annotation


def _type_in_words(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "an object"
    return _WORDS.get(get_origin(annotation) or annotation, "")
