"""The streams of a command: safe text, messages and progress on stderr, stdout.

Terminals interpret control characters. The runners of GitHub Actions and Azure
Pipelines interpret lines that begin with ``::``, and ``##[`` or ``##vso[`` anywhere.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from promptlab.cli.translation import translated_message
from promptlab.errors import PromptlabError
from promptlab.messages import LOGGER

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.progress import Progress


# ---------- untrusted texts


GUARD = "\u2060"
"""A character of width 0, which a runner does not skip like spaces."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)
_BREAK = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
_LINE_START = re.compile(rf"(^|{_BREAK})(\s*)(?=::)")
_BEGUN = re.compile(rf"(?:^|{_BREAK})\s*:\Z|#\Z")
_ANYWHERE = re.compile(r"##(?=\[|vso\[)")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def for_people(text: str) -> str:
    """Return *text* without control sequences and commands to a runner."""
    return guarded(without_controls(text))


def without_controls(text: str) -> str:
    """Return *text* without control sequences; lines and tabs are kept."""
    return _CONTROLS.sub(_REPLACEMENT, text.replace("\r\n", "\n"))


def in_one_line(text: str) -> str:
    """Return *text* on one line, without characters that move or reverse text."""
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return _CONTROLS.sub(_REPLACEMENT, text)


def for_json(text: str) -> str:
    """Return JSON with its hidden characters written as escapes: the same values."""
    text = _ANYWHERE.sub(r"#\\u0023", text)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def guarded(text: str) -> str:
    """Return *text* without lines that are commands to a runner."""
    text = _LINE_START.sub(rf"\1\2{GUARD}", text)
    return _ANYWHERE.sub(f"#{GUARD}#", text)


def is_read_by_a_runner(
    stream: io.TextIOBase | TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> bool:
    """Return true if a runner interprets *stream*; false for files."""
    if environ.get("GITHUB_ACTIONS") != "true" and environ.get("TF_BUILD") != "True":
        return False
    try:
        return stream is None or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


class GuardedText(io.TextIOWrapper):
    """A text stream to a runner, without commands."""

    _is_at_start = True
    """Return true if the line so far is blank."""

    def write(self, text: str, /) -> int:
        """Write *text*, escaped, even if lines are written in parts."""
        before = "" if self._is_at_start else "-"
        safe = guarded(before + text)[len(before) :]
        # the next part may complete a command
        if _BEGUN.search(before + text):
            safe += GUARD
        super().write(safe)
        last = re.split(_BREAK, before + safe)[-1]
        self._is_at_start = not last.strip()
        return len(text)


# ---------- messages: sentences for people, or one JSON object per line


LOG_FORMATS = ("text", "json")


class _Handler(logging.Handler):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def emit(self, record: logging.LogRecord) -> None:
        if self.form == "text":
            line = for_people(translated_message(record.getMessage()))
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

    JSON includes more events; *quiet* leaves only warnings and errors.
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
    form = os.environ.get("PROMPTLAB_LOG_FORMAT", "text")
    for place, arg in enumerate(args):
        if arg == "--log-format":
            form = "".join(args[place + 1 : place + 2])
        elif arg.startswith("--log-format="):
            form = arg.partition("=")[2]
    return form if form in LOG_FORMATS else "text"


def is_json() -> bool:
    """Return true if messages are written as JSON."""
    return any(isinstance(h, _Handler) and h.form == "json" for h in LOGGER.handlers)


# ---------- standard output that tolerates a closed pipe


class _UntilClosed(io.RawIOBase):
    """Writes to a stream; discards output after the reader has closed it.

    Any other write error is raised once.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._is_full = False

    def write(self, data: ReadableBuffer, /) -> int | None:
        if not self._is_full:
            try:
                return self._raw.write(data)
            except BrokenPipeError:
                pass
            except OSError as error:
                self._is_full = True
                raise PromptlabError(
                    f"standard output cannot be written: {error.strerror}"
                ) from None
        return memoryview(data).nbytes

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


def outlast_readers() -> None:
    """Replace ``sys.stdout`` by one that tolerates a closed pipe."""
    old = sys.stdout
    if not isinstance(old, io.TextIOWrapper):
        return
    old.flush()
    buffer = old.buffer
    binary: Any
    if isinstance(buffer, io.RawIOBase):  # PYTHONUNBUFFERED
        binary = _UntilClosed(buffer)
    else:
        binary = io.BufferedWriter(_UntilClosed(buffer.raw))
    kind = GuardedText if is_read_by_a_runner(old) else io.TextIOWrapper
    sys.stdout = kind(
        binary,
        encoding=old.encoding,
        errors=old.errors,
        line_buffering=old.line_buffering,
        write_through=old.write_through,
    )


def guard_stderr() -> None:
    """Escape lines of ``sys.stderr`` that a CI runner would run as commands."""
    old = sys.stderr
    if isinstance(old, io.TextIOWrapper) and is_read_by_a_runner(old):
        old.flush()
        sys.stderr = GuardedText(
            old.buffer,
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=True,
        )


# ---------- one progress bar for a whole command


class ProgressBar:
    """Progress of a command over phases, each with its share of the total."""

    def __init__(self, progress: Progress | None, shares: Sequence[float]) -> None:
        """Draw on a rich progress, or not at all."""
        self._progress = progress
        self._shares = list(shares)
        self._before = self._share = 0.0
        self._done = self._total = 0.0
        self._task = progress.add_task("", total=sum(shares)) if progress else None

    def begin(self, total: float) -> None:
        """Start the next phase, with *total* steps."""
        self._before += self._share
        self._share = self._shares.pop(0)
        self._done, self._total = 0.0, total

    def advance(self, step: str, amount: float = 1) -> None:
        """Count a step, which is named *step*."""
        self._done += amount
        self.put(step, self._done, self._total)

    def put(self, step: str, done: float, total: float) -> None:
        """Show the progress of the phase."""
        if self._progress is not None and self._task is not None:
            share = self._share * (done / total if total else 1)
            self._progress.update(
                self._task,
                completed=self._before + share,
                description=in_one_line(step),
            )


@contextmanager
def progress(*shares: float, shown: bool) -> Iterator[ProgressBar]:
    """Show a bar for the length of a ``with`` block.

    *shares* are those of the phases, in order.
    """
    if not shown or not sys.stderr.isatty():
        yield ProgressBar(None, shares)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    with RichProgress(
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as drawn:
        yield ProgressBar(drawn, shares)
