"""A person accepts a run: from then on it is as it should be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from promptlab import accept as accepting
from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult
from promptlab.errors import NothingToDo
from promptlab.history import judge
from promptlab.operations.purge import purge
from promptlab.reports.gate.policy import built_in_policy
from promptlab.warehouse import Warehouse
from tests.marts import GATE, only
from tests.stories.suites import Night, nights, suite, write_all

STEADY = [suite()] * 5
TWO = Night({"small": suite(), "large": suite()})

SUITES: dict[str, list[Night]] = {
    # the sixth run is accepted; nobody accepts the eighth
    "broke": nights(
        *STEADY, suite(c3="---"), suite(c3="---"), suite(c3="---", c5="---")
    ),
    "gone": nights(*STEADY, suite(c1="", c2=""), suite(c1="", c2="")),
    "fell": nights(
        *[suite(20)] * 5,
        *[{f"c{n}": "++-" if n % 2 else "+--" for n in range(1, 21)}] * 2,
    ),
    "two": [
        *[TWO] * 5,
        *[Night({"small": suite(c2="---"), "large": suite()})] * 2,
    ],
    "variant-gone": [*[TWO] * 5, *[Night({"small": suite()})] * 2],
    "steady": nights(*STEADY, suite()),
}
ACCEPTED = {
    "broke": ["c3"],
    "gone": ["c1", "c2"],
    "fell": sorted(f"c{n}" for n in range(1, 21)),
    "two": ["c2"],
    "variant-gone": [],
}
"""Title → the cases whose history starts at the sixth run."""

DECIDED = {
    "broke": (["do_not_ship"] * 3, ["ship", "ship", "do_not_ship"]),
    "gone": (["cannot_tell", "ship"], ["ship", "ship"]),
    "fell": (["do_not_ship"] * 2, ["ship"] * 2),
    "two": (["do_not_ship"] * 2, ["ship"] * 2),
    "variant-gone": (["cannot_tell", "ship"], ["ship", "ship"]),
}
"""Title → decisions about the sixth and later runs before, and after it is accepted."""

WHY = "refunds take a form now"


@dataclass
class Story:
    """Decisions about the sixth and later runs, by title and time."""

    warehouse: Warehouse
    files: Path
    """Nights from the sixth on are in folders of their number."""
    decisions: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    accepted: dict[str, GateResult] = field(default_factory=dict)
    cases: dict[str, list[str]] = field(default_factory=dict)

    def note(self, when: str) -> None:
        found: dict[str, list[str]] = {title: [] for title in ACCEPTED}
        for number in (6, 7, 8):
            of_title: dict[str, list[str]] = {}
            for each in self.judged(number):
                of_title.setdefault(each.title, []).append(each.decision)
            for title in of_title.keys() & found.keys():
                order = ["do_not_ship", "cannot_tell", "ship"]
                found[title].append(min(of_title[title], key=order.index))
        self.decisions[when] = found

    def judged(self, number: int) -> list[GateResult]:
        selection = str(self.files / str(number))
        return judge(self.warehouse, selection, built_in_policy(), lang="en")


only_gate = only(*GATE)


@pytest.fixture(scope="module")
@only_gate
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("accept")
    write_all(SUITES, folder / "in")
    for number in (6, 7, 8):
        (folder / "in" / str(number)).mkdir()
        for file in (folder / "in").glob(f"*-{number}.json"):
            file.rename(folder / "in" / str(number) / file.name)
    story = Story(Warehouse(folder / "w.duckdb"), folder / "in")
    story.warehouse.ingest(folder / "in")
    story.warehouse.build()
    story.note("before")
    for accepted in accepting.accept(story.warehouse, str(folder / "in" / "6"), WHY):
        story.cases[accepted.title] = accepted.cases
    story.note("after")
    for each in story.judged(6):
        if each.accept_reason is not None:
            story.accepted.setdefault(each.title, each)
    return story


@pytest.mark.parametrize("title", ACCEPTED)
def test_an_accepted_run_passes_and_is_what_later_runs_have_to_meet(story, title):
    before, after = DECIDED[title]
    assert story.decisions["before"][title] == before
    assert story.decisions["after"][title] == after
    assert story.cases[title] == ACCEPTED[title]
    result = story.accepted[title]
    assert result.headline.startswith(f"Ship: accepted by a person ({WHY})")
    assert (result.broke.n, result.watched.n) == (0, 0)


def test_the_other_cases_keep_their_history(story):
    [result] = story.judged(8)
    assert result.broke.case_ids == ["c5"]
    [case] = result.cases
    assert (case.n_passed_before, case.n_rounds_before) == (21, 21)


@pytest.fixture
def copy(story: Story, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copy(story.warehouse.settings.db, tmp_path / "w.duckdb"))


@pytest.fixture
def cli(
    copy: Warehouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(copy.settings.db.parent)

    def call(*args: str) -> tuple[int, str, str]:
        code = run_cli([args[0], "--db", str(copy.settings.db), *args[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@only_gate
def test_undo_gives_the_decisions_before(story, copy, cli):
    undone = ("broke", "variant-gone")
    for title in undone:
        code, _, err = cli("accept", "--undo", f"{title}-6")
        assert (code, f"{title}-6/0 is accepted no longer" in err) == (0, True)
    found = Story(copy, story.files)
    found.note("undone")
    assert found.decisions["undone"] == {
        title: story.decisions["before" if title in undone else "after"][title]
        for title in ACCEPTED
    }
    code, _, err = cli("accept", "--undo", "broke-6")
    assert (code, "it was not accepted; `promptlab accept --list`" in err) == (5, True)


def test_accepting_again_keeps_what_was_accepted_first(copy):
    with pytest.raises(NothingToDo, match="there is nothing to accept"):
        accepting.accept(copy, "gone-6", "still")
    with copy.built() as con:
        [row] = con.execute(
            "select reason, cases from raw.accepts where task_id = 'gone-6/0'"
        ).fetchall()
    assert (row[0], json.loads(row[1])) == (WHY, ["c1", "c2"])


def test_what_was_accepted_is_listed_with_its_reason(cli):
    code, out, _ = cli("accept", "--list", "--format", "json")
    rows = {row["task_id"]: row for row in json.loads(out)}
    assert (code, rows.keys()) == (0, {
        "broke-6/0", "gone-6/0", "fell-6/0", "two-6/0", "variant-gone-6/0",
    })  # fmt: skip
    assert rows["gone-6/0"]["n_cases"] == 2
    assert {row["reason"] for row in rows.values()} == {WHY}


def test_a_purge_deletes_what_was_accepted_of_a_task(copy):
    purge(copy, tasks=["broke-6/0"])
    with copy.examining() as con:
        left = con.execute("select task_id from raw.accepts").fetchall()
    assert len(left) == 4
    assert ("broke-6/0",) not in left


MISTAKES = {
    ("broke-8",): (2, 'promptlab accept broke-8 --reason "'),
    ("broke-8", "--reason", "  "): (2, "say why, for those who read the history"),
    ("steady-6", "--reason", "x"): (5, "steady-6: there is nothing to accept"),
    ("nothing", "--reason", "x"): (2, "there is no such task"),
    ("--undo", "--list"): (2, "--undo and --list exclude each other"),
    ("--undo", "--reason", "x"): (2, "--undo: takes no reason"),
    ("--list", "broke-8"): (2, "--list: takes no run"),
}


@pytest.mark.parametrize("args", MISTAKES)
def test_a_mistake_changes_nothing_and_says_what_to_write(cli, copy, args):
    code, said = MISTAKES[args]
    found, _, err = cli("accept", *args)
    assert found == code
    assert said in " ".join(err.split())
    with copy.examining() as con:
        assert con.execute("select count(*) from raw.accepts").fetchone() == (5,)


@only_gate
def test_python_accepts_too(copy):
    copy.accept("broke-8", "on purpose")
    [result] = judge(copy, "broke-8", built_in_policy(), lang="en")
    assert result.decision == "ship"
    with pytest.raises(NothingToDo):
        copy.accept("steady-6", "on purpose")
