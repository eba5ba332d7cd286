"""The mail of a stored task: read from the marts and composed."""

from __future__ import annotations

from email.message import EmailMessage
from typing import TYPE_CHECKING

from promptlab.reports.edition import Edition
from promptlab.reports.limits import SHOWN
from promptlab.reports.mail.message import Envelope, to_message
from promptlab.reports.queries.history import title_history
from promptlab.reports.result import analysis_result

if TYPE_CHECKING:
    import duckdb


def task_message(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    edition: Edition,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of one task, with its trend and its comparison.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        edition: Time and language, and the policy of the gate.
        envelope: Sender, recipients, subject, and the form of the full report; by
            default linked if the edition has a URL, else attached.

    Raises:
        UsageError: the language is unknown, or the envelope is invalid.
        SettingsError: the folder of templates is missing, or a template is invalid.
        NothingToDo: the task is not in the warehouse.
    """
    return to_message(
        analysis_result(con, task_id, edition, limits=SHOWN),
        history=title_history(con, task_id),
        lang=edition.lang,
        templates=edition.templates,
        envelope=envelope or Envelope(report_url=edition.report_url),
    )
