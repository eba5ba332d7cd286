"""Ids of cases, rows and runs, in this order, independent of a row's place in its file.

`AskedOfIds` and `OwnIds` also report repeated ids; the functions at the end do so for
runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from promptlab.ingest.case_names import cut_name, is_short
from promptlab.ingest.reading.problems import Problem, warning

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_sorted = msgspec.json.Encoder(order="deterministic").encode
_NOT_WORDS = re.compile(r"[\W_]+")
_SLUG = 32
_HASH = 12
_ROLES = ("user", "system", "assistant", "developer")
"""Roles of the messages of a chat, which no author wrote."""


def content_id(content: Any, text: str | None = None) -> str:
    """Return an id derived from content, independent of the order of keys.

    Args:
        content: The input as written by the tool; any JSON value.
        text: A readable part, put before the hash.
    """
    digest = hashlib.blake2b(_sorted(content), digest_size=_HASH // 2).hexdigest()
    if not text:
        return digest
    words = _NOT_WORDS.sub("-", text[: 4 * _SLUG].lower())
    words = words.strip("-")[:_SLUG].rstrip("-")
    return f"{words}-{digest}" if words else digest


def case_name(content: Any, text: str | None = None) -> str:
    """Return the name of a case: its question, as its author wrote it.

    A name that is not all of the content ends in a hash of it, so that it is the same
    in every run and differs from others that begin alike.

    Args:
        content: The question, any JSON value.
        text: The readable part of it, which begins a name that has to be cut.
    """
    whole = " ".join(", ".join(_leaves(content)).split())
    return (
        whole if is_short(whole) else cut_name(text or whole, content_id(content)[:8])
    )


def _leaves(content: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key != "role" or value not in _ROLES:
                yield from _leaves(value)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _leaves(item)
    elif isinstance(content, str):
        yield content
    elif content is not None:
        yield _sorted(content).decode()


def first_text(values: Iterable[Any]) -> str | None:
    """Return the first text among values, as a readable name."""
    return next((value for value in values if isinstance(value, str)), None)


class Occurrences:
    """Distinguish true duplicates: the second of two equal ids becomes ``id~2``."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], int] = {}

    def next(self, *key: str) -> int:
        """Return the number of uses of *key*, including this one."""
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return count

    @staticmethod
    def named(case_id: str, occurrence: int) -> str:
        """Return the id of one of several equal cases."""
        return case_id if occurrence == 1 else f"{case_id}~{occurrence}"


_Asked = tuple[str | None, ...]
"""The question and the expected answer of a row; ``None`` where it has none."""


class AskedOfIds:
    """Gives rows with one id and several questions different ids.

    Ids may begin again in each category or joined file. The first content of an id
    keeps it; every other one has its hash behind the id, in every run.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], _Asked] = {}
        self._several: dict[str, None] = {}

    def named(self, own_id: str, question: _Asked, *within: str) -> str:
        """Return the id of a row's question.

        Args:
            own_id: Its own id.
            question: Its parts, always as many.
            within: A further part of the key, such as a task.
        """
        first = self._first.setdefault((own_id, *within), question)
        if first == question:
            return own_id
        both = zip(first, question, strict=True)
        if all(a is None or b is None or a == b for a, b in both):
            if None in first:  # a later row of the same says more
                filled = zip(first, question, strict=True)
                merged = tuple(b if a is None else a for a, b in filled)
                self._first[own_id, *within] = merged
            return own_id
        self._several[own_id] = None
        return f"{own_id}/{content_id(question[0] if len(question) == 1 else question)}"

    def problems(self, column: str) -> Iterator[Problem]:
        """Return one warning for all ids with several questions."""
        if self._several:
            first, n = next(iter(self._several)), len(self._several)
            values = f"1 id in `{column}`, {first}, asks"
            if n > 1:
                values = f"{n} ids in `{column}`, the first {first}, each ask"
            yield warning(
                "several_of_id",
                f"{values} several things: rows with other inputs or another expected"
                " answer are cases of their own, with a hash behind the id. Name a"
                " column in `case` that has another value for each question",
                record_id=first,
            )


def is_id(own_id: str | None) -> TypeGuard[str]:
    """Return true for an id; OpenTelemetry writes 16 zeros or more for no id."""
    return bool(own_id and (len(own_id) < 16 or own_id.strip("0-")))


class OwnIds:
    """Unique ids that a tool assigns to rows.

    A row whose id was seen is a copy: two exports of a run were joined. Equal rows with
    different ids, or without ids, are true duplicates.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[int] = set()
        self._again = 0
        self._first: str | None = None

    def again(self, own_id: str | None, *within: Any) -> bool:
        """Return true if a row with this id was seen; false without an id.

        Args:
            own_id: The id; texts that are not ids (`is_id`) are ignored.
            within: A further part of the key, for tools whose ids are not unique.
        """
        if not is_id(own_id):
            return False
        key = hash((own_id, within))  # keep hashes: texts would take too much memory
        if key not in self._seen:
            self._seen.add(key)
            return False
        self._again += 1
        self._first = self._first or own_id
        return True

    def problems(self) -> Iterator[Problem]:
        """Return one warning for all rows that were left out."""
        if self._again:
            rows = "1 row has" if self._again == 1 else f"{self._again} rows have"
            yield warning(
                "repeated_row",
                f"{rows} the {self._name} that a row before has, the first"
                f" {self._first}: each is loaded once, as it stands first. Were two"
                " exports joined?",
                record_id=self._first,
            )


class SameRun:
    """A hash over the rows of a run that is independent of their order.

    All versions of a run, in all formats, have the same hash, and two runs have
    different ones. So it covers the tool's ids of the run or its rows, else the whole
    rows. The content of a version is hashed separately (`reading`).
    """

    def __init__(self, *run: str, source: Source | None = None) -> None:
        """Begin the hash of a run.

        Args:
            run: The kind of the run, and its ids in the tool.
            source: For a run without ids, its file: the options of the call
                distinguish equal rows, and so does `Source.run_key`.
        """
        self._run = run if source is None else (*run, *source.overrides.of_run)
        self._run_key = "" if source is None else source.run_key
        self._sum = 0
        self._rows = 0

    def add(self, *row: str | float | None) -> None:
        """Add a row to the hash."""
        self.add_written("\x1f".join(map(str, row)).encode("utf-8", "surrogatepass"))

    def add_written(self, row: bytes) -> None:
        """Add a row as it is written."""
        digest = hashlib.blake2b(row, digest_size=16).digest()
        self._sum += int.from_bytes(digest, "big")
        self._rows += 1

    def hash(self) -> str:
        """Return the hash as text."""
        total = f"{self._sum % (1 << 128):x}"
        text = "\x1f".join([*self._run, str(self._rows), total])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def hash_with_run_key(self) -> str:
        """Return the hash for the ids of a run whose rows may come back unchanged."""
        if not self._run_key:
            return self.hash()
        text = f"{self.hash()}/{self._run_key}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def copy_problem(uri: str, other: str) -> Problem:
    """Return a warning: another file already contains this run."""
    return warning(
        "copy_of_run",
        f"{uri} holds the same run as {other}, which is loaded: it is loaded once",
    )


def older_problem(uri: str, other: str) -> Problem:
    """Return a warning: another file has a newer version of the run."""
    return warning(
        "older_version",
        f"{uri} holds an older version of the run that {other} holds, by the time that"
        " the tool wrote into both: the newer one counts",
    )


def replaced_problems(uri: str, replaced: Mapping[str, str]) -> list[Problem]:
    """Return a warning for each task that was loaded from another file."""
    return [
        warning(
            "run_replaced",
            f"{uri} holds another version of the run that {other} brought (other"
            " scores, verdicts or rows): this one, which was read later, counts from"
            " now on",
            record_id=task_id,
        )
        for task_id, other in replaced.items()
    ]
