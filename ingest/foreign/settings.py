"""Settings of a run that its author named as they liked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlab.ingest.foreign.documents import first_line, text


def setting(settings: Mapping[str, Any], *names: str) -> str | None:
    """The first of these settings that says something, in one line.

    Args:
        settings: What the author wrote: ``{"Prompt version": "v7"}``.
        names: Lower case, words apart; case, ``_`` and ``-`` do not matter.
    """
    by_name = by_plain_name(settings)
    for name in names:
        value = by_name.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = first_line(str(value))
            if line:
                return line
    return None


def by_plain_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their names in lower case, words apart."""
    return {
        str(key).lower().replace("_", " ").replace("-", " "): value
        for key, value in settings.items()
    }


def env_of(settings: Any) -> str:
    """Settings as the environment of a task: JSON of texts by name.

    Args:
        settings: What the author wrote; anything but an object says nothing.
    """
    if not isinstance(settings, Mapping):
        return "{}"
    return text(
        {
            str(name): value if isinstance(value, str) else text(value)
            for name, value in settings.items()
        }
    )
