"""Tell the settings of a scorer from its results, where a tool writes both together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ConstantSettings:
    """The values that are the same in all results of a scorer: its settings.

    What differs between them is a part of each result.
    """

    def __init__(self) -> None:
        self._first: dict[str, dict[str, Any]] = {}
        self._differing: set[tuple[str, str]] = set()

    def add(self, scorer: str, values: Mapping[str, Any]) -> None:
        """Add the values that the tool wrote next to one result."""
        first = self._first.setdefault(scorer, {})
        for key, value in values.items():
            if first.setdefault(key, value) != value:
                self._differing.add((scorer, key))

    def parameters(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the settings of each scorer as a parameter of this name."""
        constant = {
            scorer: {
                k: v for k, v in first.items() if (scorer, k) not in self._differing
            }
            for scorer, first in self._first.items()
        }
        return {scorer: {name: values} for scorer, values in constant.items() if values}
