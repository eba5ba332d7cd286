"""Standard output that tolerates a closed pipe, such as ``| head``.

The exit code is the result of a command, so a command runs to its end without a reader:
in ``promptlab gate | head -1`` with ``set -o pipefail``, a broken pipe would otherwise
look like a failed gate.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

from promptlab.cli.terminal import GuardedText, is_read_by_a_runner
from promptlab.errors import PromptlabError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


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
