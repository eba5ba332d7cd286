"""Print problems of input files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab import messages
from promptlab.cli.terminal import in_one_line

if TYPE_CHECKING:
    from promptlab.ingest.reading.problems import Problem

SHOWN_PER_FILE = 20


def line_of(path: Path, problem: Problem) -> str:
    """Return ``file:line:column: pointer: message`` without unknown parts."""
    place = str(path)
    if problem.line is not None:
        place += f":{problem.line}"
        if problem.column is not None:
            place += f":{problem.column}"
    pointer = f" {problem.pointer}:" if problem.pointer else ""
    mark = "" if problem.severity == "reject" else " (warning)"
    return in_one_line(f"{place}:{pointer} {problem.message}{mark}")


def print_problems(
    found: Sequence[tuple[Path, Problem]], *, limit: int | None = SHOWN_PER_FILE
) -> None:
    """Print at most ``limit`` problems per file to stderr, and the number of others."""
    shown: Counter[Path] = Counter()
    total = Counter(path for path, _ in found)
    for path, problem in found:
        shown[path] += 1
        if limit is None or shown[path] <= limit:
            messages.say(line_of(path, problem), "problem", **_fields(path, problem))
        elif shown[path] == total[path]:
            messages.say(
                f"{path}: and {total[path] - limit} more; `promptlab validate {path}`"
                " prints all",
                "more_problems",
                file=path,
                more=total[path] - limit,
            )


def _fields(path: Path, problem: Problem) -> dict[str, object]:
    names = ("line", "column", "pointer", "severity", "code", "record_id")
    return {"file": path, **{name: getattr(problem, name) for name in names}}
