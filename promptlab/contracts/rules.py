"""The kinds of rules, which SQL, the evaluator and ingest share."""

from __future__ import annotations

from typing import Final

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
