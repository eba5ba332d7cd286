"""The exceptions of promptlab.

- PromptlabError
  x SettingsError        config, option or environment is wrong         exit 2
  x UsageError           the arguments of the call are invalid          exit 2
  x InputError           a file or record could not be read             exit 6
  x NothingToDo          no file, no task, no such id                   exit 5
  x WarehouseError       the database file: missing, foreign, locked    exit 70
    - DatabaseLocked
  x BuildError           dbt stopped; names the failed nodes            exit 70
  x RenderError          a page could not be made; the others are       exit 70
  x MailError            the mail server did not take the mail          exit 70
  x StorageError         a disk is full, or a file cannot be written    exit 70

A message is for the user: the error, the expected value, and one fix.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class PromptlabError(Exception):
    """Base of all; ``exit_code`` is what the command line returns for it."""

    exit_code = 70


class SettingsError(PromptlabError):
    """A setting from option, environment or config file is invalid."""

    exit_code = 2


class UsageError(PromptlabError):
    """The arguments of the call are invalid."""

    exit_code = 2


class InputError(PromptlabError):
    """A file or a record could not be read."""

    exit_code = 6


class NothingToDo(PromptlabError):
    """There is no input for the call."""

    exit_code = 5


class WarehouseError(PromptlabError):
    """The database file cannot be used as a warehouse."""


class DatabaseLocked(WarehouseError):
    """Another process holds the database file."""


class RenderError(PromptlabError):
    """A report could not be rendered because of an internal error."""


class MailError(PromptlabError):
    """The mail server could not be reached, or rejected the mail."""


class BuildError(PromptlabError):
    """Dbt did not finish; the message names the nodes that failed."""


class StorageError(PromptlabError):
    """A disk is full or broken, or a file or folder cannot be read or written."""


_STORAGE_FAULTS = {
    errno.ENOENT: "a folder of the path is not there; name another path",
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.EFBIG: "the disk is full, or a limit on a file's size is reached; make room",
    errno.EIO: "the disk reports a read or write error; check the disk",
    errno.EROFS: "the file system is read-only; name another folder",
    errno.EACCES: "permission denied; change the permissions, or name another path",
    errno.EPERM: "permission denied; change the permissions, or name another path",
    errno.ENOTDIR: "a part of the path is not a folder; name another path",
    errno.EISDIR: "is a folder; name a file",
    errno.EEXIST: "there is a file where a folder is needed; name another path",
    errno.ENAMETOOLONG: "the name is too long; name another path",
    errno.ELOOP: "the symbolic links lead in a circle; name another path",
    errno.EMFILE: "too many files are open; raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; close some",
}


def storage_error(error: BaseException) -> StorageError | None:
    """Return a StorageError for an error of a disk or a path, else ``None``.

    DuckDB and Polars name the system's error in their text only.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (match := re.search(r"\(os error (\d+)\)", str(error))):
        number = int(match[1])
    if number is None:
        texts = ((n, os.strerror(n)) for n in _STORAGE_FAULTS if n != errno.ENOENT)
        number = next((n for n, text in texts if text in str(error)), None)
    if number not in _STORAGE_FAULTS:
        return None
    place = getattr(error, "filename", None)
    where = "" if place is None else f"{os.fsdecode(place)}: "
    return StorageError(f"{where}{_STORAGE_FAULTS[number]}, and call again ({error})")


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return a clause that suggests the nearest name; empty if none is near."""
    folded = {name.casefold(): name for name in known}
    near = get_close_matches(wrong.casefold(), folded, n=1)
    return f"; did you mean `{folded[near[0]]}`?" if near else ""


def nearest(word: str, words: Sequence[str], *, cutoff: float = 0.6) -> str:
    """Return a question that names the nearest of *words*; empty if none is near."""
    near = get_close_matches(word, words, n=1, cutoff=cutoff)
    return f"; did you mean {json.dumps(near[0], ensure_ascii=False)}?" if near else ""
