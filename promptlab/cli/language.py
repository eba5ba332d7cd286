"""The language of what a command prints to stdout.

The English text is in the code that prints it; ``[printed]`` of a language's file in
``reports/texts`` contains its translation. Help, progress and errors are always
English: they are for the person who runs the command, and for logs.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache

_GROUPS = frozenset(
    {
        "status",
        "severity",
        "target_status",
        "verdict",
        "measure_verdict",
        "direction",
        "change",
        "gate_verdict",
        "reason",
        "memory_operation",
    }
)
"""Sections of the reports' texts that tables also use, for words of codes."""

_lang: ContextVar[str] = ContextVar("lang", default="en")


def speak(lang: str) -> None:
    """Set the language of printed texts, one of ``languages()``."""
    _lang.set(lang)


def spoken(text: str, **values: object) -> str:
    """Translate an English text into the chosen language.

    Args:
        text: A key of ``[printed]``; braces name values. Any other text is returned
            unchanged.
        values: The values for the braces.
    """
    lang = _lang.get()
    told = text if lang == "en" else printed(lang).get(text, text)
    return told.format(**values) if values else told


@cache
def printed(lang: str) -> dict[str, str]:
    """Return every text that commands print in a language, by its English."""
    from promptlab.reports.texts import catalogue

    codes: dict[str, str] = {}
    for key, text in catalogue(lang).entries.items():
        group, _, code = key.rpartition(".")
        if group in _GROUPS and isinstance(text, str):
            codes.setdefault(code.replace("_", " "), text)
    return codes | catalogue(lang).printed
