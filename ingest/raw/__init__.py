"""The raw layer: its tables (``raw.sql``), and writing rows to them."""

from promptlab.ingest.raw.catalogue import SCHEMA_VERSION
from promptlab.ingest.raw.tables import (
    append,
    backups,
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
    "SCHEMA_VERSION",
    "append",
    "backups",
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
