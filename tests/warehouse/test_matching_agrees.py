"""One truth: the warehouse and the evaluator judge every pair alike.

Both are held to the table of cases, reasoned out by hand, and to each other on
thousands of generated pairs: the same verdict, and the same failures in the same order.
All pairs go through one warehouse, in by ingest and out by dbt.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from promptlab.evaluator.json_values import parse_json
from promptlab.evaluator.matching import MISSING, MatchOptions, judge
from promptlab.pipeline import Warehouse
from tests.evaluator.test_matching_properties import OPTIONS, pairs
from tests.matching_cases import matching_cases

GENERATED = 3000


class Pair(NamedTuple):
    """What one step is expected to give, and what it gave; JSON texts."""

    id: str
    expected: str
    actual: str | None
    config: dict[str, Any]


class Verdict(NamedTuple):
    status: str
    failures: list[tuple[str, str]]


@cache
def generated_pairs() -> list[Pair]:
    found: list[Pair] = []

    @settings(
        max_examples=GENERATED, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(pairs(), OPTIONS)
    def collect(pair: tuple[Any, Any], options: MatchOptions) -> None:
        expected, actual = pair
        config = {
            "strict_mode": options.strict,
            "tolerance": options.tolerance,
            "ignore_fields": sorted(options.ignore),
        }
        found.append(
            Pair(f"generated-{len(found)}", dumps(expected), dumps(actual), config)
        )

    collect()
    return found


def nested_pair(depth: int) -> Pair:
    """An expectation many levels deep, and an output that differs at the bottom."""
    opening, closing = '{"a":[' * (depth // 2), "]}" * (depth // 2)
    return Pair("nested", f"{opening}1{closing}", f"{opening}2{closing}", {})


def long_pair(length: int) -> Pair:
    """A million characters, and a pattern that would hang a backtracking engine."""
    expected = '{"found":"contains:needle","slow":"regex:^(a+)+$"}'
    actual = f'{{"found":"{"x" * length}needle","slow":"{"a" * length}!"}}'
    return Pair("long", expected, actual, {})


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def in_python(pair: Pair) -> Verdict:
    options = MatchOptions(
        strict=pair.config.get("strict_mode", False),
        tolerance=pair.config.get("tolerance", 0),
        ignore=frozenset(pair.config.get("ignore_fields", ())),
    )
    actual = MISSING if pair.actual is None else parse_json(pair.actual)
    verdict = judge(parse_json(pair.expected), actual, options)
    return Verdict(verdict.status, [(f.pointer, f.reason) for f in verdict.failures])


# just below the limit of nesting, with what the file has around it
HARD = [nested_pair(480), long_pair(1_000_000)]


@pytest.fixture(scope="module")
def in_sql(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """Verdict and failures of every pair, by its id, from one warehouse."""
    folder = tmp_path_factory.mktemp("matching")
    table = [Pair(c.id, c.expected, c.actual, c.config) for c in matching_cases()]
    everything = [*table, *generated_pairs(), *HARD]
    write_inputs(folder / "in", everything)
    warehouse = Warehouse(folder / "matching.duckdb")
    ingested = warehouse.ingest(folder / "in")
    assert ingested.n_rejected_records == 0
    warehouse.build(
        ["--select", "+fct_match_results", "--exclude-resource-type", "unit_test"]
    )
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        verdicts = {
            case_id: Verdict(status, [])
            for case_id, status in con.execute(
                "select case_id, status from marts.fct_match_results"
            ).fetchall()
        }
        for case_id, pointer, reason in con.execute(
            "select case_id, pointer, reason from marts.fct_check_results"
            " where reason is not null order by case_id, check_no"
        ).fetchall():
            verdicts[case_id].failures.append((pointer, reason))
    return verdicts


def write_inputs(folder: Path, everything: list[Pair]) -> None:
    folder.mkdir()
    with (folder / "pairs.jsonl").open("w", encoding="utf-8") as file:
        for pair in everything:
            file.write(
                f'{{"id":{dumps(pair.id)},"intermediate_expectations":'
                f'{{"s":{pair.expected}}},"evaluation_config":{dumps(pair.config)}}}\n'
            )
    with (folder / "outputs.jsonl").open("w", encoding="utf-8") as file:
        for pair in everything:
            steps = "{}" if pair.actual is None else f'{{"s":{pair.actual}}}'
            file.write(
                f'{{"sample_id":{dumps(pair.id)},"entity_type":"pipeline",'
                f'"entity_id":"p","variant":"v","run_id":"r","testset":"pairs",'
                f'"step_outputs":{steps},"failed_steps":[],'
                f'"created_at":"2026-01-01T00:00:00Z"}}\n'
            )


@pytest.mark.parametrize("case", matching_cases(), ids=lambda case: case.id)
def test_the_warehouse_judges_the_table_as_it_was_reasoned(case, in_sql):
    assert in_sql[case.id] == Verdict(case.verdict, case.failures)


def test_the_warehouse_and_the_evaluator_agree_on_every_generated_pair(in_sql):
    pairs_of = {p.id: p for p in [*generated_pairs(), *HARD]}
    assert len(pairs_of) >= GENERATED
    differing = {
        id_: (pair, in_sql[id_], in_python(pair))
        for id_, pair in pairs_of.items()
        if in_sql[id_] != in_python(pair)
    }
    assert not differing
