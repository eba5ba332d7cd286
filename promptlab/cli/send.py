"""``promptlab send``: mail the report of a task over SMTP."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common
from promptlab.cli.report import report_options


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
def command(
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
    """
    from promptlab.cli.output import print_lines, print_rows
    from promptlab.errors import SettingsError
    from promptlab.operations.mailing import send, server_from
    from promptlab.reports.files import folder_name, write_file
    from promptlab.reports.mail import NO_REPLY, Envelope, task_message
    from promptlab.task_ids import selected_tasks

    settings = call.settings
    missing = [
        f"{name} ({what})"
        for name, what, value in (
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
    edition = warehouse.edition()
    with warehouse.built() as con:
        task_ids = selected_tasks(con, task)
        messages = [
            task_message(
                con,
                task_id,
                edition,
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
    if server is None:
        paths = [
            write_file(
                settings.out, folder_name(task_id), "report.eml", message.as_bytes()
            )
            for task_id, message in zip(task_ids, messages, strict=True)
        ]
        if call.format == "table":
            for path in paths:
                print_lines(str(path))
        else:
            print_rows(("mail",), [(str(path),) for path in paths], call.format)
        return 0
    for task_id, message in zip(task_ids, messages, strict=True):
        send(message, sender, to, server, say=call.say)
        call.say(f"{task_id}: sent to {', '.join(dict.fromkeys(to))}")
    return 0
