"""Generated pairs of an expectation and an output, with the options of a comparison."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from promptlab.evaluator.matching import MatchOptions

KEYS = st.sampled_from(
    ["a", "b", "a.b", "", "*", "/", "~", "0", "1", "中文", "😀", '"', "id"]
)
TEXTS = st.sampled_from(
    [
        *("", "x", "5", "success", "中文", "\n", "true", "null"),
        *("contains:x", "contains:", "regex:.*", "regex:[", "regex:^\\d+$"),
        *("literal:x", "literal:contains:x"),
    ]
)
NUMBERS = st.one_of(
    st.integers(-12, 12),
    st.integers(),
    st.sampled_from(
        [0.1, 0.3, 0.30000000000000004, 0.95, 1e22, -0.0, 2**53, 2**53 + 1]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)
TOLERANCES = st.sampled_from([0.0, 1e-12, 0.01, 0.5, 1.0, 100.0])
NEIGHBOURS = st.builds(
    lambda size, apart: (float(size), float(size + apart)),
    st.builds(lambda power: Decimal(10) ** power, st.integers(0, 16)),
    st.sampled_from([Decimal(n) / 1000 for n in (-11, -10, 9, 10, 11, 500, 501, 1500)]),
)
"""Two numbers of one magnitude that are about a tolerance apart."""
OPTIONS = st.builds(
    MatchOptions,
    strict=st.booleans(),
    tolerance=TOLERANCES,
    ignore=st.frozensets(KEYS, max_size=2),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """An expectation, and an output that is often near it."""
    if draw(st.integers(0, 9)) == 0:
        return draw(NEIGHBOURS)
    expected = draw(VALUES)
    if draw(st.booleans()):
        return expected, draw(VALUES)
    return expected, draw(st.just(near(expected)))


def near(value: Any) -> Any:
    """The value that meets the expectation, its prefixes taken off."""
    if isinstance(value, dict):
        return {key: near(child) for key, child in value.items()}
    if isinstance(value, list):
        return [near(child) for child in value]
    return value.split(":", 1)[-1] if isinstance(value, str) else value


def literal(value: Any) -> Any:
    """The expectation that takes exactly this value."""
    if isinstance(value, dict):
        return {key: literal(child) for key, child in value.items()}
    if isinstance(value, list):
        return [literal(child) for child in value]
    return f"literal:{value}" if isinstance(value, str) else value
