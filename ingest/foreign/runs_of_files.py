"""Group the files of a tool into runs, where a run is several files.

Functions for the `gather` of a tool's module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from promptlab.ingest.files.finding import FoundFile

Files = Iterable[FoundFile]

Run = tuple[FoundFile, Sequence[FoundFile]]
"""The file that leads, and the other files of the run."""


def by_folder(files: Files) -> Iterable[list[FoundFile]]:
    """Group files by folder."""
    folders: dict[Path, list[FoundFile]] = defaultdict(list)
    for file in files:
        folders[file.path.parent].append(file)
    return folders.values()


def led_by(form: str, files: Files) -> Iterator[Run]:
    """Let the only file of *form* lead its folder; without it, each is its own run."""
    for of_folder in by_folder(files):
        leads = [file for file in of_folder if file.form == form]
        if len(leads) == 1:
            yield leads[0], [file for file in of_folder if file not in leads]
        else:
            yield from ((file, ()) for file in of_folder)


Ids = Callable[[FoundFile], Collection[str]]


def pages_of_runs(
    files: Files, forms: Collection[str], runs_of: Ids, ids_of: Ids, rows_of: Ids
) -> Iterator[Run]:
    """Group the pages of each run with the other files of their folder about it.

    Args:
        files: The files of a tool.
        forms: The forms of pages with rows.
        runs_of: Returns the run of a page; of several the first.
        ids_of: Returns the ids by which files belong together.
        rows_of: Returns the ids of its rows: pages with a common one are two versions.
    """
    for folder in by_folder(files):
        pages: dict[str, list[FoundFile]] = defaultdict(list)
        for file in folder:
            if file.form in forms:
                run = next(iter(runs_of(file)), str(file.path))
                pages[run].append(file)
        others = [file for file in folder if file.form not in forms]
        unused = {file.path: file for file in others}
        for pages_of_run in pages.values():
            ids = set[str]().union(*map(ids_of, pages_of_run))
            about = [file for file in others if not ids.isdisjoint(ids_of(file))]
            for file in about:
                unused.pop(file.path, None)
            for first, *rest in _versions(pages_of_run, rows_of):
                yield first, [*rest, *about]
        yield from ((file, ()) for file in unused.values())


def _versions(pages: Sequence[FoundFile], rows_of: Ids) -> list[list[FoundFile]]:
    groups: list[tuple[list[FoundFile], set[str]]] = []
    for page in pages:
        ids = set(rows_of(page)) if len(pages) > 1 else set()
        for group, ids_of_group in groups:
            if ids.isdisjoint(ids_of_group):
                group.append(page)
                ids_of_group |= ids
                break
        else:
            groups.append(([page], ids))
    return [group for group, _ in groups]
