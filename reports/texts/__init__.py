"""All texts of reports and commands: one TOML file per language, read as a catalogue.

A text may name values in braces. A text with plural forms is a table with ``one`` and
``other``, selected by the value ``n``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import timedelta, timezone
from functools import cache
from typing import Any

from promptlab.errors import UsageError
from promptlab.paths import TEXTS, languages

_PLURALS = frozenset({"one", "other"})


@dataclass(frozen=True)
class Catalogue:
    """The texts of one language."""

    lang: str
    tag: str
    """Language tag for browsers and mail: ``zh-CN``."""
    time_zone: timezone
    """Time zone of printed times."""
    entries: dict[str, str | dict[str, str]]
    printed: dict[str, str]
    """Translations of printed texts, by the English text in the code."""

    def text(self, key: str, /, **values: Any) -> str:
        """Return the text of *key* with *values* filled in.

        Raises:
            KeyError: the key is not in the catalogue, or a value is missing.
        """
        shown = {k: f"{v:,}" if type(v) is int else v for k, v in values.items()}
        return self.entry(key, values.get("n")).format(**shown)

    def entry(self, key: str, n: object = None) -> str:
        """Return the text of *key* with its braces, in the form for *n*."""
        entry = self.entries[key]
        if isinstance(entry, str):
            return entry
        return entry["one" if n == 1 and "one" in entry else "other"]

    def label(self, group: str, code: str) -> str:
        """Return the text of ``group.code``, or *code* itself if it is missing.

        For codes that other parts of the project may extend: an unknown code is shown
        unchanged rather than dropped.
        """
        key = f"{group}.{code}"
        return self.text(key) if key in self.entries else code


@cache
def catalogue(lang: str) -> Catalogue:
    """Return the texts of *lang*.

    Raises:
        UsageError: the language is unknown.
    """
    if lang not in languages():
        raise UsageError(f"lang: {lang!r} is not one of {', '.join(languages())}")
    texts = tomllib.loads((TEXTS / f"{lang}.toml").read_text("utf-8"))
    language, printed = texts.pop("language"), texts.pop("printed", {})
    zone = timezone(timedelta(hours=language["utc_offset_hours"]))
    return Catalogue(lang, language["tag"], zone, _flat(texts), printed)


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, str | dict[str, str]]:
    entries: dict[str, str | dict[str, str]] = {}
    for key, value in table.items():
        if isinstance(value, dict) and not set(value) <= _PLURALS:
            entries |= _flat(value, f"{prefix}{key}.")
        else:
            entries[prefix + key] = value
    return entries
