"""The raw layer: its tables (``raw.sql``), and writing rows to them."""

from promptlab.ingest.raw.catalogue import SCHEMA_VERSION
from promptlab.ingest.raw.tables import (
    OTHER_VERSION,
    append,
    check_not_foreign,
    check_not_views,
    check_version,
    ensure_schema,
    give_way,
    is_small,
    schema_version,
)

__all__ = [
    "OTHER_VERSION",
    "SCHEMA_VERSION",
    "append",
    "check_not_foreign",
    "check_not_views",
    "check_version",
    "ensure_schema",
    "give_way",
    "is_small",
    "schema_version",
]
