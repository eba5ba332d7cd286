"""``report.eml``: the mail of a task, ready to be sent or opened."""

from __future__ import annotations

from promptlab.contracts.analysis_result import AnalysisResult
from reports.formats.base import Format, Options
from reports.mail.message import Envelope, to_message


def _render(result: AnalysisResult, options: Options) -> bytes:
    message = to_message(
        result,
        history=options.history,
        lang=options.lang,
        templates=options.templates,
        envelope=Envelope(report_url=options.report_url),
    )
    return message.as_bytes()


FORMAT = Format("email", "report.eml", _render, with_history=True)
