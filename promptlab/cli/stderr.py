"""Print messages to stderr: sentences for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from promptlab.cli.terminal import for_json, for_people
from promptlab.messages import LOGGER

FORMATS = ("text", "json")


class _Handler(logging.Handler):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def emit(self, record: logging.LogRecord) -> None:
        if self.form == "text":
            line = for_people(record.getMessage())
        else:
            line = for_json(_json_line(record))
        click.echo(line, err=True)


def _json_line(record: logging.LogRecord) -> str:
    """``ts`` (UTC), ``level``, ``event``, ``message``, then the event's own fields."""
    ts = datetime.fromtimestamp(record.created, UTC)
    return json.dumps(
        {
            "ts": ts.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        },
        ensure_ascii=False,
        default=str,
    )


def listen(form: str, *, quiet: bool = False) -> None:
    """Print messages to stderr from now on, as ``text`` or ``json``.

    Args:
        form: one of ``FORMATS``; JSON includes more events.
        quiet: only warnings and errors.
    """
    for handler in [h for h in LOGGER.handlers if isinstance(h, _Handler)]:
        LOGGER.removeHandler(handler)
    LOGGER.addHandler(_Handler(form))
    LOGGER.propagate = False
    loud = logging.DEBUG if form == "json" else logging.INFO
    LOGGER.setLevel(logging.WARNING if quiet else loud)


def asked_form(args: Sequence[str]) -> str:
    """Return the form set on the command line or in the environment, before parsing.

    Errors in the command line itself are reported in the format it asks for, too.
    """
    asked = os.environ.get("PROMPTLAB_LOG_FORMAT", "text")
    for place, arg in enumerate(args):
        if arg == "--log-format":
            asked = "".join(args[place + 1 : place + 2])
        elif arg.startswith("--log-format="):
            asked = arg.partition("=")[2]
    return asked if asked in FORMATS else "text"


def is_json() -> bool:
    """Return true if messages are written as JSON."""
    return any(isinstance(h, _Handler) and h.form == "json" for h in LOGGER.handlers)
