"""The records of a task, and writing them.

A record is one struct per raw table, with the table's columns, which ``raw.sql``
describes; the loader adds ``load_id``. JSON is text. A reader passes the case of a row,
the answer and the judgements::

    task = TaskWriter("quizmaster", run_id, source)
    for row in rows:
        case = task.case(row.id, {"question": row.question}, golden=row.expected)
        answer = case.round(row.answer, error=row.error)
        answer.score("accuracy", row.accuracy, on_scale(row.accuracy))
        yield from task.written()
    task.describe(title=name, model=model)
    task.grade()
    yield from task.written()

`TaskWriter` keeps the common state of records: ids, positions, known cases, and the
dimensions with their scales. The reader yields records as it goes, so a large file is
never in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import PurePath
from typing import Annotated, Any, Literal

import msgspec

from promptlab.contracts.base import plain_name
from promptlab.ingest.files.dates import base_of, without_date
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_milliseconds,
    as_time,
    first_line,
    is_blank,
    is_infinite,
    text_and_json,
)
from promptlab.ingest.foreign.identity import Occurrences, SameRun
from promptlab.ingest.foreign.names import is_best_unclear
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

Json = Annotated[str, "JSON as text"]
Status = Literal["pass", "fail", "error", "unevaluated"]
Direction = Literal["higher_better", "lower_better"]


class Task(msgspec.Struct, gc=False, kw_only=True):
    """One prompt version on one model in one run."""

    task_id: str
    source_kind: str
    """Name of the tool, as in the registry."""
    title: str
    prompt_version: str
    model: str
    created_at: datetime | None
    """Time of the run; None: not in the file."""
    run_id: str
    """The tool's name of the run; all tasks of one run share it."""
    run_hash: str
    """Equal for all versions of one run, and only for them (`identity.SameRun`)."""
    is_version: bool = False
    """If true, the hash includes scores and verdicts: versions of a run differ."""
    written_at: datetime | None = None
    """Time at which this version was written or last judged, if the tool records it."""
    tool_version: str | None = None
    triggered_by: str = "unknown"
    env: Json = "{}"
    extras: Json = "{}"
    testset_ref: str | None = None
    pipeline_ref: str | None = None
    provider: str | None = None
    """The tool's label of the system that answered; None: the model."""
    prompt_name: str | None = None
    """The label of its prompt, without the prompt's text."""
    prompt_position: int | None = None
    """Position of its prompt among the prompts of the run."""
    variant: str | None = None
    """Name of the variant, if the file contains one."""
    settings: Json | None = None
    """Temperature, seed and other settings of the model."""
    judge: Json | None = None
    """Models and rubrics that judged the answers."""
    branch: str | None = None
    commit_sha: str | None = None


class Dimension(msgspec.Struct, gc=False, kw_only=True):
    """A scorer, a metric or a named assertion, exactly as the tool names it."""

    task_id: str
    dimension_id: str
    position: int
    name: str
    weight: float
    """Weight in the overall score; 0 for values without a known scale."""
    is_graded: bool
    """True if values are from 0 to 1 according to the tool, so they are scores."""
    direction: Direction | None = None
    """None: unknown."""
    target: Json = "{}"
    parameters: Json = '{"scorer":"reported"}'
    scoring_mode: Direction = "higher_better"


class Case(msgspec.Struct, gc=False):
    """A case; its id is the same in every run that has it."""

    task_id: str
    case_id: str
    position: int
    context: Json
    tags: Json = "[]"
    cluster: str | None = None
    """The group of the case: a conversation, a document."""
    categories: Json = "{}"
    """Texts of its metadata by key; keys with few texts become tags."""
    expectation_hash: str | None = None
    """Hash of what the tool asserts; ``None``: nothing beyond its baselines."""


class Baseline(msgspec.Struct, gc=False):
    """An expected answer of a case."""

    task_id: str
    case_id: str
    baseline_id: str
    position: int
    payload: Json
    type: str = "golden_answer"
    owner: str = "unknown"
    confidence: float | None = None


class Round(msgspec.Struct, gc=False):
    """One answer to a case: a repeat, an epoch."""

    task_id: str
    case_id: str
    round_id: str
    position: int
    run_index: int
    raw_output: str | None = None
    parsed_output: Json | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: float | None = None
    metadata: Json = "{}"
    executed_at: datetime | None = None
    error: str | None = None
    """The error of the model or the task; a failed assertion is not an error."""
    reported_status: Status | None = None
    """The tool's own verdict; ``None`` without a pass rule."""
    is_cached: bool | None = None
    """True if the answer came from a cache; ``None``: unknown."""
    steps: Json | None = None
    """Messages and tool calls, as `steps_of` returns them; ``None``: none."""


class Check(msgspec.Struct, gc=False, kw_only=True):
    """One assertion of a round, judged by the tool."""

    task_id: str
    case_id: str
    round_id: str
    position: int
    name: str
    type: str
    passed: bool | None
    """``None``: it could not be judged."""
    parent_position: int | None = None
    """The set of assertions that it belongs to."""
    score: float | None = None
    weight: float | None = None
    threshold: float | None = None
    expected: Json | None = None
    reason: str | None = None
    error: str | None = None
    """The error of the judge that could not judge it."""


class Score(msgspec.Struct, gc=False, kw_only=True):
    """The tool's score of a round on a dimension."""

    task_id: str
    case_id: str
    round_id: str
    dimension_id: str
    value: float | None
    """The tool's own number; ``None``: missing (NaN, an error of the judge)."""
    score: float | None
    """0 to 1, 1 best; ``None`` if the value is not on this scale."""
    summary: str | None = None
    payload: Json = "{}"


class Claim(msgspec.Struct, gc=False):
    """A claim of the file about its rows: their number, or the mean of a dimension.

    The models compare it with the rows, and an alert names what differs.
    """

    task_id: str
    dimension_id: str | None
    """``None``: the number of rows."""
    value: float | None
    """``None``: the number of rows is not in the file."""


class Judge(msgspec.Struct, gc=False):
    """The model that judged a dimension or an assertion, and its rubric.

    For a table it comes from the mapping: the column of the verdict, or a scale.
    """

    task_id: str
    name: str
    """Dimension, assertion or type of assertions that was judged, or ``verdict``."""
    model: str | None = None
    template: str | None = None
    """Its prompt; ``None``: the default of the tool."""
    rubric: str | None = None
    """Its rubric; ``None``: unknown, or different from case to case."""


Record = Task | Dimension | Case | Baseline | Round | Check | Score | Claim | Judge

TABLES: dict[type[msgspec.Struct], str] = {
    Task: "tasks",
    Dimension: "dimension_configs",
    Case: "cases",
    Baseline: "baselines",
    Round: "rounds",
    Check: "reported_checks",
    Score: "reported_scores",
    Claim: "claims",
    Judge: "judges",
}
"""Record → raw table."""


class Values(msgspec.Struct, gc=False):
    """The values of a dimension, and their places among those of their rounds."""

    n: int = 0
    """Numbers; 0 and 1, those between and others."""
    n_shares: int = 0
    n_others: int = 0
    n_places: int = 0
    sum_places: int = 0

    @property
    def are_binary(self) -> bool:
        """True for numbers that are 0 or 1 alone."""
        return self.n > 0 and not self.n_shares and not self.n_others


@dataclass
class Dimensions:
    """The dimensions of a task, in order of appearance.

    Args:
        is_share: Returns true if values of this name are from 0 to 1 by the
            tool's definition; else only dimensions with nothing but 0 and 1 are scores.
    """

    is_share: Callable[[str], bool] = lambda _name: False
    doubted: set[str] = field(default_factory=set)
    """Names whose direction is not known, because their file does not have it."""
    ratings: set[str] = field(default_factory=set)
    """Names that the tool defines on a longer scale, such as 1 to 5: higher is better,
    and a run that only has 1 is not the best."""
    _values: dict[str, Values] = field(default_factory=dict)

    def see(self, name: str, value: float | None, place: int | None = None) -> None:
        """Record a value, and its place among the values of its round."""
        values = self._values.get(name)
        if values is None:
            values = self._values[name] = Values()
        if value is not None:
            values.n += 1
            if value not in (0, 1):
                values.n_shares += 0 < value < 1
                values.n_others += not 0 < value < 1
        if place is not None:
            values.n_places += 1
            values.sum_places += place

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def n_values(self, name: str) -> int:
        """Return the number of values of a dimension that are numbers."""
        return self._values[name].n if name in self._values else 0

    def has_numbers(self, name: str) -> bool:
        """Return true if any value of a dimension is a number."""
        return self.n_values(name) > 0

    def is_graded(self, name: str) -> bool:
        """Return true if its values are known to be from 0 to 1, 1 best."""
        values = self._values[name]
        if values.n_others or name in self.ratings or self.is_unclear(name):
            return False
        return values.are_binary or self.is_share(name)

    def is_unclear(self, name: str) -> bool:
        """Return true for truth values that are not known to be best if true."""
        if not self._values[name].are_binary or name in self.ratings:
            return False
        if self.is_share(name):
            return False
        return name in self.doubted or is_best_unclear(name)

    def graded(self) -> list[str]:
        """Return all that are graded."""
        return [name for name in self if self.is_graded(name)]

    def frequent(self, names: Collection[str]) -> list[str]:
        """Return those with at least half as many values as the most frequent."""
        most = max(map(self.n_values, names), default=0)
        return [name for name in names if 2 * self.n_values(name) >= most]

    def first(self, names: Collection[str]) -> list[str]:
        """Return the frequent one whose place in a round is the first on average.

        So the order of rows does not matter, nor that a row lacks one.
        """

        def key(name: str) -> tuple[float, str]:
            values = self._values[name]
            return values.sum_places / (values.n_places or 1), name

        return sorted(self.frequent(names), key=key)[:1]


class TaskWriter:
    """Writes one task.

    Args:
        kind: Name of the tool, as in the registry.
        task_id: The tool's own id of it, or one made of its content.
        source: The file that leads its run.
        same_run: The hash of the run, if it is not derived from the task's id.
        is_share: Returns true for names defined on the scale 0 to 1 (`Dimensions`).
    """

    def __init__(
        self,
        kind: str,
        task_id: str,
        source: Source,
        same_run: SameRun | None = None,
        *,
        is_share: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.task_id = task_id
        self.dimensions = Dimensions(is_share)
        self.same_run = same_run or SameRun(kind, task_id)
        self._kind = kind
        self.source = source
        self.line: int | None = None
        """Line of the row that is being read, if its reader knows it."""
        self.earliest: datetime | None = None
        """Time of its first answer."""
        self._odd: dict[str, _OddScores] = {}
        self.n_rounds: dict[str, int] = {}
        """Case → its number of rounds so far."""
        self._judges: dict[str, set[tuple[str, str | None, str]]] = {}
        self._seen = Occurrences()
        self._places = count()
        self._records: list[Record | Problem] = []
        self.write = self._records.append
        """Write any record, or a problem."""

    def written(self) -> list[Record | Problem]:
        """Return the records written since the last call."""
        records = self._records.copy()
        self._records.clear()
        return records

    def distinct(self, case_id: str, *within: str) -> str:
        """Return a unique id of a case: the second case of an id is ``id~2``."""
        case_id = plain_name(case_id)
        return Occurrences.named(case_id, self._seen.next(case_id, *within))

    def case(
        self,
        case_id: str,
        context: Any,
        *,
        golden: Any = None,
        tags: Sequence[str] = (),
        cluster: str | None = None,
        categories: Any = None,
        expectation_hash: str | None = None,
        place: int | None = None,
    ) -> CaseWriter:
        """Return the case of an id; write it if it is new.

        Args:
            case_id: Its id, which is the same in every run.
            context: The input.
            golden: The expected answer.
            tags: Its tags.
            cluster: Its group of related cases: a conversation, a document.
            categories: Its metadata; short texts can become tags.
            expectation_hash: Hash of the tool's assertions.
            place: Its position; by default after those that were written.
        """
        case_id = plain_name(case_id)
        if case_id not in self.n_rounds:
            place = len(self.n_rounds) if place is None else place
            self.n_rounds[case_id] = 0
            tag_keys = self.source.overrides.tag_keys
            tags_of_case, texts_of_case = labels(tags, categories, tag_keys)
            self.write(
                Case(
                    self.task_id,
                    case_id,
                    place,
                    compact(context),
                    tags_of_case,
                    cluster,
                    texts_of_case,
                    expectation_hash,
                )
            )
            if golden is not None:
                payload = compact({"answer": golden})
                self.write(Baseline(self.task_id, case_id, "expected", 0, payload))
        return CaseWriter(self, case_id)

    def known(self, case_id: str) -> CaseWriter | None:
        """Return the case of an id, if it was written."""
        case_id = plain_name(case_id)
        return CaseWriter(self, case_id) if case_id in self.n_rounds else None

    def describe(
        self,
        title: str | None = None,
        *,
        extras: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        judge: Any = None,
        **fields: Any,
    ) -> None:
        """Write the task itself; `Task` describes the fields.

        The default title is the name of its file without a date, else that of its
        folder; the default time is that of its earliest round. A *run_hash* covers the
        whole content of the run.
        """
        defaults: dict[str, Any] = {
            "prompt_version": "unknown",
            "model": "unknown",
            "created_at": self.earliest,
            "run_id": self.task_id,
            "run_hash": self.same_run.hash(),
        }
        self.write(
            Task(
                task_id=self.task_id,
                source_kind=self._kind,
                title=title or self._file_title(),
                is_version=fields.get("run_hash") is not None,
                extras=compact(extras or {}),
                settings=compact(settings) if settings else None,
                judge=compact(judge) if judge else None,
                **{
                    name: fields.get(name) or default
                    for name, default in defaults.items()
                },
                **{k: v for k, v in fields.items() if k not in defaults},
            )
        )

    def _file_title(self) -> str:
        name = without_date(base_of(self.source.path.name))
        return name or PurePath(self.source.name).parent.name or self._kind

    def grade(
        self,
        graded: Sequence[str] | None = None,
        directions: Mapping[str, Direction | None] | None = None,
        weights: Mapping[str, float] | None = None,
        *,
        order: Sequence[str] = (),
        numbers: Collection[str] = (),
        parameters: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Write the dimensions and their judges, when all values are known.

        A value that is not a number is reported among the numbers of a dimension; texts
        alone are labels, except for infinities and those of *numbers*.

        Args:
            graded: Dimensions with values from 0 to 1, 1 best; else those known to be.
            directions: Directions from the tool; else graded values are best at 1, and
                ratings the higher they are.
            weights: Weights in the overall score; else the first graded dimension is
                the score: the mean of different metrics has no meaning.
            order: Metrics in the order of the tool, each with the dimensions below its
                name; else that of their values counts (`Dimensions.first`).
            numbers: Dimensions that should have only numbers.
            parameters: The tool's parameters, if they are in its file: a dimension
                with other parameters is another yardstick.
        """
        names = self.dimensions
        if graded is None:
            graded = names.graded()
            for name in filter(names.is_unclear, names):
                self.write(unclear_problem(name))
        if weights is None:
            listed = [name for name in names if name in graded]
            # the first that has a score at all
            listed = list(filter(names.has_numbers, listed)) or listed
            ordered = [
                name
                for metric in order
                for name in listed
                if name == metric or name.startswith(f"{metric}.")
            ]
            weights = dict.fromkeys(ordered[:1] or names.first(listed), 1.0)
        for position, name in enumerate(names):
            is_higher = name in graded or name in names.ratings
            usual: Direction | None = "higher_better" if is_higher else None
            about = {"scorer": "reported", **(parameters or {}).get(name, {})}
            self.write(
                Dimension(
                    task_id=self.task_id,
                    dimension_id=name,
                    position=position,
                    name=name,
                    weight=weights.get(name, 0.0),
                    is_graded=name in graded,
                    direction=(directions or {}).get(name, usual),
                    parameters=compact(about),
                )
            )
        for name, judges in self._judges.items():
            models, templates, rubrics = map(set, zip(*judges, strict=True))
            known = (
                ", ".join(sorted(m or "default" for m in models if any(models))),
                "\n".join(sorted(templates - {None})),
                rubrics.pop() if len(rubrics) == 1 else None,
            )
            if any(known):
                self.write(Judge(self.task_id, name, *(part or None for part in known)))
        for name, odd in self._odd.items():
            if odd.is_number or name in numbers or self.dimensions.has_numbers(name):
                self.write(odd.problem(name))

    def see_odd(self, dimension: str, value: Any, case_id: str) -> None:
        """Record what a file has in place of a number; a missing value is not odd."""
        if value is None or (isinstance(value, str) and is_blank(value)):
            return
        odd = self._odd.get(dimension)
        if odd is None:
            words = value if isinstance(value, str) else compact(value)
            odd = self._odd[dimension] = _OddScores(words, case_id, self.line)
        odd.n += 1
        odd.is_number |= isinstance(value, int | float) or is_infinite(value)

    def claim(self, means: Mapping[str, Any], n_rows: Any = None) -> None:
        """Write what the file claims; a task with claims has rows, or is partial.

        Args:
            means: Dimension → its mean over rows or over cases; others are left out.
            n_rows: The number of rows.
        """
        self.write(Claim(self.task_id, None, as_float(n_rows)))
        for dimension, value in means.items():
            if dimension in self.dimensions and (mean := as_float(value)) is not None:
                self.write(Claim(self.task_id, dimension, mean))

    def judge(
        self,
        name: str,
        model: str | None = None,
        template: str | None = None,
        rubric: str | None = None,
    ) -> None:
        """Record the judge of a dimension or an assertion; `grade` writes all.

        It may differ from row to row. An empty model or template is the default of the
        tool, and `None` unknown.
        """
        if model or template is not None or rubric is not None:
            judge = (model or "", template, rubric or "")
            self._judges.setdefault(name, set()).add(judge)

    def warn(self, code: str, message: str, case_id: str | None = None) -> None:
        """Report a problem of the whole task, or of a case."""
        line = None if case_id is None else self.line
        about = case_id or self.task_id
        self.write(Problem(code, message, "warning", line=line, record_id=about))


_LONGEST_CATEGORY = 60
"""Maximum length of a text that can be a tag."""


def category_tag(category: tuple[str, object]) -> str:
    """Return the tag of a key and its value."""
    return f"{category[0]}:{category[1]}"


def labels(
    tags: Sequence[str], metadata: Any, tag_keys: Sequence[str] | None
) -> tuple[Json, Json]:
    """Return the tags of a case, and the short texts of its metadata by key.

    Args:
        tags: Its own tags.
        metadata: Its metadata; anything but an object has no texts.
        tag_keys: Keys of metadata whose texts are tags; ``None``: all remain texts.
    """
    if not tags and not metadata:
        return "[]", "{}"
    categories = metadata if isinstance(metadata, dict) else {}
    texts = {
        str(key): value
        for key, value in categories.items()
        if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_CATEGORY
    }
    if tag_keys is not None:
        named = {key: texts[key] for key in tag_keys if key in texts}
        tags = list(dict.fromkeys([*tags, *map(category_tag, named.items())]))
        texts = {}
    return compact(tags) if tags else "[]", compact(texts) if texts else "{}"


class _OddScores(msgspec.Struct):
    """Texts among the numbers of one dimension."""

    first: str
    case_id: str
    line: int | None
    n: int = 0
    is_number: bool = False
    """True if one is a number too large for a double."""

    def problem(self, dimension: str) -> Problem:
        """Return one warning for all of them."""
        where = "1 row" if self.n == 1 else f"{self.n} rows, the first of them"
        return warning(
            "odd_score",
            f"`{dimension}` is not a finite number in {where}"
            f" {first_line(self.first, 80)!r}: it has no score there, and the value is"
            " kept with it",
            line=self.line,
            record_id=self.case_id,
        )


def unclear_problem(dimension: str) -> Problem:
    """Return a warning: truth values that are not graded, since 1 may be the worst."""
    return warning(
        "unclear_direction",
        f"nothing says whether 1 is good or bad in `{dimension}`: it is shown, and"
        " decides nothing. Rename it, such as `no_toxicity`, or read the file by a"
        " mapping of a table with `lower_is_better` (docs/tools/table.md)",
    )


class CaseWriter(msgspec.Struct, gc=False):  # no reference cycles
    """Writes the rounds of one case."""

    task: TaskWriter
    id: str

    def round(
        self,
        output: Any = None,
        *,
        n: int | None = None,
        name: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        executed_at: Any = None,
        latency_ms: Any = None,
        seconds: Any = None,
        input_tokens: Any = None,
        output_tokens: Any = None,
        error: str | None = None,
        status: Status | None = None,
        is_cached: bool | None = None,
        steps: Json | None = None,
    ) -> RoundWriter:
        """Write an answer; `Round` describes the fields.

        Rounds are numbered in order, unless *n* is given; a *name* distinguishes two of
        one number. A round with an error has the status ``error``. What is ``None`` in
        the metadata is not known, and left out. Times and numbers are as the tool wrote
        them: invalid ones are left out; the latency may be in *seconds*.
        """
        task, case_id = self.task, self.id
        task.n_rounds[case_id] = so_far = task.n_rounds[case_id] + 1
        if executed_at is not None and not isinstance(executed_at, datetime):
            executed_at = as_time(executed_at)
        if executed_at is not None:
            task.earliest = min(executed_at, task.earliest or executed_at)
        if latency_ms is None and seconds is not None:
            latency_ms = as_milliseconds(as_float(seconds))
        n = so_far if n is None else n
        raw_output, parsed_output = text_and_json(output)
        round_id = f"{case_id}-{n if name is None else name}"
        task.write(
            Round(  # more than 15 names would be passed as a dictionary
                task.task_id,
                case_id,
                round_id,
                n - 1 if n > 0 else 0,
                n,
                raw_output=raw_output,
                parsed_output=parsed_output,
                input_tokens=as_int(input_tokens),
                output_tokens=as_int(output_tokens),
                latency_ms=as_float(latency_ms),
                metadata=compact({k: v for k, v in metadata.items() if v is not None})
                if metadata
                else "{}",
                executed_at=executed_at,
                error=error,
                reported_status=status or (None if error is None else "error"),
                is_cached=is_cached,
                steps=steps,
            )
        )
        return RoundWriter(task, case_id, round_id)


class RoundWriter(msgspec.Struct, gc=False):  # as above
    """Writes the judgements of one answer."""

    task: TaskWriter
    case_id: str
    round_id: str
    n_checks: int = 0
    n_scores: int = 0

    def score(
        self,
        dimension: str,
        value: float | None,
        score: float | None = None,
        *,
        summary: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the tool's own number, and its score from 0 to 1.

        If the file has something else in place of a number, the payload contains it as
        ``given``.
        """
        task = self.task
        task.dimensions.see(dimension, value, self.n_scores)
        self.n_scores += 1
        if value is None and payload:
            task.see_odd(dimension, payload.get("given"), self.case_id)
        task.write(
            Score(
                task_id=task.task_id,
                case_id=self.case_id,
                round_id=self.round_id,
                dimension_id=dimension,
                value=value,
                score=score,
                summary=summary,
                payload=compact(payload) if payload else "{}",
            )
        )

    def check(
        self,
        name: str,
        kind: str,
        passed: bool | None,
        *,
        place: int | None = None,
        **fields: Any,
    ) -> None:
        """Write an assertion; `Check` describes the fields.

        Its default position is after those that were written.
        """
        self.task.write(
            Check(
                task_id=self.task.task_id,
                case_id=self.case_id,
                round_id=self.round_id,
                position=self.n_checks if place is None else place,
                name=name,
                type=kind,
                passed=passed,
                **fields,
            )
        )
        self.n_checks += 1
