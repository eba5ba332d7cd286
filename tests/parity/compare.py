"""Two engines' rows of one table, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

APART = 1.01e-12
"""As far as two doubles may be apart, of the larger one or of 1; other cells are equal.

A number that a model rounds to 12 places may be one of the last place apart.
"""


@dataclass
class Comparison:
    """The result."""

    table: str
    rows: int = 0
    cells: int = 0
    furthest: float = 0.0
    """Largest difference of two doubles, as a part of the larger one or of 1."""
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """The table's line in the list of figures."""
        verdict = "DIFFERS" if self.differences else "equal"
        return (
            f"{self.table:<48}{self.rows:>8,} rows{self.cells:>10,} cells"
            f"  {verdict}  doubles within {self.furthest:.1e}"
        )


def compare_rows(
    table: str,
    columns: Sequence[str],
    ours: Iterable[Sequence[Any]],
    theirs: Iterable[Sequence[Any]],
) -> Comparison:
    """Compare rows in any order; times as UTC."""
    one = sorted((tuple(map(_plain, row)) for row in ours), key=_place)
    other = sorted((tuple(map(_plain, row)) for row in theirs), key=_place)
    found = Comparison(table, len(one), len(one) * len(columns))
    if len(one) != len(other):
        found.differences.append(f"{len(one)} rows against {len(other)}")
        return found
    for left, right in zip(one, other, strict=True):
        for column, a, b in zip(columns, left, right, strict=True):
            apart = _apart(a, b)
            found.furthest = max(found.furthest, apart if apart < math.inf else 0)
            if apart > APART:
                found.differences.append(f"{column}: {str(a)[:200]!r} {str(b)[:200]!r}")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _place(row: Sequence[Any]) -> list[tuple[bool, str]]:
    """Rows meet their counterparts although their last digits may differ."""
    return [
        (value is None, f"{value:.6g}" if isinstance(value, float) else str(value))
        for value in row
    ]


def _apart(a: Any, b: Any) -> float:
    if isinstance(a, float) and isinstance(b, float):
        if a == b or (math.isnan(a) and math.isnan(b)):
            return 0.0
        return abs(a - b) / max(abs(a), abs(b), 1)
    return 0.0 if type(a) is type(b) and a == b else math.inf
