"""The name of a memory run, read from the path of a file.

A run is `<dataset>/<timestamp>[/<memory system>]`. Known layouts are

    {dataset}/{stamp}/{task}.json
    {dataset}/{stamp}/{memory system}/{task}_{HHMM}.json
    {dataset}/{memory system}/{task}_{stamp}.json

with stamps YYMMDD or YYMMDD_HHMM, in UTC; the last one also with HHMM alone, which
names no day: such a run is called `undated`. On any other path the name of the
folder replaces the timestamp, so that files of one folder are one run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

UNDATED = "undated"

_STAMP = re.compile(r"\d{6}(_\d{4})?")
_FILE_STAMP = re.compile(r"(?P<task>.+?)_(?P<stamp>\d{6}_\d{4}|\d{6}|\d{4})")
_CLOCK = re.compile(r"\d{4}")


@dataclass(frozen=True)
class RunName:
    """The values of a path; *stamp* and *memory_system* as written there."""

    stamp: str
    memory_system: str | None
    started_at: datetime | None
    """The stamp as a time in UTC, to the minute if the file's name contains it."""
    task: str
    """The file's name without its stamp."""
    folder_of_dataset: str | None
    """The folder at the position of the data set; ``None`` if the layout is unknown."""
    is_guessed: bool
    """The path has no stamp: *stamp* is `UNDATED` or the folder's name."""

    def run_id(self, dataset: str) -> str:
        """Return the run's id for a data set."""
        parts = [dataset, self.stamp, self.memory_system]
        return "/".join(part for part in parts if part)


def run_name(path: PurePath, *, dataset: str | None, task_id: str | None) -> RunName:
    """Read the run from a path.

    Args:
        path: The file's path, as far as known.
        dataset: The data set as the file itself names it.
        task_id: The task as named in the file: distinguishes a stamp in the file's
            name from a task whose own name ends like one.
    """
    folders = ["", "", "", *path.parent.parts]
    grandparent, parent = folders[-2], folders[-1]
    task, file_stamp = _split_stem(path.stem, task_id)
    clock = file_stamp if file_stamp and _CLOCK.fullmatch(file_stamp) else None
    if _moment(parent):
        return RunName(parent, None, _moment(parent, clock), task, grandparent, False)
    if _moment(grandparent):
        return RunName(
            grandparent, parent, _moment(grandparent, clock), task, folders[-3], False
        )
    has_system = bool(grandparent) and grandparent == dataset
    system = parent if has_system else None
    own_folder = dataset if dataset in (parent, grandparent) else None
    if file_stamp and not clock:
        return RunName(file_stamp, system, _moment(file_stamp), task, own_folder, False)
    if clock and has_system:
        return RunName(UNDATED, system, None, task, own_folder, True)
    name = parent if parent.strip("/\\") and parent != dataset else UNDATED
    return RunName(name, None, None, task, own_folder, True)


def _split_stem(stem: str, task_id: str | None) -> tuple[str, str | None]:
    """Split a file's name into task and stamp."""
    if stem == task_id:
        return stem, None
    match = _FILE_STAMP.fullmatch(stem)
    if not match or not (_CLOCK.fullmatch(match["stamp"]) or _moment(match["stamp"])):
        return stem, None
    return match["task"], match["stamp"]


def _moment(stamp: str, clock: str | None = None) -> datetime | None:
    """Return a stamp as a time; ``None`` if the day does not exist."""
    if not _STAMP.fullmatch(stamp):
        return None
    day, _, own_clock = stamp.partition("_")
    try:
        moment = datetime.strptime(f"{day}{own_clock or clock or '0000'}", "%y%m%d%H%M")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC)
