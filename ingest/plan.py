"""What an ingest will read: the files, their kinds, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.files import Found, find_files
from ingest.kinds import HEAD_BYTES, recognise
from ingest.readers import KINDS
from promptlab.errors import InputError, UsageError


def plan(paths: Sequence[Path], kind: str = "auto") -> list[tuple[Found, str | None]]:
    """The files below ``paths`` and their kinds, in the order they are to be read.

    Pipelines come first, so that testsets can be checked against their steps.

    Raises:
        InputError: a path that cannot be read; a file named itself that is empty or
            of no known kind.
        UsageError: there is no kind of that name.
    """
    if kind not in {"auto", *KINDS}:
        raise UsageError(f"--kind {kind}: there is no such kind; {', '.join(KINDS)}")
    planned = []
    for found in find_files(paths):
        known = kind if kind != "auto" else _recognise(found)
        planned.append((found, known))
    order = {name: place for place, name in enumerate(KINDS)}
    return sorted(planned, key=lambda one: order.get(one[1] or "", len(order)))


def _recognise(found: Found) -> str | None:
    try:
        with found.path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise InputError(
            f"{found.path}: cannot be read: {error.strerror or error}"
        ) from None
    kind = recognise(head)
    if kind is None and found.named:
        what = "is empty" if not head.strip() else "is of no known kind"
        raise InputError(
            f"{found.path}: {what}; expected one of: testset (JSONL with `id`),"
            " pipeline (YAML with `steps`), analysis (JSON with `task` and `cases`),"
            " results (with `sample_id`), scores (with `dimension_id`), memory (JSON"
            " with `test_results`); --kind says which, if it is one"
        )
    return kind
