"""``report.eml``: the mail of a task, ready to be sent or opened."""

from __future__ import annotations

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.reports.edition import Edition
from promptlab.reports.formats.base import Format, Surroundings
from promptlab.reports.mail.message import Envelope, to_message


def _render(result: AnalysisResult, edition: Edition, around: Surroundings) -> bytes:
    message = to_message(
        result,
        history=around.history,
        lang=edition.lang,
        templates=edition.templates,
        envelope=Envelope(report_url=edition.report_url),
    )
    return message.as_bytes()


FORMAT = Format("email", "report.eml", _render, with_history=True)
