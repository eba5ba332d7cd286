"""Options of a call for files of labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Options of a call for its labels.

    Attributes:
        policy: Version of the instruction that the labelers followed.
        labeler: The labeler, if the file does not name one.
        dimension: The judged dimension, if the file has none; ``None``: the verdict.
        scale: Best grade; ``None``: the smallest of 1, 5, 10, 100 that holds all.
        words: More words and what they mean, ``{"good": "pass"}``.
    """

    policy: str | None = None
    labeler: str | None = None
    dimension: str | None = None
    scale: float | None = None
    words: tuple[tuple[str, str], ...] = ()
