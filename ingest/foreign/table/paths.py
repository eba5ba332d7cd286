"""Fields inside objects, named by a dotted path or a JSON Pointer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptlab.contracts.sources import steps_of

_DEEPEST = 6
_MOST_ITEMS = 20


def nested_names(
    row: Mapping[str, Any], above: str = "", depth: int = 1
) -> Iterator[str]:
    """Yield the dotted paths of the fields inside the objects and lists of a row."""
    for name, value in row.items():
        if above:
            yield f"{above}{name}"
        inside = _inside(value)
        if inside is not None and depth < _DEEPEST:
            yield from nested_names(inside, f"{above}{name}.", depth + 1)


def _inside(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(n): each for n, each in enumerate(value[:_MOST_ITEMS])}
    return None


def with_nested(row: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Return the row with the fields at *paths* as columns of these names."""
    found = {path: _at(row, path) for path in paths if path not in row}
    return {**row, **found} if found else row


def _at(row: Any, path: str) -> Any:
    """Return the value at a path, or ``None``."""
    value = row
    for step in steps_of(path):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
