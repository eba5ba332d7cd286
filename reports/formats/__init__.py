"""File formats. Those of a task are modules with a ``FORMAT``, listed here.

Pages of memory runs and texts of comparisons and gates are also here.
"""

from __future__ import annotations

from promptlab.reports.formats import (
    cases_csv,
    junit_xml,
    report_eml,
    report_html,
    report_md,
    result_json,
)
from promptlab.reports.formats.base import Format, Surroundings

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        result_json,
        report_html,
        report_eml,
        report_md,
        junit_xml,
        cases_csv,
    )
}

__all__ = ["FORMATS", "Format", "Surroundings"]
