"""A graph without cycles, drawn from left to right in layers.

A box stands one layer to the right of what it comes from. An edge over several layers
gets a place in each, so that no line runs through a box; the order within a layer
follows the middle of the neighbours, which untangles most crossings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

BOX_HEIGHT = 22
_ROW = 28
_GAP = 44
_SWEEPS = 12

_Place = tuple[str, str, int] | str
"""A box by its name, or a bend of an edge: from, to, layer."""


class Box(NamedTuple):
    """A named box; lengths in pixels, from the left and the top."""

    name: str
    x: int
    y: int
    width: int


class EdgePath(NamedTuple):
    """An edge as the data of an SVG path."""

    source: str
    target: str
    path: str


class Drawing(NamedTuple):
    """A drawn graph."""

    width: int
    height: int
    boxes: list[Box]
    lines: list[EdgePath]


def draw(parents: Mapping[str, Sequence[str]], width: Callable[[str], int]) -> Drawing:
    """Draw a graph.

    Args:
        parents: name of each box → names of the boxes that it comes from.
        width: width of a box in pixels.
    """
    layer = _layers(parents)
    columns: list[list[_Place]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in parents:
        columns[layer[name]].append(name)
    chains: dict[tuple[str, str], list[_Place]] = {}
    for name, above in parents.items():
        for parent in above:
            between = range(layer[parent] + 1, layer[name])
            bends: list[_Place] = [(parent, name, number) for number in between]
            for number, bend in zip(between, bends, strict=True):
                columns[number].append(bend)
            chains[parent, name] = [parent, *bends, name]
    _untangle(columns, list(chains.values()))
    return _lay_out(columns, chains, width)


def _layers(parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    layer: dict[str, int] = {}

    def place(name: str) -> int:
        if name not in layer:
            layer[name] = max((place(p) + 1 for p in parents[name]), default=0)
        return layer[name]

    for name in parents:
        place(name)
    # what comes from nothing stands next to what it leads to
    for name, above in parents.items():
        if not above:
            below = [layer[n] for n, found in parents.items() if name in found]
            layer[name] = min(below, default=1) - 1
    return layer


def _untangle(columns: list[list[_Place]], chains: list[list[_Place]]) -> None:
    neighbours: dict[_Place, tuple[list[_Place], list[_Place]]] = {}
    for chain in chains:
        for left, right in pairwise(chain):
            neighbours.setdefault(left, ([], []))[1].append(right)
            neighbours.setdefault(right, ([], []))[0].append(left)
    for sweep in range(_SWEEPS):
        side = sweep % 2
        for column in reversed(columns) if side else columns:
            at = {p: row for each in columns for row, p in enumerate(each)}
            middles = {}
            for place in column:
                near = neighbours.get(place, ([], []))[side]
                rows = [at[n] for n in near] or [at[place]]
                middles[place] = sum(rows) / len(rows)
            column.sort(key=middles.__getitem__)


def _lay_out(
    columns: list[list[_Place]],
    chains: dict[tuple[str, str], list[_Place]],
    width: Callable[[str], int],
) -> Drawing:
    height = max(len(column) for column in columns) * _ROW
    boxes: dict[_Place, Box] = {}
    x = 0
    for column in columns:
        widest = max((width(p) for p in column if isinstance(p, str)), default=0)
        top = (height - len(column) * _ROW) // 2
        for row, place in enumerate(column):
            name = place if isinstance(place, str) else ""
            boxes[place] = Box(name, x, top + row * _ROW, widest)
        x += widest + _GAP
    lines = [
        EdgePath(source, target, _path([boxes[place] for place in chain]))
        for (source, target), chain in chains.items()
    ]
    return Drawing(x - _GAP, height, [b for b in boxes.values() if b.name], lines)


def _path(places: list[Box]) -> str:
    middle = BOX_HEIGHT // 2
    x, y = places[0].x + places[0].width, places[0].y + middle
    parts = [f"M{x} {y}"]
    for place in places[1:]:
        bend = (x + place.x) // 2
        parts.append(
            f"C{bend} {y} {bend} {place.y + middle} {place.x} {place.y + middle}"
        )
        x, y = place.x, place.y + middle
        if not place.name:
            x += place.width
            parts.append(f"H{x}")
    return "".join(parts)
