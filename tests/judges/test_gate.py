"""A judge that people do not confirm makes the gate say that it cannot tell."""

from __future__ import annotations

import pytest

from promptlab.cli import run_cli
from tests.judges.suite import formats, judged
from tests.judges.test_agreement import agreement
from tests.judges.test_labels import load


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    warehouse = judged(folder)
    load(warehouse, folder / "labels.csv", formats()["long.csv"])
    warehouse.build()
    return warehouse


def decide(warehouse, tmp_path, capsys, min_tnr: float, lang: str = "en"):
    policy = tmp_path / "gate.toml"
    policy.write_text(f"version = 1\nmin_tnr = {min_tnr}\n", "utf-8")
    options = ["--policy", str(policy), "--no-record", "--lang", lang]
    code = run_cli(["gate", "--db", str(warehouse.path), *options])
    return code, capsys.readouterr().out


def test_a_judge_is_held_to_the_lower_end_of_its_interval(warehouse, tmp_path, capsys):
    found = agreement(warehouse)
    assert found["tnr_low"] < found["tnr"]
    between = (found["tnr_low"] + found["tnr"]) / 2
    code, out = decide(warehouse, tmp_path, capsys, between)
    assert code == 4
    assert "Cannot tell" in out
    assert "judge-model rubric-1" in out
    code, out = decide(warehouse, tmp_path, capsys, between, "zh")
    assert code == 4
    assert "裁判漏掉太多失败" in out
    code, out = decide(warehouse, tmp_path, capsys, found["tnr_low"] - 0.01)
    assert code == 0


@pytest.mark.parametrize(
    ("n_labels", "said"),
    [(0, "no judge of the run has labels"), (40, "too few labels to trust the judge")],
)
def test_a_judge_without_enough_labels_is_not_trusted(tmp_path, capsys, n_labels, said):
    warehouse = judged(tmp_path)
    if n_labels:
        lines = formats()["long.jsonl"].splitlines()[:n_labels]
        load(warehouse, tmp_path / "labels.jsonl", "\n".join(lines))
        warehouse.build()
    code, out = decide(warehouse, tmp_path, capsys, 0.01)
    assert code == 4
    assert said in out.replace("\n", " ")


def test_reports_show_the_pass_rate_raw_and_corrected(warehouse):
    result = warehouse.result("run-1")
    (judge,) = result.judges
    with warehouse.connect() as con:
        (row,) = con.execute(
            "select raw_rate, corrected_rate, ci_low, ci_high"
            " from marts.fct_corrected_pass_rates where dimension_id = 'quality'"
        ).fetchall()
    assert row == (judge.raw_rate, judge.corrected_rate, judge.ci_low, judge.ci_high)
    assert f"{100 * judge.corrected_rate:.1f}%" in judge.text
    out = warehouse.path.parent / "out"
    formats = ("html", "md", "mail")
    written = warehouse.report(["run-1"], out, formats=formats)
    texts = [
        path.read_text("utf-8")
        for path in written
        if path.suffix in {".html", ".md", ".txt"} and path.parent != out
    ]
    assert len(texts) >= len(formats)
    assert all("corrected for its errors" in text for text in texts)
