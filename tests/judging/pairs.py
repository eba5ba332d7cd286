"""Generated pairs of an expectation and an output, with the options of a comparison."""

from __future__ import annotations

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
OPTIONS = st.builds(
    MatchOptions,
    strict=st.booleans(),
    tolerance=TOLERANCES,
    ignore=st.frozensets(KEYS, max_size=2),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """An expectation, and an output that is often near it."""
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
