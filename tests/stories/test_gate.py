"""What the gate decides, what it says, and that every surface says the same."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import timedelta
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult
from promptlab.reports.formats import gate_markdown
from promptlab.warehouse import Warehouse
from tests.stories.suites import Night, nights, suite, write_all

STEADY = [suite()] * 5
SINGLE = [suite(rounds="+")] * 4
FALLEN = {f"c{n}": "++-" if n % 2 else "+--" for n in range(1, 21)}

SUITES: dict[str, list[Night]] = {
    "steady": nights(*STEADY, suite()),
    "broke": nights(*STEADY, suite(c3="---"), suite(c3="---", c7="+--")),
    "repaired": nights(*STEADY, suite(c3="---"), suite()),
    "watched": nights(*SINGLE, suite(rounds="+", c5="-")),
    "gone": nights(*STEADY, suite(c1="", c2="")),
    "gone-and-broke": nights(*STEADY, suite(c1="", c3="---")),
    "errors": nights(*STEADY, suite(c4="eee")),
    "fewer": nights(*STEADY, suite(c4="+")),
    "cached": nights(*STEADY, suite(rounds="ccc")),
    "stricter": [
        *nights(*STEADY),
        Night({"small": suite()}, asserted={"c8": "y", "c9": "y"}),
    ],
    "stricter-while-broken": [
        *nights(*STEADY, suite(c3="---")),
        *[Night({"small": suite(c3="---")}, asserted={"c3": "y"})] * 2,
    ],
    "edited": [*nights(*STEADY), Night({"small": suite()}, prompt="Be kind: {{q}}")],
    "fell": nights(*[suite(20)] * 5, FALLEN),
    "first": nights(suite(c2="---", c3="---")),
    "two": [
        *[Night({"small": suite(), "large": suite()})] * 5,
        Night({"small": suite(c2="---"), "large": suite()}),
    ],
    "variant-gone": [
        *[Night({"small": suite(), "large": suite()})] * 5,
        Night({"small": suite()}),
    ],
    "unjudged": nights(*STEADY, suite(rounds="eee")),
    "cached-or-errors": nights(*STEADY, suite(rounds="ccc", c1="eee")),
    "error-twice": nights(*SINGLE, *[suite(30, "+", c4="e")] * 2),
    "broke-and-left": nights(
        *SINGLE, suite(rounds="+", c3="-"), suite(rounds="+", c3="e"), suite(rounds="+", c3="")
    ),
    "left-long-ago": nights(*SINGLE, *[suite(rounds="+", c3="")] * 2),
    "asks-another": [
        *nights(*STEADY), Night({"small": suite()}, questions={"c5": "an easier one"}),
    ],
    # a second model joins in runs of its own, and never has the break of the first
    "side-by-side": [
        Night({variant: suite(c3=c3)})
        for variant, c3 in (
            ("small", "+++"), ("small", "+++"), ("small", "+++"), ("large", "+++"),
            ("small", "+++"), ("large", "+++"), ("small", "---"), ("large", "+++"),
        )
    ],
    "fewer-and-broke": nights(*STEADY, suite(c4="--")),
    # a judge that breaks says nothing of the answers
    "judge-broke": nights(*STEADY, suite(c1="???", c2="???", c3="???")),
    "judge-broke-and-broke": nights(*STEADY, suite(c1="???", c2="???", c3="---")),
    "judge-broke-first": nights(suite(rounds="???", c1="+++")),
}  # fmt: skip

SAID = {
    "steady": ("ship", "Ship: nothing broke."),
    "broke": (
        "do_not_ship",
        "Do not ship: 1 case broke (c3: 0 of 6 since 6 Mar, 15 of 15 before);"
        " 1 to watch: c7.",
    ),
    "repaired": ("ship", "Ship: nothing broke."),
    "watched": ("ship", "Ship, 1 to watch: c5."),
    "gone": (
        "cannot_tell",
        "Cannot tell: 2 of 12 cases are not compared: 2 gone (c1, c2).",
    ),
    "gone-and-broke": (
        "do_not_ship",
        "Do not ship: 1 case broke (c3: 0 of 3 now, 15 of 15 before);"
        " 1 of 12 cases is not compared: 1 gone (c1).",
    ),
    "errors": (
        "do_not_ship",
        "Do not ship: the share of rounds in error is 8.3%, the limit 5.0%;"
        " 1 of 12 cases is not compared: 1 with errors only (c4).",
    ),
    "fewer": (
        "cannot_tell",
        "Cannot tell: 1 of 12 cases is not compared: 1 with fewer rounds (c4).",
    ),
    "cached": ("cannot_tell", "every answer is from a cache"),
    "stricter": (
        "cannot_tell",
        "Cannot tell: 2 of 12 cases are not compared: 2 with other assertions"
        " (c8, c9).",
    ),
    "stricter-while-broken": (
        "cannot_tell",
        "Cannot tell: 1 of 12 cases is not compared: 1 with other assertions (c3).",
    ),
    "edited": ("ship", "Ship: nothing broke; prompt short edited."),
    "fell": ("do_not_ship", "the share of rounds passed fell, 100.0% → 50.0%"),
    "first": (
        "first_run",
        "First run: nothing to compare with; 10 of 12 cases passed.",
    ),
    "error-twice": (
        "cannot_tell",
        "Cannot tell: 1 of 30 cases is not compared: 1 with errors only (c4).",
    ),
    "broke-and-left": (
        "cannot_tell",
        "Cannot tell: 1 of 12 cases is not compared: 1 gone (c3).",
    ),
    "left-long-ago": ("ship", "Ship: nothing broke."),
    "asks-another": (
        "cannot_tell",
        "Cannot tell: 1 of 12 cases is not compared: 1 with another question (c5).",
    ),
    "side-by-side": ("ship", "Ship: nothing broke."),
    "fewer-and-broke": (
        "do_not_ship",
        "Do not ship: 1 case broke (c4: 0 of 2 now, 15 of 15 before);"
        " 1 of 12 cases is not compared: 1 with fewer rounds (c4).",
    ),
    "judge-broke": (
        "cannot_tell",
        "Cannot tell: 3 of 12 cases are not compared: 3 not judged (c1, c2, c3);"
        " the share of scored rounds is 75.0%, the limit 80.0%.",
    ),
    "judge-broke-and-broke": (
        "do_not_ship",
        "Do not ship: 1 case broke (c3: 0 of 3 now, 15 of 15 before);"
        " 2 of 12 cases are not compared: 2 not judged (c1, c2).",
    ),
    "judge-broke-first": (
        "cannot_tell",
        "Cannot tell: the share of scored rounds is 8.3%, the limit 80.0%",
    ),
    "variant-gone": (
        "cannot_tell",
        "Cannot tell: 12 of 24 cases are not compared: 12 of missing variants",
    ),
}
"""Title → the decision about its newest run, and the sentence or a part of it."""

EXIT_CODES = {
    "ship": 0, "first_run": 0, "do_not_ship": 1, "run_again": 3, "cannot_tell": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    write_all(SUITES, folder / "in")
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.ingest(folder / "in").n_rejected == 0
    warehouse.build()
    return folder / "w.duckdb"


SURFACES = ("steady", "broke", "watched", "gone", "fell", "first")


@pytest.fixture(scope="module")
def out(db: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports about the newest runs of some titles."""
    folder = tmp_path_factory.mktemp("reports")
    tasks = [f"{title}-{len(SUITES[title])}/0" for title in (*SURFACES, "two")]
    formats = ("json", "html", "email", "md")
    Warehouse(db).report([*tasks, "two-6/1"], folder, formats=formats)
    return folder


@pytest.fixture
def cli(
    db: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def call(*args: object) -> tuple[int, str]:
        words = [str(arg) for arg in args]
        code = run_cli([words[0], "--db", str(db), *words[1:]])
        return code, capsys.readouterr().out

    return call


def results_of(cli: Callable[..., tuple[int, str]], *args: str) -> list[GateResult]:
    _, out = cli("gate", *args, "--format", "json")
    found = json.loads(out)
    return [
        GateResult.model_validate(each)
        for each in (found if isinstance(found, list) else [found])
    ]


def results_of_all(
    cli: Callable[..., tuple[int, str]], db: Path, *args: str
) -> list[GateResult]:
    """Ask about every title at once: those of the folder that was loaded."""
    found = results_of(cli, str(db.parent / "in"), *args)
    assert {result.title for result in found} == set(SUITES)
    return found


@pytest.mark.parametrize("title", SAID)
def test_the_decision_about_a_night_and_its_sentence(cli, title):
    decision, said = SAID[title]
    code, out = cli("gate", f"{title}-{len(SUITES[title])}", "--format", "json")
    result = GateResult.model_validate_json(out)
    assert (result.decision, code) == (decision, EXIT_CODES[decision])
    assert said in result.headline
    if said[-1] == "." and said.startswith(result.headline[:4]):
        assert result.headline == said


def test_nothing_that_can_be_judged_is_never_shipped(cli):
    code, out = cli("gate", "unjudged", "--format", "json")
    result = GateResult.model_validate_json(out)
    assert code in (1, 4)
    assert result.n_not_compared == 12


def test_the_variant_with_the_broken_case_is_refused_and_the_other_ships(cli):
    small, large = results_of(cli, "two")
    assert (small.variant, small.decision) == ("small × short", "do_not_ship")
    assert (large.decision, large.broke.n, large.watched.n) == ("ship", 0, 0)
    assert small.broke.case_ids == ["c2"]


def test_a_headline_says_at_most_once_what_chance_has_to_do_with_it(cli, db):
    for result in results_of_all(cli, db):
        chance = re.findall(r"chance|p [=<]|to 1", result.headline)
        assert len(chance) <= 1 or result.headline.count("more than chance (p") == 1


def test_a_case_has_its_record_since_it_fails_and_before(cli):
    [result] = results_of(cli, "broke")
    broken, watched = result.cases
    assert (broken.case_id, broken.state, watched.state) == ("c3", "broken", "watched")
    assert (broken.n_passed, broken.n_rounds) == (0, 6)
    assert (broken.n_passed_before, broken.n_rounds_before) == (15, 15)
    assert broken.since_run_id == "broke-6"
    assert broken.text.startswith("0 of 6 since 6 Mar")
    assert watched.text == "1 of 3 now, 18 of 18 before"


# ---------- the policy


@pytest.mark.parametrize(
    ("title", "policy", "decision", "rule"),
    [
        ("broke", "refuse_odds = 1e12", "ship", "refuse_odds"),
        ("watched", 'newly_failing = "stop"', "run_again", "newly_failing"),
        ("watched", "refuse_odds = 0.001", "do_not_ship", "refuse_odds"),
        ("gone", "min_compared = 0.8", "ship", "min_compared"),
        ("gone", "min_compared = 0.9", "cannot_tell", "min_compared"),
        ("first", "require_history = true", "cannot_tell", "require_history"),
        ("first", "min_pass_rate = 0.9", "do_not_ship", "min_pass_rate"),
        ("steady", "min_pass_rate = 0.9", "ship", "min_pass_rate"),
        ("steady", "[latency]\nmax_p50_ms = 4", "do_not_ship", "latency.max_p50_ms"),
        ("steady", "[cost]\nmax_total = 1", "ship", "cost.max_total"),
        ("steady", "[cost]\nmax_total = 0.01", "do_not_ship", "cost.max_total"),
        ("steady", "[tokens]\nmax_total = 1", "cannot_tell", "tokens.max_total"),
        ("steady", "min_tnr = 0.5", "cannot_tell", "min_tnr"),
        ("steady", "must_pass_tags = ['x']", "cannot_tell", "must_pass_tags.x"),
        ("fell", "[regression]\nmax_drop = 0.1", "do_not_ship", "regression.max_drop"),
        ("errors", "max_error_share = 0.01\nmin_compared = 0", "do_not_ship",
         "max_error_share"),
    ],
)  # fmt: skip
def test_a_policy_decides_by_its_rules(cli, title, policy, decision, rule):
    Path("p.toml").write_text(policy)
    code, out = cli("gate", title, "--policy", "p.toml", "--format", "json")
    result = GateResult.model_validate_json(out)
    assert (result.decision, code) == (decision, EXIT_CODES[decision])
    assert rule in {each.rule for each in result.rules}


@pytest.mark.parametrize(
    ("title", "runs", "refused"), [("steady", 5, 0), ("broke", 6, 2), ("edited", 4, 0)]
)
def test_flaky_counts_refused_runs_in_which_nothing_changed(cli, title, runs, refused):
    said = " ".join(cli("flaky", title)[1].split())
    assert f"nothing changed in {runs} runs; the gate refuses {refused} of" in said


@pytest.mark.parametrize(
    ("title", "note"),
    [
        ("cached", "every answer is from a cache"),
        ("unjudged", "every case ended in an error"),
        ("cached-or-errors", "every round is from a cache or ended in an error"),
    ],
)
def test_a_run_without_a_new_answer_says_why(cli, title, note):
    result = GateResult.model_validate_json(cli("gate", title, "--format", "json")[1])
    notes = [each.note for each in result.rules if each.rule == "new_answers"]
    assert notes == [note]
    assert ("ask_again" in result.advice) == (title != "unjudged")


def test_inconclusive_is_allowed_only_where_something_was_compared(cli):
    assert cli("gate", "gone", "--allow-inconclusive")[0] == 0
    assert cli("gate", "cached", "--allow-inconclusive")[0] == 4
    assert cli("gate", "judge-broke", "--allow-inconclusive")[0] == 4


@pytest.mark.parametrize(("lang", "said"), [("en", "cannot tell"), ("zh", "无法判断")])
def test_a_rule_that_cannot_tell_says_so_in_the_words_of_the_decision(cli, lang, said):
    (row,) = [
        line
        for line in cli("gate", "gone", "--lang", lang)[1].splitlines()
        if line.startswith("min_compared")
    ]
    assert row.endswith(f"? {said}")


# ---------- what to do next


@pytest.mark.parametrize(
    ("title", "step"),
    [
        ("steady", None),
        ("first", None),
        ("watched", None),
        ("broke", "promptlab recheck broke-7"),
        ("gone", "promptlab accept gone-6 --reason"),
        ("cached", "run it again without a cache"),
    ],
)
def test_a_terminal_and_a_comment_say_what_to_do_next_in_one_line(cli, title, step):
    said = " ".join(cli("gate", title)[1].split())
    comment = cli("gate", title, "--format", "md")[1]
    assert ("Next:" in said, comment.count("Next:")) == (step is not None, step is not None)  # fmt: skip
    assert step is None or (step in said and step in comment)


@pytest.mark.parametrize(
    ("run_id", "part"),
    [
        ("night-7", "`promptlab recheck night-7`"),
        ("a`![x](y)`", r"\`promptlab recheck &#39;a\`\!\[x\]"),
        ("<b>@team", "recheck &#39;&lt;b&gt;\\@\u200bteam&#39;"),
    ],
)
def test_a_command_in_a_comment_is_code_unless_the_run_id_could_leave_it(
    cli, run_id, part
):
    (result,) = results_of(cli, "broke")
    comment = gate_markdown([result.model_copy(update={"run_id": run_id})])
    assert part in comment


@pytest.mark.parametrize(("days", "is_said"), [(0, False), (3, False), (12, True)])
def test_a_comment_says_that_the_last_run_on_the_base_branch_is_old(cli, days, is_said):
    (result,) = results_of(cli, "broke")
    assert result.last_run_at < result.created_at
    last = {"last_run_at": result.created_at - timedelta(days=days, hours=1)}
    comment = gate_markdown([result.model_copy(update=last)])
    assert ("is 12 days older than this one" in comment) == is_said
    assert "days older" not in gate_markdown(
        [result.model_copy(update={"last_run_at": None})]
    )


@pytest.mark.parametrize("title", ["broke", "gone"])
def test_a_page_and_a_mail_do_not_say_what_to_do_next(out, title):
    [folder] = out.glob(f"{title}-*")
    texts = [page_text(folder / "report.html"), *mail_texts(folder / "report.eml")]
    assert not any("promptlab accept" in text for text in texts)


def test_a_comment_is_one_table_of_at_most_25_lines_with_a_link(cli, monkeypatch):
    monkeypatch.setenv("PROMPTLAB_REPORT_URL", "https://reports.example/r")
    _, out = cli("gate", "two", "--format", "md")
    assert len(out.splitlines()) <= 25
    assert len(re.findall(r"^\| ---", out, flags=re.MULTILINE)) == 1
    assert out.count("\n| small ") == out.count("\n| large ") == 1
    assert "(https://reports.example/r/runs/two" in out
    _, out = cli("gate", "latest", "--format", "md")
    assert len(out.splitlines()) <= 25


# ---------- the same on every surface


def page_text(file: Path) -> str:
    return as_text(file.read_text("utf-8"))


def as_text(page: str) -> str:
    body = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", body)).split())


def mail_texts(file: Path) -> list[str]:
    message = message_from_bytes(file.read_bytes(), policy=default)
    plain, rich = (message.get_body((kind,)) for kind in ("plain", "html"))
    return [" ".join(plain.get_content().split()), as_text(rich.get_content())]


@pytest.mark.parametrize("title", SURFACES)
def test_every_surface_has_the_same_broken_and_watched_cases(cli, out, title):
    """Terminal, page, mail, JSON, JUnit, comment, index and the page of the title."""
    [result] = results_of(cli, title)
    [folder] = out.glob(f"{title}-*")
    stored: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
    assert stored["gate"] == result.model_dump(mode="json")

    records = {(case.state, f"{case.case_id}: {case.text}") for case in result.cases}
    assert {case.case_id for case in result.cases if case.state == "broken"} == set(
        result.broke.case_ids
    )
    suite_of = ET.fromstring(cli("gate", title, "--format", "junit")[1]).find(".//testsuite")  # fmt: skip
    properties = [(p.get("name"), p.get("value")) for p in suite_of.iter("property")]
    assert {p for p in properties if p[0] in ("broken", "watched")} == records
    assert ("verdict", result.headline) in properties

    terminal = " ".join(cli("gate", title)[1].split())
    comment = " ".join(
        cli("gate", title, "--format", "md")[1].replace("\\", "").split()
    )
    page, markdown = page_text(folder / "report.html"), (folder / "report.md").read_text("utf-8")  # fmt: skip
    [in_index] = [
        article
        for article in (out / "index.html").read_text("utf-8").split("<article")
        if f"titles/{title}/" in article
    ]
    surfaces = [
        terminal, comment, page, " ".join(markdown.replace("\\", "").split()),
        *mail_texts(folder / "report.eml"),
        page_text(out / "titles" / title / "report.html"), as_text(in_index),
    ]  # fmt: skip
    for said in surfaces[:2]:
        assert result.headline in said
    # what is read as a page has the cases below the decision, and each once
    for said in surfaces[2:]:
        assert result.headline.split(":")[0].split(",")[0] in said
    words = {"broken": "broke", "watched": "to watch"}
    for said in (surfaces[0], surfaces[2], *surfaces[4:6]):
        for case in result.cases[:3]:
            assert re.search(f"{words[case.state]} {case.case_id} ?:? ", said)
            assert case.text in said
    for case in result.cases[:5]:
        assert f"{case.case_id}: {case.text}" in comment


def test_the_page_of_a_run_has_the_decision_about_each_variant(cli, out):
    said = page_text(out / "runs" / "two" / "report.html")
    for result in results_of(cli, "two"):
        assert result.headline in said


def test_chinese_has_every_sentence(cli, db):
    for result in results_of_all(cli, db, "--lang", "zh"):
        text = re.sub(r"c\d+|small|large|short|p [=<] [\d.]+", "", result.headline)
        assert re.search(r"[一-鿿]", text)
        assert not re.search(r"[A-Za-z]{3,}|[,:;] ", text), result.headline
    [broke] = results_of(cli, "broke", "--lang", "zh")
    assert broke.headline == (
        "不要发布：1 个用例退化（c3：3月6日以来 0/6 通过，此前 15/15 通过）；"
        "1 个用例待观察：c7。"
    )
