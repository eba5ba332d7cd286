"""``promptlab digest``: what moved since a day, as one mail, page or chat message."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common
from promptlab.cli.report import report_options

_ADDRESSES = {
    "slack": "PROMPTLAB_SLACK_WEBHOOK",
    "teams": "PROMPTLAB_TEAMS_WEBHOOK",
}


@click.command("digest", short_help="Changes since a day: mail, page or chat.")
@click.option(
    "--since",
    default="7d",
    show_default=True,
    help="A span such as 7d, 12h or 2w, or a date.",
)
@click.option("--to", multiple=True, help="An address; may be repeated.")
@click.option("--subject", help="Subject, instead of the counts.")
@click.option(
    "--webhook",
    "webhooks",
    type=click.Choice(("slack", "teams")),
    multiple=True,
    help="Post to a chat; its URL is PROMPTLAB_SLACK_WEBHOOK or"
    " PROMPTLAB_TEAMS_WEBHOOK.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Write digest.eml and the payloads below --out; send nothing.",
)
@report_options
@common("out", "templates", "policy", formats=None)
def command(
    call: Call,
    since: str,
    to: tuple[str, ...],
    subject: str | None,
    webhooks: tuple[str, ...],
    dry_run: bool,
) -> int:
    """Report everything that moved since a day: worse, better, new, flaky, cost.

    Without --to and --webhook, writes digest.html below --out. If nothing moved by
    more than chance, nothing is written or sent, and the exit code is 5. Mails link to
    the reports where the setting report_url says where these are; the mail server is
    set as for `send`.
    """
    import json
    import os

    from promptlab.cli.output import print_lines
    from promptlab.errors import NothingToDo, SettingsError
    from promptlab.operations.mailing import send, server_from
    from promptlab.operations.webhooks import post
    from promptlab.reports import digest as digests
    from promptlab.reports.files import write_file
    from promptlab.reports.mail import NO_REPLY, Envelope

    settings = call.settings
    if to and not dry_run and not settings.mail_from:
        raise SettingsError(
            "mail_from: no sender is set; name it in promptlab.toml, or with"
            " PROMPTLAB_MAIL_FROM (--dry-run writes the mail without one)"
        )
    server = server_from(settings) if to and not dry_run else None
    for chat in webhooks:
        if not dry_run and not os.environ.get(_ADDRESSES[chat]):
            raise SettingsError(
                f"webhook: {_ADDRESSES[chat]} is not set; put the address of the"
                f" {chat} webhook there (--dry-run writes the payload without one)"
            )
    warehouse = call.warehouse()
    edition = warehouse.edition()
    start = digests.since_of(since, edition.generated_at)
    with warehouse.built() as con:
        digest = digests.read_digest(con, start, edition)
    if not digest.has_news:
        since = f"{start:%Y-%m-%d %H:%M %Z}".rstrip()
        raise NothingToDo(
            f"nothing got better, worse, slower or more expensive since {since}, and"
            " no title is new"
        )
    written = []
    if not (to or webhooks):
        page = digests.digest_html(digest, edition).encode()
        written.append(write_file(settings.out, "", "digest.html", page))
    if to:
        sender = settings.mail_from or NO_REPLY
        message = digests.digest_message(
            digest, edition, Envelope(sender=sender, to=to, subject=subject)
        )
        if server is None:
            mail = message.as_bytes()
            written.append(write_file(settings.out, "", "digest.eml", mail))
        else:
            send(message, sender, to, server, say=call.say)
            call.say(f"digest: sent to {', '.join(dict.fromkeys(to))}")
    for chat in dict.fromkeys(webhooks):
        payload_of = {"slack": digests.slack_payload, "teams": digests.teams_payload}
        payload = payload_of[chat](digest, edition)
        if dry_run:
            text = json.dumps(payload, ensure_ascii=False, indent=2).encode()
            name = f"digest.{chat}.json"
            written.append(write_file(settings.out, "", name, text))
        else:
            post(os.environ[_ADDRESSES[chat]], payload)
            call.say(f"digest: posted to {chat}")
    for path in written:
        print_lines(str(path))
    return 0
