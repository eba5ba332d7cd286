"""The rows of one task: checked structs in, columns of the raw tables out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, cast

import msgspec
import polars as pl

from ingest.analysis.head import AnalysisHead
from ingest.analysis.payload_patterns import spellings
from ingest.analysis.warnings import (
    dimension_warnings,
    testset_references,
    zone_warnings,
)
from ingest.checks import ExpectationTooLargeError
from ingest.golden_checks import MATCH_RULE, GoldenAnswer, golden_checks
from ingest.raw.rows import Columns, Reading, Rows, height
from ingest.reading.checked_columns import (
    Doubtful,
    doubles,
    integers,
    json_objects,
    json_objects_or_null,
    names,
    texts,
    times,
)
from ingest.reading.json_places import pointer
from ingest.reading.limits import DEFAULT, Limits

Table = dict[str, pl.Series]


class DoubtfulCases(Exception):
    """Some cases hold a value that only the contract can judge."""

    def __init__(
        self, places: Sequence[int], reason: str = "a value that cannot be stored"
    ) -> None:
        super().__init__(f"{len(places)} cases need a closer look")
        self.places = places
        self.reason = reason
        """What is wrong where the contract finds nothing."""


class Twins(Exception):
    """Two cases, or two rounds of one case, share an id."""


def task_reading(
    head: AnalysisHead,
    cases: Sequence[Any],
    positions: Sequence[int],
    limits: Limits = DEFAULT,
) -> Reading:
    """Turn a task and its cases into columns, without a Python object per row.

    Args:
        head: The task, its dimensions, its extras.
        cases: Structs of ``TestCaseBundle``.
        positions: The place of each case in the file.
        limits: How large a value may be.

    Raises:
        DoubtfulCases: Their places in *cases*.
        Twins: Ids are not unique.
    """
    zoneless: list[int] = []
    try:
        case_ids = names(_each("case_id", cases))
    except Doubtful as error:
        raise DoubtfulCases(error.rows) from error
    tables = {
        "cases": _Parts(cases, lambda case: [case], limits).build(
            lambda _: {
                "case_id": case_ids,
                "position": integers(positions),
                **_cases(cases),
            }
        ),
        "rounds": _Parts(cases, attrgetter("rounds"), limits).build(
            lambda rounds: _rounds(rounds, zoneless), case_ids
        ),
        "baselines": _Parts(cases, attrgetter("baselines"), limits).build(
            _baselines, case_ids
        ),
    }
    _refuse_twins(tables)
    baselines = tables["baselines"]
    baselines["patterns"] = spellings(
        baselines["type"],
        baselines["payload"],
        are_answers_patterns=any(
            each.parameters.get("match_rule") == "regex"
            for each in head.contract.dimensions
        ),
    )
    rows: Rows = {name: _of_task(head.task_id, each) for name, each in tables.items()}
    if any(
        each.parameters.get("match_rule") == MATCH_RULE
        for each in head.contract.dimensions
    ):
        checks = _golden_checks(case_ids, baselines)
        rows["golden_checks"] = {
            "task_id": [head.task_id] * height(checks),
            **checks,
        }
    return Reading(
        rows=head.rows | rows,
        problems=[
            *dimension_warnings(head),
            *zone_warnings(
                head, len(zoneless), _first_time(cases, positions, zoneless)
            ),
        ],
        records_loaded=len(cases),
        keys=[("task", head.task_id)],
        references=testset_references(head),
    )


def _refuse_twins(tables: Mapping[str, Table]) -> None:
    cases, rounds = tables["cases"], tables["rounds"]
    keys = pl.DataFrame([rounds["case_id"].alias("a"), rounds["round_id"].alias("b")])
    # Unique in the task is unique in the case, and quicker to see.
    if cases["case_id"].n_unique() < len(cases["case_id"]) or (
        rounds["round_id"].n_unique() < keys.height and keys.n_unique() < keys.height
    ):
        raise Twins


def _first_time(
    cases: Sequence[Any], positions: Sequence[int], rounds: Sequence[int]
) -> str | None:
    """Point to the time of the first of *rounds*, counted over all cases."""
    before = rounds[0] if rounds else 0
    for case, position in zip(cases, positions, strict=True):
        if before < len(case.rounds):
            return pointer(("cases", position, "rounds", before, "executed_at"))
        before -= len(case.rounds)
    return None


class _Parts:
    """The parts of all cases, in one list, with their cases."""

    def __init__(
        self,
        cases: Sequence[Any],
        parts_of: Callable[[Any], list[Any]],
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._lists = list(map(parts_of, cases))

    def build(
        self,
        columns: Callable[[list[Any]], Table],
        case_ids: pl.Series | None = None,
    ) -> Table:
        """Build the columns of all parts; doubts are about the cases they belong to.

        Raises:
            DoubtfulCases: Their places.
        """
        parts = [part for each in self._lists for part in each]
        owners = [n for n, each in enumerate(self._lists) for _ in each]
        try:
            table = columns(parts)
            _see_limits(table, self._limits)
        except Doubtful as error:
            raise DoubtfulCases(sorted({owners[row] for row in error.rows})) from error
        if case_ids is None:
            return table
        places = [n for each in self._lists for n in range(len(each))]
        ids = case_ids.gather(integers(owners))
        return {"case_id": ids, "position": integers(places), **table}


_JSON = frozenset({"context", "tags", "parsed_output", "metadata", "payload"})


def _see_limits(table: Table, limits: Limits) -> None:
    """See that no value is too large.

    Raises:
        Doubtful: The rows of those that are.
    """
    rows: set[int] = set()
    for name, column in table.items():
        if column.dtype == pl.String:
            least = limits.harmless if name in _JSON else limits.max_string
            long = (column.str.len_bytes() > least).fill_null(value=False).arg_true()
            rows |= {
                row
                for row in long.to_list()
                if name not in _JSON or limits.excess(column[row])
            }
    if rows:
        raise Doubtful(sorted(rows))


def _cases(cases: Sequence[Any]) -> Table:
    encode = msgspec.json.Encoder().encode
    return {
        "context": json_objects(_each("context", cases)),
        "tags": texts([encode(case.tags).decode() for case in cases]),
    }


def _rounds(rounds: Sequence[Any], zoneless: list[int]) -> Table:
    executed_at, without_zone = times(_each("executed_at", rounds))
    zoneless += without_zone
    return {
        "round_id": names(_each("round_id", rounds)),
        "run_index": integers(_each("run_index", rounds)),
        "raw_output": texts(_each("raw_output", rounds)),
        "parsed_output": json_objects_or_null(_each("parsed_output", rounds)),
        "input_tokens": integers(_each("input_tokens", rounds)),
        "output_tokens": integers(_each("output_tokens", rounds)),
        "latency_ms": doubles(_each("latency_ms", rounds)),
        "metadata": json_objects(_each("metadata", rounds)),
        "executed_at": executed_at,
    }


def _baselines(baselines: Sequence[Any]) -> Table:
    return {
        "baseline_id": names(_each("baseline_id", baselines)),
        "type": texts(_each("type", baselines)),
        "payload": json_objects(_each("payload", baselines)),
        "owner": texts(_each("owner", baselines)),
        "confidence": doubles(_each("confidence", baselines)),
    }


def _golden_checks(case_ids: pl.Series, baselines: Table) -> Columns:
    golden = pl.DataFrame({name: baselines[name] for name in GoldenAnswer._fields})
    is_golden = baselines["type"] == "golden_answer"
    answers = [GoldenAnswer(*row) for row in golden.filter(is_golden).iter_rows()]
    try:
        return golden_checks(answers)
    except ExpectationTooLargeError as error:
        longest = max(answers, key=lambda answer: len(answer.payload))
        raise DoubtfulCases(
            (case_ids == longest.case_id).arg_true().to_list(),
            "flattened, its golden answers are far larger than they are written."
            " Nest them less deeply.",
        ) from error


def _each(name: str, structs: Sequence[Any]) -> list[Any]:
    return list(map(attrgetter(name), structs))


def _of_task(task_id: str, table: Table) -> Columns:
    """Add the task's id to every row."""
    height = len(next(iter(table.values())))
    ids = texts([task_id]).new_from_index(0, height)
    return cast("Columns", {"task_id": ids, **table})
