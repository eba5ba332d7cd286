"""Messages to the user: a sentence, the name of its event, its fields.

They go to the logger ``promptlab``. The command line prints them to stderr, as
sentences or as JSON; other programs have to add a handler.
"""

from __future__ import annotations

import io
import logging
from typing import Any

LOGGER = logging.getLogger("promptlab")


def detail(message: str, event: str, **fields: Any) -> None:
    """Log a detail for programs."""
    _log(logging.DEBUG, message, event, fields)


def say(message: str, event: str = "progress", **fields: Any) -> None:
    """Log progress or information."""
    _log(logging.INFO, message, event, fields)


def warn(message: str, event: str = "warning", **fields: Any) -> None:
    """Log a probable mistake; the work continues."""
    _log(logging.WARNING, message, event, fields)


def fail(message: str, **fields: Any) -> None:
    """Log the error that stopped the work."""
    _log(logging.ERROR, message, "error", fields)


def _log(level: int, message: str, event: str, fields: dict[str, Any]) -> None:
    LOGGER.log(level, "%s", message, extra={"event": event, "fields": fields})


class LinesAsEvents(io.TextIOBase):
    """A stream for other programs' output: every line becomes an event."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._unfinished = ""

    def writable(self) -> bool:
        """Return true: the stream accepts text."""
        return True

    def write(self, text: str) -> int:
        """Report each whole line; keep an unfinished one for later."""
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            if line.strip():
                detail(line.rstrip(), self._event)
        return len(text)
