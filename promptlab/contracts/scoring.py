"""Parameters of scorers: kinds of rules, golden answers, options of a dimension."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from promptlab.contracts.base import Input, Share

RULE_VALUES: Final = {
    "contains": "texts",
    "not_contains": "texts",
    "contains_any": "texts",
    "regex": "pattern",
    "starts_with": "texts",
    "ends_with": "texts",
    "equals": "value",
    "allowed_values": "values",
    "max_chars": "count",
    "min_chars": "count",
    "max_tokens": "count",
    "non_empty": "nothing",
    "is_json": "nothing",
    "required_keys": "keys",
}
"""Every kind of rule, and the type of its ``value``."""

KEY_TYPES: Final = {
    "string": "text",
    "str": "text",
    "text": "text",
    "number": "number",
    "float": "number",
    "integer": "integer",
    "int": "integer",
    "boolean": "bool",
    "bool": "bool",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
    "null": "null",
    "any": "any",
}
"""The type names of ``required_keys``, with the JSON type of each."""


_KEYS = ("text", "answer", "output")


def golden_alternatives(payload: dict[str, Any]) -> list[Any]:
    """Return every value that counts as right, in their order.

    A golden answer is ``payload.text``, else ``answer``, else ``output``; a list holds
    alternatives. Null is not an answer.
    """
    answer = next((payload[key] for key in _KEYS if payload.get(key) is not None), None)
    alternatives = answer if isinstance(answer, list) else [answer]
    return [value for value in alternatives if value is not None]


_LARGEST = 1e300

Positive = Annotated[float, Field(ge=0, le=_LARGEST)]
"""A number of at least 0."""


def _is_type(name: str) -> str:
    if name not in KEY_TYPES:
        raise ValueError(f"not a JSON type; expected one of {', '.join(KEY_TYPES)}")
    return name


KeyType = Annotated[str, AfterValidator(_is_type)]
"""Name of a JSON type."""


class DimensionParameters(Input):
    """Parameters that every scorer accepts."""

    reducer: (
        Literal["mean", "median", "min", "max", "pass_at_k", "pass_hat_k"] | None
    ) = None
    """Aggregation of the scores of a case's rounds; ``mean`` by default."""
    aggregation: (
        Literal["mean", "median", "trimmed_mean", "winsorized_mean", "min", "p10"]
        | None
    ) = None
    """Aggregation of the scores of the cases; ``mean`` by default."""
    k: Annotated[float, Field(ge=1, lt=1e9, multiple_of=1)] | None = None
    """Rounds of ``pass_at_k`` and ``pass_hat_k``; 1 by default."""
    tolerance: Positive | None = None
    """Largest difference of two numbers that match; 0 by default."""
    pass_score: Share | None = None
    """Minimum score of a passed round."""
    trim: Annotated[float, Field(ge=0, lt=0.5)] | None = None
    """Share that ``trimmed_mean`` leaves out on each side; 0.1 by default."""


class AccuracyParameters(DimensionParameters):
    """Parameters of ``accuracy``."""

    match_rule: (
        Literal[
            "exact",
            "contains",
            "regex",
            "json",
            "numeric",
            "token_f1",
            "char_f1",
            "semantic",
        ]
        | None
    ) = None
    """Rule for comparing an answer with the golden answer; ``exact`` by default."""


class ConsistencyParameters(DimensionParameters):
    """Parameters of ``consistency``."""

    compare: Literal["parsed", "raw", "token_f1"] | None = None
    """The part of two rounds to compare; ``parsed`` by default."""


class KeywordsParameters(DimensionParameters):
    """Parameters of ``keywords``."""

    must: str | list[Any] | None = None
    """Words that the answer has to contain."""
    must_not: str | list[Any] | None = None
    """Words that it must not contain."""

    @model_validator(mode="after")
    def _names_a_word(self) -> KeywordsParameters:
        if self.must in (None, []) and self.must_not in (None, []):
            raise ValueError("needs a word in `must` or `must_not`")
        return self


class FormatParameters(DimensionParameters):
    """Parameters of ``format``."""

    required_keys: list[Any] | dict[str, KeyType] | None = None
    """Keys that the parsed output has to have, or keys with their types."""


class CostParameters(DimensionParameters):
    """Parameters of ``cost``."""

    input_price_per_million: Positive | None = None
    """Price of a million input tokens."""
    output_price_per_million: Positive | None = None
    """Price of a million output tokens."""


PARAMETERS: dict[str, type[DimensionParameters]] = {
    "accuracy": AccuracyParameters,
    "consistency": ConsistencyParameters,
    "keywords": KeywordsParameters,
    "format": FormatParameters,
    "cost": CostParameters,
}
"""Scorer → contract of its parameters; others use `DimensionParameters`."""
