"""The options that reports written together share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from promptlab.reports.gate.policy import Policy
from promptlab.version import __version__


@dataclass(frozen=True)
class Edition:
    """Time, language and policy of reports."""

    generated_at: datetime
    """Time of the reports, with its zone."""
    lang: str = "en"
    """``zh`` or ``en``."""
    templates: Path | None = None
    """Folder whose files replace the built-in templates of the same name."""
    policy: Policy | None = None
    """The gate's policy; the built-in policy by default."""
    report_url: str | None = None
    """URL at which the output folder is served."""
    package_version: str = __version__
    """Version of promptlab, written into the results."""
