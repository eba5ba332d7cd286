"""The raw layer: its tables (``raw.sql``), and the one way rows get into them."""

from ingest.raw.tables import (
    OF_BUILDS,
    OWNED_TABLES,
    SCHEMA_VERSION,
    append,
    check_current,
    check_not_foreign,
    check_not_newer,
    check_not_views,
    delete_owned,
    ensure_schema,
    give_way,
    roll_back,
    schema_version,
)

__all__ = [
    "OF_BUILDS",
    "OWNED_TABLES",
    "SCHEMA_VERSION",
    "append",
    "check_current",
    "check_not_foreign",
    "check_not_newer",
    "check_not_views",
    "delete_owned",
    "ensure_schema",
    "give_way",
    "roll_back",
    "schema_version",
]
