"""Base class of report formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports.edition import Edition
from promptlab.reports.pages.links import NOWHERE, Links
from promptlab.reports.queries.history import PastRun


@dataclass(frozen=True)
class Surroundings:
    """The context of a task's report."""

    history: Sequence[PastRun] = ()
    """Runs of the title up to this task, oldest first."""
    links: Links = NOWHERE
    """Links of the page."""


@dataclass(frozen=True)
class Format:
    """One file format."""

    name: str
    """Name on the command line: ``json``."""
    file_name: str
    """File name in the task's folder: ``result.json``."""
    render: Callable[[AnalysisResult, Edition, Surroundings], bytes]
    lists_all: bool = False
    """If true, it lists the whole task, for programs; pages for people do not."""
    with_history: bool = False
    """If true, it shows the history of the title."""
