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
def test_a_first_run_says_that_its_title_cannot_repeat(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def write(variant: str, name: str, number: int, title: str | None = None) -> str:
        document = Night({variant: suite(3)}).document(name, number)
        document["config"] = {"description": title} if title else {}
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(document), "utf-8")
        return file.name

    def load(*files: str, title: tuple[str, ...] = ()) -> None:
        assert run_cli(["ingest", *files, *title]) == 0

    def said_by(*call: str) -> str:
        capsys.readouterr()
        run_cli(["gate", *call])
        return " ".join(capsys.readouterr().out.split())

    said = "no later run can have the title “{}”"
    load(write("small", "19384756200", 1), write("small", "first", 2, "T005"))
    assert run_cli(["build"]) == 0
    for call in (("19384756200",), ("19384756200", "--format", "md")):
        assert said.format("19384756200") in said_by(*call)
    assert said.format("T005") in said_by("T005")
    load("19384756200.json", title=("--title", "support"))
    # a new variant of a title that repeats
    load(write("large", "second", 3, "T005"))
    assert run_cli(["build"]) == 0
    for title in ("support", "T005"):
        assert "no later run" not in said_by(title)
