"""The rules of totals in translations, and the seed that explains them."""

from __future__ import annotations

import csv
from typing import get_args

from promptlab.ingest.foreign.records import Rule
from promptlab.paths import dbt_project


def test_every_rule_of_a_total_stands_in_the_seed_that_explains_it() -> None:
    with (dbt_project() / "seeds/reported/total_rules.csv").open("r") as file:
        explained = [row["total_rule"] for row in csv.DictReader(file)]
    assert explained == list(get_args(Rule))
