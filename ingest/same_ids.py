"""One id in two files of one call: the later file replaces the earlier, which is said.

That a later load replaces an earlier one is how a file is corrected. In one call it is
rather a task in parts, or two testsets of one name, of which only one would be left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.ingested import FileLoad
from promptlab.ingest.reading.problems import Problem
from promptlab.json_text.writing import shown

CODE = "id_in_two_files"

_ADVICE = {
    "task": "give each file an id of its own, or put both into one file",
    "testset": "its name is its id: rename one, or ingest the folder above both",
    "pipeline": "give each pipeline an id of its own",
    "memory": "keep each run in a folder of its own, a file for each conversation",
}

_TOLD_ELSEWHERE = frozenset(TOOLS)

_MERGED = "results"

_Id = tuple[str, str]
"""Kind of an object, and its id."""


def same_ids(
    loads: Sequence[FileLoad], *, merges: bool = True
) -> Iterator[tuple[FileLoad, Problem]]:
    """Say of each file that was loaded which other file of the call it replaces.

    Copies say nothing, nor do runs of other tools, which their reader tells of.

    Args:
        loads: all files of a call, in the order they were read.
        merges: results of one run are put together, and replace nothing unsaid.

    Yields:
        The later file, and one warning for each file that it replaces.
    """
    told: dict[tuple[str, Path, Path], tuple[FileLoad, list[str]]] = {}
    for one, those in _in_many_files(loads).items():
        holder = next((each for each in reversed(those) if _was_there(each)), None)
        for load in those:
            if _was_there(load):
                continue
            if (
                holder is not None
                and holder.sha256 != load.sha256
                and not {holder.kind, load.kind} <= _TOLD_ELSEWHERE
                and not (merges and {holder.kind, load.kind} == {_MERGED})
            ):
                kind, name = one
                pair = kind, holder.path, load.path
                told.setdefault(pair, (load, []))[1].append(name)
            holder = load
    for (kind, earlier, later), (load, names) in told.items():
        yield load, _warning(kind, names, earlier, later)


def forget_what_is_over(loads: Sequence[FileLoad]) -> None:
    """Take back such warnings of earlier calls where they are not true any more.

    The other file is no longer in the call, or one of them was just loaded anew.
    """
    told = [
        load
        for load in loads
        if _was_there(load) and any(each.code == CODE for each in load.problems)
    ]
    many = _in_many_files(loads) if told else {}
    true_still = {one for one, those in many.items() if all(map(_was_there, those))}
    for load in told:
        load.problems = [
            each
            for each in load.problems
            if each.code != CODE or _told_of(load, each) in true_still
        ]


def _in_many_files(loads: Sequence[FileLoad]) -> dict[_Id, list[FileLoad]]:
    first: dict[_Id, FileLoad] = {}
    files: dict[_Id, list[FileLoad]] = {}
    for load in loads:
        if load.status not in {"loaded", "unchanged"}:
            continue
        for kind, *parts in load.keys:
            one = (kind, "|".join(parts))
            before = first.setdefault(one, load)
            if before is not load:
                files.setdefault(one, [before]).append(load)
    return files


def _was_there(load: FileLoad) -> bool:
    return load.status == "unchanged"


def _told_of(load: FileLoad, problem: Problem) -> _Id:
    kind = load.keys[0][0] if load.keys else ""
    return kind, problem.record_id or ""


def _warning(kind: str, names: Sequence[str], earlier: Path, later: Path) -> Problem:
    what = f"{'memory run' if kind == 'memory' else kind} {shown(names[0])}"
    were, them = "was", "it"
    if len(names) > 1:
        what, were, them = f"{what} and {len(names) - 1} more", "were", "them"
    return Problem(
        CODE,
        f"{what} {were} in {earlier} too, in this call: the rows of {later} replace"
        f" {them}; {_ADVICE[kind]}",
        severity="warning",
        record_id=names[0],
    )
