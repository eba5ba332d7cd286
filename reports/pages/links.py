"""Where else a reader may go from a page: relative links to files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from promptlab.reports.files import folder_name

PAGE = "report.html"
INDEX = "index.html"


@dataclass(frozen=True)
class Links:
    """Links of one page; ``None`` where there is nothing to link to."""

    index: str | None = None
    baseline: str | None = None
    """The baseline's report."""
    candidate: str | None = None
    """The candidate's report, from the page of a comparison."""
    result: str | None = None
    """The result as JSON."""


NOWHERE = Links()
"""Of a page that stands alone, say attached to a mail."""


def links_of_task(
    out: Path, baseline: str | None, formats: Sequence[str], *, index: bool
) -> Links:
    """Return the links of a task's page, ``out/<task>/report.html``.

    Args:
        out: The output folder.
        baseline: The whole id of the baseline, if there is one; its report is linked
            where it is there.
        formats: Names of the formats that are written beside.
        index: Whether there will be an index.
    """
    return Links(
        index=f"../{INDEX}" if index else None,
        baseline=None if baseline is None else _report(out, baseline, ".."),
        result="result.json" if "json" in formats else None,
    )


def links_of_comparison(out: Path, baseline: str, candidate: str) -> Links:
    """Return the links of ``out/compare/<baseline>..<candidate>/report.html``.

    Args:
        out: The output folder; of the index and both reports those are linked that are
            there.
        baseline: The whole id of the one task.
        candidate: The whole id of the other.
    """
    return Links(
        index=f"../../{INDEX}" if (out / INDEX).is_file() else None,
        baseline=_report(out, baseline, "../.."),
        candidate=_report(out, candidate, "../.."),
    )


def links_of_memory(out: Path, previous: str | None, *, index: bool) -> Links:
    """Return the links of a memory run's page, ``out/<run>/report.html``.

    Args:
        out: The folder of all memory runs.
        previous: The whole id of the run before, if there is one; its report is linked
            where it is there.
        index: Whether there will be an index, above *out*.
    """
    return Links(
        index=f"../../{INDEX}" if index else None,
        baseline=None if previous is None else _report(out, previous, ".."),
    )


def _report(out: Path, task_id: str, up: str) -> str | None:
    folder = folder_name(task_id)
    is_there = (out / folder / PAGE).is_file()
    return f"{up}/{quote(folder)}/{PAGE}" if is_there else None
