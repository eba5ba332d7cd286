"""Reports: read marts into an AnalysisResult, and write files for people.

Each module imports only those above it::

    texts       all texts, one file per language
    files       names of folders and files
    printing    formatting of values and untrusted texts
    diff        two texts side by side
    sentences   codes and facts, written as sentences
    queries     rows of the marts
    comparisons the numbers of two tasks, side by side
    charts      the geometry of charts, which templates draw
    gate        a policy's rules applied to a task's numbers: the decision
    report_options  time, language and policy of reports, limits of lists
    case_contents   inputs, expectations, steps and history of cases
    result      marts and gate to AnalysisResult
    cases       the parts of one case: question, rounds that agree, evidence
    levels      changes of level beyond chance, in words
    pages       templates, rendered with one object such as the result
    mail        the mail of a task
    formats     the files of a task, by the name of their format
    memory      the figures of a memory run
    index       the page of all titles; title and run those of one title: its history,
                and the variants of its newest run; judge that of a judge
    digest      changes since a day, as page, mail or chat message
    write       write the files of reports

Reports compute no scores, read no clock, and only access ``marts`` and the output
folder.
"""

from __future__ import annotations

from promptlab.reports.files import folder_name
from promptlab.reports.formats import FORMATS, to_csv, to_json, to_junit, to_markdown
from promptlab.reports.memory import memory_result, to_memory_html, to_memory_json
from promptlab.reports.pages import to_html
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.result import analysis_result
from promptlab.reports.write import (
    TitleDecision,
    decisions,
    write_all,
    write_task,
)

__all__ = [
    "FORMATS",
    "ReportOptions",
    "TitleDecision",
    "analysis_result",
    "decisions",
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
    "write_task",
]
