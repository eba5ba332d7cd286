"""One run in two files: what is said of it."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.reading.problems import Problem


def copy_problem(uri: str, other: str) -> Problem:
    """Say that a file holds a run that another file brought."""
    return Problem(
        "copy_of_run",
        f"{uri} holds the same run as {other}, which is loaded: it is loaded once",
        severity="warning",
    )


def replaced_problems(uri: str, replaced: Mapping[str, str]) -> list[Problem]:
    """Say of each task that another file had brought it with other content.

    Args:
        uri: The file that brings it now.
        replaced: Task → the file that brought it before.
    """
    return [
        Problem(
            "run_replaced",
            f"{uri} holds another version of the run that {other} brought: this one"
            " counts from now on",
            severity="warning",
            record_id=task_id,
        )
        for task_id, other in replaced.items()
    ]
