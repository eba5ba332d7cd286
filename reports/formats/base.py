"""What a format is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptlab.contracts.analysis_result import AnalysisResult
from reports.gate.policy import Policy
from reports.pages.links import NOWHERE, Links
from reports.queries.history import PastRun


@dataclass(frozen=True)
class Options:
    """What a person may choose about every format."""

    lang: str = "en"
    templates: Path | None = None
    """Folder whose files replace the built-in templates of the same name."""
    history: Sequence[PastRun] = ()
    """Runs of the title up to this task, oldest first."""
    report_url: str | None = None
    """Address below which the reports stand, as in the output folder."""
    policy: Policy | None = None
    """What the gate asks for; the built-in policy by default."""
    links: Links = NOWHERE
    """Where a reader may go from the page."""


@dataclass(frozen=True)
class Format:
    """One kind of file."""

    name: str
    """As on the command line: ``json``."""
    file_name: str
    """As in the task's folder: ``result.json``."""
    render: Callable[[AnalysisResult, Options], bytes]
    lists_all: bool = False
    """Whether it lists the task whole, for programs; a page for people does not."""
    with_history: bool = False
    """Whether it needs ``history`` in its options."""
