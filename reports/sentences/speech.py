"""Words, names and numbers in one language, for all sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from promptlab.reports.printing.filters import Filters
from promptlab.reports.printing.visible import clip
from promptlab.reports.texts.catalogue import catalogue

UNKNOWN = "–"
"""Replaces a missing fact, so that a sentence is never empty."""

_MOST_IN_LIST = 160
_WITH_DEFAULTS = "results"
"""Tasks of this kind only have the default dimensions."""
_CONFIGURED = "analysis"
"""Tasks of this kind have the dimensions of their file, without defaults."""
_MEMORY = "memory"
"""Tasks of this kind have the metrics of the memory benchmark."""
_PASSED = "default_dimension.passed"
"""The only default dimension of other tools' tasks, for verdicts without scores."""
_FINE_DIGITS = 4


@dataclass(frozen=True)
class Speech:
    """The words of one language and the names of one task."""

    filters: Filters
    own_names: Mapping[str, Any]
    """Keys of the names of default dimensions, if the task has these: a dimension that
    is configured in a file keeps its name."""
    is_graded: bool = True
    """If true, sentences name grades: analysis inputs request them, other files do
    not."""

    @classmethod
    def of(cls, lang: str, source_kind: str | None = None) -> Self:
        """Return the words of *lang* for a task of this kind.

        Raises:
            UsageError: the language is unknown.
        """
        words = catalogue(lang)
        own: Mapping[str, Any] = {}
        if source_kind == _WITH_DEFAULTS:
            own = words.entries
        elif source_kind == _MEMORY:
            own = {
                key.replace("memory_metric", "default_dimension"): name
                for key, name in words.entries.items()
                if key.startswith("memory_metric.")
            }
        elif source_kind != _CONFIGURED:
            own = {_PASSED: words.entries[_PASSED]}
        return cls(Filters(words), own, source_kind in (None, _CONFIGURED))

    def text(self, key: str, /, **values: Any) -> str:
        """Return the text of *key* with values filled in; a missing value is a dash."""
        known = {k: UNKNOWN if v is None else v for k, v in values.items()}
        return self.filters.catalogue.text(key, **known)

    def has(self, key: str) -> bool:
        """Return true if the text exists."""
        return key in self.filters.catalogue.entries

    def label(self, group: str, code: str | None) -> str | None:
        """Return the word for a code; ``None`` for ``None``."""
        return None if code is None else self.filters.label(code, group)

    def dimension(self, dimension_id: str | None, name: str | None) -> str | None:
        """Return a dimension's name: a built-in one in this language, or the user's."""
        ours = self.own_names.get(f"default_dimension.{dimension_id}", name)
        return None if ours is None else str(ours)

    def percent(self, share: float | None, beside: float | None = None) -> str | None:
        """Return a share in percent, with more digits if it looks equal to *beside*."""
        if share is None:
            return None
        shown = self.filters.percent(share)
        if beside is None or share == beside or shown != self.filters.percent(beside):
            return shown
        return self.filters.percent(share, _FINE_DIGITS)

    def points(self, difference: float | None) -> str | None:
        """Return a difference in points with its sign; only 0 is shown as 0."""
        if difference is None:
            return None
        fine = 0 < abs(difference) < 0.0005
        return self.filters.delta(difference, _FINE_DIGITS if fine else 1)

    def measure(
        self, number: float | None, unit: str | None, beside: float | None = None
    ) -> str | None:
        """Return a metric with its unit."""
        if number is None or unit is None:
            return None
        if unit == "share":
            return self.percent(number, beside)
        if unit == "ms":
            return self.filters.milliseconds(number)
        digits = _DIGITS[unit]
        shown = self.filters.number(number, digits)
        return self.text(f"measure.{unit}", n=shown) if digits == 0 else shown

    def listed(self, names: Iterable[str]) -> str:
        """Return names separated by commas, shortened if there are too many."""
        return clip(self.text("word.in_list").join(names), _MOST_IN_LIST)


_DIGITS = {"cost": 6, "variance": 4, "sum": 2, "tokens": 0, "characters": 0}
WHOLE_UNITS = frozenset(unit for unit, digits in _DIGITS.items() if not digits)
"""Units that are counted; they are named after the number."""
