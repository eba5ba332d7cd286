"""The input of a reader: the bytes of a file, its path, its options and its limits.

Limits bound memory and rows. A value within a limit is stored unchanged; nothing is
truncated.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from promptlab.encoding import lone_surrogates
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.files.input_file import Block
from promptlab.ingest.reading.problems import Problem
from promptlab.json_text.places import STRINGS_AND_BRACKETS, decode, line_column
from promptlab.json_text.reading import Fault, too_deep

if TYPE_CHECKING:
    from promptlab.contracts.testset import Pipeline
    from promptlab.settings import Settings


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the collector while objects without cycles are created.

    It would scan all of them repeatedly, which doubles the time to read a testset.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on and not gc.get_freeze_count():
            # all of it counts as old: it would be scanned once more at once
            gc.freeze()
            gc.unfreeze()
        if was_on:
            gc.enable()


MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one ingest."""

    max_file: int = 512 * MB
    """Maximum bytes of a file that is one JSON document; JSONL has no such limit."""

    max_record: int = 64 * MB
    """Maximum bytes of one record of a JSONL file."""

    max_string: int = 16 * MB
    """Maximum bytes of one text inside a record."""

    max_depth: int = 500
    """Maximum nesting depth of objects and lists."""

    may_guess: bool = True
    """Whether the encoding of a table may be guessed: not under ``--strict``."""

    @classmethod
    def from_settings(cls, settings: Settings, *, strict: bool = False) -> Limits:
        """Return the limits of the settings."""
        return cls(
            may_guess=not strict,
            max_file=settings.max_file_mb * MB,
            max_record=settings.max_record_mb * MB,
            max_string=settings.max_string_mb * MB,
            max_depth=settings.max_depth,
        )

    @property
    def harmless(self) -> int:
        """Return the length up to which a text cannot exceed a limit."""
        return min(2 * self.max_depth, self.max_string // 4)

    def fault(self, text: str) -> Fault | None:
        """Return the error of a JSON text that is too deep or has too long a string.

        Text is only scanned if its length makes an error possible, so normal records
        cost one comparison.
        """
        if len(text) <= self.harmless:
            return None
        brackets = text.count("{") + text.count("[")
        if brackets <= self.max_depth and len(text) <= self.max_string // 4:
            return None
        depth = deepest = 0
        first = None  # the first bracket that is too deep
        for match in STRINGS_AND_BRACKETS.finditer(text):
            at = match.start()
            if text[at] == '"':
                if match.end() - at > self.max_string // 4:
                    size = _size(match[0])
                    if size > self.max_string:
                        place = line_column(text, at)
                        message = self.too_long(size)
                        return Fault((), "string_too_long", message, *place)
            elif text[at] in "{[":
                depth += 1
                deepest = max(deepest, depth)
                if depth > self.max_depth and first is None:
                    first = at
            else:
                depth -= 1
        if first is None:
            return None
        message = too_deep(self.max_depth, deepest)
        return Fault((), "too_deep", message, *line_column(text, first))

    def check(self, text: str) -> None:
        """Check that a JSON text is within the limits.

        Raises:
            ValueError: It is not.
        """
        fault = self.fault(text)
        if fault is not None:
            raise ValueError(fault.message)

    def too_long(self, size: int) -> str:
        """Return the message for a string of *size* bytes."""
        return (
            f"a text of {in_mb(size)}; the limit is {in_mb(self.max_string)} (setting"
            " max_string_mb). Shorten it, or raise the setting."
        )

    def too_much(self) -> str:
        """Return the message for a record that is still open at the limit."""
        return f"beyond {in_mb(self.max_record)} (setting max_record_mb)"

    def record_too_large(self, size: int, line: int) -> Problem:
        """Return the reject of a JSONL record of at least *size* bytes at *line*."""
        message = (
            f"the record that opens here has {in_mb(size)}; the limit is"
            f" {in_mb(self.max_record)} (setting max_record_mb). Split it, or raise the"
            " setting."
        )
        return Problem("record_too_large", message, line=line, column=1)

    def file_too_large(self, size: int) -> Problem:
        """Return the reject of a file of *size* bytes that must be read whole."""
        fact = f"is one JSON document of {in_mb(size)}"
        return self._too_large(fact, "Split it, write JSONL, or raise the setting.")

    def unpacks_to(self, size: int) -> Problem:
        """Return the reject of a compressed file with at least *size* bytes."""
        fact = f"unpacks to {in_mb(size)} or more"
        return self._too_large(fact, "Split it, or raise the setting.")

    def _too_large(self, fact: str, fix: str) -> Problem:
        message = (
            f"the file {fact}; the limit is {in_mb(self.max_file)} (setting"
            f" max_file_mb). {fix} Nothing of the file was loaded."
        )
        return Problem("file_too_large", message)


DEFAULT = Limits()

GUESSED = "encoding_guessed"

LIMIT_CODES = frozenset(
    {"file_too_large", "record_too_large", "string_too_long", "too_deep", GUESSED}
)
"""Codes of problems that depend on settings."""


def in_mb(size: int) -> str:
    """Format a size for a message."""
    return f"{size / MB:,.1f} MB".replace(".0 MB", " MB")


def _size(token: str) -> int:
    """Return the number of UTF-8 bytes of a string as it is written in JSON."""
    with contextlib.suppress(ValueError):  # invalid: use its length as written
        token = json.loads(token, strict=False)
    return len(token.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Source(FoundFile):
    """The bytes of a file, its path and its options."""

    data: bytes = b""
    """The whole file; empty if it is passed in blocks, or opened by its reader."""
    pipelines: Sequence[Pipeline] = ()
    """Pipelines read before this file, for checking the steps of testsets."""
    blocks: Iterable[Block] | None = None
    """The file in blocks of whole lines, to be iterated once; `None`: one block."""
    limits: Limits = DEFAULT
    """Size limits of its records and values."""
    redact: Callable[[bytes], bytes] = bytes
    """Redacts a part of a file, for readers that open files themselves."""
    mend: Callable[[bytes], bytes] = bytes
    """Mends JSON that is decoded before it is redacted; `redact` does it too."""
    run_key: str = ""
    """Distinguishes runs of equal rows, without ids: the numbers in the file's name,
    and the number of times that its path had this content, and then another one."""

    @classmethod
    def from_file(cls, file: FoundFile, **about: Any) -> Source:
        """Return a file of a plan as a source."""
        known = {name.name: getattr(file, name.name) for name in fields(file)}
        return cls(**known | about)

    @property
    def in_blocks(self) -> Iterable[Block]:
        """Return the file in blocks of whole lines."""
        return [self.data] if self.blocks is None else self.blocks


def place_of_lone_surrogate(blocks: Iterable[Block]) -> dict[str, int]:
    """Return line and column of the first lone surrogate in a text."""
    lines = 0
    for block in blocks:
        if not isinstance(block, bytes):
            lines += 1
            continue
        place = min(lone_surrogates(block), default=None)
        if place is not None:
            before = decode(block[: place[0]])
            line, column = line_column(before, len(before))
            return {"line": lines + line, "column": column}
        lines += block.count(b"\n")
    return {}  # it is in a compressed file, or in another file of the run
