"""Evaluation results (pipeline-evaluation.md): each becomes a round of a case.

A file contains one or more tasks; results of one task id belong together, in any order.
The dimensions are the same for all tasks and are defined in a seed. A file of any size
is read batch by batch. Tasks and cases of earlier batches stay in memory, and a digest
of each round id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache, partial
from itertools import count
from typing import Any, cast

import msgspec
import polars as pl
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
from promptlab.ingest.raw.rows import Reading, Reference, Rows
from promptlab.ingest.reading.checked_columns import (
    NEGATIVE_COST,
    booleans,
    doubles,
    integers,
    json_objects,
    json_values_or_null,
    names,
    texts,
    times,
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


TASK_FIELDS = (
    *("entity_type", "entity_id", "variant", "title", "prompt_version", "model"),
    *("triggered_by", "testset", "pipeline", "prompt"),
)
"""Fields that all results of one task share; if they differ, the first is used."""

_STATUSES = frozenset({"pass", "fail", "error", "unevaluated"})

_encode = msgspec.json.Encoder().encode


class ResultRows:
    """The columns of a batch of results, in the order of the file.

    Raises:
        Doubtful: A value violates the contract.
    """

    def __init__(self, records: StructRecords, stem: str, so_far: ResultsSoFar) -> None:
        values_of = records.each
        self._records = records
        self._so_far = so_far
        for name in ("run_id", "entity_id", "variant"):
            names(values_of(name))
        self.executed_at, self.executed_zoneless = times(values_of("executed_at"))
        self.created_at, self.created_zoneless = times(values_of("created_at"))
        self._inputs = json_objects(values_of("inputs"))
        metadata, self.negative_costs = without_negative_costs(
            json_objects(values_of("metadata"))
        )
        self.ids = pl.DataFrame(
            {
                "task_id": [
                    result.run_id or f"{result.entity_id}/{result.variant}/{stem}"
                    for result in records.structs
                ],
                "case_id": names(values_of("sample_id")),
                "own_round_id": names(values_of("round_id")),
            },
            schema={
                "task_id": pl.String,
                "case_id": pl.String,
                "own_round_id": pl.String,
            },
        ).with_columns(
            pl.int_range(1, pl.len() + 1).over("task_id", "case_id").alias("n")
        )
        if so_far.tasks:
            self._count_on()
        self._values: Table = {
            "raw_output": texts(values_of("raw_output")),
            "input_tokens": integers(values_of("input_tokens")),
            "output_tokens": integers(values_of("output_tokens")),
            "latency_ms": (doubles(values_of("execution_time")) * 1000).round(6),
            "metadata": metadata,
            "executed_at": self.executed_at,
            "error": texts([_error(result.error) for result in records.structs]),
            "final_output": json_values_or_null(values_of("final_output")),
            "step_outputs": json_objects(values_of("step_outputs")),
            "failed_steps": _lists(values_of("failed_steps")),
            "rule_violations": _lists(values_of("rule_violations")),
            "judge_feedback": texts(values_of("judge_feedback")),
            "overall_score": doubles(values_of("overall_score")),
            "reported_must_have_pass": booleans(values_of("must_have_pass")),
            "reported_status": texts(
                [
                    result.status
                    if result.status in _STATUSES
                    else verdict_of(bytes(result.step_outputs), result.must_have_pass)
                    for result in records.structs
                ]
            ),
        }

    def _count_on(self) -> None:
        """Number the results of each case, continuing from earlier batches."""
        pairs = self.ids.select("task_id", "case_id").unique()
        counts = self._so_far.counts
        before = [counts.get(task, {}).get(case, 0) for task, case in pairs.rows()]
        self.ids = self.ids.join(
            pairs.with_columns(integers(before).alias("before")),
            on=("task_id", "case_id"),
            how="left",
            maintain_order="left",
        ).select("task_id", "case_id", "own_round_id", pl.col("n") + pl.col("before"))

    def twins(self) -> list[int]:
        """Return the rows whose round id is already in their case."""
        own_ids = self.ids.select("task_id", "case_id", "own_round_id")
        return twins(own_ids, self._so_far.rounds)

    def rounds(self) -> Table:
        """Return a row per result."""
        return {
            "task_id": self.ids["task_id"],
            "case_id": self.ids["case_id"],
            "round_id": self._round_ids(),
            "position": self.ids["n"] - 1,
            "run_index": self.ids["n"],
            **self._values,
        }

    def _round_ids(self) -> pl.Series:
        with_round_ids = self.ids.with_columns(
            pl.coalesce("own_round_id", pl.format("{}-{}", "case_id", "n")).alias(
                "round_id"
            )
        )
        key = pl.struct("task_id", "case_id", "round_id")
        if with_round_ids.select(
            key.n_unique()
        ).item() == with_round_ids.height and not any(
            map(self._so_far.rounds.__contains__, self._numbered(with_round_ids))
        ):
            return with_round_ids["round_id"]
        # A generated number is another round's own id: use the next free one.
        used = set(
            with_round_ids.select("task_id", "case_id", "own_round_id").iter_rows()
        )
        earlier = self._so_far.rounds
        ids = []
        for task_id, case_id, own_id, n in self.ids.iter_rows():
            candidates = ((task_id, case_id, f"{case_id}-{k}") for k in count(n))
            unused = (
                candidate
                for candidate in candidates
                if candidate not in used and candidate not in earlier
            )
            ids.append(own_id or next(unused)[2])
            used.add((task_id, case_id, ids[-1]))
        return texts(ids)

    def _numbered(self, with_round_ids: pl.DataFrame) -> Iterable[tuple[str, ...]]:
        """Return the generated ids that may be in earlier batches."""
        if not self._so_far.tasks:
            return ()
        generated = with_round_ids.filter(pl.col("own_round_id").is_null())
        return generated.select("task_id", "case_id", "round_id").rows()

    def remember(self, round_ids: pl.Series) -> None:
        """Add the batch's cases and rounds to the state of the file."""
        so_far = self._so_far
        counts = self.ids.group_by("task_id", "case_id", maintain_order=True).len()
        for task_id, case_id, results in counts.iter_rows():
            counts_of_task = so_far.counts.setdefault(task_id, {})
            counts_of_task[case_id] = counts_of_task.get(case_id, 0) + results
        for row, result in enumerate(self._records.structs):
            if result.tags:
                task_id, case_id, *_ = self.ids.row(row)
                tags = so_far.tags.setdefault((task_id, case_id), {})
                tags.update(dict.fromkeys(result.tags))
        self._remember_yardstick()
        with_inputs = self.ids.select(
            "task_id", "case_id", self._inputs.alias("inputs")
        )
        for *case, inputs in with_inputs.filter(pl.col("inputs") != "{}").iter_rows():
            so_far.inputs.setdefault(tuple(case), inputs)
        if not self._records.is_last:
            for pair, round_id in zip(
                self.ids.select("task_id", "case_id").iter_rows(),
                round_ids,
                strict=True,
            ):
                so_far.rounds.add((*pair, round_id))

    def _remember_yardstick(self) -> None:
        """Add the yardstick of each result that records one; errors have none."""
        so_far, ids = self._so_far, self.ids
        for task_id, case_id, result in zip(
            ids["task_id"], ids["case_id"], self._records.structs, strict=True
        ):
            if (judge := judge_of(bytes(result.metadata))) is not None:
                so_far.judges.setdefault(task_id, set()).add(judge)
            if result.error or result.status == "error":
                continue
            yardstick = judged_by(bytes(result.step_outputs), bytes(result.metadata))
            if any(yardstick):
                so_far.judged_by.setdefault((task_id, case_id), set()).add(yardstick)

    def tasks(self) -> pl.DataFrame:
        """Return a row per task: its first row, its common fields, its times.

        ``<field>`` is the first value, ``<field>_row`` its row, ``<field>_differs`` the
        row of the first other one; of both times it is the earliest.
        """
        frame = self.ids.select(
            "task_id",
            created_at=self.created_at,
            executed_at=self.executed_at,
            **{name: texts(self._task_field(name)) for name in TASK_FIELDS},
        ).with_row_index("row")
        times = frame.group_by("task_id").agg(pl.col("created_at", "executed_at").min())
        first = {name: pl.col(name).drop_nulls().first() for name in TASK_FIELDS}
        differs = {
            f"{name}_differs": pl.col("row").filter(pl.col(name) != first[name]).first()
            for name in TASK_FIELDS
        } | {
            f"{name}_row": pl.col("row").filter(pl.col(name).is_not_null()).first()
            for name in TASK_FIELDS
        }
        # Very many results, but few different values of task fields.
        common = ["task_id", *TASK_FIELDS]
        if frame.select(pl.max_horizontal(pl.col(common).n_unique()) > 1).item():
            distinct = frame.unique(common, keep="first", maintain_order=True)
        else:
            distinct = frame.head(1)
        return (
            distinct.group_by("task_id", maintain_order=True)
            .agg(pl.col("row").first(), **first, **differs)
            .join(times, on="task_id", how="left", maintain_order="left")
        )

    def _task_field(self, name: str) -> list[str | None]:
        values = self._records.each(name)
        if name != "prompt":
            return values
        return [None if value is None else _encode(value).decode() for value in values]


def case_columns(so_far: ResultsSoFar) -> Table:
    """Return a row per sample, in order of its first result, tags of all its rounds."""
    columns: list[Any] = list(zip(*so_far.cases(), strict=True)) or [[]] * 6
    task_ids, case_ids, positions, inputs, tags, judged_by = columns
    return {
        "task_id": texts(task_ids),
        "case_id": texts(case_ids),
        "position": integers(positions),
        "context": texts(inputs),
        "tags": _lists(tags),
        "expectation_hash": texts(judged_by),
    }


def judge_columns(so_far: ResultsSoFar) -> Table:
    """Return a row per task with judges; the names of several are joined."""

    def joined(names: Iterable[str]) -> str | None:
        return ", ".join(sorted(set(filter(None, names)))) or None

    judges = so_far.judges.items()
    return {
        "task_id": texts([task_id for task_id, _ in judges]),
        "name": texts(["judge"] * len(judges)),
        "model": texts(
            [
                joined(judge.agent_id for judge in task_judges)
                for _, task_judges in judges
            ]
        ),
        "template": texts(
            [joined(judge.flow for judge in task_judges) for _, task_judges in judges]
        ),
    }


def task_columns(so_far: ResultsSoFar) -> Table:
    """Return the rows of ``tasks``; one without a time has no ``created_at``."""
    tasks = pl.DataFrame(
        {
            "task_id": texts(list(so_far.tasks)),
            "created_at": pl.Series(
                [task.created_at or task.executed_at for task in so_far.tasks.values()],
                dtype=pl.Datetime("us", "UTC"),
            ),
            **{
                name: texts([task.fields[name] for task in so_far.tasks.values()])
                for name in TASK_FIELDS
            },
        }
    )
    # without a run_id, variants of one file and one time are one run, side by side
    generated_prefix = pl.concat_str("entity_id", "variant", pl.lit(""), separator="/")
    created_at = pl.Series(
        [task.created_at for task in so_far.tasks.values()],
        dtype=pl.Datetime("us", "UTC"),
    )
    stem = pl.when(pl.col("task_id").str.starts_with(generated_prefix)).then(
        pl.col("task_id").str.strip_prefix(generated_prefix)
    )
    run = ("stem", "title", "entity_id", "declared_at")
    tasks = tasks.with_columns(stem=stem, declared_at=created_at)
    is_side_by_side = pl.col("stem").is_not_null() & (pl.len().over(run) > 1)
    is_pipeline = pl.col("entity_type") == "pipeline"
    unknown = pl.lit("unknown")
    columns = tasks.select(
        "task_id",
        run_id=pl.when(is_side_by_side).then(pl.format("{}/{}", "entity_id", "stem")),
        variant=pl.when(is_side_by_side).then("variant"),
        source_kind=pl.lit("results"),
        title=pl.coalesce("title", "entity_id"),
        prompt_version=pl.coalesce("prompt_version", "variant"),
        model=pl.coalesce("model", unknown),
        triggered_by=pl.coalesce("triggered_by", unknown),
        env=pl.lit("{}"),
        created_at=pl.col("created_at"),
        testset_ref="testset",
        pipeline_ref=pl.coalesce("pipeline", pl.when(is_pipeline).then("entity_id")),
    ).to_dict()
    fields = tasks.select("entity_type", "entity_id", "variant", "prompt")
    return {
        **columns,
        "extras": texts([_extras(task) for task in fields.iter_rows(named=True)]),
    }


def _extras(task: dict[str, str | None]) -> str:
    prompt = task.pop("prompt")
    prompt_member = {} if prompt is None else {"prompt": msgspec.Raw(prompt.encode())}
    return _encode({**task, **prompt_member}).decode()


def _error(error: Any) -> str | None:
    """Return an error as text; ``None`` for a value that means "no error"."""
    if not error:
        return None
    return error if isinstance(error, str) else _encode(error).decode()


def _lists(lists: Sequence[list[Any]]) -> pl.Series:
    return texts([_encode(values).decode() if values else "[]" for values in lists])


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
    def build() -> ResultRows:
        return records.build(lambda valid: ResultRows(valid, stem, so_far))

    _keep_unknown_keys(records)
    rows = build()
    repeated = rows.twins()
    if repeated:
        _drop_twins(records, repeated)
        rows = build()
    rounds = rows.rounds()
    tasks = rows.tasks()
    earlier_tasks = set(so_far.tasks)
    _note_odd_values(records, rows, so_far)
    for task in tasks.iter_rows(named=True):
        _add_task(records, task, so_far)
    if so_far.mixed and records.is_last:
        return Reading(rows={}, problems=[so_far.mixed], rejected=True)
    rows.remember(rounds["round_id"])
    tables = {"rounds": rounds}
    if records.is_last:
        tables["tasks"] = task_columns(so_far)
        tables["cases"] = case_columns(so_far)
        if so_far.judges:
            tables["judges"] = judge_columns(so_far)
        records.problems += so_far.zoneless.problems()
        records.problems += so_far.costs.problems()
    return Reading(
        rows={} if records.broken else cast("Rows", tables),
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
        bytes(result.final_output) != b"null" or result.raw_output is not None
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
        if bytes(result.metadata).startswith(b"{"):
            metadata = msgspec.json.decode(result.metadata, type=Members)
            added = {str(keys[0]): value for keys, _, value in unknown}
            result.metadata = msgspec.Raw(msgspec.json.encode({**added, **metadata}))


RUN_ID_SHARED = "run_id_shared"
OWN_FIELDS = ("entity_id", "variant")
"""Fields of which a ``run_id`` has one value; the answers of others are another run."""


def mixed_run(task_id: str, field: str, first: str, where: str, second: str) -> str:
    """Return why a file is left out if one run_id has two variants."""
    return (
        f"run_id {shown(task_id)} has results of the {field} {shown(first)} {where},"
        f" and others of {shown(second)}: this file is left out. Give each of them a"
        " run_id of its own, and name their run with --run-name"
    )


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


def _add_task(
    records: StructRecords, task: dict[str, Any], so_far: ResultsSoFar
) -> None:
    """Add a batch's results of one task to its common fields; warn about errors."""
    state = so_far.tasks.get(task["task_id"])
    if state is None:
        state = so_far.tasks[task["task_id"]] = TaskSoFar(
            {name: task[name] for name in TASK_FIELDS},
            task["created_at"],
            task["executed_at"],
        )
    if state.testset is None and task["testset"] is not None:
        place = Fault(("testset",), "unknown_testset", "")
        state.testset = records.problem(task["testset_row"], place)
    for time in ("created_at", "executed_at"):
        times = [moment for moment in (getattr(state, time), task[time]) if moment]
        setattr(state, time, min(times, default=None))
    for name in TASK_FIELDS:
        first = state.fields[name]
        row = task[f"{name}_differs"]
        if first is None:
            state.fields[name] = task[name]
        elif task[name] not in (None, first):
            row = task[f"{name}_row"]
        if row is None or name in state.warned:
            continue
        state.warned.add(name)
        task_id, first = task["task_id"], str(state.fields[name])
        if name in OWN_FIELDS:
            other = getattr(records.structs[row], name)
            message = mixed_run(task_id, name, first, "above", other)
            problem = records.problem(row, Fault((name,), RUN_ID_SHARED, message))
            so_far.mixed = so_far.mixed or replace(problem, severity="reject")
        else:
            message = (
                f"task {shown(task_id)} has more than one {name}: the first,"
                f" {shown(first)}, counts. Give each run its own run_id"
            )
            records.note(row, Fault((name,), "task_field_differs", message))
