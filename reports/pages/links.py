"""Relative links of a page to the files next to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from promptlab.reports.files import folder_name

PAGE = "report.html"
INDEX = "index.html"
MEMORY = "memory"
"""Folder of the figures of memory runs below the output folder."""


@dataclass(frozen=True)
class Links:
    """Links of one page; ``None`` without a target."""

    index: str | None = None
    baseline: str | None = None
    """The baseline's report."""
    candidate: str | None = None
    """The candidate's report, from the page of a comparison."""
    result: str | None = None
    """The result as JSON."""
    memory: str | None = None
    """The figures of a memory run, from its report."""
    run: str | None = None
    """The report of a memory run, from its figures."""


NOWHERE = Links()
"""Return the links of a separate page, such as an attachment: none."""


def links_of_task(
    out: Path,
    task_id: str,
    baseline: str | None,
    formats: Sequence[str],
    *,
    index: bool,
) -> Links:
    """Return the links of a task's page, ``out/<task>/report.html``.

    Args:
        out: The output folder.
        task_id: The whole id of the task.
        baseline: The whole id of the baseline, if any; its report is linked if it
            exists.
        formats: Names of the other formats that are written.
        index: True if an index will be written.
    """
    return Links(
        index=f"../{INDEX}" if index else None,
        baseline=None if baseline is None else _report(out, baseline, ".."),
        result="result.json" if "json" in formats else None,
        memory=_report(out / MEMORY, task_id, f"../{MEMORY}"),
    )


def links_of_comparison(out: Path, baseline: str, candidate: str) -> Links:
    """Return the links of ``out/compare/<baseline>..<candidate>/report.html``.

    Args:
        out: The output folder; the index and both reports are linked if they exist.
        baseline: The whole id of the one task.
        candidate: The whole id of the other.
    """
    return Links(
        index=f"../../{INDEX}" if (out / INDEX).is_file() else None,
        baseline=_report(out, baseline, "../.."),
        candidate=_report(out, candidate, "../.."),
    )


def _report(out: Path, task_id: str, up: str) -> str | None:
    folder = folder_name(task_id)
    is_there = (out / folder / PAGE).is_file()
    return f"{up}/{quote(folder)}/{PAGE}" if is_there else None
