"""The mail of a task: text and HTML in one message, and the full report attached.

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
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from promptlab.contracts.analysis_result import (
    AlertItem,
    AnalysisResult,
    Severity,
)
from promptlab.contracts.comparison import CaseChange, ScoreComparison
from promptlab.errors import UsageError
from promptlab.reports.edition import SHOWN, Edition, ListLimits
from promptlab.reports.files import folder_name
from promptlab.reports.gate.headline import brief
from promptlab.reports.pages import environment, language_of, render, to_html
from promptlab.reports.printing import Filters, TextPiece, clip, highlighted, visible
from promptlab.reports.queries import PastRun, title_history
from promptlab.reports.result import analysis_result
from promptlab.reports.texts import catalogue
from promptlab.reports.views import CaseView, DimensionView, View, arrange

if TYPE_CHECKING:
    import duckdb


# ---------- the content: the worst entries, and the number of others


BAR = 96
"""Width of a dimension's bar, pixels."""

_SNIPPET = 160  # characters
_LINES = 6
_RUNS = 10
_TICK = 2  # pixels


# The maximum lengths of a mail's lists: Gmail clips a mail of more than 102 kB.
_ALERTS = 5
_DIMENSIONS = 8
_CASES = 8
_CHANGES = 5


@dataclass(frozen=True)
class Proof:
    """The reasons for a bad case."""

    heading: str
    """A place and the error there."""
    expected: list[TextPiece] | None
    actual: list[TextPiece] | None
    snippet: list[TextPiece]


@dataclass(frozen=True)
class MailView:
    """The mail."""

    page: View
    alerts: list[tuple[Severity, AlertItem]]
    n_alerts_more: int
    dimensions: list[
        tuple[DimensionView, list[tuple[str, int]], ScoreComparison | None]
    ]
    """Each with the cells of its bar, and its change against the baseline."""
    n_dimensions_more: int
    cases: list[tuple[CaseView, Proof | None]]
    """The worst cases, each with the reason."""
    n_bad: int
    """Failed and error cases."""
    n_cases_more: int
    """Failed and error cases that are not listed."""
    changes: list[CaseChange]
    """Clear drops and lost must-haves of cases that are not listed above."""
    n_changes_more: int
    steps: list[PastRun]
    """Runs of the title, newest first."""
    n_steps_more: int


def arrange_mail(
    result: AnalysisResult,
    filters: Filters,
    *,
    history: Sequence[PastRun],
) -> MailView:
    """Return the content of a mail about *result*.

    *history* are runs of the title up to this task, oldest first.
    """
    comparison = result.comparison
    page = arrange(result, ListLimits(cases=_CASES, rounds=1, checks=1, changes=0))
    alerts = [(severity, a) for severity, group in page.alerts for a in group]
    bad = [
        case
        for status, _, cases in page.case_groups
        if status in ("fail", "error")
        for case in cases
    ]
    n_bad = result.summary.n_fail + result.summary.n_error
    by_case = {c.case_id: c for c in comparison.cases} if comparison else {}
    listed = {case.case.case_id for case in bad}
    worse = [c for c in by_case.values() if c.must_have_lost or c.change == "worse"]
    grave = [c for c in worse if c.severity and c.case_id not in listed]
    shown = grave[:_CHANGES]
    told = listed.union(c.case_id for c in shown)
    n_told = sum(c.change == "worse" and c.case_id in told for c in worse)
    steps = list(history[::-1][:_RUNS])
    by_dimension = {d.subject: d for d in comparison.dimensions} if comparison else {}
    return MailView(
        page=page,
        alerts=alerts[:_ALERTS],
        n_alerts_more=page.n_alerts_more + len(alerts) - len(alerts[:_ALERTS]),
        dimensions=[
            (view, bar_cells(view), by_dimension.get(view.dimension.dimension_id))
            for view in page.dimensions[:_DIMENSIONS]
        ],
        n_dimensions_more=max(0, len(result.dimensions) - _DIMENSIONS),
        cases=[(case, _proof(case, filters)) for case in bad],
        n_bad=n_bad,
        n_cases_more=n_bad - len(bad),
        changes=shown,
        n_changes_more=max(0, comparison.counts.worse - n_told) if comparison else 0,
        steps=steps,
        n_steps_more=steps[-1].number - 1 if steps else 0,
    )


def bar_cells(view: DimensionView) -> list[tuple[str, int]]:
    """Return a dimension's bar as table cells whose widths add up to ``BAR``.

    A cell is ``fill``, ``track`` or ``tick``.
    """
    fill = _pixels(view.bar.fill)
    cells = [("fill", 0, fill), ("track", fill, BAR)]
    if view.bar.mark is not None:
        tick = min(_pixels(view.bar.mark), BAR - _TICK)
        cells = [
            ("fill", 0, min(fill, tick)),
            ("track", min(fill, tick), tick),
            ("tick", tick, tick + _TICK),
            ("fill", tick + _TICK, fill),
            ("track", max(fill, tick + _TICK), BAR),
        ]
    return [(kind, end - start) for kind, start, end in cells if end > start]


def _pixels(hundredths: float | None) -> int:
    if not hundredths:
        return 0
    return max(1, round(hundredths * BAR / 100))  # a score above 0 is visible


def _proof(view: CaseView, filters: Filters) -> Proof | None:
    """Return the first reason: a check, else an error, else evidence."""
    label, text = filters.label, filters.catalogue.text
    if view.first_error is not None:
        code = view.first_error.error_code
        shown = filters.value(code) if code is None else label(code, "error_code")
        return Proof(text("case.error", code=clip(shown, 80)), None, None, [])
    if view.first_difference is not None:
        found = view.first_difference
        reason, place = label(found.reason, "reason"), clip(filters.place(found), 90)
        return Proof(
            text("case.difference", reason=reason, pointer=place),
            _side(found.expected, found.actual, filters),
            _side(found.actual, found.expected, filters),
            [],
        )
    if view.first_broken is not None:
        broken = view.first_broken
        answers = {each.round_id: each.answer for each in view.case.rounds}
        answer = answers.get(broken.round_id)
        return Proof(
            clip(filters.asserted(broken), _SNIPPET),
            None
            if broken.expected is None
            else _side(broken.expected, answer, filters),
            None
            if answer is None
            else _short(highlighted(answer, None, limit=_SNIPPET)),
            [],
        )
    if view.first_evidence is not None:
        evidence = view.first_evidence
        payload = evidence.payload
        expected, actual = payload.get("expected"), payload.get("actual")
        compared = expected is not None or actual is not None
        snippet = payload.get("snippet")
        return Proof(
            clip(evidence.summary, _SNIPPET),
            None if expected is None else _side(expected, actual, filters),
            _side(actual, expected, filters) if compared else None,
            []
            if compared or not isinstance(snippet, str)
            else _short(highlighted(snippet, payload.get("offsets"), limit=_SNIPPET)),
        )
    return None


def _side(value: object, beside: object, filters: Filters) -> list[TextPiece]:
    """Return an expected or actual value, next to the other one."""
    shown = filters.json_value(value, beside)
    return _short(highlighted(shown, None, limit=_SNIPPET))


def _short(parts: list[TextPiece]) -> list[TextPiece]:
    """Keep at most six lines; use non-breaking spaces where HTML would drop them."""
    kept, lines = [], 1
    for part in parts:
        text = part.text
        pieces = text.split("\n")[: _LINES - lines + 1]
        if len(pieces) <= text.count("\n"):
            kept.append(TextPiece("\n".join(pieces) + "…", part.code, part.marked))
            break
        lines += text.count("\n")
        text = text.replace("\t", "    ").replace("  ", "\u00a0 ")
        kept.append(TextPiece(text, part.code, part.marked))
    return kept


def one_line(text: object, most: int) -> str:
    """Return *text* on one line, hidden characters named, at most *most* long."""
    return clip(" ".join(visible(text).split()), most)


# ---------- the message


Attach = Literal["none", "html", "zip", "link"]

_LONGEST_ADDRESS = 254  # RFC 5321
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\Z", re.ASCII
)

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


def to_message(
    result: AnalysisResult,
    *,
    history: Sequence[PastRun] = (),
    lang: str | None = None,
    templates: Path | None = None,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of *result*.

    *history* are runs of the title up to this one, oldest first; empty: no trend.

    Raises:
        UsageError: a link is requested without a URL, or an address of the envelope is
            invalid.
    """
    envelope = envelope or Envelope()
    lang = lang or language_of(result)
    filters = Filters(catalogue(lang))
    place = _place(result, envelope)
    view = arrange_mail(result, filters, history=history)
    values: dict[str, Any] = {
        "result": result,
        "mail": view,
        "view": view.page,
        "place": place,
        "preheader": preheader_of(result, view, filters),
    }
    plain = environment(lang, templates, autoescape=False)
    message = new_message(
        envelope,
        subject=envelope.subject or subject_of(result, filters),
        generated_at=result.generated_at,
        text=render(plain, "mail/mail.txt.j2", **values),
        html=render(environment(lang, templates), "mail/mail.html.j2", **values),
    )
    if place["attachment"] is not None:
        page = to_html(result, lang=lang, templates=templates, with_script=False)
        _attach(message, page.encode(), place["attachment"], result)
    finish(message, lang, f"{result.task.task_id}\0{result.generated_at.isoformat()}")
    return message


def subject_of(result: AnalysisResult, filters: Filters) -> str:
    """Return the subject: the verdict first, so that a phone shows it."""
    title = one_line(result.title, 12 if result.gate else 36)
    if result.gate is None:
        return filters.catalogue.text(
            "mail.subject_scored",
            grade=one_line(filters.label(result.summary.grade, "grade"), 12),
            score=filters.score(result.summary.overall_score),
            title=title,
        )
    said = brief(result.gate, _SUBJECT_COLUMNS)
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
        title=one_line(result.title, 20),
    )


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


def task_message(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    edition: Edition,
    envelope: Envelope | None = None,
) -> EmailMessage:
    """Return the mail of one task, with its trend and its comparison.

    By default the full report is linked if the edition has a URL, else attached.

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
