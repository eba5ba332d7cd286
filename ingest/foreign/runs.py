"""The files of one run: a leading file and its companions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """A file of a tool, before it is read."""

    path: Path
    form: str


Run = tuple[Part, tuple[Part, ...]]
"""The file that leads, and those that belong to it."""

Gather = Callable[[Sequence[Part]], Iterable[Run]]
"""Every part is in exactly one run, as leader or companion."""


def by_folder(parts: Iterable[Part]) -> Iterable[list[Part]]:
    """Group the parts by folder."""
    folders: dict[Path, list[Part]] = defaultdict(list)
    for part in parts:
        folders[part.path.parent].append(part)
    return folders.values()


def led_by(form: str, parts: Iterable[Part]) -> Iterator[Run]:
    """Let the only part of *form* lead its folder; without it, each is its own run."""
    for of_folder in by_folder(parts):
        leads = [part for part in of_folder if part.form == form]
        if len(leads) == 1:
            yield leads[0], tuple(part for part in of_folder if part not in leads)
        else:
            yield from ((part, ()) for part in of_folder)
