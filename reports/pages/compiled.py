"""Cache compiled templates, because compiling takes longer than a report.

Jinja evaluates constant expressions when it compiles, including texts of the language,
so a cache is valid for one language and one version of this package's files.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from jinja2 import FileSystemBytecodeCache

from promptlab.paths import cache

_OLD_S = 30 * 24 * 3600


def compiled_templates(lang: str) -> FileSystemBytecodeCache:
    """Return the compiled templates of a language.

    Old caches of other versions are deleted; recent ones may be in use by another
    process.
    """
    folder = cache(f"templates/{lang}-{_state_of_the_code()}")
    for other in folder.parent.iterdir():
        if time.time() - other.stat().st_mtime > _OLD_S and other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return FileSystemBytecodeCache(str(folder))


def _state_of_the_code() -> str:
    package = Path(__file__).parent.parent  # reports, including its texts
    digest = hashlib.sha256(str(package).encode())
    for file in sorted(package.rglob("*")):
        if file.suffix in {".py", ".toml"}:
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]
