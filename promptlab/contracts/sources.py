"""A user's description of files: properties in paths, columns of tables, labels."""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

PATH_FIELDS = ("title", "variant", "date", "branch", "commit")
DATE = r"\d{4}-?\d\d-?\d\d(?:[T_]\d\d[:-]?\d\d(?:[:-]?\d\d)?)?"
"""A date, with or without a time of day: ``{date}`` in a path."""
_PART = re.compile(r"\{(\w+)\}|(\*\*/)|(\*\*)|(\*)|(\?)")


class SourcePath(BaseModel):
    """Default properties of the files below a path.

    ``path = "evals/{title}/{variant}/{date}*.csv"`` takes title, variant and date from
    the path of a file; a name in braces stands for a part of one folder or file name,
    ``*`` for any letters of one, ``**`` for folders.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    path: str
    """Pattern of the end of the path, with ``/`` between folders."""

    title: str | None = None
    """Title of the tasks, unless it is in the path."""

    variant: str | None = None
    """Variant of the tasks, unless it is in the path."""

    branch: str | None = None
    """Branch that was evaluated, unless it is in the path."""

    @model_validator(mode="after")
    def _names_are_known(self) -> SourcePath:
        names = [match[1] for match in _PART.finditer(self.path) if match[1]]
        for name in names:
            if name not in PATH_FIELDS:
                raise ValueError(
                    f"{{{name}}} in `{self.path}`: a path can hold"
                    f" {', '.join(f'{{{field}}}' for field in PATH_FIELDS)}"
                )
            if names.count(name) > 1:
                raise ValueError(f"{{{name}}} stands twice in `{self.path}`")
        if not names and self.title is None and self.variant is None:
            raise ValueError(
                f"`{self.path}` says nothing: name {{title}} or {{variant}}"
            )
        return self

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a whole path."""

        def part(match: re.Match[str]) -> str:
            name, folders, anything, letters, _ = match.groups()
            if name:
                return f"(?P<{name}>{DATE if name == 'date' else '[^/]+'})"
            if folders:
                return "(?:[^/]+/)*"
            return ".*" if anything else "[^/]*" if letters else "[^/]"

        pieces, last = [], 0
        for match in _PART.finditer(self.path):
            pieces += [re.escape(self.path[last : match.start()]), part(match)]
            last = match.end()
        pieces.append(re.escape(self.path[last:]))
        return re.compile(f"(?:.*/)?{''.join(pieces)}")

    def values_for(self, path: str) -> dict[str, str] | None:
        """Return the properties of the file at *path*; ``None`` without a match."""
        match = self.pattern.fullmatch(path)
        if match is None:
            return None
        fixed = {"title": self.title, "variant": self.variant, "branch": self.branch}
        return {
            **{key: value for key, value in fixed.items() if value is not None},
            **match.groupdict(),
        }


Fixed = Literal["title", "model", "prompt_version", "prompt"]


_EVALUATOR = re.compile(r"(.*\S)\s*<(v?\d[\w.-]*)>")


def evaluator_of(column: str) -> tuple[str, str | None]:
    """Return the evaluator and the version that a column names: ``tone<1.0.2>``.

    The version is None for every other column.
    """
    match = _EVALUATOR.fullmatch(column)
    return (match[1], match[2]) if match else (column, None)


def steps_of(path: str) -> list[str]:
    """Return the keys of a path: ``label.value``, as JSON Pointer ``/label/value``."""
    if path.startswith("/"):
        steps = path[1:].split("/")
        return [step.replace("~1", "/").replace("~0", "~") for step in steps]
    return path.split(".")


class TableMapping(BaseModel):
    """The meaning of a table's columns: ``[tables.<name>]`` of the config.

    It applies to every table that has all the columns it names, whatever the file name.
    Other columns are kept with each row. A field inside an object is
    named by its path: ``label.value`` or ``/label/value``.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    case: str | None = None
    """Column with the stable id of the case; without it a hash of the inputs."""

    inputs: tuple[str, ...] = ()
    """Columns with the inputs."""

    output: str | None = None
    """Column with the answer."""

    expected: str | None = None
    """Column with the answer that was expected."""

    round: str | None = None
    """Column that numbers the answers to one case."""

    title: str | None = None
    """Column with the name of the evaluation; without it the mapping's name."""

    model: str | None = None
    """Column with the model."""

    prompt_version: str | None = None
    """Column with the version of the prompt; without it the name of the file."""

    verdict: str | None = None
    """Column with pass or fail, yes or no, true or false, 1 or 0."""

    error: str | None = None
    """Column with the error that prevented an answer; empty if there is one."""

    scores: tuple[str, ...] = ()
    """Columns of numbers from 0 to 1, 1 best, or of true and false."""

    scales: dict[str, tuple[float, float]] = {}
    """Columns of ``scores`` on another scale, as [worst, best]: ``[0, 10]``."""

    values: tuple[str, ...] = ()
    """Columns of other numbers: compared on their own scale, and never graded."""

    lower_is_better: tuple[str, ...] = ()
    """Columns of ``values`` for which less is better."""

    latency_ms: str | None = None
    """Column with milliseconds."""

    latency_s: str | None = None
    """Column with seconds."""

    input_tokens: str | None = None
    """Column with tokens of the prompt."""

    output_tokens: str | None = None
    """Column with tokens of the answer."""

    cost: str | None = None
    """Column with what the answer cost."""

    tags: str | None = None
    """Column with tags, separated by commas."""

    cluster: str | None = None
    """Column with what cases share: a conversation, a document."""

    time: str | None = None
    """Column with the time of the row: ISO 8601, or seconds or ms since 1970."""

    fixed: dict[Fixed, str] = {}
    """Values of the whole table that are not in a column."""

    encoding: str | None = None
    """Encoding of CSV and TSV, such as ``gb18030``; without it the bytes decide."""

    @model_validator(mode="after")
    def _says_enough(self) -> TableMapping:
        if self.case is None and not self.inputs:
            raise ValueError("needs `case` or `inputs`: which rows ask the same")
        if self.output is None and not (self.verdict or self.scores or self.values):
            raise ValueError("needs `output`, `verdict`, `scores` or `values`")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise ValueError(
                f"`{self.encoding}` is no encoding of texts: write utf-8, gb18030 or"
                " windows-1252"
            )
        fixed_columns = set(self.fixed) & self.model_fields_set
        if fixed_columns:
            raise ValueError(
                f"`{fixed_columns.pop()}` is a column and fixed: name it once"
            )
        unknown = set(self.lower_is_better) - set(self.values)
        if unknown:
            raise ValueError(
                f"lower_is_better names `{unknown.pop()}`, which is no value"
            )
        in_both = set(self.scores) & set(self.values)
        if in_both:
            raise ValueError(
                f"`{in_both.pop()}` is in `scores` and in `values`: name it once"
            )
        for name, (worst, best) in self.scales.items():
            if name not in self.scores:
                raise ValueError(f"scales names `{name}`, which is not in `scores`")
            if not (math.isfinite(worst) and math.isfinite(best)) or worst == best:
                raise ValueError(
                    f"the scale of `{name}` must be two different numbers, the worst"
                    f" and the best, got [{worst:g}, {best:g}]; write [0, 10]"
                )
        return self

    @property
    def columns(self) -> frozenset[str]:
        """Return every column that it names."""
        names: set[str] = set()
        for name in self.model_fields_set - {"fixed", "scales", "encoding"}:
            value = getattr(self, name)
            names.update([value] if isinstance(value, str) else value or ())
        return frozenset(names)

    @property
    def numbers(self) -> frozenset[str]:
        """Return the columns declared as numbers."""
        columns = {self.round, self.latency_ms, self.latency_s, self.input_tokens}
        columns |= {self.output_tokens, self.cost, *self.scores, *self.values}
        return frozenset(filter(None, columns))

    @property
    def texts(self) -> frozenset[str]:
        """Return the columns declared as texts."""
        columns = {self.case, self.output, self.expected, self.title, self.model}
        columns |= {self.prompt_version, self.tags, self.cluster, self.error}
        columns |= set(self.inputs)
        return frozenset(filter(None, columns))

    @property
    def paths(self) -> list[str]:
        """Return the columns that may be fields inside objects."""
        return sorted(
            name
            for name in self.columns
            if (name[:1] == "/" or "." in name) and evaluator_of(name)[1] is None
        )

    @property
    def facts(self) -> frozenset[str]:
        """Return the columns of errors, times, tokens and costs.

        If the rows have different keys, not every row has these columns.
        """
        columns = {self.error, self.latency_ms, self.latency_s, self.cost}
        columns |= {self.input_tokens, self.output_tokens}
        return frozenset(filter(None, columns))

    def fits(self, columns: Collection[str], *, without_facts: bool = False) -> bool:
        """Return true if a table has all the columns that it names.

        Fields inside objects are dotted paths.

        Args:
            columns: those of the table.
            without_facts: errors, times, tokens and costs may be missing.
        """
        needed = self.columns - self.facts if without_facts else self.columns
        return all(_is_in(name, columns) for name in needed)

    def has_answers_in(self, columns: Collection[str]) -> bool:
        """Return true if a table has an answer, a verdict or a number that it names."""
        names = {self.output, self.verdict, *self.scores, *self.values} - {None}
        return any(_is_in(str(name), columns) for name in names)

    def digest(self) -> str:
        """Return a text that is equal for equal mappings."""
        content = self.model_dump_json(exclude_defaults=True).encode()
        return hashlib.blake2b(content, digest_size=6).hexdigest()


def _is_encoding(name: str) -> bool:
    try:
        return codecs.decode(b"", name) == ""
    except (LookupError, ValueError, TypeError):
        return False


def _is_in(name: str, columns: Collection[str]) -> bool:
    if name in columns or (name[:1] == "/" and ".".join(steps_of(name)) in columns):
        return True
    base, version = evaluator_of(name)
    return version is not None and any(
        evaluator_of(column)[0] == base for column in columns if column.endswith(">")
    )


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Options of a call for its labels.

    Attributes:
        policy: Version of the instruction that the labelers followed.
        labeler: The labeler, if the file does not name one.
        dimension: The judged dimension, if the file has none; ``None``: the verdict.
        scale: Best grade; ``None``: the smallest of 1, 5, 10, 100 that holds all.
        words: More words and what they mean, ``{"good": "pass"}``.
    """

    policy: str | None = None
    labeler: str | None = None
    dimension: str | None = None
    scale: float | None = None
    words: tuple[tuple[str, str], ...] = ()
