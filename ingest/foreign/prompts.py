"""The settings of a run, and its prompt.

Names of settings are chosen by their author. A prompt is a text, or messages with their
roles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from promptlab.ingest.foreign.casts import short_name
from promptlab.json_text.writing import compact


def setting(settings: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these settings that is not empty, in one line.

    Args:
        settings: The author's settings: ``{"Prompt version": "v7"}``.
        names: Lower case, words separated by spaces; ``_`` and ``-`` count as spaces.
    """
    by_name = {plain_key(name): value for name, value in settings.items()}
    for name in names:
        value = by_name.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = short_name(str(value))
            if line:
                return line
    return None


_OF_THE_ANSWER = (
    *("temperature", "top p", "top k", "seed", "max tokens", "max new tokens"),
    *("frequency penalty", "presence penalty", "num outputs", "reasoning effort"),
)
"""Usual names of the settings of a model."""


def model_settings(*settings: Any) -> dict[str, Any]:
    """Return the settings of the model in these objects, by their names there.

    Args:
        settings: The author's settings; values other than objects are ignored.
    """
    return {
        str(name): value
        for group in settings
        if isinstance(group, Mapping)
        for name, value in group.items()
        if value is not None and plain_key(name) in _OF_THE_ANSWER
    }


def plain_key(name: Any) -> str:
    """Return the name of a setting in lower case, words separated by spaces."""
    return str(name).lower().replace("_", " ").replace("-", " ")


def env_of(settings: Any) -> str:
    """Return settings as the environment of a task: JSON of texts by name.

    Args:
        settings: The author's settings; values other than objects are ignored.
    """
    if not isinstance(settings, Mapping):
        return "{}"
    return compact(
        {
            str(name): value if isinstance(value, str) else compact(value)
            for name, value in settings.items()
        }
    )


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


def opening(conversations: Collection[Any]) -> list[Any]:
    """Return the system messages with which all conversations begin.

    Args:
        conversations: Messages, or other prompts, which have no such start.
    """
    if len(conversations) < 2 or not all(
        isinstance(conversation, list) for conversation in conversations
    ):
        return []
    common = []
    for first, *others in zip(*conversations, strict=False):
        role = first.get("role") if isinstance(first, dict) else None
        if role not in ("system", "developer") or others.count(first) < len(others):
            break
        common.append(first)
    return common


def in_settings(settings: Any) -> Any:
    """Return the prompt in the settings of a run, if any."""
    if not isinstance(settings, Mapping):
        return None
    by_name = {plain_key(name): value for name, value in settings.items()}
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
    written = [
        {"role": role, "content": content}
        for role, content in parts
        if isinstance(content, str) and content.strip()
    ]
    if len(written) == 1 and written[0]["role"] == "user":
        return written[0]["content"]
    return written or None


def _read(prompt: Any) -> str | list[Any] | None:
    if isinstance(prompt, list):
        return prompt or None
    if not isinstance(prompt, str) or not prompt.strip():
        return None
    if not prompt.lstrip().startswith("["):
        return prompt
    try:
        parsed = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    is_conversation = isinstance(parsed, list) and all(
        isinstance(message, dict) and "role" in message for message in parsed
    )
    return parsed if parsed and is_conversation else prompt
