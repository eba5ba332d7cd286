"""Names of the default dimensions in the language of the report.

A dimension that a file configures keeps the name it was given, in every language. The
dimensions that an evaluation result gets of itself are named by us.
"""

from __future__ import annotations

from reports.texts.catalogue import catalogue

_GROUP = "default_dimension."
_GIVEN_DEFAULTS = "results"  # tasks of this kind have the default dimensions, only


class Names:
    """The names of one task's dimensions."""

    def __init__(self, source_kind: str | None, lang: str) -> None:
        """Decide whether the names of a task are ours.

        Args:
            source_kind: As in ``dim_tasks``; ``None`` where it is about no task.
            lang: Language of the report.
        """
        is_ours = source_kind == _GIVEN_DEFAULTS
        self._ours = catalogue(lang).entries if is_ours else {}

    def name(self, dimension_id: str | None, name: str | None) -> str | None:
        """Return a dimension's name: ours, or *name* as somebody wrote it."""
        ours = self._ours.get(f"{_GROUP}{dimension_id}", name)
        return ours if ours is None else str(ours)
