"""The accepted values of a ``golden_answer`` baseline."""

from __future__ import annotations

from typing import Any

_KEYS = ("text", "answer", "output")


def golden_alternatives(payload: dict[str, Any]) -> list[Any]:
    """Return every value that counts as right, in their order.

    A golden answer is ``payload.text``, else ``answer``, else ``output``; a list holds
    alternatives. Null is not an answer.
    """
    given = next((payload[key] for key in _KEYS if payload.get(key) is not None), None)
    alternatives = given if isinstance(given, list) else [given]
    return [each for each in alternatives if each is not None]
