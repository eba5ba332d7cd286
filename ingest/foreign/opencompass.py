"""OpenCompass: the folder of a run, with LawBench's and AISBench's, its relatives.

Tried on OpenCompass 0.5.4. The model, the data set and the time of a run are in the
path only: ``<time>/predictions/<model>/<data set>.json`` has the questions and answers,
``results/<model>/<data set>.json`` the results of the evaluator. Both make one task,
and so do the parts ``_0``, ``_1`` of a data set that was split.

A case is known by its place in the data set. Repeats are rounds: in predictions one
replica follows the other, and in details each value is a list of them.

Totals are in percent. A verdict is that of the details; where they have none, it is
computed from them if the tool's own accuracy is then the same. AISBench writes
requests that failed into a separate file: they are missing cases.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, ValidationError, convert, field

from promptlab.contracts.base import plain_name
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign.casts import (
    as_float,
    as_object,
    as_time,
    first_line,
    joined_texts,
    some_of,
)
from promptlab.ingest.foreign.documents import Refused, ToolFiles, file_bytes
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import SameRun
from promptlab.ingest.foreign.runs_of_files import Files, Run
from promptlab.ingest.foreign.scorings import write_score
from promptlab.ingest.foreign.writing import Record, TaskWriter
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

_NO_RUN = {
    "failed": "has only requests that failed. Give the whole folder of the run",
    "judge": "has the answers of a judge. Give the whole folder of the run",
    "unfinished": "is what a run that stopped has so far. Finish it with `--reuse`,"
    " then read its folder again",
    "performance": "has times of requests, and no answers",
    "summary": "has totals, and no cases. Give the whole folder of the run",
}
"""Form of a file that is not a run by itself → what it is, and what to do."""
FORMS = ("prediction", "row", "result", *_NO_RUN)

_FILES = ToolFiles("OpenCompass", "0.5.4")


class Row(Struct):
    """A question as it was sent, and the answer."""

    prediction: Any = None
    origin_prompt: Any = None
    """If labels were compared by perplexity, the prompt of the first one."""
    gold: Any = None
    """Left out by the tool where it is 0 or empty."""
    refr: Any = None
    """The expected answer in LawBench."""
    place: Any = field(default=None, name="id")
    """AISBench's rows come in the order in which requests end."""
    error_info: Any = None
    """AISBench: the error of a request without an answer."""


class Detail(Struct):
    """The result of an evaluator for an answer; each evaluator has its own names."""

    origin_prediction: Any = None
    """The answer; if labels were compared, an object with their prompts."""
    prompt: Any = None
    pred: Any = None
    parsed: Any = None
    """The part of the answer that was graded."""
    predictions: Any = None
    refr: Any = None
    references: Any = None
    answer: Any = None
    ref: Any = None
    correct: Any = None
    is_correct: Any = None
    cascade_correct: Any = None
    judgement: Any = field(default=None, name="origin_grade_response")
    """The reply of a judge: A is correct, B is not."""
    judged: Any = field(default=None, name="prediction")
    """The reply of a judge, in details that are the judge's answers unchanged."""


_VERDICTS = ("correct", "is_correct", "cascade_correct")

Key = tuple[int, int]
"""Case and replica."""


class Place(NamedTuple):
    """The run, model and data set of a file, from its path."""

    run: Path
    setting: str
    """LawBench: ``zero_shot`` or ``one_shot``."""
    model: str
    name: str

    @property
    def result(self) -> Path:
        """Return where its result would be."""
        return self.run / "results" / self.setting / self.model / f"{self.name}.json"


def recognise(head: Head) -> str | None:
    """Recognise predictions, results and summaries by their keys."""
    is_summary = any(names <= head.columns for names in _SUMMARIES)
    if is_summary or head.data.startswith(b"| dataset | version | metric | mode |"):
        return "summary"
    keys = head.keys
    if {"data_abbr", "id"} <= keys:
        if "prediction" in keys:
            return "row"
        return "failed" if "error_info" in keys else "performance"
    if {"idx", "origin_prompt", "prediction"} <= keys:
        return "unfinished"
    if "details" in keys:
        is_by_place = "0" in head.keys_below("details") and head.has(b'"pred')
        return "result" if is_by_place or head.has(b'"example_abbr"') else None
    if keys and all(map(str.isdecimal, keys)):
        first = head.keys_below(min(keys, key=lambda key: (len(key), key)))
        return "prediction" if {"prediction", "origin_prompt"} <= first else None
    return None


def gather(files: Files) -> Iterator[Run]:
    """Group the predictions of a data set with their result and other files."""
    of_place: dict[Place, list[FoundFile]] = defaultdict(list)
    summaries: dict[Path, list[FoundFile]] = defaultdict(list)
    for file in files:
        place, has = _placed(file.path)
        if file.form == "summary":
            above = place.run
            summaries[above.parent if above.name == "summary" else above].append(file)
            continue
        if has == "unfinished":
            file = replace(file, form=has)
        elif has == "result" and file.form == "prediction":
            file = replace(file, form="judge")
        of_place[place].append(file)
    known = frozenset(of_place)
    for place in [*of_place]:
        if (whole := _whole(place, known)) != place:
            of_place[whole] += of_place.pop(place)
    for place, listed in of_place.items():
        listed.sort(key=lambda file: (FORMS.index(file.form or ""), _part(file.path)))
        lead, *others = listed
        if lead.form in ("prediction", "row"):
            # a result that is totals alone is known by its place only
            is_there = any(_placed(file.path)[1] == "result" for file in others)
            if not is_there and place.result.is_file():
                others.append(replace(lead, path=place.result))
        if lead.form not in _NO_RUN:
            others += summaries.get(place.run, ())
        yield lead, others
    runs = {place.run for place in of_place}
    for run, alone in summaries.items():
        if run not in runs:
            yield alone[0], alone[1:]


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the task of a data set on a model."""
    if source.form in _NO_RUN:
        name = first_line(source.path.name, 80)
        raise Refused(warning("no_run", f"{name} {_NO_RUN[source.form]}"))
    run = _Run(source)
    yield from run.problems
    place = run.place
    title = joined_texts([place.setting, place.name], "/")
    of_run, created_at = place.run.name, None
    same = SameRun("opencompass", of_run, place.model, title)
    if is_named := _TIME.fullmatch(of_run) is not None:
        created_at = as_time(of_run.replace("_", "T"))
    else:  # a folder of the user's, which may hold another run tomorrow
        same = SameRun("opencompass", place.model, title, source=source)
        for key, (_, row) in run.rows.items():
            same.add(*key, compact(row))
        for key, detail in run.details.items():
            same.add(*key, compact(detail))
        of_run = same.hash_with_run_key()
    task_id = f"opencompass-{of_run}/{place.model}/{title}"
    task = TaskWriter(
        "opencompass", task_id, source, same, is_share=_VERDICTS.__contains__
    )
    run.write(task)
    task.describe(
        title,
        model=place.model or None,
        prompt_version=run.prompt_version,
        created_at=created_at,
        run_id=of_run if is_named else None,
    )
    yield from task.written()


class _Run:
    """The files of a data set on a model, read and joined."""

    def __init__(self, source: Source) -> None:
        self.problems: list[Problem] = []
        self._rows: dict[int, tuple[Row, dict[str, Any]]] = {}
        self._failed: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        paths: dict[str, list[Path]] = defaultdict(list)
        for path in (source.path, *source.companions):
            has = _placed(path)[1]
            if path == source.path:
                has = "result" if source.form == "result" else "answers"
            paths[has].append(path)
        answers, results = sorted(paths["answers"], key=_part), paths["result"]
        self.place = _placed((results or answers)[0])[0]
        if not results and answers[1:]:
            name = _PART.sub(r"\1", self.place.name)
            self.place = self.place._replace(name=name)
        # parts next to a whole file are older than it
        whole = [path for path in answers if path.stem == self.place.name]
        for path in whole or answers:
            self._read(source, path, max(self._rows, default=-1) + 1)
        for path in paths["failed"]:
            self._read(source, path, 0)
        self.prompt_version = _version(source, paths["summary"], self.place.name)
        self._has_totals = bool(results or paths["summary"])
        self._result = _document(source, results[0]) if results else {}
        self.details = self._joined(_by_place(self._result.get("details")))
        self.rows = {self._key(at): row for at, row in self._rows.items()}

    def _read(self, source: Source, path: Path, base: int) -> None:
        """Add the rows of a file: in a later part, too, the first one is at 0."""
        rows: Iterable[tuple[str | None, dict[str, Any] | Problem]]
        if path.suffix == ".jsonl":
            rows = ((None, row) for row in _FILES.lines(source, dict[str, Any], path))
        else:
            rows = _document(source, path).items()
        for key, row in rows:
            if isinstance(row, Problem):
                self.problems.append(row)
                continue
            try:
                read = convert(row, Row)
                place = str(read.place) if key is None else key
                if not place.isdecimal() or len(place) > _DIGITS:
                    raise ValidationError("a row has no place in the data set")
            except ValidationError as error:
                problem = _FILES.problem(error, pointer=f"{path.name}/{key or ''}")
                self.problems.append(replace(problem, raw_text=compact(row)))
                continue
            if "prediction" in row and row.get("success") is not False:
                self._rows[base + int(place)] = read, row
            else:
                self._failed[base + int(place)] = read.error_info

    def _joined(
        self, entries: Mapping[int, dict[str, Any]]
    ) -> dict[Key, dict[str, Any]]:
        """Find the cases and the replicas, and return the details of each."""
        most = max((*self._rows, *self._failed, *entries), default=-1) + 1
        if not any("example_abbr" in entry for entry in entries.values()):
            runs = [int(match[1]) for match in map(_RUNS.search, self._result) if match]
            n = runs[0] if runs else 1 if self._result else self._repeats()
            self._n = n if n and most % n == 0 else 1
            self._cases = most // self._n
            return {self._key(at): entry for at, entry in entries.items()}
        # a case each, and each value is a list of its replicas
        prefix = f"{self.place.name}_"
        names = {
            case: plain_name(str(entry.get("example_abbr")).removeprefix(prefix))
            for case, entry in entries.items()
        }
        self._names = names if len({*names.values()}) == len(names) else {}
        self._cases = max(entries) + 1
        self._n = -(-most // self._cases)
        joined = {}
        for case, entry in entries.items():
            lists = {k: v for k, v in entry.items() if isinstance(v, list)}
            width = max(map(len, lists.values()), default=1)
            self._n = max(self._n, width)
            for n in range(width):
                of_replica = {k: v[n] for k, v in lists.items() if n < len(v)}
                joined[case, n] = {**entry, **dict.fromkeys(lists), **of_replica}
        return joined

    def _repeats(self) -> int:
        """Return the number of times that all questions repeat in the same order."""
        questions = [
            compact([row.origin_prompt, row.gold]) for row, _ in self._rows.values()
        ]
        n, rest = divmod(len(questions), cases := len(set(questions)) or 1)
        is_again = cases > 1 and not rest and questions == questions[:cases] * n
        return n if is_again and [*self._rows] == [*range(len(questions))] else 1

    def _key(self, place: int) -> Key:
        """Return case and replica: in a list of all, replicas follow one another."""
        return place % self._cases, place // self._cases

    def write(self, task: TaskWriter) -> None:
        """Write the cases in the order of the data set, and what is missing."""
        details = {key: convert(detail, Detail) for key, detail in self.details.items()}
        named = (k for k in self._result if _ACCURACY.fullmatch(k))
        accuracy = as_float(self._result.get(next(named, "")))
        verdicts = _verdicts(details, accuracy)
        # for a request that failed AISBench evaluates a placeholder
        failed = {self._key(at) for at in self._failed.keys() - self._rows.keys()}
        there = sorted((self.rows.keys() | details.keys()) - failed)
        n_unjudged = 0
        for key in there:
            row, written = self.rows.get(key, (Row(), {}))
            detail = details.get(key, Detail())
            whole = detail.origin_prediction
            labels = {
                k.removeprefix(_LABEL): written[k] for k in written if _LABEL in k
            }
            case = task.case(
                self._names.get(key[0], str(key[0])),
                _question(
                    _first(row.origin_prompt, detail.prompt), labels or as_object(whole)
                ),
                golden=_first(
                    *(row.gold, row.refr, detail.refr, detail.references),
                    *(detail.answer, detail.ref),
                ),
            )
            graded = _first(detail.parsed, detail.predictions, detail.pred)
            output = whole if isinstance(whole, str) else graded
            output = row.prediction if key in self.rows else output
            values = verdicts.get(key, {}) | {
                name: value
                for name, value in self.details.get(key, {}).items()
                if isinstance(value, int | float) and not _NO_SCORE.fullmatch(name)
            }
            n_unjudged += not values
            answer = case.round(
                output,
                n=key[1] + 1,
                metadata={"graded": graded} if graded not in (None, output) else None,
                status=None if values else "unevaluated",
            )
            for name, value in values.items():
                write_score(answer, name, value, why=detail.judgement)
        main = next((name for named in verdicts.values() for name in named), "correct")
        task.grade(order=[main])
        # up to 1 it may be a share: other tools write this file too
        is_claimed = accuracy is not None and not 0 < accuracy <= 1 and not failed
        means = {main: accuracy / 100} if accuracy is not None and is_claimed else {}
        task.claim(means, self._n * self._cases)
        self._warn(task, set(there), n_unjudged)

    def _warn(self, task: TaskWriter, there: set[Key], n_unjudged: int) -> None:
        n_places = self._n * self._cases
        if n := n_places - len(there):
            missing = (at for at in range(n_places) if self._key(at) not in there)
            places = some_of(map(str, islice(missing, 10)), 10)
            error = next(filter(None, self._failed.values()), None)
            why = f" ({first_line(str(error))})" if error else ""
            task.warn(
                "rows_missing",
                f"{'1 request has' if n == 1 else f'{n} requests have'} no answer, so"
                f" these cases are missing: place {places}, from 0{why}. Finish the run"
                " with `--reuse`, and read its folder again",
            )
        if n := n_unjudged:
            why = "nobody evaluated them, since no `results` are there"
            if [*task.dimensions]:
                why = "the result says nothing of them, or its judge gave no grade"
            elif self.details:
                why = "the details of the result have none"
            elif self._has_totals:
                why = "only totals are there. OpenCompass needs --dump-eval-details"
            task.warn(
                "verdict_missing",
                f"{'1 answer has' if n == 1 else f'{n} answers have'} no verdict, which"
                f" is neither a pass nor a fail: {why}",
            )


_DIGITS = 9
"""Number of digits of the largest place."""
_UNFINISHED, _LABEL = "tmp_", "label: "
_BESIDE = re.compile("(.+)_(failed|details)")
"""AISBench's files of requests that failed, and of measurements of speed."""
_SUMMARIES = (
    {"dataset", "version", "metric", "mode"},
    {"task", "model_name", "score", "abstention_rate"},  # LawBench
)
_PART = re.compile(r"(.+)_(\d{1,9})", re.ASCII)
_TIME = re.compile(r"\d{8}_\d{6}", re.ASCII)
_RUNS = re.compile(r"\((\d{1,9}) runs average\)", re.ASCII)
_ACCURACY = re.compile(r"(accuracy|exact_match)( \(\d+ runs average\))?", re.ASCII)
_GRADE = re.compile("[AB]")
_EQUAL = 0.01
"""Largest difference between two equal totals, in percentage points."""
_NO_SCORE = re.compile(
    # G-Pass@k is of all replicas of a case
    rf"m?G-Pass@.*|{'|'.join(Detail.__struct_encode_fields__)}|gold|i(d|dx|ndex)|type",
)
_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


def _placed(path: Path) -> tuple[Place, str]:
    """Return the place of a file, and the kind of its content."""
    path = path.absolute()
    name, has = path.stem, "summary" if path.suffix in (".csv", ".md") else "answers"
    if name.startswith(_UNFINISHED):
        name, has = name.removeprefix(_UNFINISHED), "unfinished"
    elif path.suffix == ".jsonl" and (match := _BESIDE.fullmatch(name)):
        name, has = match[1], match[2]
    for folder in path.parents[1:]:
        *settings, model = path.parent.relative_to(folder).parts
        if folder.name in ("predictions", "results"):
            if folder.name == "results" and has == "answers":
                has = "result"
            return Place(folder.parent, "/".join(settings), model, name), has
    return Place(path.parent, "", "", name), has


def _part(path: Path) -> int:
    """Return the part's number, so that ``_10`` comes after ``_9``."""
    match = _PART.fullmatch(path.stem)
    return int(match[2]) if match else -1


def _whole(place: Place, known: Collection[Place]) -> Place:
    """Return the data set of a part; other names may end in ``_0`` too."""
    match = _PART.fullmatch(place.name)
    if not match or place.result.is_file():
        return place
    whole = place._replace(name=match[1])
    first, second = (place._replace(name=f"{match[1]}_{n}") for n in (0, 1))
    is_split = whole.result.is_file() or whole in known
    return whole if is_split or (first in known and second in known) else place


def _document(source: Source, path: Path) -> dict[str, Any]:
    """Decode a file; the error for one that cannot be read names it."""
    try:
        return _FILES.document(source, dict[str, Any], path)
    except Refused as refused:
        place = "/".join(path.parts[-3:])
        raise Refused(replace(refused.problem, pointer=place)) from None


def _version(source: Source, paths: Collection[Path], name: str) -> str | None:
    """Return the hash of the prompt template, which is only in a summary."""
    tables = [path for path in paths if path.suffix == ".csv"]
    for path in sorted(tables, reverse=True):  # the newest first
        written = source.redact(file_bytes(source, path)).decode("utf-8", "replace")
        for row in csv.DictReader(written.splitlines()):
            # the tool writes no quotes, and a blank for a comma
            if row.get("dataset") == name.replace(",", " "):
                version = row.get("version")
                return None if version in (None, "-") else first_line(version)
    return None


def _by_place(details: Any) -> dict[int, dict[str, Any]]:
    """Return the objects of a list, or those with a place as the key."""
    if isinstance(details, list):
        return {at: as_object(detail) for at, detail in enumerate(details)}
    return {
        int(key): detail
        for key, detail in as_object(details).items()
        if key.isdecimal() and len(key) <= _DIGITS and isinstance(detail, dict)
    }


def _verdicts(
    details: Mapping[Key, Detail], accuracy: float | None
) -> dict[Key, dict[str, Any]]:
    """Return the verdict of each answer under its name.

    An answer of a judge with neither A nor B has no verdict; OpenCompass counts it as
    wrong.
    """
    verdicts: dict[Key, dict[str, Any]] = {}
    have_verdicts = False
    for key, detail in details.items():
        named = [(n, v) for n in _VERDICTS if (v := getattr(detail, n)) is not None]
        have_verdicts |= bool(named)
        if detail.judgement is None or _GRADE.search(str(detail.judgement)):
            verdicts[key] = dict(named[:1])
    if have_verdicts:
        return verdicts
    for find in (_is_equal, _is_graded_a):
        matches = {key: find(detail) for key, detail in details.items()}
        known = {key: {_VERDICTS[0]: v} for key, v in matches.items() if v is not None}
        share = 100 * sum(map(bool, matches.values())) / (len(matches) or 1)
        # another metric, such as ROUGE, has another total
        if known and accuracy is not None and abs(share - accuracy) < _EQUAL:
            return known
    return {}


def _is_equal(detail: Detail) -> bool | None:
    prediction = detail.predictions
    return None if prediction is None else str(prediction) == str(detail.references)


def _is_graded_a(detail: Detail) -> bool | None:
    grade = _GRADE.search(detail.judged) if isinstance(detail.judged, str) else None
    return grade and grade[0] == "A"


def _question(prompt: Any, labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question: for labels, the common beginning of their prompts."""
    prompts = {
        label: as_object(request).get("prompt") for label, request in labels.items()
    }
    written = {
        label: prompt for label, prompt in prompts.items() if isinstance(prompt, str)
    }
    if written:
        low, high = min(written.values()), max(written.values())
        same = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
        return {"prompt": "".join(letter for letter, _ in same), "labels": [*written]}
    if not isinstance(prompt, list) or not all(map(as_object, prompt)):
        return {} if prompt is None else {"prompt": prompt}
    turns = ((str(turn.get("role")), turn.get("prompt")) for turn in prompt)
    return {"messages": [{"role": _ROLES.get(r, r), "content": c} for r, c in turns]}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
