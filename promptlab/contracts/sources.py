"""Properties that are read from the path of a file: ``[[sources]]`` of the config."""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import BaseModel, ConfigDict, model_validator

FIELDS = ("title", "variant", "date", "branch", "commit")
_DATE = r"\d{4}-?\d\d-?\d\d(?:[T_]\d\d[:-]?\d\d(?:[:-]?\d\d)?)?"
_PART = re.compile(r"\{(\w+)\}|(\*\*/)|(\*\*)|(\*)|(\?)")


class SourcePath(BaseModel):
    """Default properties of the files below a path.

    ``path = "evals/{title}/{variant}/{date}*.csv"`` takes title, variant and date from
    the path of a file; a name in braces stands for a part of one folder or file name,
    ``*`` for any letters of one, ``**`` for folders.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )

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
        named = [match[1] for match in _PART.finditer(self.path) if match[1]]
        for name in named:
            if name not in FIELDS:
                raise ValueError(
                    f"{{{name}}} in `{self.path}`: a path can hold"
                    f" {', '.join(f'{{{each}}}' for each in FIELDS)}"
                )
            if named.count(name) > 1:
                raise ValueError(f"{{{name}}} stands twice in `{self.path}`")
        if not named and self.title is None and self.variant is None:
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
                return f"(?P<{name}>{_DATE if name == 'date' else '[^/]+'})"
            if folders:
                return "(?:[^/]+/)*"
            return ".*" if anything else "[^/]*" if letters else "[^/]"

        written, last = [], 0
        for match in _PART.finditer(self.path):
            written += [re.escape(self.path[last : match.start()]), part(match)]
            last = match.end()
        written.append(re.escape(self.path[last:]))
        return re.compile(f"(?:.*/)?{''.join(written)}")

    def of(self, path: str) -> dict[str, str] | None:
        """Return the properties of the file at *path*; ``None`` without a match."""
        match = self.pattern.fullmatch(path)
        if match is None:
            return None
        fixed = {"title": self.title, "variant": self.variant, "branch": self.branch}
        return {
            **{key: value for key, value in fixed.items() if value is not None},
            **match.groupdict(),
        }
