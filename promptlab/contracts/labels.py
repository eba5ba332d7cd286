"""What a call says of files of labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """What a call says of its labels.

    Attributes:
        policy: Version of the instruction that the labelers followed.
        labeler: Who labelled, where the file does not say.
        dimension: What was judged, where the file does not say; ``None``: the verdict.
        scale: Best grade; ``None``: the smallest of 1, 5, 10, 100 that holds all.
        words: More words and what they mean, ``{"good": "pass"}``.
    """

    policy: str | None = None
    labeler: str | None = None
    dimension: str | None = None
    scale: float | None = None
    words: tuple[tuple[str, str], ...] = ()
