"""A read-only copy of the warehouse for readers, put at its path in one step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.copies import files_of_copy, write_copy
from promptlab.database import schema_of_name
from promptlab.errors import UsageError

if TYPE_CHECKING:
    from promptlab.warehouse_file import WarehouseFile

READ_ONLY = 0o444


def publish(warehouse: WarehouseFile, path: Path, *, marts_only: bool = False) -> Path:
    """Put a consistent copy of a built warehouse at *path*; returns the file.

    Readers of the copy never block a writer. Readers of the previous copy keep reading
    it; readers that open the path later see the new one.

    Args:
        warehouse: the warehouse to copy.
        path: a file, replaced in one step, whose folder is made; or a folder, in which
            the copy has the warehouse's own name.
        marts_only: copy only the marts; views become tables.

    Raises:
        NothingToDo: nothing has been built yet.
        UsageError: *path* is the warehouse itself, or has the name of a schema.
        WarehouseError: the disk is full, or the folder cannot be written to.
    """
    db = warehouse.settings.db
    target = path / db.name if path.is_dir() else path
    if target.exists() and target.samefile(db):
        raise UsageError(f"{path}: is the warehouse itself; name another file")
    if name := schema_of_name(target):
        raise UsageError(
            f"{path}: a warehouse has a schema named {name}, so DuckDB could not read a"
            f" copy of that name; name another file, such as promptlab_{name}.duckdb"
        )
    with warehouse.built():
        pass  # an empty copy would be misleading
    target.parent.mkdir(parents=True, exist_ok=True)
    with warehouse.reading(files=files_of_copy(target)) as con:
        write_copy(con, target, only="marts" if marts_only else None, mode=READ_ONLY)
    return target
