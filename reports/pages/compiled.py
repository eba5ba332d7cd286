"""Templates that are compiled once, not by every call: that takes longer than a report.

Jinja works constant expressions out as it compiles, texts of the language too, so what
is kept holds for one language and for one state of this package.
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
    """The compiled templates of a language.

    Those of other states of the code go when they are old: until then another process
    may write there.
    """
    folder = cache(f"templates/{lang}-{_state_of_the_code()}")
    for other in folder.parent.iterdir():
        if time.time() - other.stat().st_mtime > _OLD_S and other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return FileSystemBytecodeCache(str(folder))


def _state_of_the_code() -> str:
    package = Path(__file__).parent.parent  # reports, whose texts count too
    digest = hashlib.sha256(str(package).encode())
    for file in sorted(package.rglob("*")):
        if file.suffix in {".py", ".toml"}:
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]
