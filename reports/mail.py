"""The mail of a task: text, HTML and picture in one message.

The same input gives the same bytes: boundaries, Message-ID and Content-ID come from
the task and the time of the report, never from a clock or a generator.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime
from functools import cached_property
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
from promptlab.reports.pages import environment, language_of, render, to_html
from promptlab.reports.printing import Filters, TextPiece, clip, highlighted, visible
from promptlab.reports.queries import PastRun, title_history
from promptlab.reports.result import analysis_result
from promptlab.reports.sentences import brief
from promptlab.reports.texts import catalogue
from promptlab.reports.views import CaseView, DimensionView, View, arrange

if TYPE_CHECKING:
    import duckdb


# ---------- headers


_LONGEST_LINE = 76
_LONGEST_ADDRESS = 254  # RFC 5321
_PLAIN = re.compile(r"[ -~]+")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\Z", re.ASCII
)
_FILE_NAME = re.compile(r"[A-Za-z0-9._~-]{1,60}", re.ASCII)
_PART_OF_A_NAME = 50


class _Encoded(str):
    """The text of a header, with its encoded lines."""

    name: str
    lines: str
    content_disposition: str | None = None

    def fold(self, *, policy: Policy) -> str:
        """Return the lines; the generators of the email package call this."""
        return f"{self.name}: {self.lines}\n".replace("\n", policy.linesep)


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


def write_text(message: EmailMessage, name: str, text: str, *, most: int) -> None:
    """Write a header of free text, such as the subject, on at most *most* characters.

    Line breaks and hidden characters are named or become spaces.
    """
    text = one_line(text, most)
    _write(message, name, text, _encoded(text, name))


def write_addresses(message: EmailMessage, name: str, addresses: Sequence[str]) -> None:
    """Write a header of addresses, as ``check_address`` returns them."""
    _write(message, name, ", ".join(addresses), ",\n ".join(addresses))


def write_file_name(part: EmailMessage, file_name: str) -> None:
    """Write the name of an attached file, encoded by RFC 2231 unless it is plain."""
    file_name = one_line(file_name, 200)
    if _FILE_NAME.fullmatch(file_name):
        lines = f'attachment; filename="{file_name}"'
    else:
        pieces = ["utf-8''"]
        for character in file_name:
            if len(pieces[-1]) > _PART_OF_A_NAME:
                pieces.append("")
            pieces[-1] += quote(character, safe="")
        lines = "attachment" + "".join(
            f";\n filename*{number}*={piece}" for number, piece in enumerate(pieces)
        )
    header = _write(part, "Content-Disposition", lines.replace("\n", ""), lines)
    header.content_disposition = "attachment"


def _write(message: EmailMessage, name: str, text: str, lines: str) -> _Encoded:
    header = _Encoded(text)
    header.name, header.lines = name, lines
    del message[name]
    message[name] = header
    return header


def _encoded(text: str, name: str) -> str:
    """Return *text*, as encoded words, one per line, unless it is short and plain."""
    is_short = len(name) + len(": ") + len(text) <= _LONGEST_LINE
    if is_short and "=?" not in text and _PLAIN.fullmatch(text):
        return text
    return Header(text, "utf-8", _LONGEST_LINE, name).encode(linesep="\n")


# ---------- the trend of a title as a picture


TREND_WIDTH = 552
TREND_HEIGHT = 120
FEWEST = 3
"""Minimum number of scored runs; with fewer, nothing is drawn."""

_EDGE = 10
_SCALE = 2  # pixels per point, for sharp screens


@dataclass(frozen=True)
class Trend:
    """The scored runs of a title in a box of ``WIDTH`` by ``HEIGHT``, oldest first."""

    runs: Sequence[PastRun]
    baseline: str | None = None
    """Task id of the run that the last one is compared with."""

    @cached_property
    def scored(self) -> list[tuple[int, float, PastRun]]:
        """The place of each scored run among all, its score, and the run."""
        return [
            (at, run.overall_score, run)
            for at, run in enumerate(self.runs)
            if run.overall_score is not None
        ]

    @cached_property
    def ends(self) -> list[float]:
        """All drawn numbers."""
        numbers = [(run.ci_low, run.ci_high, score) for _, score, run in self.scored]
        return [end for ends in numbers for end in ends if end is not None]

    @cached_property
    def floor(self) -> float:
        """The score at the bottom edge, a whole tenth of the scale."""
        wanted = math.floor(round(min(self.ends) * 10, 6)) / 10
        return min(max(0.0, wanted), 0.8)

    @cached_property
    def top(self) -> float:
        """The score at the top edge; never less than two tenths above the floor."""
        wanted = math.ceil(round(max(self.ends) * 10, 6)) / 10
        return min(1.0, max(wanted, self.floor + 0.2))

    @property
    def first(self) -> float:
        """The score of the oldest run."""
        return self.scored[0][1]

    @property
    def last(self) -> float:
        """The score of the newest scored run."""
        return self.scored[-1][1]

    @property
    def n(self) -> int:
        """Number of scored runs."""
        return len(self.scored)

    def svg(self) -> str:
        """Return the picture: grid, intervals, line, the baseline's ring, the last."""
        points = [(self._x(at), self._y(score), run) for at, score, run in self.scored]
        line = " ".join(f"{x},{y}" for x, y, _ in points)
        last_x, last_y, _ = points[-1]
        drawn = [
            f'<line x1="0" y1="{y}" x2="{TREND_WIDTH}" y2="{y}" stroke="#E5E7EB"/>'
            for y in (_EDGE, TREND_HEIGHT / 2, TREND_HEIGHT - _EDGE)
        ]
        drawn += [
            f'<line x1="{x}" y1="{self._y(run.ci_low)}" x2="{x}"'
            f' y2="{self._y(run.ci_high)}" stroke="#C3D9EC" stroke-width="6"'
            ' stroke-linecap="round"/>'
            for x, _, run in points
            if run.ci_low is not None and run.ci_high is not None
        ]
        drawn.append(
            f'<polyline points="{line}" fill="none" stroke="#0B5FA5"'
            ' stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round"/>'
        )
        drawn += [
            f'<circle cx="{x}" cy="{y}" r="4" fill="#FFFFFF" stroke="#1F2937"'
            ' stroke-width="2"/>'
            if run.task_id == self.baseline
            else f'<circle cx="{x}" cy="{y}" r="3" fill="#0B5FA5"/>'
            for x, y, run in points[:-1]
        ]
        drawn.append(
            f'<circle cx="{last_x}" cy="{last_y}" r="6" fill="#0B5FA5"'
            ' stroke="#FFFFFF" stroke-width="2"/>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{TREND_WIDTH}"'
            f' height="{TREND_HEIGHT}" viewBox="0 0 {TREND_WIDTH} {TREND_HEIGHT}">'
            f'<rect width="{TREND_WIDTH}" height="{TREND_HEIGHT}" fill="#FFFFFF"/>'
            f"{''.join(drawn)}</svg>"
        )

    def png(self) -> bytes | None:
        """Return the picture at twice its size; ``None`` without ``resvg_py``."""
        try:
            import resvg_py
        except ImportError:
            return None
        image = resvg_py.svg_to_bytes(
            svg_string=self.svg(), zoom=_SCALE, skip_system_fonts=True
        )
        return bytes(image)

    def _x(self, at: int) -> float:
        return round(_EDGE + at * (TREND_WIDTH - 2 * _EDGE) / (len(self.runs) - 1), 1)

    def _y(self, score: float | None) -> float:
        share = ((score or 0.0) - self.floor) / (self.top - self.floor)
        return round(TREND_HEIGHT - _EDGE - share * (TREND_HEIGHT - 2 * _EDGE), 1)


def trend(runs: Sequence[PastRun], baseline: str | None = None) -> Trend | None:
    """Return the trend of *runs*, oldest first; ``None`` under three scored ones."""
    drawn = Trend(runs, baseline)
    return drawn if drawn.n >= FEWEST else None


# ---------- the content: the worst entries, and the number of others


BAR = 96
"""Width of a dimension's bar, pixels."""

_SNIPPET = 160  # characters
_LINES = 6
_RUNS_WITH_PICTURE = 5
_RUNS_WITHOUT = 10
_TICK = 2  # pixels


@dataclass(frozen=True)
class MailLimits:
    """The maximum lengths of a mail's lists."""

    alerts: int = 8
    dimensions: int = 8
    cases: int = 10
    changes: int = 5


LIMITS = (
    MailLimits(),
    MailLimits(cases=5),
    MailLimits(alerts=5, dimensions=6, cases=3, changes=3),
    MailLimits(alerts=3, dimensions=4, cases=1, changes=1),
    MailLimits(alerts=1, dimensions=1, cases=0, changes=0),
)
"""Tried in this order until the mail is small enough."""


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
    trend: Trend | None
    """The text for the picture, if there is one."""
    steps: list[PastRun]
    """Runs of the title, newest first."""
    n_steps_more: int


def arrange_mail(
    result: AnalysisResult,
    filters: Filters,
    *,
    history: Sequence[PastRun],
    picture: Trend | None,
    limits: MailLimits,
) -> MailView:
    """Return the content of a mail about *result*.

    *history* are runs of the title up to this task, oldest first.
    """
    comparison = result.comparison
    page = arrange(
        result, ListLimits(cases=limits.cases, rounds=1, checks=1, changes=0)
    )
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
    shown = grave[: limits.changes]
    told = listed.union(c.case_id for c in shown)
    n_told = sum(c.change == "worse" and c.case_id in told for c in worse)
    most = _RUNS_WITHOUT if picture is None else _RUNS_WITH_PICTURE
    steps = list(history[::-1][:most])
    by_dimension = {d.subject: d for d in comparison.dimensions} if comparison else {}
    return MailView(
        page=page,
        alerts=alerts[: limits.alerts],
        n_alerts_more=len(result.summary.alerts) - len(alerts[: limits.alerts]),
        dimensions=[
            (view, bar_cells(view), by_dimension.get(view.dimension.dimension_id))
            for view in page.dimensions[: limits.dimensions]
        ],
        n_dimensions_more=max(0, len(result.dimensions) - limits.dimensions),
        cases=[(case, _proof(case, filters)) for case in bad],
        n_bad=n_bad,
        n_cases_more=n_bad - len(bad),
        changes=shown,
        n_changes_more=max(0, comparison.counts.worse - n_told) if comparison else 0,
        trend=picture,
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
    if place["attachment"] is not None:
        page = to_html(result, lang=lang, templates=templates, with_script=False)
        _attach(message, page.encode(), place["attachment"], result)
    # Last: converting to multipart moves every Content-… header to the first part.
    message["Content-Language"] = catalogue(lang).tag
    fix_boundaries(message, _digest(result))
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
        title=one_line(result.title, 20),
    )


def _bodies(
    result: AnalysisResult,
    history: Sequence[PastRun],
    lang: str,
    templates: Path | None,
    filters: Filters,
    place: dict[str, str | None],
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


def write_headers(
    message: EmailMessage,
    envelope: Envelope,
    *,
    subject: str,
    generated_at: datetime,
    digest: str,
) -> None:
    """Write the headers of a mail.

    *digest* has letters and digits for its id.
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
    message: EmailMessage, page: bytes, name: str, result: AnalysisResult
) -> None:
    if name.endswith(".zip"):
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
