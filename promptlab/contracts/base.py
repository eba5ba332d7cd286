"""Base classes and field types of the contracts; their JSON; times in UTC."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from html import escape
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticSerializationError, to_jsonable_python

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
"""Whole numbers that the warehouse keeps; beyond them a column has no room."""


def read_time(text: str) -> datetime:
    """Read an ISO 8601 time; it has no ``tzinfo`` if the text has no zone.

    Raises:
        ValueError: The text is not such a time; the message says so.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not UTC:
            in_utc(moment)
    except (ValueError, OverflowError):
        message = "not an ISO 8601 time such as 2024-10-24T12:30:00Z"
        raise ValueError(message) from None
    return moment


def in_utc(moment: datetime) -> datetime:
    """Return *moment* in UTC; without a zone it is assumed to be UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


JsonObject = dict[str, Any]
"""A JSON object whose keys the contract does not know."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""

NonBlank = Annotated[str, StringConstraints(pattern=r"\S")]
"""Text with at least one character other than white space."""


# str.strip() also removes control characters, of which `\S` has some
BLANKS = "".join(
    chr(code)
    for code in range(0x3001)
    if chr(code).isspace() and not 0x1C <= code <= 0x1F
)
"""White space as ``\\s`` has it."""


def plain_name(name: str) -> str:
    """Return a name in the Unicode form NFC, without white space at its ends.

    Two runs are compared by the names of titles, variants and cases: names that look
    the same must be the same.
    """
    return unicodedata.normalize("NFC", name).strip(BLANKS)


CaseId = Annotated[NonBlank, AfterValidator(plain_name)]
"""Id of a case, as ``plain_name`` returns it."""


def _in_utc(value: Any) -> Any:
    if isinstance(value, str):
        value = read_time(value)
    return in_utc(value) if isinstance(value, datetime) else value


Moment = Annotated[datetime, BeforeValidator(_in_utc)]
"""A time in UTC, written as ISO 8601. One without a zone is read as UTC."""


Severity = Literal["critical", "major", "minor", "info"]
"""Severity of an alert or a loss, the worst first."""

Status = Literal["pass", "fail", "error", "unevaluated"]
"""Status of a round, a case, a scope or a check."""


@cache
def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings below the fields of a model, its parents' included.

    They are read from the source when needed: with its ``use_attribute_docstrings``,
    pydantic reads those of every model whenever it is imported, which takes 60 ms.
    """
    import ast
    import inspect

    texts: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if not part.__module__.startswith("promptlab."):
            continue
        [definition] = ast.parse(inspect.getsource(part)).body
        assert isinstance(definition, ast.ClassDef)
        for field, docstring in pairwise(definition.body):
            match field, docstring:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    texts[name] = inspect.cleandoc(text)
    return texts


class Input(BaseModel):
    """Base class of input formats: strict types; unknown keys are kept.

    Strict, because ``"latency_ms": "842"`` is an error in the program that wrote the
    file: it is reported and not corrected silently.
    """

    model_config = ConfigDict(
        defer_build=True,
        frozen=True,
        extra="allow",
        strict=True,
    )


class Contract(BaseModel):
    """Base class of output formats: frozen, without unknown keys."""

    model_config = ConfigDict(
        defer_build=True,
        frozen=True,
        extra="forbid",
    )

    def as_json(self) -> str:
        """Return JSON with keys in the contract's order and unescaped letters."""
        try:
            return self.model_dump_json(indent=2)
        except PydanticSerializationError:
            # a value nested deeper than pydantic's limit of about 250 levels
            return json.dumps(self, default=_plain, indent=2, ensure_ascii=False)


def compact_json(value: Any) -> str:
    """Return JSON on one line, without fields of contracts that have their defaults."""
    try:
        if isinstance(value, Contract):
            return value.model_dump_json(exclude_defaults=True)
        plain = to_jsonable_python(value)
    except ValueError:  # nested deeper than pydantic's limit of about 250 levels
        plain = value
    return json.dumps(plain, default=_plain, ensure_ascii=False, separators=(",", ":"))


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Contract) else to_jsonable_python(value)


def html_table(
    heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    """Return a heading and a table for a notebook; every text is escaped.

    Numbers are shares and differences of shares: they are shown multiplied by 100.
    """

    def cell(value: object) -> str:
        if value is None:
            return "–"
        if isinstance(value, float):
            return f"{value * 100:.1f}"
        return escape(str(value))

    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return (
        f"<p><b>{escape(heading)}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
