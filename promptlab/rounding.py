"""Rounding of shares for people: the same digits on pages, in mail and in terminals."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_MOST_DIGITS = 6


def rounded(value: float | Decimal, digits: int, scale: int = 1) -> Decimal:
    """Round as a person would: by the digits that are printed, half away from 0."""
    exact = Decimal(str(value)) * scale
    return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def of_100(share: float | Decimal, target: float | None = None) -> str:
    """``0.842`` as ``84.2``.

    It never rounds onto a border that it does not reach, be it a whole ten (where
    grades begin) or the *target*: ``0.89997`` is ``89.997``.
    """
    for digits in range(1, _MOST_DIGITS):
        percent = rounded(share, digits, scale=100)
        is_border = percent % 10 == 0 or (
            target is not None and percent == rounded(target, digits, scale=100)
        )
        if not is_border or percent == Decimal(str(share)) * 100:
            break
    return str(percent)
