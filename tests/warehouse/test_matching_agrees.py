"""One judge: the warehouse and the evaluator judge everything alike.

Both are held to the tables of cases, reasoned out by hand, and to each other on
thousands of generated ones. *Pairs* of an expectation and an output test the comparison of
values; *samples*, rounds with all kinds of expectations, test the rest: which
output is compared in each scope, every kind of rule, golden answers. The same verdict,
and the same failures in the same order. All of them go through one warehouse.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.stored_steps import plan_with_stored_steps
from promptlab.build import plan
from promptlab.contracts.scoring import RULE_VALUES, golden_alternatives
from promptlab.evaluator.matching import MISSING, MatchOptions, compare, searchable_text
from promptlab.json_text.reading import parse_as_duckdb
from promptlab.warehouse import Warehouse
from tests.conftest import EXHAUSTIVE
from tests.judging import both
from tests.judging.cases import (
    Judgement,
    Round,
    Sample,
    golden_cases,
    output_cases,
    rule_cases,
)
from tests.judging.pairs import OPTIONS, pairs
from tests.judging.samples import samples
from tests.marts import only
from tests.matching_cases import matching_cases

only_verdicts = only(
    "fct_check_results", "fct_match_results", "fct_round_scores", "fct_rounds"
)

GENERATED = 2000 if EXHAUSTIVE else 500
GENERATED_SAMPLES = 2000 if EXHAUSTIVE else 500


ONLY_A_LESSER_RULE_IS_BROKEN = Sample(
    "lesser-rule",
    Round(raw_output="a success!"),
    rules=[
        {"type": "contains", "value": "success", "severity": "must"},
        {"type": "contains", "value": "failure", "severity": "should"},
    ],
)
"""What chance alone does not always give."""


class Pair(NamedTuple):
    """The expected and the actual output of one step; JSON texts."""

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


@cache
def generated_samples() -> list[Sample]:
    found: list[Sample] = []

    @settings(
        max_examples=GENERATED_SAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(samples())
    def collect(sample: Sample) -> None:
        found.append(replace(sample, id=f"sample-{len(found)}"))

    collect()
    return [*found, ONLY_A_LESSER_RULE_IS_BROKEN]


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
    actual = MISSING if pair.actual is None else parse_as_duckdb(pair.actual)
    verdict = compare(parse_as_duckdb(pair.expected), actual, options)
    return Verdict(verdict.status, [(f.pointer, f.reason) for f in verdict.failures])


# just below the limit of nesting, with what the file has around it
HARD = [nested_pair(480), long_pair(1_000_000)]


@pytest.fixture(scope="module")
@only_verdicts
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """All pairs and all samples, built once."""
    folder = tmp_path_factory.mktemp("matching")
    table = [Pair(c.id, c.expected, c.actual, c.config) for c in matching_cases()]
    write_inputs(folder / "in", [*table, *generated_pairs(), *HARD])
    tables = [*rule_cases(), *output_cases(), *golden_cases()]
    both.write_samples(
        folder / "in", [*(sample for sample, _ in tables), *generated_samples()]
    )
    warehouse = Warehouse(folder / "matching.duckdb")
    ingested = warehouse.ingest(folder / "in")
    assert ingested.n_rejected_records == 0
    compiled = plan_with_stored_steps()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "load", lambda: compiled)
        warehouse.build()
    return warehouse


@pytest.fixture(scope="module")
def in_sql(warehouse: Warehouse) -> dict[str, Verdict]:
    """Verdict and failures of every pair, by its id."""
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        verdicts = {
            case_id: Verdict(status, [])
            for case_id, status in con.execute(
                "select case_id, status from marts.fct_match_results"
                " where task_id = 'r'"
            ).fetchall()
        }
        for case_id, pointer, reason in con.execute(
            "select case_id, pointer, reason from marts.fct_check_results"
            " where task_id = 'r' and reason is not null order by case_id, check_no"
        ).fetchall():
            verdicts[case_id].failures.append((pointer, reason))
    return verdicts


@pytest.fixture(scope="module")
def judged_in_sql(warehouse: Warehouse) -> dict[str, Judgement]:
    """All verdicts on every sample, by its id."""
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        return both.in_sql(con)


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


def test_the_warehouse_judges_the_table_as_it_was_reasoned(in_sql):
    reasoned = {c.id: Verdict(c.verdict, c.failures) for c in matching_cases()}
    assert {id_: in_sql[id_] for id_ in reasoned} == reasoned


def test_the_warehouse_and_the_evaluator_agree_on_every_generated_pair(in_sql):
    pairs_of = {p.id: p for p in [*generated_pairs(), *HARD]}
    assert len(pairs_of) >= GENERATED
    differing = {
        id_: (pair, in_sql[id_], in_python(pair))
        for id_, pair in pairs_of.items()
        if in_sql[id_] != in_python(pair)
    }
    assert not differing


@pytest.mark.parametrize(
    ("table", "judged"),
    [
        (
            [(sample, (holds,)) for sample, holds in rule_cases()],
            lambda judgement: judgement.rules,
        ),
        (output_cases(), lambda judgement: judgement.scopes),
        (golden_cases(), lambda judgement: judgement.golden),
    ],
    ids=["rules", "outputs", "golden answers"],
)
def test_a_sample_is_judged_as_its_table_says(table, judged, judged_in_sql):
    expected = {sample.id: what for sample, what in table}
    assert {id_: judged(judged_in_sql[id_]) for id_ in expected} == expected


def test_the_warehouse_and_the_evaluator_agree_on_every_generated_sample(
    judged_in_sql,
):
    nothing = Judgement({}, (), None, None)
    differing = {
        sample.id: (sample, judged_in_sql.get(sample.id, nothing), expected)
        for sample in generated_samples()
        if judged_in_sql.get(sample.id, nothing) != (expected := both.in_python(sample))
    }
    assert not differing


def test_the_samples_ask_for_everything():
    tables = (*rule_cases(), *output_cases(), *golden_cases())
    samples = [*generated_samples(), *(sample for sample, _ in tables)]
    judgements = [(each, both.in_python(each)) for each in samples]
    rules = {
        (rule["type"], holds)
        for sample, judgement in judgements
        for rule, holds in zip(sample.rules, judgement.rules, strict=True)
    }
    assert rules >= {(kind, holds) for kind in RULE_VALUES for holds in (True, False)}
    scopes = {
        (scope.split(":")[0], status)
        for _, judgement in judgements
        for scope, (status, *_) in judgement.scopes.items()
    }
    assert scopes >= {
        (scope, status)
        for scope in ("intermediate", "aggregation", "final")
        for status in ("pass", "fail")
    }
    assert {judgement.golden for _, judgement in judgements} == {0.0, 1.0, None}
    mixed = {
        judgement.must_have
        for sample, judgement in judgements
        if len({rule.get("severity") for rule in sample.rules}) > 1
        and False in judgement.rules
    }
    assert mixed == {True, False}


def test_golden_answers_are_the_same_texts_in_sql_and_in_python(warehouse):
    with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
        in_sql: dict[str, list[str]] = {}
        for case_id, answer in con.execute(
            "select case_id, golden_answer from intermediate.int_golden_answers"
        ).fetchall():
            in_sql.setdefault(case_id, []).append(answer)
    for sample in generated_samples():
        answers = map(searchable_text, golden_alternatives({"text": sample.golden}))
        assert sorted(in_sql.get(sample.id, [])) == sorted(map(str, answers))
