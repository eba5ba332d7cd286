"""The digest: all changes since a day, as one mail, page or chat message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from promptlab.contracts.pages import Course, DigestPage, FlakyCase, IndexEntry
from promptlab.errors import SettingsError, UsageError, did_you_mean
from promptlab.paths import chat_services
from promptlab.reports.files import folder_name
from promptlab.reports.index import read_index
from promptlab.reports.mail import Envelope, finish, inlined, new_message
from promptlab.reports.pages import PAGE, environment, render
from promptlab.reports.printing import Filters
from promptlab.reports.queries import of_contract, rows
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_LISTED = 12
"""Titles that the digest lists per group."""
MOST_FLAKY = 3
MOST_IN_CHAT = 24
"""Titles that a chat message lists in all; Slack takes 50 blocks."""

_FIRST_YEAR = 1970
_SPAN = re.compile(r"(\d{1,4})([dhw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}

_SPENT = """
select
    sum(trends.value) filter (
        trends.measure = 'cost_total' and trends.created_at >= $since
    ) as cost,
    sum(trends.value) filter (
        trends.measure = 'cost_total'
        and trends.created_at < $since and trends.created_at >= $before
    ) as cost_before,
    count(distinct tasks.run_id) filter (trends.created_at >= $since) as n_runs,
    count(distinct tasks.run_id) filter (
        trends.created_at < $since and trends.created_at >= $before
    ) as n_runs_before
from marts.fct_trends as trends
inner join marts.dim_tasks as tasks using (task_id)
where trends.subject is null
"""

# A case has a row for each version of its prompt, and is one line of its variant. One
# flip is not flaky, and a case that broke is news of another kind.
_FLAKY = f"""
with cases as (

    select
        title, variant, case_id,
        sum(n_pass) as n_pass, sum(n_rounds) as n_rounds, sum(n_flips) as n_flips
    from marts.fct_flaky_cases
    where last_created_at >= $since
    group by title, variant, case_id
    having sum(n_flips) > 1

)

select
    *,
    count(*) over () as n_lines
from cases
where (title, variant, case_id) not in (
    select variants.title, variants.variant, odds.case_id
    from marts.dim_variants as variants
    inner join marts.fct_case_odds as odds on variants.newest_task_id = odds.task_id
    where odds.state = 'broken'
)
order by n_flips desc, n_rounds desc, title, variant, case_id
limit {MOST_FLAKY}
"""


def since_of(text: str, until: datetime) -> datetime:
    """Return the time that ``7d``, ``12h``, ``2w`` or a date means.

    Raises:
        UsageError: it is invalid.
    """
    if span := _SPAN.fullmatch(text):
        return until - timedelta(hours=int(span[1]) * _HOURS[span[2]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"since: {text!r} is neither a span such as 7d or 12h nor a date such as"
            " 2026-11-12"
        ) from None
    if moment.year < _FIRST_YEAR:
        raise UsageError(f"since: {text!r} is before {_FIRST_YEAR}")
    return moment if moment.tzinfo else moment.replace(tzinfo=until.tzinfo)


def read_digest(
    con: duckdb.DuckDBPyConnection, since: datetime, options: ReportOptions
) -> DigestPage:
    """Return the changes since a time."""
    index = read_index(con, options, since=since)
    span = {"since": since, "before": since - (options.generated_at - since)}
    [spent] = rows(con, _SPENT, span)
    flaky = rows(con, _FLAKY, span)
    recent = {
        course: [
            entry
            for entry in entries
            if max(variant.created_at for variant in entry.variants) >= since
        ]
        for course, entries in index.groups.items()
    }
    return DigestPage(
        generated_at=options.generated_at,
        lang=options.lang,
        since=since,
        groups={course: entries for course, entries in recent.items() if entries},
        **spent,
        flaky=[of_contract(FlakyCase, case) for case in flaky],
        n_flaky=flaky[0]["n_lines"] if flaky else 0,
    )


def digest_html(
    digest: DigestPage, options: ReportOptions, *, out: Path | None = None
) -> str:
    """Return the digest as a page that mail programs show, too.

    Entries link to pages at the URL of the options. Without a URL, a page written in
    *out* links to those that are there.
    """
    return inlined(_rendered("mail/digest.html.j2", digest, options, out=out))


def digest_text(digest: DigestPage, options: ReportOptions) -> str:
    """Return the digest as plain text."""
    return _rendered("mail/digest.txt.j2", digest, options)


def digest_message(
    digest: DigestPage, options: ReportOptions, envelope: Envelope
) -> EmailMessage:
    """Return the mail of a digest."""
    message = new_message(
        envelope,
        subject=envelope.subject or subject_of(digest, options),
        generated_at=options.generated_at,
        text=digest_text(digest, options),
        html=digest_html(digest, options),
    )
    since, until = digest.since.isoformat(), options.generated_at.isoformat()
    finish(message, options.lang, f"digest {since} {until}")
    return message


def subject_of(digest: DigestPage, options: ReportOptions) -> str:
    """Return the digest in one line: ``2 worse, 1 better since 12 Nov``."""
    texts = catalogue(options.lang)
    counts = [
        texts.text(f"digest.{course}", n=len(entries))
        for course, entries in digest.groups.items()
        if course != "unchanged"
    ]
    if not counts:
        counts = [texts.text("digest.nothing")]
    return texts.text(
        "digest.subject",
        counts=texts.text("word.in_list").join(counts),
        day=Filters(texts).day(digest.since, options.generated_at),
    )


@dataclass(frozen=True)
class ChatMessage:
    """A message to a chat, as the template ``chat/<service>.json.j2`` writes it."""

    service: str
    body: Mapping[str, Any]
    """The body of the request, as JSON."""
    hosts: Sequence[str]
    """Hosts of the service; with a leading dot, all hosts that end so."""
    signature: str | None
    """The place of the signature in the request: ``body``, ``query``, or nowhere."""


def chat_template(service: str, options: ReportOptions) -> str:
    """Return the name of the template of a service.

    Raises:
        SettingsError: there is no such service.
    """
    name = f"chat/{service}.json.j2"
    if name not in environment(options.lang, options.templates).list_templates():
        hint = did_you_mean(service, chat_services())
        known = ", ".join(chat_services())
        raise SettingsError(f"webhook: {service!r} is none of {known}{hint}")
    return name


def chat_message(
    service: str, digest: DigestPage, options: ReportOptions
) -> ChatMessage:
    """Return the message of a digest to a chat.

    It lists as many titles as fit into the service's limit, the worst first, and counts
    the others.

    Raises:
        SettingsError: there is no such service, or a template is invalid.
    """
    name = chat_template(service, options)
    for most in range(MOST_IN_CHAT, -1, -1):
        text = _rendered(name, digest, options, listed=_listed(digest, most))
        try:
            message = json.loads(text)
            body, limit = message["body"], int(message["limit"])
            hosts, signature = list(message["hosts"]), message.get("signature")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{name}: must be a JSON object with hosts, limit and body ({error})"
            ) from None
        if len(json_bytes(body)) <= limit:
            return ChatMessage(service, body, hosts, signature)
    raise SettingsError(f"{name}: without a title it is larger than {limit:,} bytes")


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Return the JSON that is posted."""
    return json.dumps(body, ensure_ascii=False).encode()


def _listed(digest: DigestPage, most: int) -> dict[Course, int]:
    """Return how many titles of each group a message lists, of *most* in all."""
    listed: dict[Course, int] = {}
    for course, entries in digest.groups.items():
        listed[course] = min(len(entries), MOST_LISTED, most - sum(listed.values()))
    return listed


def _rendered(
    name: str,
    digest: DigestPage,
    options: ReportOptions,
    *,
    out: Path | None = None,
    **values: Any,
) -> str:
    base = (options.report_url or "").rstrip("/")

    def link(folder: str) -> str | None:
        page = f"{quote(folder)}/{PAGE}"
        if base:
            return f"{base}/{page}"
        return page if out is not None and (out / folder / PAGE).is_file() else None

    def href(entry: IndexEntry) -> str | None:
        of_title = link(f"titles/{folder_name(entry.title)}")
        return of_title or link(folder_name(entry.variants[0].task_id))

    is_markup = name.endswith(".html.j2")
    return render(
        environment(options.lang, options.templates, autoescape=is_markup),
        name,
        digest=digest,
        subject=subject_of(digest, options),
        generated_at=options.generated_at,
        most=MOST_LISTED,
        href=href,
        **values,
    )
