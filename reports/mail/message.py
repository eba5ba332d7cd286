"""The mail of a task: text, HTML and picture in one message.

The same input gives the same bytes: boundaries, Message-ID and Content-ID come from
the task and the time of the report, never from a clock or a generator.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.errors import UsageError
from promptlab.reports.charts.trend_png import trend
from promptlab.reports.files import folder_name
from promptlab.reports.mail.headers import (
    check_address,
    write_addresses,
    write_file_name,
    write_text,
)
from promptlab.reports.mail.view import LIMITS, MailView, arrange_mail, one_line
from promptlab.reports.pages.render import environment, language_of, render, to_html
from promptlab.reports.printing.filters import Filters
from promptlab.reports.queries.history import PastRun
from promptlab.reports.sentences.headline import brief
from promptlab.reports.texts.catalogue import catalogue

MOST_BYTES = 72_000
"""Maximum size of the HTML body; as base64 it is still below Gmail's limit."""

Attach = Literal["none", "html", "zip", "link"]

NO_REPLY = "promptlab@promptlab.invalid"
_ASCII_ENOUGH = 1.2  # bytes per character, up to which quoted-printable is shorter
_PAGE = "report.html"
_SUBJECT_COLUMNS = 72  # a phone shows about 40, a list of mails about 100


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


@dataclass(frozen=True)
class Place:
    """Location of the full report."""

    link: str | None
    attachment: str | None
    """Name of the attached file."""
    folder: str
    """Path below the output folder."""


def to_message(
    result: AnalysisResult,
    *,
    history: Sequence[PastRun] = (),
    lang: str | None = None,
    templates: Path | None = None,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of *result*.

    Args:
        result: What to report; a cut ``case_results`` is fine, the worst cases first.
        history: Runs of the title up to this one, oldest first; empty: no trend.
        lang: Language of the texts; by default that of *result*.
        templates: Folder whose files replace the built-in ones of the same name.
        envelope: Sender, recipients, subject, and the form of the full report.

    Raises:
        UsageError: a link is requested without a URL, or an address of the envelope is
            invalid.
    """
    envelope = envelope or Envelope()
    lang = lang or language_of(result)
    filters = Filters(catalogue(lang))
    place = _place(result, envelope)
    html, text, image = _bodies(result, history, lang, templates, filters, place)
    message = EmailMessage(policy=SMTP)
    write_headers(
        message,
        envelope,
        subject=envelope.subject or subject_of(result, filters),
        generated_at=result.generated_at,
        digest=_digest(result),
    )
    write_bodies(message, text, html)
    if image is not None:
        body = _html_part(message)
        body.add_related(
            image,
            maintype="image",
            subtype="png",
            cid=f"<{_content_id(result)}>",
            filename="trend.png",
            disposition="inline",
        )
    if place.attachment is not None:
        page = to_html(
            result, lang=lang, templates=templates, with_script=False
        ).encode()
        _attach(
            message, page, place.attachment, result, zipped=envelope.attached == "zip"
        )
    # Last: converting to multipart moves every Content-… header to the first part.
    message["Content-Language"] = catalogue(lang).tag
    fix_boundaries(message, _digest(result))
    return message


def subject_of(result: AnalysisResult, filters: Filters) -> str:
    """Return the subject: the verdict first, so that a phone shows it."""
    title = one_line(result.task.title, 12 if result.gate else 36)
    if result.gate is None:
        return filters.catalogue.text(
            "mail.subject_scored",
            grade=one_line(filters.label(result.summary.grade, "grade"), 12),
            score=filters.score(result.summary.overall_score),
            title=title,
        )
    said = brief(result.gate, filters, _SUBJECT_COLUMNS)
    return filters.catalogue.text("mail.subject", headline=said, title=title)


def preheader_of(result: AnalysisResult, view: MailView, filters: Filters) -> str:
    """Return the preview text of an inbox: the whole verdict."""
    if result.gate is not None:
        return one_line(result.gate.headline, 140)
    summary = result.summary
    return filters.catalogue.text(
        "mail.preheader",
        n=summary.n_pass,
        total=view.page.n_judged,
        conclusion=one_line(summary.conclusion, 60),
        title=one_line(result.task.title, 20),
    )


def _bodies(
    result: AnalysisResult,
    history: Sequence[PastRun],
    lang: str,
    templates: Path | None,
    filters: Filters,
    place: Place,
) -> tuple[str, str, bytes | None]:
    """Render both bodies, with shorter lists until the HTML is small enough."""
    env = environment(lang, templates)
    compared = result.comparison
    drawn = trend(history, compared.baseline.task_id if compared else None)
    image = drawn.png() if drawn else None
    for limits in LIMITS:
        view = arrange_mail(
            result,
            filters,
            history=history,
            picture=None if image is None else drawn,
            limits=limits,
        )
        values: dict[str, Any] = {
            "result": result,
            "mail": view,
            "view": view.page,
            "place": place,
            "preheader": preheader_of(result, view, filters),
            "image": None if image is None else _content_id(result),
        }
        html = render(env, "mail/mail.html.j2", **values)
        if len(html.encode()) <= MOST_BYTES:
            break
    plain = environment(lang, templates, autoescape=False)
    return html, render(plain, "mail/mail.txt.j2", **values), image


def _place(result: AnalysisResult, envelope: Envelope) -> Place:
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
    suffix = {"html": "html", "zip": "zip"}.get(envelope.attached)
    return Place(link, None if suffix is None else f"{folder}.{suffix}", folder)


def write_headers(
    message: EmailMessage,
    envelope: Envelope,
    *,
    subject: str,
    generated_at: datetime,
    digest: str,
) -> None:
    """Write the headers of a mail.

    Args:
        message: The mail.
        envelope: Sender and recipients.
        subject: The subject.
        generated_at: The time of the mail.
        digest: Letters and digits for its id.
    """
    sender = check_address(envelope.sender)
    write_text(message, "Subject", subject, most=200)
    write_addresses(message, "From", [f"promptlab <{sender}>"])
    to = [check_address(to) for to in envelope.to] or ["undisclosed-recipients:;"]
    write_addresses(message, "To", to)
    message["Date"] = format_datetime(generated_at)
    message["Message-ID"] = f"<{digest}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"


def write_bodies(message: EmailMessage, text: str, html: str) -> None:
    """Write the text and the HTML body of a mail."""
    message.set_content(text, cte=_encoding(text))
    message.add_alternative(html, subtype="html", cte=_encoding(html))


def _attach(
    message: EmailMessage,
    page: bytes,
    name: str,
    result: AnalysisResult,
    *,
    zipped: bool,
) -> None:
    if zipped:
        packed = io.BytesIO()
        made = result.generated_at.timetuple()[:6]
        inside = zipfile.ZipInfo(_PAGE, max(made, (1980, 1, 1, 0, 0, 0)))
        inside.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr(inside, page)
        message.add_attachment(packed.getvalue(), maintype="application", subtype="zip")
    else:
        message.add_attachment(
            page, maintype="text", subtype="html", params={"charset": "utf-8"}
        )
    *_, part = message.iter_attachments()
    write_file_name(part, name)


def _html_part(message: EmailMessage) -> EmailMessage:
    part = message.get_body(("html",))
    if not isinstance(part, EmailMessage):  # pragma: no cover
        raise TypeError("the message has no HTML part")
    return part


def _encoding(text: str) -> str:
    """Choose an encoding by length; never 8bit, which not every server supports."""
    wide = len(text.encode()) > _ASCII_ENOUGH * len(text)
    return "base64" if wide else "quoted-printable"


def _digest(result: AnalysisResult) -> str:
    task = result.task.task_id.encode("utf-8", "surrogatepass")
    made = result.generated_at.isoformat().encode()
    return hashlib.sha256(task + b"\0" + made).hexdigest()[:32]


def _content_id(result: AnalysisResult) -> str:
    return f"trend.{_digest(result)[:16]}@promptlab.invalid"


def fix_boundaries(message: EmailMessage, digest: str) -> None:
    """Replace the generated boundaries; ``=_`` never occurs in an encoded body."""
    multiparts = [part for part in message.walk() if part.is_multipart()]
    for number, part in enumerate(multiparts):
        part.set_boundary(f"=_{digest[:24]}_{number}")
