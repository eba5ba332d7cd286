"""The language of what a command prints to stdout: English, or Chinese.

English stands in the code, where it is printed; ``zh.toml`` says the same in Chinese.
Help, progress and errors are English: they go to whoever runs the command, and into
the logs of machines.
"""

from __future__ import annotations

import tomllib
from contextvars import ContextVar
from functools import cache
from importlib import resources

_GROUPS = frozenset(
    {
        "status",
        "severity",
        "target_status",
        "verdict",
        "change",
        "gate_verdict",
        "reason",
        "memory_operation",
    }
)
"""Of the reports' texts: the words of codes that tables print, too."""

_lang: ContextVar[str] = ContextVar("lang", default="en")


def speak(lang: str) -> None:
    """Print in this language from now on: ``zh`` or ``en``."""
    _lang.set(lang)


def spoken(text: str, **values: object) -> str:
    """Return an English text in the language that was chosen.

    Args:
        text: As it stands in ``zh.toml``; values may be named in braces. A text that
            is not there is no text of ours: it stays as it is.
        values: What the braces name.
    """
    told = chinese().get(text, text) if _lang.get() == "zh" else text
    return told.format(**values) if values else told


@cache
def chinese() -> dict[str, str]:
    """Return the Chinese of every text that commands print."""
    from reports.texts.catalogue import catalogue

    codes: dict[str, str] = {}
    for key, text in catalogue("zh").entries.items():
        group, _, code = key.rpartition(".")
        if group in _GROUPS and isinstance(text, str):
            codes.setdefault(code.replace("_", " "), text)
    file = resources.files("promptlab.cli").joinpath("zh.toml")
    return codes | tomllib.loads(file.read_text("utf-8"))
