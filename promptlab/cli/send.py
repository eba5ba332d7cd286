"""Commands that send reports: a mail per task, or what moved since a day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from promptlab.cli.load import report_options
from promptlab.cli.options import Call, common
from promptlab.cli.output import print_lines
from promptlab.errors import MailError, NothingToDo, PromptlabError, SettingsError
from promptlab.paths import chat_services
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    from email.message import EmailMessage

    from promptlab.operations.chat import Hook
    from promptlab.operations.mailing import Server
    from promptlab.reports.digest import ChatMessage


@click.command("send")
@click.argument("task", metavar="RUN", default="latest")
@click.option("--to", multiple=True, required=True, help="An address; may be repeated.")
@click.option("--subject", help="Instead of the verdict.")
@click.option(
    "--attach",
    type=click.Choice(("none", "html", "zip", "link")),
    help="The full report: not at all, as HTML, zipped, or linked below the setting"
    " report_url [default: link where that is set, else html].",
)
@click.option(
    "--dry-run", is_flag=True, help="Write report.eml below --out and send nothing."
)
@report_options
@common("out", "templates", "policy")
def send(
    call: Call,
    task: str,
    to: tuple[str, ...],
    subject: str | None,
    attach: str | None,
    dry_run: bool,
) -> int:
    """Mail the reports of stored tasks over SMTP, one mail per task.

    RUN is the id of a run or a task, a `--run-name`, a title, a file or folder that was
    loaded, `previous`, or `latest`: what was loaded last.

    The server comes from the settings smtp_host, smtp_port, smtp_security (starttls,
    tls, none), smtp_user and mail_from, in promptlab.toml or as PROMPTLAB_SMTP_HOST
    and so on. The password comes from PROMPTLAB_SMTP_PASSWORD, or from the file that
    smtp_password_file names; only its owner may have access to it.

    A mail is sent once. One that the server does not take is kept below --out.
    """
    from promptlab.operations.mailing import server_from
    from promptlab.reports.files import folder_name
    from promptlab.reports.mail import NO_REPLY, Envelope, task_message

    settings = call.settings
    missing = [
        f"{name} ({meaning})"
        for name, meaning, value in (
            ("mail_from", "the sender", settings.mail_from),
            ("smtp_host", "the mail server", settings.smtp_host),
        )
        if not value
    ]
    if missing and not dry_run:
        raise SettingsError(
            f"not set: {', '.join(missing)}. Name it in promptlab.toml, or with"
            " PROMPTLAB_MAIL_FROM and PROMPTLAB_SMTP_HOST; --dry-run writes the mail"
            " without"
        )
    server = None if dry_run else server_from(settings)
    sender = settings.mail_from or NO_REPLY
    warehouse = call.warehouse()
    report_options = warehouse.report_options()
    with warehouse.built() as con:
        task_ids = selected_tasks(con, task)
        messages = [
            task_message(
                con,
                task_id,
                report_options,
                Envelope(
                    sender=sender,
                    to=to,
                    subject=subject,
                    attach=attach,  # type: ignore[arg-type]  # click has checked it
                    report_url=settings.report_url,
                ),
            )
            for task_id in task_ids
        ]
    mails = [
        Mail(task_id, f"{folder_name(task_id)}/report.eml", message)
        for task_id, message in zip(task_ids, messages, strict=True)
    ]
    if server is not None:
        _send(call, mails, sender, to, server)
        return 0
    paths = _keep(call, mails)
    if call.format == "table":
        for path in paths:
            print_lines(str(path))
    else:
        call.print_rows(("mail",), [(str(path),) for path in paths])
    return 0


class Mail(NamedTuple):
    """A mail to send, and its place below the output folder."""

    about: str
    path: str
    message: EmailMessage


def _send(
    call: Call, mails: Sequence[Mail], sender: str, to: Sequence[str], server: Server
) -> None:
    """Send *mails*; when one fails, keep it and those after it below --out.

    Raises:
        SettingsError, MailError: the reason, and the files of the mails.
    """
    from promptlab.operations.mailing import send

    for number, mail in enumerate(mails):
        try:
            send(mail.message, sender, to, server)
        except (SettingsError, MailError) as error:
            kept = ", ".join(map(str, _keep(call, mails[number:])))
            raise type(error)(f"{error}; kept in {kept}") from None
        call.say(f"{mail.about}: sent to {', '.join(dict.fromkeys(to))}")


def _keep(call: Call, mails: Sequence[Mail]) -> list[Path]:
    """Write *mails* below --out."""
    from promptlab.reports.files import write_file

    return [
        write_file(call.settings.out, folder, name, mail.message.as_bytes())
        for mail in mails
        for folder, _, name in [mail.path.rpartition("/")]
    ]


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
    metavar="SERVICE",
    multiple=True,
    help=f"Post to a chat: {', '.join(chat_services())}. Its URL is"
    " PROMPTLAB_<SERVICE>_WEBHOOK, its secret PROMPTLAB_<SERVICE>_SECRET.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Write digest.eml and the payloads below --out; send nothing.",
)
@report_options
@common("out", "templates", "policy", formats=None)
def digest(
    call: Call,
    since: str,
    to: tuple[str, ...],
    subject: str | None,
    webhooks: tuple[str, ...],
    dry_run: bool,
) -> int:
    """Report everything that moved since a day: worse, better, new, flaky, cost.

    Without --to and --webhook, writes digest.html and digest.json below --out. If
    nothing moved by more than chance, no gate is undecided and nothing is new, nothing
    is written or sent, and the exit code is 5. Mails link to the reports where the
    setting report_url says where these are; the mail server is set as for `send`.
    """
    from promptlab.operations.chat import hook_of
    from promptlab.operations.mailing import server_from
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
    warehouse = call.warehouse()
    report_options = warehouse.report_options()
    chats = {chat: digests.chat_template(chat, report_options) for chat in webhooks}
    hooks = [] if dry_run else [hook_of(chat) for chat in chats]
    start = digests.since_of(since, report_options.generated_at)
    with warehouse.built() as con:
        digest = digests.read_digest(con, start, report_options)
    if not digest.has_news:
        since = f"{start:%Y-%m-%d %H:%M %Z}".rstrip()
        raise NothingToDo(
            f"nothing got better or worse since {since}, no gate is undecided, and"
            " nothing is new"
        )
    written = []
    if not (to or webhooks):
        html = digests.digest_html(digest, report_options, out=settings.out)
        for kind, page in (("json", f"{digest.as_json()}\n"), ("html", html)):
            data = page.encode()
            written.append(write_file(settings.out, "", f"digest.{kind}", data))
    if to:
        sender = settings.mail_from or NO_REPLY
        message = digests.digest_message(
            digest, report_options, Envelope(sender=sender, to=to, subject=subject)
        )
        mails = [Mail("digest", "digest.eml", message)]
        if server is None:
            written += _keep(call, mails)
        else:
            _send(call, mails, sender, to, server)
    posts = [digests.chat_message(chat, digest, report_options) for chat in chats]
    if dry_run:
        for post in posts:
            text = json.dumps(post.body, ensure_ascii=False, indent=2).encode()
            name = f"digest.{post.service}.json"
            written.append(write_file(settings.out, "", name, text))
    else:
        _post(call, posts, hooks)
    for path in written:
        print_lines(str(path))
    return 0


def _post(call: Call, messages: Sequence[ChatMessage], hooks: Sequence[Hook]) -> None:
    """Post each message to its chat; one that fails does not keep the others back."""
    from promptlab.operations.chat import post

    failed: list[PromptlabError] = []
    for message, hook in zip(messages, hooks, strict=True):
        try:
            post(message, hook, call.settings.webhook_hosts)
        except (SettingsError, MailError) as error:
            failed.append(error)
        else:
            call.say(f"digest: posted to {hook.service}")
    if failed:
        raise type(failed[0])("\n".join(map(str, failed)))
