"""Where else a reader may go from a page: relative links to files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from reports.files import folder_name

PAGE = "report.html"


@dataclass(frozen=True)
class Links:
    """Links of one page; ``None`` where there is nothing to link to."""

    index: str | None = None
    baseline: str | None = None
    """The baseline's report."""
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
    folder = None if baseline is None else folder_name(baseline)
    there = folder is not None and (out / folder / PAGE).is_file()
    return Links(
        index="../index.html" if index else None,
        baseline=f"../{quote(folder)}/{PAGE}" if folder and there else None,
        result="result.json" if "json" in formats else None,
    )
