"""Escape untrusted texts for terminals and logs.

Terminals interpret control characters. The runners of GitHub Actions and Azure
Pipelines interpret lines that begin with ``::``, and ``##[`` or ``##vso[`` anywhere.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Mapping

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
    """Return *text* without control sequences; lines and tabs are kept."""
    text = _CONTROLS.sub(_REPLACEMENT, text.replace("\r\n", "\n"))
    return guarded(text)


def in_one_line(text: str) -> str:
    """Return *text* on one line, without characters that move or reverse text."""
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return _CONTROLS.sub(_REPLACEMENT, text)


def for_json(text: str) -> str:
    """Return JSON with its hidden characters written as escapes: the same values."""
    text = _ANYWHERE.sub(r"#\\u0023", text)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def guarded(text: str) -> str:
    """Return *text* without lines that are commands to a runner."""
    text = _LINE_START.sub(rf"\1\2{GUARD}", text)
    return _ANYWHERE.sub(f"#{GUARD}#", text)


def is_read_by_a_runner(
    stream: io.TextIOBase | None = None, environ: Mapping[str, str] = os.environ
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
