"""The mail of a task: text and HTML in one message, the report attached or linked.

The same input gives the same bytes: boundaries and Message-ID come from
the task and the time of the report, never from a clock or a generator.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from css_inline import CSSInliner

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.errors import UsageError
from promptlab.reports.files import folder_name
from promptlab.reports.gate.headline import brief, columns
from promptlab.reports.pages import environment, language_of, render, to_html
from promptlab.reports.printing import Filters, clip, visible
from promptlab.reports.report_options import PAGE_LIMITS, ReportOptions
from promptlab.reports.result import analysis_result
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb


Attach = Literal["none", "html", "zip", "link"]

_LONGEST_ADDRESS = 254  # RFC 5321
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\Z", re.ASCII
)

NO_REPLY = "promptlab@promptlab.invalid"
_ASCII_ENOUGH = 1.2  # bytes per character, up to which quoted-printable is shorter
_PAGE = "report.html"
_SUBJECT_COLUMNS = 96  # a list of mails shows about 100, a phone about 40


@dataclass(frozen=True)
class Envelope:
    """Properties of a mail in addition to the report."""

    sender: str = NO_REPLY
    to: Sequence[str] = ()
    subject: str | None = None
    """Subject instead of the generated one."""
    attach: Attach | None = None
    """The full report: not at all, as HTML, zipped, or only linked; by default linked
    if there is a URL, else as HTML."""
    report_url: str | None = None
    """URL at which the output folder is served."""

    @property
    def attached(self) -> Attach:
        """The form of the full report: attached, linked or not included."""
        return self.attach or ("link" if self.report_url else "html")


def task_message(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    options: ReportOptions,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of one task, with its trend and its comparison.

    By default the full report is linked if the options have a URL, else attached.

    Raises:
        UsageError: the language is unknown, or the envelope is invalid.
        SettingsError: the folder of templates is missing, or a template is invalid.
        NothingToDo: the task is not in the warehouse.
    """
    return to_message(
        analysis_result(con, task_id, options, limits=PAGE_LIMITS),
        lang=options.lang,
        templates=options.templates,
        envelope=envelope or Envelope(report_url=options.report_url),
    )


def to_message(
    result: AnalysisResult,
    *,
    lang: str | None = None,
    templates: Path | None = None,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of *result*.

    Raises:
        UsageError: a link is requested without a URL, or an address of the envelope is
            invalid.
    """
    envelope = envelope or Envelope()
    lang = lang or language_of(result)
    place = _place(result, envelope)
    subject = envelope.subject or subject_of(result, Filters(catalogue(lang)))
    values = {"result": result, "place": place, "subject": subject}
    plain = environment(lang, templates, autoescape=False)
    page = render(environment(lang, templates), "mail/mail.html.j2", **values)
    message = new_message(
        envelope,
        subject=subject,
        generated_at=result.generated_at,
        text=render(plain, "mail/mail.txt.j2", **values),
        html=inlined(page),
    )
    if place["attachment"] is not None:
        page = to_html(result, lang=lang, templates=templates, with_script=False)
        _attach(message, page.encode(), place["attachment"], result)
    finish(message, lang, f"{result.task.task_id}\0{result.generated_at.isoformat()}")
    return message


def inlined(page: str) -> str:
    """Return *page* with its style sheet in style attributes, as mail programs need."""
    return CSSInliner(keep_at_rules=True, load_remote_stylesheets=False).inline(page)


def subject_of(result: AnalysisResult, filters: Filters) -> str:
    """Return the subject: the verdict first, so that a phone shows it."""
    title = one_line(result.title, 36)
    if result.gate is None:
        return filters.catalogue.text(
            "mail.subject_scored",
            grade=one_line(filters.label(result.summary.grade, "grade"), 12),
            score=filters.score(result.summary.overall_score),
            title=title,
        )
    headline = brief(result.gate, _SUBJECT_COLUMNS - columns(title))
    return filters.catalogue.text("mail.subject", headline=headline, title=title)


def one_line(text: object, most: int) -> str:
    """Return *text* on one line, hidden characters named, at most *most* long."""
    return clip(" ".join(visible(text).split()), most)


def _place(result: AnalysisResult, envelope: Envelope) -> dict[str, str | None]:
    """Return where the full report is: its link, its file in the mail, its folder."""
    folder = folder_name(result.task.task_id)
    base = envelope.report_url
    if envelope.attached == "link" and base is None:
        raise UsageError(
            "attach: a link needs the address of the reports; set `report_url`"
        )
    if base is not None and not base.startswith(("https://", "http://")):
        raise UsageError(
            f"report_url: {base!r} does not begin with https:// or http://"
        )
    link = None if base is None else f"{base.rstrip('/')}/{quote(folder)}/{_PAGE}"
    is_file = envelope.attached in ("html", "zip")
    attachment = f"{folder}.{envelope.attached}" if is_file else None
    return {"link": link, "attachment": attachment, "folder": folder}


def new_message(
    envelope: Envelope, *, subject: str, generated_at: datetime, text: str, html: str
) -> EmailMessage:
    """Return a mail with its headers and both bodies; `finish` makes it complete."""
    sender = check_address(envelope.sender)
    to = [check_address(to) for to in envelope.to]
    message = EmailMessage(policy=SMTP)
    # The email package decodes encoded words (`=?utf-8?q?…?=`) in what it is given.
    message["Subject"] = one_line(subject.replace("=?", "= ?"), 200)
    message["From"] = f"promptlab <{sender}>"
    message["To"] = ", ".join(to) or "undisclosed-recipients:;"
    message["Date"] = generated_at
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte=_encoding(text))
    message.add_alternative(html, subtype="html", cte=_encoding(html))
    return message


def finish(message: EmailMessage, lang: str, content: str) -> None:
    """Write the language, and ids and boundaries from a hash of *content*."""
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    domain = message["From"].addresses[0].domain
    message["Message-ID"] = f"<{digest}@{domain}>"
    # Last: converting to multipart moves every Content-… header to the first part.
    message["Content-Language"] = catalogue(lang).tag
    multiparts = [part for part in message.walk() if part.is_multipart()]
    for number, part in enumerate(multiparts):
        # `=_` never occurs in an encoded body
        part.set_boundary(f"=_{digest[:24]}_{number}")


def check_address(text: str) -> str:
    """Return *text*, an address such as ``name@example.com``.

    Raises:
        UsageError: it is not an address, or it contains an encoded word.
    """
    if not text.isascii():
        raise UsageError(f"{text!r}: only addresses in ASCII can be written to")
    is_address = _ADDRESS.match(text) and len(text) <= _LONGEST_ADDRESS
    if not is_address or "=?" in text:
        raise UsageError(f"{text!r}: is not a mail address; write name@example.com")
    return text


def _attach(
    message: EmailMessage, page: bytes, name: str, result: AnalysisResult
) -> None:
    if name.endswith(".zip"):
        packed = io.BytesIO()
        made = result.generated_at.timetuple()[:6]
        inside = zipfile.ZipInfo(_PAGE, max(made, (1980, 1, 1, 0, 0, 0)))
        inside.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr(inside, page)
        message.add_attachment(
            packed.getvalue(), maintype="application", subtype="zip", filename=name
        )
    else:
        message.add_attachment(
            page,
            maintype="text",
            subtype="html",
            filename=name,
            params={"charset": "utf-8"},
        )


def _encoding(text: str) -> str:
    """Choose an encoding by length; never 8bit, which not every server supports."""
    wide = len(text.encode()) > _ASCII_ENOUGH * len(text)
    return "base64" if wide else "quoted-printable"
