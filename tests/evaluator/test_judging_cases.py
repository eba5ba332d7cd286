"""The evaluator against the shared tables of rules, outputs and golden answers."""

from __future__ import annotations

import pytest

from promptlab.contracts.scoring import RULE_VALUES
from tests.judging.both import in_python
from tests.judging.cases import golden_cases, output_cases, rule_cases


def named(table):
    return [pytest.param(*row, id=row[0].id) for row in table]


@pytest.mark.parametrize(("sample", "holds"), named(rule_cases()))
def test_a_rule_is_kept_as_the_table_says(sample, holds):
    assert in_python(sample).rules == (holds,)


@pytest.mark.parametrize(("sample", "scopes"), named(output_cases()))
def test_an_expectation_is_compared_with_the_output_that_the_table_names(
    sample, scopes
):
    assert in_python(sample).scopes == scopes


@pytest.mark.parametrize(("sample", "metric"), named(golden_cases()))
def test_an_answer_is_as_right_as_the_table_says(sample, metric):
    assert in_python(sample).golden == metric


@pytest.mark.parametrize("table", [rule_cases(), output_cases(), golden_cases()])
def test_a_table_names_each_case_once(table):
    names = [sample.id for sample, _ in table]
    assert len(set(names)) == len(names)


def test_the_table_has_every_kind_of_rule_kept_and_broken():
    kinds: dict[str, set[bool | None]] = {kind: set() for kind in RULE_VALUES}
    for sample, holds in rule_cases():
        kinds[sample.rules[0]["type"]].add(holds)
    assert {
        kind for kind, found in kinds.items() if not {True, False} <= found
    } == set()
    assert None in kinds["max_tokens"]
