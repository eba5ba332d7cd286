"""What all reports that are written together have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from promptlab.reports.gate.policy import Policy
from promptlab.version import __version__


@dataclass(frozen=True)
class Edition:
    """When, in which words and by which policy reports are made."""

    generated_at: datetime
    """When they are made, with its zone."""
    lang: str = "en"
    """``zh`` or ``en``."""
    templates: Path | None = None
    """Folder whose files replace the built-in templates of the same name."""
    policy: Policy | None = None
    """What the gate asks for; the built-in policy by default."""
    report_url: str | None = None
    """Address below which the reports stand, as in the output folder."""
    package_version: str = __version__
    """Version of promptlab, written into the results."""
