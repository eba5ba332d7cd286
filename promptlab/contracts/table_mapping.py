"""What the columns of somebody's table mean: the part of the config that says it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

Fixed = Literal["title", "model", "prompt_version", "prompt"]


class TableMapping(BaseModel):
    """The meaning of a table's columns: ``[tables.<name>]`` of the config.

    It fits every table that has all the columns it names, whatever the file is called.
    Columns that it does not name are kept with each row.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    case: str | None = None
    """Column with the stable id of what is asked; without it a hash of the inputs."""

    inputs: tuple[str, ...] = ()
    """Columns that say what is asked."""

    output: str | None = None
    """Column with the answer."""

    expected: str | None = None
    """Column with the answer that was expected."""

    round: str | None = None
    """Column that numbers the answers to one case."""

    title: str | None = None
    """Column that names the evaluation; without it the mapping's name."""

    model: str | None = None
    """Column with the model."""

    prompt_version: str | None = None
    """Column with the version of the prompt; without it the name of the file."""

    verdict: str | None = None
    """Column that says pass or fail, yes or no, true or false, 1 or 0."""

    error: str | None = None
    """Column with why there is no answer; empty where there is one."""

    scores: tuple[str, ...] = ()
    """Columns of numbers from 0 to 1, 1 best, or of true and false."""

    values: tuple[str, ...] = ()
    """Columns of other numbers: compared on their own scale, and never graded."""

    lower_is_better: tuple[str, ...] = ()
    """Those of ``values`` where less is better."""

    latency_ms: str | None = None
    """Column with milliseconds."""

    latency_s: str | None = None
    """Column with seconds."""

    input_tokens: str | None = None
    """Column with tokens of the prompt."""

    output_tokens: str | None = None
    """Column with tokens of the answer."""

    tags: str | None = None
    """Column with tags, commas between."""

    time: str | None = None
    """Column with when the row was made, ISO 8601."""

    fixed: dict[Fixed, str] = {}
    """What is the same for the whole table and stands in no column."""

    @model_validator(mode="after")
    def _says_enough(self) -> TableMapping:
        if self.case is None and not self.inputs:
            raise ValueError("needs `case` or `inputs`: which rows ask the same")
        if self.output is None and not (self.verdict or self.scores or self.values):
            raise ValueError("needs `output`, `verdict`, `scores` or `values`")
        both = set(self.fixed) & self.model_fields_set
        if both:
            raise ValueError(f"`{both.pop()}` is a column and fixed: name it once")
        odd = set(self.lower_is_better) - set(self.values)
        if odd:
            raise ValueError(f"lower_is_better names `{odd.pop()}`, which is no value")
        return self

    @property
    def columns(self) -> frozenset[str]:
        """Every column that it names."""
        named: set[str] = set()
        for name in self.model_fields_set - {"fixed"}:
            value = getattr(self, name)
            named.update([value] if isinstance(value, str) else value or ())
        return frozenset(named)

    def fits(self, columns: Collection[str]) -> bool:
        """Whether a table has all the columns that it names."""
        return self.columns <= set(columns)

    def digest(self) -> str:
        """Equal for mappings that say the same."""
        said = self.model_dump_json(exclude_defaults=True).encode()
        return hashlib.blake2b(said, digest_size=6).hexdigest()
