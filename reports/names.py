"""Names of the default dimensions in the language of the report.

A dimension that a file configures keeps the name it was given, in every language. The
dimensions that an evaluation result gets of itself are named by us, and the marts hold
those names in Chinese only, also inside their English sentences.
"""

from __future__ import annotations

from reports.catalogue import Lang, catalogue

_GROUP = "default_dimension."
_GIVEN_DEFAULTS = "results"  # tasks of this kind have the default dimensions, only


class Names:
    """The names of one task's dimensions."""

    def __init__(self, source_kind: str, lang: Lang) -> None:
        """Know whether the names of a task are ours.

        Args:
            source_kind: As in ``dim_tasks``.
            lang: Language of the report.
        """
        ours = catalogue("zh").entries if source_kind == _GIVEN_DEFAULTS else {}
        here = catalogue(lang).entries
        self._names = {
            str(name): str(here[key])
            for key, name in ours.items()
            if key.startswith(_GROUP) and name != here[key]
        }

    def name(self, name: str) -> str:
        """Return a dimension's name."""
        return self._names.get(name, name)

    def sentence(self, text: str) -> str:
        """Return a sentence of ours; it has the names of dimensions in “quotes”."""
        for stored, shown in self._names.items():
            text = text.replace(f"“{stored}”", f"“{shown}”")
        return text
