"""Decide which numbers of a tool are scores, from the scale of their dimension."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from promptlab.ingest.foreign.records import Dimension, Direction


@dataclass(slots=True)
class _Values:
    """Properties that all values of one dimension share."""

    some: bool = False
    all_binary: bool = True
    all_on_scale: bool = True


def no_share(_name: str) -> bool:
    """Default for tools that do not define the scale of any dimension."""
    return False


@dataclass
class Dimensions:
    """The dimensions of a task, in order of appearance.

    Args:
        task_id: The task they belong to.
        is_share: Returns true if values of this name are from 0 to 1 by the
            tool's definition; else only dimensions with nothing but 0 and 1 are scores.
    """

    task_id: str
    is_share: Callable[[str], bool] = no_share
    _values: dict[str, _Values] = field(default_factory=dict)

    def see(self, name: str, value: float | None) -> None:
        """Record a value."""
        values = self._values.get(name)
        if values is None:
            values = self._values[name] = _Values()
        if value is not None:
            values.some = True
            if value not in (0, 1):
                values.all_binary = False
                values.all_on_scale &= 0 <= value <= 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def has_numbers(self, name: str) -> bool:
        """Return true if any value of a dimension is a number."""
        return self._values[name].some

    def is_graded(self, name: str) -> bool:
        """Return true if its values are known to be from 0 to 1."""
        values = self._values[name]
        is_binary = values.some and values.all_binary
        return values.all_on_scale and (is_binary or self.is_share(name))

    def records(
        self,
        graded: Collection[str] | None = None,
        directions: Mapping[str, Direction | None] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Iterator[Dimension]:
        """Return one record for each dimension.

        Args:
            graded: Dimensions with values from 0 to 1, 1 best; else those known to be.
            directions: Directions from the tool; else graded values are best at 1.
            weights: Weights in the overall score; else the first graded dimension is
                the score: the mean of different metrics has no meaning.
        """
        if graded is None:
            graded = [name for name in self if self.is_graded(name)]
        if weights is None:
            weights = dict.fromkeys([n for n in self if n in graded][:1], 1.0)
        directions = directions or {}
        for position, name in enumerate(self):
            is_graded = name in graded
            yield Dimension(
                task_id=self.task_id,
                dimension_id=name,
                position=position,
                name=name,
                weight=weights.get(name, 0.0),
                is_graded=is_graded,
                direction=directions.get(name, "higher_better" if is_graded else None),
            )
