"""The supported tools: how their files are recognised, and grouped into runs."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from promptlab.ingest.files.finding import FoundFile
from promptlab.json_text.places import BOM, members

_ZIP = b"PK\x03\x04"
_OPENS_AN_OBJECT = re.compile(rb"\s*\{")
_MOST_KEYS = 200
_OURS = (
    {"task", "cases"},
    {"sample_id", "entity_id", "variant"},
    {"id", "expected_outputs"},
    {"id", "intermediate_expectations"},
    {"task_id", "case_id", "dimension_id"},
    {"experiment_info"},
)
"""Key combinations of promptlab's own formats, which no tool's files have: so that the
modules of the tools need not be loaded."""
_LONGEST_HEADER = 1 << 16

Buffer = bytes | memoryview


class Head:
    """The beginning of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data.removeprefix(BOM)
        self._below: dict[str, frozenset[str]] = {}

    @property
    def is_zip(self) -> bool:
        """True if it is an archive."""
        return self.data.startswith(_ZIP)

    @cached_property
    def is_json(self) -> bool:
        """True if it starts an object or a list."""
        return self.data.lstrip()[:1] in (b"{", b"[")

    @property
    def may_be_foreign(self) -> bool:
        """True if it may be a file of one of these tools."""
        if self.is_zip:
            return True
        if self.is_json or self.data.lstrip()[:1] == b"<":
            return not any(ours <= self.keys for ours in _OURS)
        return bool(self.columns) or self.data.startswith((b"evalId:", b"| dataset |"))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first object: of the document, or of the first line.

        A table, an archive or a program has none, whatever is in it.
        """
        return self.keys_below()

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns, if it is a CSV file."""
        if self.is_json:
            return frozenset()
        line, _, _ = self.data.partition(b"\n")
        if b"," not in line or len(line) > _LONGEST_HEADER:
            return frozenset()
        try:
            return frozenset(next(csv.reader([line.decode().rstrip("\r")])))
        except (csv.Error, UnicodeDecodeError):
            return frozenset()

    def keys_below(self, key: str | None = None) -> frozenset[str]:
        """Return the keys of the object under *key* of the first object."""
        if key is None:
            return frozenset(self._first_object)
        if key not in self._below:
            value = self._first_object.get(key, b"")
            is_object = _OPENS_AN_OBJECT.match(value) is not None
            self._below[key] = frozenset(_members(value) if is_object else ())
        return self._below[key]

    def has(self, *marks: bytes) -> bool:
        """Return true if the head contains all of these byte strings."""
        return all(mark in self.data for mark in marks)

    @cached_property
    def _first_object(self) -> Mapping[str, Buffer]:
        return _members(self.data) if self.is_json else {}


def _members(data: Buffer) -> Mapping[str, Buffer]:
    """Return each key of the first object, with the bytes from its value on.

    A complete document is decoded, which is 100 times as fast; otherwise the tokens of
    the head are scanned.
    """
    import msgspec  # lazy: `--help` lists the tools and reads no file

    from promptlab.ingest.foreign.documents import decode

    try:
        whole = decode(data, dict[str, msgspec.Raw])
        return {key: memoryview(value) for key, value in whole.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = islice(members(data), _MOST_KEYS)
        return {
            key.decode("utf-8", "replace"): memoryview(data)[at:] for key, at in found
        }


Files = Iterable[FoundFile]

Run = tuple[FoundFile, Sequence[FoundFile]]
"""The file that leads, and those that belong to it."""


def by_folder(files: Files) -> Iterable[list[FoundFile]]:
    """Group files by folder."""
    folders: dict[Path, list[FoundFile]] = defaultdict(list)
    for file in files:
        folders[file.path.parent].append(file)
    return folders.values()


def led_by(form: str, files: Files) -> Iterator[Run]:
    """Let the only file of *form* lead its folder; without it, each is its own run."""
    for of_folder in by_folder(files):
        leads = [file for file in of_folder if file.form == form]
        if len(leads) == 1:
            yield leads[0], [file for file in of_folder if file not in leads]
        else:
            yield from ((file, ()) for file in of_folder)


Ids = Callable[[FoundFile], Collection[str]]


def pages_of_runs(
    files: Files, forms: Collection[str], runs_of: Ids, ids_of: Ids, rows_of: Ids
) -> Iterator[Run]:
    """Group the pages of each run with what other files of their folder say of it.

    Args:
        files: The files of a tool.
        forms: The forms of pages with rows.
        runs_of: Returns the run of a page; of several the first.
        ids_of: Returns the ids by which files belong together.
        rows_of: Returns the ids of its rows: pages with a common one are two versions.
    """
    for folder in by_folder(files):
        pages: dict[str, list[FoundFile]] = defaultdict(list)
        for file in folder:
            if file.form in forms:
                run = next(iter(runs_of(file)), str(file.path))
                pages[run].append(file)
        others = [file for file in folder if file.form not in forms]
        unused = {file.path: file for file in others}
        for own in pages.values():
            ids = set[str]().union(*map(ids_of, own))
            about = [file for file in others if not ids.isdisjoint(ids_of(file))]
            for file in about:
                unused.pop(file.path, None)
            for first, *rest in _versions(own, rows_of):
                yield first, [*rest, *about]
        yield from ((file, ()) for file in unused.values())


def _versions(pages: Sequence[FoundFile], rows_of: Ids) -> list[list[FoundFile]]:
    groups: list[tuple[list[FoundFile], set[str]]] = []
    for page in pages:
        ids = set(rows_of(page)) if len(pages) > 1 else set()
        for group, seen in groups:
            if ids.isdisjoint(seen):
                group.append(page)
                seen |= ids
                break
        else:
            groups.append(([page], ids))
    return [group for group, _ in groups]


TOOLS = (
    "promptfoo",
    "inspect_ai",
    "openai_evals",
    "openai_evals_api",
    "lm_eval",
    "deepeval",
    "langfuse",
    "langsmith",
    "mlflow",
    "pydantic_evals",
    "ragas",
    "every_eval_ever",
    "helm",
    "azure_ai_evaluation",
    "evalscope",
    "opencompass",
    "memory_benchmarks",
    "table",
)
"""Modules of this package; also the names in ``--kind`` and the load log."""


def tool(name: str) -> Any:
    """Return the module of a tool; the package's docstring describes its parts."""
    return import_module(f"promptlab.ingest.foreign.{name}")


def recognise(data: bytes) -> tuple[str, str] | None:
    """Return the tool that wrote a file, and its form; None: not a known tool."""
    head = Head(data)
    if not head.may_be_foreign:
        return None
    for name in TOOLS:
        form = tool(name).recognise(head)
        if form is not None:
            return name, form
    return None


def order_of(name: str, form: str | None) -> int:
    """Return the rank of a form among those of its tool, the most complete first."""
    forms: Sequence[str] = tool(name).FORMS
    return forms.index(form) if form in forms else len(forms)
