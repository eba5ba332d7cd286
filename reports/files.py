"""Report files: safe names, atomic replacement.

Nothing is written outside of the output folder, whatever the task's name.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from promptlab.errors import UsageError

_LONGEST = 120  # bytes of a folder's name; file systems allow 255
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_UNSAFE = re.compile(r"[^\w.-]+")

# Names that Windows reserves for devices, with any suffix, and names of other pages.
_TAKEN = frozenset(
    {"con", "prn", "aux", "nul", "index.html"}
    | {"compare", "judges", "memory", "runs", "titles"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
)


def folder_name(identifier: str) -> str:
    """Return a unique and safe folder name for a task or run id.

    A plain id (ASCII letters, digits, ``_ . -``) is its own name. Any other is
    written with safe characters, followed by ``~`` and a short hash of the whole id.
    Plain ids contain no ``~``, so names are unique.
    """
    plain = (
        _SAFE.fullmatch(identifier)
        and len(identifier) <= _LONGEST
        and not identifier.endswith(".")
        and not _is_taken(identifier)
    )
    if plain:
        return identifier
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
    readable = _UNSAFE.sub("-", unicodedata.normalize("NFC", identifier)).strip("-.")
    return f"{_cut(readable, _LONGEST - 13)}~{digest[:12]}"


def write_file(out: Path, folder: str, name: str, data: bytes) -> Path:
    """Write *data* to ``out/folder/name`` atomically.

    *folder* is below *out*, with ``/`` between its parts; empty for *out* itself.

    Raises:
        UsageError: the folder is outside of *out*, for example through a link.
    """
    target = out / folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"{target}: leads out of the output folder {out}")
    part = target.with_name(f".{name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(data)
        part.replace(target)
    except OSError as error:
        error.filename = error.filename or str(
            target
        )  # the error of a full disk has no file name
        raise
    finally:
        part.unlink(missing_ok=True)
    return target


def remove_file(out: Path, name: str) -> None:
    """Delete ``out/name`` if it exists; never a file outside *out*."""
    target = out / name
    if target.parent.resolve().is_relative_to(out.resolve()):
        target.unlink(missing_ok=True)


def _is_taken(name: str) -> bool:
    lower = name.lower()
    return lower in _TAKEN or lower.split(".")[0] in _TAKEN - {"compare", "memory"}


def _cut(text: str, most: int) -> str:
    """Cut *text* to at most *most* bytes of UTF-8, between characters."""
    return text.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")
