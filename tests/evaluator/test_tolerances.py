"""A stated tolerance is kept, whatever the size of the numbers."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from promptlab.evaluator.matching import SLACK, numbers_match

DECIMALS = st.builds(
    lambda digits, power: Decimal(digits).scaleb(power),
    st.integers(-(10**15), 10**15),
    st.integers(-12, 6),
)


@given(DECIMALS, DECIMALS, st.integers(1, 10**6), st.integers(-9, 3))
def test_a_tolerance_holds_at_every_magnitude(number, difference, digits, power):
    tolerance = Decimal(digits).scaleb(power)
    for apart in (tolerance, tolerance * 2, difference):
        other = number + apart
        assume(len(other.as_tuple().digits) <= 17)
        is_within = numbers_match(float(number), float(other), float(tolerance))
        largest = max(abs(number), abs(other), tolerance)
        if abs(apart) <= tolerance:
            assert is_within
        elif abs(apart) > tolerance + largest * 2 * Decimal(SLACK):
            assert not is_within
