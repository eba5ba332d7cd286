"""The mail of a stored task: read from the marts and composed."""

from __future__ import annotations

from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.version import __version__
from reports.limits import SHOWN
from reports.mail.message import Envelope, to_message
from reports.queries.history import title_history
from reports.result import analysis_result

if TYPE_CHECKING:
    import duckdb

    from reports.gate.policy import Policy


def task_message(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    *,
    envelope: Envelope,
    lang: str = "en",
    templates: Path | None = None,
    policy: Policy | None = None,
    generated_at: datetime,
    package_version: str = __version__,
) -> EmailMessage:
    """Return the mail of one task, with its trend and its comparison.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        envelope: Sender, recipients, subject, and how the full report comes along.
        lang: ``zh`` or ``en``.
        templates: Folder whose files replace the built-in templates of their name.
        policy: What the gate asks for; the built-in policy by default.
        generated_at: When the mail is made, with its zone.
        package_version: Version of promptlab, written into the result.

    Raises:
        UsageError: there is no such language, or the envelope cannot be used.
        SettingsError: *templates* is no folder, or a template in it is wrong.
        NothingToDo: the warehouse holds no such task.
    """
    result = analysis_result(
        con,
        task_id,
        lang=lang,
        generated_at=generated_at,
        package_version=package_version,
        limits=SHOWN,
        policy=policy,
    )
    return to_message(
        result,
        history=title_history(con, task_id),
        lang=lang,
        templates=templates,
        envelope=envelope,
    )
