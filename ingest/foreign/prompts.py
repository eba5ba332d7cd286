"""The prompt of a task in its tool's file: a text, or messages with their roles."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from promptlab.ingest.foreign.settings import by_plain_name

_NAMED = (
    "prompt template",
    "prompt text",
    "system prompt",
    "system message",
    "instructions",
    "prompt",
)
"""Usual names of a prompt in settings, the most common first."""
_NAME = re.compile(r"[\w.:/@+-]{1,60}", re.ASCII)
"""``ask-v2``: a name of a prompt, not its text."""


def about(prompt: Any, **others: Any) -> dict[str, Any]:
    """Return the extras of a task: its prompt and other fields that are not empty.

    Args:
        prompt: A text, messages, or messages as JSON in a text; ``None``: not known.
        others: Further extras; empty ones are left out.
    """
    return {k: v for k, v in {"prompt": _read(prompt), **others}.items() if v}


def in_settings(settings: Any) -> Any:
    """Return the prompt in the settings of a run, if any."""
    if not isinstance(settings, Mapping):
        return None
    by_name = by_plain_name(settings)
    for name in _NAMED:
        prompt = _read(by_name.get(name))
        if isinstance(prompt, list) or (prompt and not _NAME.fullmatch(prompt)):
            return prompt
    return None


def messages(*parts: tuple[str, Any]) -> Any:
    """Return a prompt made of parts.

    Args:
        parts: Role and text; a part that is not a text, or blank, is left out.

    Returns:
        Messages; a text if only the user speaks; ``None`` if all parts are empty.
    """
    found = [
        {"role": role, "content": content}
        for role, content in parts
        if isinstance(content, str) and content.strip()
    ]
    if len(found) == 1 and found[0]["role"] == "user":
        return found[0]["content"]
    return found or None


def _read(prompt: Any) -> str | list[Any] | None:
    if isinstance(prompt, list):
        return prompt or None
    if not isinstance(prompt, str) or not prompt.strip():
        return None
    if not prompt.lstrip().startswith("["):
        return prompt
    try:
        found = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    is_conversation = isinstance(found, list) and all(
        isinstance(each, dict) and "role" in each for each in found
    )
    return found if found and is_conversation else prompt
