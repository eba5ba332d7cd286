"""A first run says where no later run can have its title."""

from __future__ import annotations

import json

import pytest

from promptlab.cli import run_cli
from promptlab.reports.gate.titles import can_repeat
from tests.marts import GATE, only
from tests.stories.suites import Night, suite

REPEAT = (
    "support", "GSM8K", "gpt-4o-2024-08-06", "results", "evaluation", "capitals_mc",
    "Order search 2", "facade", "2wiki", "MMLU-Pro", "refunds run 3", "退款 2026",
    "v2 of the router", "deadbeef",
)  # fmt: skip
ONCE = (
    "19384756200", "2026-11-28", "20261128T0900Z", "run-19384756200", "eval_12",
    "results-2026-11-28", "7f9cf79", "7f9cf797a1b2c3d4e5f60718293a4b5c6d7e8f90",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "build #4711", "job 12 attempt 2",
    "promptfoo-results-17", "v3", "PR 12", "1.2.3",
)  # fmt: skip


@pytest.mark.parametrize("title", REPEAT)
def test_a_name_can_repeat_whatever_numbers_are_in_it(title):
    assert can_repeat(title)


@pytest.mark.parametrize("title", ONCE)
def test_a_number_a_hash_a_date_and_the_id_of_a_run_cannot(title):
    assert not can_repeat(title)


@only(*GATE)
def load(*call: str) -> None:
    assert run_cli(["ingest", *call]) == 0
    assert run_cli(["build"]) == 0


def test_a_first_run_says_that_its_title_cannot_repeat(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    document = Night({"small": suite(3)}).document("19384756200", 1)
    del document["config"]["description"]
    file = tmp_path / "19384756200.json"
    file.write_text(json.dumps(document), "utf-8")
    load(str(file))
    capsys.readouterr()
    said = "no later run can have the title “19384756200”"
    assert run_cli(["gate"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert run_cli(["gate", "--format", "md"]) == 0
    assert said in capsys.readouterr().out
    load(str(file), "--title", "support")
    capsys.readouterr()
    assert run_cli(["gate"]) == 0
    assert "no later run" not in capsys.readouterr().out


def test_a_new_variant_of_a_title_that_repeats_does_not_say_so(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for number, variant in enumerate(("small", "large"), 1):
        document = Night({variant: suite(3)}).document("T005", number)
        (tmp_path / f"{number}.json").write_text(json.dumps(document), "utf-8")
        load(f"{number}.json", "--title", "T005")
        capsys.readouterr()
        run_cli(["gate"])
        said = "no later run can have the title" in " ".join(
            capsys.readouterr().out.split()
        )
        assert said == (number == 1)
