"""Evaluation results (pipeline-evaluation.md): each becomes a round of a case.

A file contains one or more tasks; results of one task id belong together, in any order.
The dimensions are the same for all tasks and are defined in a seed. A file of any size
is read batch by batch. Tasks and cases of earlier batches stay in memory, and a digest
of each round id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache, partial
from itertools import count
from typing import Any

import msgspec
from pydantic import BaseModel

from promptlab.contracts.analysis_input import EvaluationRecord
from promptlab.ingest.files.dates import base_of
from promptlab.ingest.judged_by import (
    Judge,
    JudgedBy,
    hash_of,
    judge_of,
    judged_by,
    verdict_of,
)
from promptlab.ingest.raw.rows import (
    Columns,
    Reading,
    Reference,
    Rows,
    columns_of_rows,
)
from promptlab.ingest.reading.odd_values import (
    NEGATIVE_COST,
    in_utc_or_none,
    without_negative_costs,
    zone_message,
)
from promptlab.ingest.reading.problems import CountedProblems, Problem
from promptlab.ingest.reading.records import (
    Id,
    Members,
    SeenIds,
    StructRecords,
    Table,
    UnknownKeys,
    record_batches,
    twins,
)
from promptlab.ingest.reading.source import Source, no_garbage_collection
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import shown
from promptlab.steps import steps_in


@dataclass
class TaskSoFar:
    """The common fields of one task's results so far."""

    fields: dict[str, str | None]
    created_at: datetime | None
    executed_at: datetime | None
    testset: Problem | None = None
    """First place that names a testset."""
    warned: set[str] = field(default_factory=set)
    """Fields with several values that were already reported."""

    @property
    def entity(self) -> str:
        """Return entity and variant, with which ids of results without one begin."""
        return f"{self.fields['entity_id']}/{self.fields['variant']}"


class ResultsSoFar:
    """The state of all earlier batches."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskSoFar] = {}
        self.rounds = SeenIds()
        self.counts: dict[str, dict[str, int]] = {}
        """Task → case → its results."""
        self.tags: dict[Id, dict[str, None]] = {}
        self.inputs: dict[Id, str] = {}
        """Task and case → the inputs of its first result."""
        self.judged_by: dict[Id, set[JudgedBy]] = {}
        """Task and case → the yardsticks of its results."""
        self.judges: dict[str, set[Judge]] = {}
        self.zoneless = CountedProblems(
            lambda _name, _first, count: zone_message(count)
        )
        """Times without a zone, by their field."""
        self.costs = CountedProblems()
        """Negative costs, by their field."""
        self.mixed: Problem | None = None
        """First result of another variant than its run."""

    def cases(self) -> Iterator[tuple[str, str, int, str, list[str], str | None]]:
        """Yield task, case, position, inputs, tags, and the hash of its yardsticks."""
        for task_id, counts in self.counts.items():
            for position, case_id in enumerate(counts):
                key = (task_id, case_id)
                inputs, tags = self.inputs.get(key, "{}"), self.tags.get(key, ())
                judged_by = hash_of(self.judged_by.get(key, ()))
                yield *key, position, inputs, list(tags), judged_by

    def references(self) -> list[Reference]:
        """Return the testset that each task names."""
        return [
            (str(task.fields["testset"]), task_id, task.testset)
            for task_id, task in self.tasks.items()
            if task.testset is not None
        ]


@dataclass
class TaskInBatch:
    """The common fields of the results of one task in a batch."""

    task_id: str
    fields: dict[str, str] = field(default_factory=dict)
    """Field → its first value."""
    rows: dict[str, int] = field(default_factory=dict)
    """Field → the row of that value."""
    differs: dict[str, int] = field(default_factory=dict)
    """Field → the row of the first other value."""
    times: dict[str, datetime] = field(default_factory=dict)
    """``created_at`` and ``executed_at`` → the earliest."""


TASK_FIELDS = (
    *("entity_type", "entity_id", "variant", "title", "prompt_version", "model"),
    *("triggered_by", "testset", "pipeline", "prompt"),
)
"""Fields that all results of one task share; if they differ, the first is used."""

_STATUSES = frozenset({"pass", "fail", "error", "unevaluated"})

_encode = msgspec.json.Encoder().encode


class ResultRows:
    """The columns of a batch of results, in the order of the file."""

    def __init__(self, records: StructRecords, stem: str, so_far: ResultsSoFar) -> None:
        values_of = records.values
        self._records = records
        self._so_far = so_far
        self.executed_at, self.executed_zoneless = in_utc_or_none(
            values_of("executed_at")
        )
        self.created_at, self.created_zoneless = in_utc_or_none(values_of("created_at"))
        self._inputs = values_of("inputs")
        metadata, self.negative_costs = without_negative_costs(values_of("metadata"))
        self.task_ids = [
            one.run_id or f"{one.entity_id}/{one.variant}/{stem}"
            for one in records.structs
        ]
        self.case_ids = values_of("sample_id")
        self._own_round_ids = values_of("round_id")
        self._numbers = list(self._numbered())
        self._values: Table = {
            "raw_output": values_of("raw_output"),
            "input_tokens": values_of("input_tokens"),
            "output_tokens": values_of("output_tokens"),
            "latency_ms": [
                None if seconds is None else round(seconds * 1000, 6)
                for seconds in values_of("execution_time")
            ],
            "metadata": metadata,
            "executed_at": self.executed_at,
            "error": list(map(_error, values_of("error"))),
            "final_output": values_of("final_output"),
            "step_outputs": values_of("step_outputs"),
            "steps": steps_in(metadata),
            "failed_steps": _lists(values_of("failed_steps")),
            "rule_violations": _lists(values_of("rule_violations")),
            "judge_feedback": values_of("judge_feedback"),
            "overall_score": values_of("overall_score"),
            "reported_must_have_pass": values_of("must_have_pass"),
            "reported_status": [
                one.status
                if one.status in _STATUSES
                else verdict_of(one.step_outputs, one.must_have_pass)
                for one in records.structs
            ],
        }

    @property
    def _cases(self) -> Iterator[tuple[str, str]]:
        return zip(self.task_ids, self.case_ids, strict=True)

    def _numbered(self) -> Iterator[int]:
        """Number the results of each case from 1, continuing from earlier batches."""
        known, numbers = self._so_far.counts, dict[tuple[str, str], int]()
        for key in self._cases:
            before = numbers.get(key)
            if before is None:
                before = known.get(key[0], {}).get(key[1], 0)
            numbers[key] = before + 1
            yield before + 1

    def twins(self) -> list[int]:
        """Return the rows whose round id is already in their case."""
        identities = zip(self.task_ids, self.case_ids, self._own_round_ids, strict=True)
        return twins(identities, self._so_far.rounds)

    def rounds(self) -> Table:
        """Return a row per result."""
        return {
            "task_id": self.task_ids,
            "case_id": self.case_ids,
            "round_id": self._round_ids(),
            "position": [number - 1 for number in self._numbers],
            "run_index": self._numbers,
            **self._values,
        }

    def _round_ids(self) -> list[str]:
        """Return the ids of rounds, and for rounds without one the next free number."""
        known = self._so_far.rounds
        identities = zip(self.task_ids, self.case_ids, self._own_round_ids, strict=True)
        used: set[Id] = {identity for identity in identities if identity[2] is not None}
        ids = []
        for task_id, case_id, round_id, number in zip(
            self.task_ids,
            self.case_ids,
            self._own_round_ids,
            self._numbers,
            strict=True,
        ):
            if round_id is None:
                options = ((task_id, case_id, f"{case_id}-{n}") for n in count(number))
                key = next(o for o in options if o not in used and o not in known)
                used.add(key)
                round_id = key[2]
            ids.append(round_id)
        return ids

    def remember(self, round_ids: Sequence[str]) -> None:
        """Add the batch's cases and rounds to the state of the file."""
        so_far = self._so_far
        for key, number, inputs, one in zip(
            self._cases, self._numbers, self._inputs, self._records.structs, strict=True
        ):
            task_id, case_id = key
            so_far.counts.setdefault(task_id, {})[case_id] = number
            if one.tags:
                so_far.tags.setdefault(key, {}).update(dict.fromkeys(one.tags))
            if inputs and inputs != "{}":
                so_far.inputs.setdefault(key, inputs)
            if (judge := judge_of(one.metadata)) is not None:
                so_far.judges.setdefault(task_id, set()).add(judge)
            if one.error or one.status == "error":
                continue  # judged by nothing
            by = judged_by(one.step_outputs, one.metadata)
            if any(by):
                so_far.judged_by.setdefault(key, set()).add(by)
        if not self._records.is_last:
            for key, round_id in zip(self._cases, round_ids, strict=True):
                so_far.rounds.add((*key, round_id))

    def tasks(self) -> Iterator[TaskInBatch]:
        """Yield the common fields and the times of each task of the batch."""
        tasks: dict[str, TaskInBatch] = {}
        columns = [self._task_field(name) for name in TASK_FIELDS]
        # very many results, but few different values of task fields
        first: dict[tuple[str | None, ...], int] = {}
        for row, key in enumerate(zip(self.task_ids, *columns, strict=True)):
            first.setdefault(key, row)
        for (task_id, *values), row in first.items():
            task = tasks.setdefault(str(task_id), TaskInBatch(str(task_id)))
            for name, value in zip(TASK_FIELDS, values, strict=True):
                if value is None:
                    continue
                if name not in task.fields:
                    task.fields[name], task.rows[name] = value, row
                elif value != task.fields[name]:
                    task.differs.setdefault(name, row)
        for name in ("created_at", "executed_at"):
            for task_id, time in zip(self.task_ids, getattr(self, name), strict=True):
                times = tasks[task_id].times
                if time is not None and (name not in times or time < times[name]):
                    times[name] = time
        yield from tasks.values()

    def _task_field(self, name: str) -> list[str | None]:
        values = self._records.values(name)
        if name != "prompt":
            return values
        return [None if value is None else _encode(value).decode() for value in values]


def case_columns(so_far: ResultsSoFar) -> Table:
    """Return a row per sample, in order of its first result, tags of all its rounds."""
    columns: list[Any] = list(zip(*so_far.cases(), strict=True)) or [[]] * 6
    task_ids, case_ids, positions, inputs, tags, judged_by = columns
    return {
        "task_id": list(task_ids),
        "case_id": list(case_ids),
        "position": list(positions),
        "context": list(inputs),
        "tags": _lists(tags),
        "expectation_hash": list(judged_by),
    }


def judge_columns(so_far: ResultsSoFar) -> Table:
    """Return a row per task with judges; the names of several are joined."""

    def joined(names: Iterable[str]) -> str | None:
        return ", ".join(sorted(set(filter(None, names)))) or None

    judges = so_far.judges.items()
    return {
        "task_id": [task_id for task_id, _ in judges],
        "name": ["judge"] * len(judges),
        "model": [joined(judge.agent_id for judge in who) for _, who in judges],
        "template": [joined(judge.flow for judge in who) for _, who in judges],
    }


def task_columns(so_far: ResultsSoFar) -> Columns:
    """Return the rows of ``tasks``; one without a time has no ``created_at``.

    Without a run_id, variants of one file and one time are one run, side by side.
    """
    stems = {
        task_id: task_id.removeprefix(f"{task.entity}/")
        for task_id, task in so_far.tasks.items()
        if task_id.startswith(f"{task.entity}/")
    }
    runs = {
        task_id: (
            stem,
            task.fields["title"],
            task.fields["entity_id"],
            task.created_at,
        )
        for task_id, stem in stems.items()
        for task in (so_far.tasks[task_id],)
    }
    in_runs = Counter(runs.values())
    rows = []
    for task_id, task in so_far.tasks.items():
        fields = task.fields
        is_side_by_side = task_id in runs and in_runs[runs[task_id]] > 1
        run_id = f"{fields['entity_id']}/{stems[task_id]}" if is_side_by_side else None
        is_pipeline = fields["entity_type"] == "pipeline"
        rows.append(
            {
                "task_id": task_id,
                "run_id": run_id,
                "variant": fields["variant"] if is_side_by_side else None,
                "source_kind": "results",
                "title": _first(fields["title"], fields["entity_id"]),
                "prompt_version": _first(fields["prompt_version"], fields["variant"]),
                "model": _first(fields["model"], "unknown"),
                "triggered_by": _first(fields["triggered_by"], "unknown"),
                "env": "{}",
                "created_at": task.created_at or task.executed_at,
                "testset_ref": fields["testset"],
                "pipeline_ref": _first(
                    fields["pipeline"], fields["entity_id"] if is_pipeline else None
                ),
                "extras": _extras(fields),
            }
        )
    return columns_of_rows(rows)


def _first(value: str | None, other: str | None) -> str | None:
    return other if value is None else value


def _extras(fields: dict[str, str | None]) -> str:
    extras: dict[str, Any] = {
        name: fields[name] for name in ("entity_type", *_VARIANT_FIELDS)
    }
    if fields["prompt"] is not None:
        extras["prompt"] = msgspec.Raw(fields["prompt"].encode())
    return _encode(extras).decode()


def _error(error: Any) -> str | None:
    """Return an error as text; ``None`` for a value that means "no error"."""
    if not error:
        return None
    return error if isinstance(error, str) else _encode(error).decode()


def _lists(lists: Sequence[list[Any]]) -> list[str]:
    return [_encode(items).decode() if items else "[]" for items in lists]


def read(source: Source) -> Iterator[Reading]:
    """Read a file of evaluation results: JSONL, one JSON object, or a JSON list.

    The last part of its name, without endings, is in the id of tasks without
    ``run_id``.

    Yields:
        Batch by batch, rows of ``rounds``, and with the last one those of ``tasks`` and
        ``cases``; a result that violates its contract, or whose round id is repeated in
        its case, is rejected.
    """
    stem = base_of(source.name.rsplit("/", 1)[-1])
    so_far = ResultsSoFar()
    unknown = UnknownKeys(_advice)
    for records in record_batches(EvaluationRecord, "sample_id", source):
        with no_garbage_collection():
            unknown.count(records)
            reading = _read_batch(records, stem, so_far)
            if records.is_last:
                reading.problems += unknown.problems()
        yield reading


def _read_batch(records: StructRecords, stem: str, so_far: ResultsSoFar) -> Reading:
    _keep_unknown_keys(records)
    rows = ResultRows(records, stem, so_far)
    repeated = rows.twins()
    if repeated:
        _drop_twins(records, repeated)
        rows = ResultRows(records, stem, so_far)
    rounds = rows.rounds()
    earlier_tasks = set(so_far.tasks)
    _note_odd_values(records, rows, so_far)
    for task in rows.tasks():
        _add_task(records, task, so_far)
    if so_far.mixed and records.is_last:
        return Reading(rows={}, problems=[so_far.mixed], rejected=True)
    rows.remember(rounds["round_id"])
    tables: Rows = {"rounds": rounds}
    if records.is_last:
        if so_far.tasks:
            tables["tasks"] = task_columns(so_far)
        tables["cases"] = case_columns(so_far)
        if so_far.judges:
            tables["judges"] = judge_columns(so_far)
        records.problems += so_far.zoneless.problems()
        records.problems += so_far.costs.problems()
    return Reading(
        rows={} if records.broken else tables,
        problems=records.sorted_problems(),
        records_loaded=len(records.structs),
        records_rejected=records.refused,
        rejected=records.broken,
        keys=[
            ("task", task_id)
            for task_id in so_far.tasks
            if task_id not in earlier_tasks
        ],
        references=so_far.references() if records.is_last else [],
    )


_OUTPUTS = ("output", "outputs", "answer", "response", "prediction", "completion")
"""Names that other tools give the final output."""


def _advice(model: type[BaseModel], key: str, result: Any) -> str:
    """Return a hint about a misspelled key; most unknown keys go to ``metadata``."""
    field_name = _intended_field(model, key)
    has_output = field_name == "final_output" and (
        result.final_output is not None or result.raw_output is not None
    )
    if field_name is None or has_output:
        return ""
    return f"is only kept in metadata; did you mean {shown(field_name)}?"


@lru_cache(maxsize=1024)
def _intended_field(model: type[BaseModel], key: str) -> str | None:
    close = get_close_matches(key, model.model_fields, n=1, cutoff=0.85)
    return next(iter(close), "final_output" if key in _OUTPUTS else None)


def _keep_unknown_keys(records: StructRecords) -> None:
    """Move unknown keys to ``metadata``, so that they are kept."""
    for row, unknown in records.unknown():
        result = records.structs[row]
        metadata = msgspec.json.decode(result.metadata, type=Members)
        added = {str(keys[0]): value for keys, _, value in unknown}
        result.metadata = msgspec.json.encode({**added, **metadata}).decode()


_RUN_ID_SHARED = "run_id_shared"


class _Variant(msgspec.Struct):
    """Fields with one value in a run; answers with another value are another run."""

    entity_id: str
    variant: str


_VARIANT_FIELDS = _Variant.__struct_fields__
_variant_of = msgspec.json.Decoder(_Variant).decode


def _mixed_run(task_id: str, field: str, first: str, where: str, second: str) -> str:
    """Return why a file is left out if one run_id has two variants."""
    return (
        f"run_id {shown(task_id)} has results of the {field} {shown(first)} {where},"
        f" and others of {shown(second)}: this file is left out. Give each of them a"
        " run_id of its own, and name their run with --run-name"
    )


Variants = dict[str, tuple[str, list[str]]]
"""Task → its file, and the pipeline and variant it is of."""


def of_one_variant(reading: Reading, uri: str, known: Variants) -> Reading:
    """Reject a file whose run has results of another variant in another file.

    *known* are the runs of other files; those of this one are added.
    """
    tasks = reading.rows.get("tasks", {"task_id": (), "extras": ()})
    for task_id, extras in zip(tasks["task_id"], tasks["extras"], strict=True):
        variant = list(msgspec.structs.astuple(_variant_of(extras)))
        file, before = known.get(task_id, (uri, variant))
        for name, there, here in zip(_VARIANT_FIELDS, before, variant, strict=True):
            if file != uri and there != here:
                message = _mixed_run(task_id, name, there, f"in {file}", here)
                problem = Problem(
                    _RUN_ID_SHARED, message, record_id=task_id, pointer=f"/{name}"
                )
                return Reading(rows={}, rejected=True, problems=[problem])
        known[task_id] = uri, variant
    return reading


def _drop_twins(records: StructRecords, rows: list[int]) -> None:
    for row in rows:
        round_id = shown(records.structs[row].round_id)
        message = (
            f"round_id {round_id} stands twice for this sample: the first is kept,"
            " this one is left out"
        )
        records.note(row, Fault(("round_id",), "duplicate_round", message))
    records.drop(rows)


def _note_odd_values(
    records: StructRecords, rows: ResultRows, so_far: ResultsSoFar
) -> None:
    for name, zoneless in (
        ("created_at", rows.created_zoneless),
        ("executed_at", rows.executed_zoneless),
    ):
        if zoneless:
            fault = Fault((name,), "time_without_zone", "")
            first = partial(records.problem, zoneless[0], fault)
            so_far.zoneless.add(name, first, len(zoneless))
    for row, key in rows.negative_costs:
        fault = Fault(("metadata", key), "odd_cost", NEGATIVE_COST)
        so_far.costs.add(key, partial(records.problem, row, fault))


def _add_task(records: StructRecords, task: TaskInBatch, so_far: ResultsSoFar) -> None:
    """Add a batch's results of one task to its common fields; warn about errors."""
    known = so_far.tasks.get(task.task_id)
    if known is None:
        known = so_far.tasks[task.task_id] = TaskSoFar(
            {name: task.fields.get(name) for name in TASK_FIELDS}, None, None
        )
    if known.testset is None and "testset" in task.fields:
        place = Fault(("testset",), "unknown_testset", "")
        known.testset = records.problem(task.rows["testset"], place)
    for name, time in task.times.items():
        before = getattr(known, name)
        setattr(known, name, time if before is None else min(before, time))
    for name, value in task.fields.items():
        first = known.fields[name]
        row = task.differs.get(name)
        if first is None:
            known.fields[name] = value
        elif value != first:
            row = task.rows[name]
        if row is None or name in known.warned:
            continue
        known.warned.add(name)
        first = str(known.fields[name])
        if name in _VARIANT_FIELDS:
            other = getattr(records.structs[row], name)
            message = _mixed_run(task.task_id, name, first, "above", other)
            problem = records.problem(row, Fault((name,), _RUN_ID_SHARED, message))
            so_far.mixed = so_far.mixed or replace(problem, severity="reject")
        else:
            message = (
                f"task {shown(task.task_id)} has more than one {name}: the first,"
                f" {shown(first)}, counts. Give each run its own run_id"
            )
            records.note(row, Fault((name,), "task_field_differs", message))
