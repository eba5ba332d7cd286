"""What is wrong with a memory-benchmark file, with the place of each thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ingest.reading.json_places import Key, SpanIndex, pointer
from ingest.reading.problems import Problem

Keys = tuple[Key, ...]

_WHOLE_FILE = object()


json_bytes = msgspec.json.Encoder().encode
"""Write a value that was read from JSON as compact JSON."""


def json_text(value: Any) -> str:
    """Write a value that was read from JSON as compact JSON."""
    return json_bytes(value).decode()


@dataclass
class _Counted:
    message: str
    keys: Keys
    times: int = 0


@dataclass
class Findings:
    """Collects the problems of one file, in the order in which they are found.

    What is the same in very many records (a key that no version of the format knows)
    becomes one warning that counts them.
    """

    data: bytes
    problems: list[Problem] = field(default_factory=list)
    _counted: dict[tuple[str, Keys], _Counted] = field(default_factory=dict)

    def reject(
        self,
        code: str,
        message: str,
        keys: Keys = (),
        *,
        record_id: str | None = None,
        record: Any = _WHOLE_FILE,
    ) -> None:
        """Note why a record, or the whole file where none is given, is left out."""
        raw_text = None if record is _WHOLE_FILE else json_text(record)
        self._add(code, message, keys, "reject", record_id, raw_text)

    def warn(
        self, code: str, message: str, keys: Keys = (), *, record_id: str | None = None
    ) -> None:
        """Note what the file's writer should know; everything is loaded."""
        self._add(code, message, keys, "warning", record_id, None)

    def count(self, code: str, message: str, keys: Keys) -> None:
        """Note something that may be in many records; `close` warns of it once.

        Two are the same when only their places in lists differ; the first one's
        message is given.
        """
        kind = tuple("*" if isinstance(key, int) else key for key in keys)
        entry = self._counted.setdefault((code, kind), _Counted(message, keys))
        entry.times += 1

    def unknown(self, keys: Keys) -> None:
        """Note a key that the format does not know."""
        message = (
            f'the key "{keys[-1]}" is not in the format; it is kept in extras.'
            " Correct it if it is a slip of the pen."
        )
        self.count("unknown_key", message, keys)

    def close(self) -> list[Problem]:
        """Add the counted warnings and return all problems."""
        for (code, _), entry in self._counted.items():
            often = f" ({entry.times} times, this is the first)"
            message = entry.message + (often if entry.times > 1 else "")
            self.warn(code, message, entry.keys)
        self._counted.clear()
        return self.problems

    def _add(
        self,
        code: str,
        message: str,
        keys: Keys,
        severity: Any,
        record_id: str | None,
        raw_text: str | None,
    ) -> None:
        line, column = self._index.line_column(self._index.find(keys))
        self.problems.append(
            Problem(
                code=code,
                message=message,
                severity=severity,
                line=line,
                column=column,
                record_id=record_id,
                pointer=pointer(keys),
                raw_text=raw_text,
            )
        )

    @cached_property
    def _index(self) -> SpanIndex:
        return SpanIndex(self.data.decode("utf-8-sig", "surrogateescape"))
