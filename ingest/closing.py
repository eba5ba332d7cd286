"""What shows only when all files of a call are read: told of its file, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptlab.ingest.ingested import FileLoad
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.references import CODES, References
from promptlab.ingest.same_ids import forget_what_is_over, same_ids


def asks_for_names(loads: Sequence[FileLoad], references: References) -> bool:
    """Whether it matters what the raw tables hold from earlier calls."""
    return any(references.unmet()) or any(
        problem.code in CODES
        for load in loads
        if load.status == "unchanged"
        for problem in load.problems
    )


def told_at_the_end(
    loads: Sequence[FileLoad], references: References, *, merges: bool = True
) -> list[tuple[Path, Problem]]:
    """Add to the files of a call what shows only when all of them are read.

    Args:
        loads: all files, in the order they were read.
        references: what they name, and all that is there.
        merges: results of one run were put together.

    Returns:
        Path and problem of files that were loaded, to be kept with their loads.
    """
    forget_what_is_over(loads)
    for load in loads:
        if load.status == "unchanged":
            load.problems = references.still_unmet(load.problems)
    found = [(load.path, problem) for load, problem in same_ids(loads, merges=merges)]
    found += references.unmet()
    of_files: dict[Path, list[Problem]] = {}
    for path, problem in found:
        of_files.setdefault(path, []).append(problem)
    for load in loads:
        load.problems = load.problems + of_files.get(load.path, [])
    return found
