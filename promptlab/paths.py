"""Where things lie: what is bundled with the package, and the cache dbt writes to."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def dbt_project() -> Path:
    """The dbt project: inside the wheel, or beside the package in a checkout."""
    return _bundled("dbt_project")


def examples() -> Path:
    """The example files that ``promptlab init`` hands out."""
    return _bundled("examples")


def _bundled(name: str) -> Path:
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else PACKAGE.parent / name


def dbt_target(db: Path) -> Path:
    """A folder of our own for dbt's parse cache and logs, one per database.

    Under the user's cache folder, so that neither an installed package nor the
    caller's working folder is written to; in a temporary folder where there is none.
    """
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(f"{dbt_project()}\n{db.resolve()}".encode()).hexdigest()[:16]
    target = root / "promptlab" / "dbt" / name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError:
        target = Path(tempfile.gettempdir()) / f"promptlab-{os.getuid()}" / name
        target.mkdir(parents=True, exist_ok=True)
    return target
