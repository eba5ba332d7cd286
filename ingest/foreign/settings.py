"""Settings of a run with names chosen by its author."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlab.ingest.foreign.documents import first_line, text


def setting(settings: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these settings that is not empty, in one line.

    Args:
        settings: The author's settings: ``{"Prompt version": "v7"}``.
        names: Lower case, words separated by spaces; ``_`` and ``-`` count as spaces.
    """
    by_name = by_plain_name(settings)
    for name in names:
        value = by_name.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = first_line(str(value))
            if line:
                return line
    return None


_OF_THE_ANSWER = (
    *("temperature", "top p", "top k", "seed", "max tokens", "max new tokens"),
    *("frequency penalty", "presence penalty", "num outputs", "reasoning effort"),
)
"""Usual names of the settings of a model."""


def model_settings(*given: Any) -> dict[str, Any]:
    """Return the settings of the model in these objects, by their given names.

    Args:
        given: The author's settings; values other than objects are ignored.
    """
    return {
        str(name): value
        for each in given
        if isinstance(each, Mapping)
        for name, value in each.items()
        if value is not None
        and str(name).lower().replace("_", " ").replace("-", " ") in _OF_THE_ANSWER
    }


def by_plain_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their names in lower case, words separated by spaces."""
    return {
        str(key).lower().replace("_", " ").replace("-", " "): value
        for key, value in settings.items()
    }


def env_of(settings: Any) -> str:
    """Return settings as the environment of a task: JSON of texts by name.

    Args:
        settings: The author's settings; values other than objects are ignored.
    """
    if not isinstance(settings, Mapping):
        return "{}"
    return text(
        {
            str(name): value if isinstance(value, str) else text(value)
            for name, value in settings.items()
        }
    )
