"""Files that make up one run: one leads, the others belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """A file of a tool, before it is read."""

    path: Path
    form: str


Run = tuple[Part, tuple[Part, ...]]
"""The file that leads, and those that belong to it."""

Gather = Callable[[Sequence[Part]], Iterable[Run]]
"""Every part is in exactly one run: it leads it or belongs to it."""
