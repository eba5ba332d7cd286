"""Reports: marts to AnalysisResult to files for people.

Three separate steps: ``queries`` reads the numbers from the marts, ``view`` chooses
what a page lists of them, templates loop over that. Nothing here computes a score,
reads a clock, or touches anything but ``marts`` and the output folder.
"""

from __future__ import annotations

from reports.files import folder_name
from reports.formats import FORMATS
from reports.formats.cases_csv import to_csv
from reports.formats.junit_xml import to_junit
from reports.formats.report_md import to_markdown
from reports.formats.result_json import to_json
from reports.memory_queries import memory_result
from reports.memory_report import to_memory_html, to_memory_json
from reports.queries import analysis_result
from reports.render import to_html
from reports.write import write_all, write_index, write_memory, write_task

__all__ = [
    "FORMATS",
    "analysis_result",
    "folder_name",
    "memory_result",
    "to_csv",
    "to_html",
    "to_json",
    "to_junit",
    "to_markdown",
    "to_memory_html",
    "to_memory_json",
    "write_all",
    "write_index",
    "write_memory",
    "write_task",
]
