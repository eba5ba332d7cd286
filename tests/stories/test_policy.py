"""The policy of the gate: what its file may say, and how a wrong one is refused."""

from __future__ import annotations

import re
import tomllib

import pytest

from promptlab.cli import run_cli
from promptlab.errors import SettingsError
from promptlab.reports.gate.policy import default_policy, parse_policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min_score = ", "p.toml: is not TOML"),
        ("min_scor = 0.8", "there is no rule `min_scor`; did you mean `min_score`?"),
        ("min_score = 1.2", "min_score: input should be less than or equal to 1"),
        ("min_score = '0.8'", "min_score: input should be a valid number, found '0.8'"),
        ("min_score = true", "min_score: input should be a valid number, found True"),
        ("must_pass_tags = 'x'", "must_pass_tags: input should be a valid list"),
        ("must_pass_tags = [' ']", "must_pass_tags.0: string should match"),
        ("version = 2", "version: input should be 1, found 2"),
        ("refuse_odds = 0", "refuse_odds: input should be greater than 0"),
        ("refuse_odds = inf", "refuse_odds: input should be"),
        ("newly_failing = 'pass'", "newly_failing: input should be 'watch' or 'stop'"),
        ("min_compared = 2", "min_compared: input should be less than or equal to 1"),
        ("[regresion]\nmax_drop = 0", "`regresion`; did you mean `regression`?"),
        ("[regression]\nmax_drops = 0", "`regression.max_drops`; did you mean `max_drop`?"),
        ("[regression]\nsignificance = 'no'", "regression.significance: input should be"),
        ("[latency]\nmax_p95_ms = -1", "latency.max_p95_ms: input should be greater"),
        ("[latency]\nmax_p95_ms = nan", "latency.max_p95_ms: input should be"),
        ("[dimensions.x]\nmin_scoer = 1", "`dimensions.x.min_scoer`; did you mean `min_score`?"),
        ("[tags.x]\nmust_pas = 'majority'", "`tags.x.must_pas`; did you mean `must_pass`?"),
        ("[tags.x]\nmust_pass = 'always'", "tags.x.must_pass: input should be"),
    ],
)  # fmt: skip
def test_a_faulty_policy_is_refused_with_its_key_and_a_hint(text, message):
    with pytest.raises(SettingsError) as refused:
        parse_policy(text, "p.toml")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("[regression]\nfalse_alarm = 0.05", "`refuse_odds`"),
        ("[tags.x]\nfalse_alarm = 0.05", "`refuse_odds`"),
        ("[regression]\non_check = 'pass'", '`newly_failing = "stop"`'),
        ("[regression]\nallow_newly_failing = false", '`newly_failing = "stop"`'),
        ("[regression]\nallow_must_have_lost = false", "`[tags.TAG] must_pass"),
        ("[regression]\nmust_pass = 'majority'", "`[tags.TAG]`"),
        ("[regression]\nmin_coverage = 1.0", "`min_compared`"),
        ("[regression]\nrequire_baseline = true", "`require_history`"),
        ("[regression]\nbaseline = 'previous'", "`promptlab accept RUN`"),
    ],
)
def test_a_rule_of_another_gate_names_what_replaces_it(text, instead):
    with pytest.raises(SettingsError) as refused:
        parse_policy(text, "p.toml")
    assert "there is no rule" in str(refused.value)
    assert instead in str(refused.value)


def test_every_fault_of_a_policy_is_named_at_once():
    with pytest.raises(SettingsError) as refused:
        parse_policy("min_score = 2\nmin_pass_rate = 2", "p.toml")
    assert str(refused.value).count("p.toml: ") == 2


def test_the_built_in_policy_explains_every_rule_there_is():
    everything = re.sub(r"^# (?=\[|\w+ = )", "", default_policy(), flags=re.MULTILINE)
    policy = parse_policy(everything, "all")
    assert policy.dimensions["accuracy"].max_drop == 0.02
    unused = {
        f"{path}{name}"
        for path, model in (
            ("", policy),
            ("regression.", policy.regression),
            ("latency.", policy.latency),
            ("tokens.", policy.tokens),
            ("cost.", policy.cost),
            ("dimensions.accuracy.", policy.dimensions["accuracy"]),
            ("tags.safety.", policy.tags["safety"]),
        )
        for name in type(model).model_fields
        if name not in model.model_fields_set
    }
    assert unused == set()
    assert parse_policy(default_policy(), "default").refuse_odds == 10


def test_init_prints_the_policy_and_needs_no_warehouse(capsys):
    assert run_cli(["gate", "--init", "--db", "nowhere.duckdb"]) == 0
    assert tomllib.loads(capsys.readouterr().out)["version"] == 1
