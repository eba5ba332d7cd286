"""``promptlab gate``: policies, rules, forms, exit codes."""

from __future__ import annotations

import json
import re
import tomllib
import xml.etree.ElementTree as ET
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult
from promptlab.errors import SettingsError
from promptlab.reports.gate.policy import default_policy, parse_policy
from tests.ingest.test_load import task, write


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
    assert parse_policy(default_policy(), "default").regression.false_alarm == 0.05


def test_init_prints_the_policy_and_needs_no_warehouse(cli):
    code, out, _ = cli("gate", "--init", "--db", "nowhere.duckdb")
    assert code == 0
    assert tomllib.loads(out)["version"] == 1


@pytest.mark.parametrize(
    ("task", "code", "verdicts"),
    [
        ("improved-2", 0, {"regression.false_alarm": "pass"}),
        ("equal-2", 0, {"regression.false_alarm": "pass"}),
        ("regressed-2", 1, {"regression.false_alarm": "fail"}),
        ("must-lost-2", 1, {"regression.allow_must_have_lost": "fail"}),
        ("one-case-2", 4, {"regression.false_alarm": "inconclusive"}),
        ("unsure-2", 4, {"regression.false_alarm": "inconclusive"}),
        ("lonely-1", 0, {"regression.false_alarm": "skipped"}),
        ("strangers-2", 4, {"regression.allow_must_have_lost": "inconclusive"}),
    ],
)
def test_without_a_policy_the_built_in_one_counts(cli, task, code, verdicts):
    found, out, _ = cli("gate", task, "--format", "json")
    result = GateResult.model_validate_json(out)
    assert found == code
    assert result.policy == "default"
    by_rule = {rule.rule: rule.verdict for rule in result.rules}
    assert by_rule | verdicts == by_rule


@pytest.mark.parametrize(
    ("task", "policy", "verdict", "note"),
    [
        ("tagged-2", "min_score = 0.42", "pass", None),
        ("tagged-2", "min_score = 0.45", "fail", None),
        ("unscored-2", "min_score = 0.1", "inconclusive", "the value is unknown"),
        ("tagged-2", "min_pass_rate = 0", "pass", None),
        ("tagged-2", "min_pass_rate = 0.5", "fail", None),
        ("tagged-2", "max_error_share = 0.125", "pass", None),
        ("tagged-2", "max_error_share = 0.12", "fail", None),
        ("tagged-2", "min_coverage = 0.9", "fail", None),
        ("unscored-2", "min_coverage = 0.1", "inconclusive", "no round has a score"),
        ("unscored-2", "min_coverage = 0", "pass", None),
        ("tagged-2", "must_pass_tags = ['shaky']", "fail", "2 of 2 cases did not pass: c0, c1"),
        ("tagged-2", "must_pass_tags = ['gone']", "inconclusive", "no case has the tag gone"),
        ("tagged-2", "[tags.shaky]\nmin_pass_rate = 0", "pass", None),
        ("tagged-2", "[tags.shaky]\nmin_pass_rate = 0.5", "fail", None),
        ("tagged-2", "[tags.gone]\nmin_pass_rate = 0.5", "inconclusive", "no case has the tag gone"),
        ("tagged-2", "[tags.half]\nmin_pass_rate = 0", "inconclusive", "1 of 2 cases is in the baseline only: c0"),
        ("tagged-2", "[tags.shaky]\nmust_pass = 'majority'", "fail", "2 of 2 cases did not pass: c0, c1"),
        ("tagged-2", "[tags.solid]\nmust_pass = 'every_round'", "fail", "1 of 1 cases did not pass: c7"),
        ("tagged-2", "[tags.shaky]\nfalse_alarm = 0.05", "pass", None),
        ("tagged-2", "[tags.gone]\nfalse_alarm = 0.05", "inconclusive", "no case has the tag gone"),
        ("tagged-2", "[tags.half]\nfalse_alarm = 0.05", "inconclusive", "1 of 2 cases is in the baseline only: c0"),
        ("tagged-2", "[latency]\nmax_p50_ms = 500", "inconclusive", "measured on 1 of 7 rounds"),
        ("tagged-2", "[latency]\nmax_p95_ms = 499", "fail", "measured on 1 of 7 rounds"),
        ("tagged-2", "[tokens]\nmax_total = 120", "inconclusive", "measured on 1 of 8 rounds"),
        ("tagged-2", "[cost]\nmax_total = 1", "inconclusive", "the value is unknown"),
        ("tagged-2", "[dimensions.quality]\nmin_score = 0.5", "fail", None),
        ("tagged-2", "[dimensions.gone]\nmin_score = 0", "inconclusive", "has no dimension gone"),
        ("tagged-2", "[dimensions.gone]\nmax_drop = 0", "inconclusive", "has no dimension gone"),
        ("regressed-2", "[dimensions.quality]\nmax_drop = 0.1", "fail", "regressed"),
        ("regressed-2", "[regression]\nmax_drop = 0.5", "pass", "a drop of 26.8 points"),
        ("one-case-2", "[regression]\nmax_drop = 0.1\nsignificance = 'ignored'", "fail", "few pairs"),
        ("one-case-2", "[regression]\nmax_drop = 0.1", "inconclusive", "beyond the limit but not"),
        ("equal-2", "[regression]\nmax_drop = 0\nbaseline = 'equal-1'", "pass", "no drop: ±0.0 points"),
        ("lonely-1", "[regression]\nmax_drop = 0\nrequire_baseline = true", "inconclusive", "first run: nothing to compare with"),
        ("improved-2", "[regression]\nmax_drop = 0", "pass", "no drop: +26.8 points"),
        ("tagged-2", "[regression]\nallow_newly_failing = false", "pass", None),
        ("broke-2", "[regression]\nallow_newly_failing = false", "fail", "2 cases passed in the baseline and do not now: c7, c6"),
        ("broke-2", "allow_missed_targets = false", "fail", "QUALITY"),
        ("equal-2", "allow_missed_targets = false", "pass", None),
        ("must-lost-2", "allow_critical_alerts = false", "fail", "must_have_lost"),
        ("equal-2", "allow_critical_alerts = false", "pass", None),
    ],
)  # fmt: skip
def test_each_rule_is_held_against_its_number(
    cli, tmp_path, task, policy, verdict, note
):
    file = tmp_path / "policy.toml"
    file.write_text(policy, "utf-8")
    code, out, _ = cli(
        "gate", task, "--policy", file, "--format", "json", "--lang", "en"
    )
    result = GateResult.model_validate_json(out)
    # what nothing scored now is missed, too
    always = {"same_yardstick", "regression.min_coverage"}
    (rule,) = (each for each in result.rules if each.rule not in always)
    is_unscored = rule is not result.rules[0]
    assert rule.verdict == verdict
    assert result.verdict == ("inconclusive" if is_unscored else verdict)
    assert code == {"pass": 0, "fail": 1, "inconclusive": 4}[result.verdict]
    assert rule.note is None if note is None else note in (rule.note or "")


def test_a_failed_rule_outweighs_an_inconclusive_one(cli, tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text("min_score = 0.9\nmust_pass_tags = ['gone']", "utf-8")
    assert cli("gate", "tagged-2", "--policy", file)[0] == 1
    assert cli("gate", "tagged-2", "--policy", file, "--allow-inconclusive")[0] == 1


@pytest.mark.parametrize("faulty", ["base", "next"])
def test_rejected_cases_may_hide_what_broke(tmp_path, capsys, faulty):
    """Of the task, or of what it is held against."""
    for number, name in enumerate(("base", "next")):
        document = task(name, "answer", cases=3)
        document["task"]["created_at"] = f"2026-01-0{number + 1}T00:00:00Z"
        if name == faulty:
            document["cases"][1]["rounds"] = "none"
        write(tmp_path / f"{name}.json", document)
    db = tmp_path / "w.duckdb"
    run_cli(["run", str(tmp_path), "--db", str(db), "--out", str(tmp_path / "out")])
    capsys.readouterr()
    for lang, note in {
        "en": f"1 of 3 cases of {faulty} is invalid and was rejected",
        "zh": f"{faulty} 的 3 个用例中有 1 个因内容有误被拒收",
    }.items():
        wanted = ["gate", "next", "--db", str(db), "--format", "json", "--lang", lang]
        assert run_cli(wanted) == 4
        result = GateResult.model_validate_json(capsys.readouterr().out)
        (rule,) = [rule for rule in result.rules if rule.rule == "all_rows"]
        assert (rule.verdict, rule.note) == ("inconclusive", note)


def test_inconclusive_may_be_allowed(cli):
    assert cli("gate", "one-case-2")[0] == 4
    assert cli("gate", "one-case-2", "--allow-inconclusive")[0] == 0


def test_a_policy_of_the_working_folder_counts_and_a_missing_one_is_an_error(
    cli, tmp_path
):
    (tmp_path / "promptlab-gate.toml").write_text("min_score = 0.99", "utf-8")
    code, out, _ = cli("gate", "equal-2", "--format", "json")
    assert (code, json.loads(out)["policy"]) == (1, "promptlab-gate.toml")
    code, _, err = cli("gate", "equal-2", "--policy", "gone.toml")
    assert code == 2
    assert (
        "gone.toml: there is no such policy; `promptlab gate --init > gone.toml`" in err
    )


def test_every_report_is_judged_by_the_policy_that_is_named(cli, tmp_path):
    policy = tmp_path / "ci.toml"
    policy.write_text("min_score = 0.1", "utf-8")
    chosen = ("--policy", policy)
    said = json.loads(cli("gate", "broke-2", *chosen, "--format", "json")[1])[
        "headline"
    ]
    assert said.startswith("Ship: 2 cases newly fail")
    out = ("--out", tmp_path / "out")
    cli("report", "broke-2", *chosen, *out, "--format", "md")
    report = (tmp_path / "out" / "broke-2" / "report.md").read_text("utf-8")
    assert report.startswith("**Ship: 2 cases newly fail")
    _, compared, _ = cli("compare", "broke-2", *chosen)
    assert compared.startswith("✓ Ship: 2 cases newly fail")
    cli("send", "broke-2", "--to", "a@example.org", "--dry-run", *chosen, *out)
    mail = (tmp_path / "out" / "broke-2" / "report.eml").read_bytes()
    subject = message_from_bytes(mail, policy=default)["Subject"]
    assert subject.startswith("Ship: 2 cases newly fail")


def test_a_policy_that_asks_for_nothing_is_an_error(cli, tmp_path):
    (tmp_path / "none.toml").write_text("version = 1", "utf-8")
    code, _, err = cli("gate", "equal-2", "--policy", "none.toml")
    assert code == 2
    assert "asks for nothing" in err


def test_the_step_summary_is_appended_to_where_it_is_named(cli, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = cli("gate", "regressed-2", "--lang", "en", "--format", "md")
    assert code == 1
    assert summary.read_text("utf-8") == "# before\n" + out
    assert out.startswith("**Do not ship: ")
    row = next(line for line in out.splitlines() if "false\\_alarm" in line)
    assert "| 0.05 | fail | The overall score regressed: 8 paired cases" in row


def test_an_unwritable_step_summary_is_a_settings_error(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    code, _, err = cli("gate", "equal-2")
    assert code == 2
    assert "GITHUB_STEP_SUMMARY" in err


def test_junit_has_a_test_per_rule_and_never_shows_the_unjudged_as_green(cli):
    _, out, _ = cli("gate", "one-case-2", "--format", "junit", "--lang", "en")
    suite = ET.fromstring(out.encode()).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    kinds = {
        case.get("name"): [child.tag for child in case]
        for case in suite.iter("testcase")
    }
    assert kinds["regression.false_alarm"] == ["error"]
    assert kinds["allow_missed_targets"] == []
    assert kinds["min_coverage"] == []


def test_hostile_names_stay_text_in_every_form(cli, tmp_path: Path):
    file = tmp_path / "policy.toml"
    file.write_text("must_pass_tags = ['<b>|x\\u001b[31m']", "utf-8")
    for form in ("md", "junit"):
        out = cli("gate", "equal-2", "--policy", file, "--format", form)[1]
        assert "<b>|x" not in out
        assert "\x1b" not in out
