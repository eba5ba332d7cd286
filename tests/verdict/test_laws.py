"""What holds for the verdict of any story."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks import verdict_suites as sql
from tests.conftest import EXHAUSTIVE
from tests.verdict.files import CONFIGS, Shared, tell
from tests.verdict.stories import Answer, Story, judge

RUNS, CASES = 9, 6


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Stories of a title with one to three variants."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (draw(st.integers(1, 3)), CASES, RUNS)
    rounds = draw(st.integers(1, 3))
    kinds = np.array([1.0, 1.0, 0.98, 0.8, 0.5, 0.0])
    p = np.repeat(rng.choice(kinds, CASES)[None, :, None], shape[0], 0)
    p = np.repeat(p, RUNS, 2)
    broken_at = draw(st.integers(1, 2 * RUNS))
    p[: draw(st.integers(0, 3)), : draw(st.integers(0, 2)), broken_at:] = 0.1
    missing = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))
    n = np.where(rng.random(shape) < missing, 0, rounds)
    for variant in range(shape[0]):
        n[variant, :, : draw(st.sampled_from([0, 0, 0, 3, 6]))] = 0
        if draw(st.booleans()):
            n[variant, :, rng.random(RUNS) < 0.15] = 0
    n[0, 0, -1] = rounds  # the last run asks something
    x = rng.binomial(n, p)
    again = (x < n) & (rng.random(shape) < draw(st.sampled_from([0, 0, 0.5])))
    n_again = np.where(again, 5, 0)
    changed = rng.random((CASES, RUNS)) < draw(st.sampled_from([0, 0, 0.1]))
    on_branch = rng.random(RUNS) < draw(st.sampled_from([0, 0, 0.4]))
    runs = st.integers(0, RUNS - 1)
    cases = st.lists(st.integers(0, CASES - 1), unique=True, max_size=3).map(tuple)
    return Story(
        x, n, rng.binomial(n_again, p), n_again,
        yardsticks=np.cumsum(changed, 1),
        branches=np.where(on_branch, rng.integers(1, 3, RUNS), 0),
        accepted=draw(
            st.lists(st.tuples(runs, cases), max_size=1).map(tuple)
            if draw(st.booleans()) else st.just(())
        ),
        known_flaky=draw(st.sampled_from([(), (), (1,)])),
        outages=draw(st.sampled_from([(), (), (2,), (5,)])),
    )  # fmt: skip


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with sql.warehouse() as con:
        con.execute("set threads = 1")
        yield con


Answers = dict[int, Answer]


@dataclass
class Questions:
    """Other stories than the one that was told, and what has to hold of their answers."""

    stories: list[Story]
    checks: list[Callable[[list[Answers]], None]] = field(default_factory=list)

    def ask(self, story: Story, check: Callable[[Answers, Answers], None]) -> None:
        """Ask how the answers to a story compare with those to the story itself."""
        self.stories.append(story)
        place = len(self.stories) - 1
        self.checks.append(lambda answers: check(answers[0], answers[place]))


@settings(max_examples=16, phases=[Phase.generate])  # shrinking takes minutes
@given(stories())
def test_the_answers_to_a_story_obey_the_laws(
    con: duckdb.DuckDBPyConnection, story: Story
) -> None:
    questions = Questions([story])
    later_nights_change_nothing(questions)
    a_purged_run_changes_only_what_has_it_in_its_history(questions, con)
    an_outage_is_as_if_the_run_were_not_there(questions)
    a_failure_more_never_takes_the_odds_below_the_threshold(questions)
    what_is_dropped_never_gives_a_ship(questions)
    solving_cases_that_always_failed_changes_no_other_odds(questions)
    answers = judge(con, questions.stories, range(RUNS))
    a_case_that_passes_does_not_refuse(answers[0], story)
    what_is_known_to_be_flaky_does_not_refuse(answers[0], story)
    for check in questions.checks:
        check(answers)


# ---------- law 2


def later_nights_change_nothing(questions: Questions) -> None:
    [story] = questions.stories
    for run in range(RUNS - 1):

        def check(told: Answers, cut: Answers, run: int = run) -> None:
            assert set(cut) == {r for r in told if r <= run}
            for night, answer in cut.items():
                assert answer.everything == told[night].everything, (
                    f"the runs after {run} change the answer for run {night}"
                )

        questions.ask(story.without(*range(run + 1, RUNS)), check)


def a_purged_run_changes_only_what_has_it_in_its_history(
    questions: Questions, con: duckdb.DuckDBPyConnection
) -> None:
    story = questions.stories[0]
    for run in range(RUNS - 1):

        def check(told: Answers, purged: Answers, run: int = run) -> None:
            found = con.execute(
                "select cast(split_part(run_id, '-', 2) as int)"
                " from intermediate.int_run_histories"
                " where history_run_id = $run"
                " union"
                " select cast(split_part(run_id, '-', 2) as int)"
                " from intermediate.int_last_runs where last_run_id = $run",
                {"run": f"0-{run}"},
            ).fetchall()
            reading = {night for (night,) in found}
            for night, answer in told.items():
                is_first = [v["is_first_run"] for v in answer.variants.values()]
                # a run of new variants misses those that ran more than once before
                if night not in reading and not all(is_first):
                    assert purged[night].everything == answer.everything, (
                        f"run {run} is not in the history of run {night}"
                    )

        questions.ask(story.without(run), check)


def an_outage_is_as_if_the_run_were_not_there(questions: Questions) -> None:
    story = questions.stories[0]
    for run in range(RUNS - 1):
        purged = story.without(run)
        outage = replace(story, outages=(*story.outages, run))
        place = len(questions.stories)
        questions.stories.extend((purged, outage))

        def check(answers: list[Answers], place: int = place, run: int = run) -> None:
            for night, answer in answers[place].items():
                if night > run:
                    assert answers[place + 1][night].everything == answer.everything, (
                        f"the outage {run} counts for run {night}"
                    )

        questions.checks.append(check)


# ---------- law 3


def a_failure_more_never_takes_the_odds_below_the_threshold(
    questions: Questions,
) -> None:
    story, run = questions.stories[0], RUNS - 1
    for variant, case in np.argwhere(story.x[:, :, run] > 0):

        def check(
            told: Answers, failing: Answers, cell: tuple[int, int] = (variant, case)
        ) -> None:
            assert failing[run].has_odds or not told[run].has_odds, (
                f"a failure of {cell} takes the odds from {told[run].odds} to"
                f" {failing[run].odds}"
            )

        x = story.x[variant, case, run] - 1
        questions.ask(story.with_counts(variant, case, run, x), check)


def what_is_dropped_never_gives_a_ship(questions: Questions) -> None:
    """Of what the last run judged; what it did not have is not missed."""
    story, run = questions.stories[0], RUNS - 1

    def check(what: str, before: tuple[int, int] | None) -> Callable[..., None]:
        def compare(told: Answers, dropped: Answers) -> None:
            if run not in dropped or told[run].is_accepted:
                return
            was_judged = before is None or (
                before in told[run].cases
                and told[run].cases[before]["n_rounds_last"] >= story.n[(*before, run)]
            )
            if was_judged and told[run].decision != "first_run":
                assert dropped[run].decision != "ship", what

        return compare

    for variant, case in np.argwhere(story.n[:, :, run] > 0):
        x, n = story.x[variant, case, run], story.n[variant, case, run]
        cell = (int(variant), int(case))
        questions.ask(
            story.with_counts(variant, case, run, 0, 0), check(f"case {cell}", cell)
        )
        for left in {max(x - 1, 0), min(x, n - 1)}:
            questions.ask(
                story.with_counts(variant, case, run, left, n - 1),
                check(f"a round of {cell}", cell),
            )
        other = story.yardsticks.copy()
        other[case, run] = 99
        questions.ask(
            replace(story, yardsticks=other), check(f"the yardstick of {cell}", cell)
        )
    there = story.n[:, :, run].any(1)
    for variant in np.flatnonzero(there) if there.sum() > 1 else ():
        n = story.n.copy()
        n[variant, :, run] = 0

        def gone(told: Answers, dropped: Answers, variant: int = int(variant)) -> None:
            row = told[run].variants[variant]
            last_runs = {each["last_run_id"] for each in told[run].variants.values()}
            if (
                not told[run].is_accepted
                and row["n_cases_before"] > 0
                and row["last_run_id"] == max(last_runs - {None})
            ):
                assert dropped[run].decision != "ship", f"variant {variant}"

        questions.ask(replace(story, n=n, x=np.minimum(story.x, n)), gone)


# ---------- law 4


def solving_cases_that_always_failed_changes_no_other_odds(
    questions: Questions,
) -> None:
    story, run = questions.stories[0], RUNS - 1
    failing = ~(story.x + story.x_again)[:, :, :run].any((0, 2))
    for case in np.flatnonzero(failing):
        solved = story.with_counts(slice(None), case, run, story.n[:, case, run])

        def check(told: Answers, better: Answers, case: int = int(case)) -> None:
            for key, row in told[run].cases.items():
                if key[1] != case:
                    other = better[run].cases[key]["odds"]
                    assert other == row["odds"], f"{key} after {case} was solved"
            if told[run].decision == "ship":
                assert better[run].decision == "ship"

        questions.ask(solved, check)


def a_case_that_passes_does_not_refuse(told: Answers, story: Story) -> None:
    for run, answer in told.items():
        for (variant, case), row in answer.cases.items():
            passes = [
                other["n_passed_now"] == other["n_rounds_now"]
                for (_, c), other in answer.cases.items()
                if c == case
            ]
            if all(passes) and row["n_rounds_now"]:
                assert (row["odds"] or 0) < 1, (run, variant, case)
                assert row["state"] not in ("broken", "watched"), (run, variant, case)


def what_is_known_to_be_flaky_does_not_refuse(told: Answers, story: Story) -> None:
    for run, answer in told.items():
        counted = [
            row["odds"] or 0.0
            for (_, case), row in answer.cases.items()
            if case not in story.known_flaky
        ]
        if answer.has_odds:
            # they are added or multiplied, and what broke everywhere counts once
            assert math.prod(1 + odds for odds in counted) - 1 >= 9.99, run


@settings(max_examples=4, phases=[Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    n_variants=st.integers(1, 3),
    n_before=st.integers(3, 9),
    rounds=st.integers(1, 3),
)
def test_the_odds_of_a_case_do_not_fall_while_it_fails(
    con: duckdb.DuckDBPyConnection,
    seed: int,
    n_variants: int,
    n_before: int,
    rounds: int,
) -> None:
    """Up to 20 runs, in a suite whose other cases stay as they are.

    With one or two runs before the odds are small, and may fall a little. Where other
    cases change, so does what the suite is known to be like.
    """
    rng = np.random.default_rng(seed)
    shape = (n_variants, CASES, n_before + 20)
    n = np.full(shape, rounds)
    always = rng.random(CASES) < 0.8
    x = np.where(always[None, :, None], n, 0)
    x[:, 0] = rng.integers(0, rounds + 1, shape[::2])  # whatever other variants do
    x[0, 0, :n_before] = rounds
    x[0, 0, n_before:] = 0
    nothing = np.zeros_like(n)
    story = Story(x, n, nothing, nothing, yardsticks=nothing[0], branches=nothing[0, 0])
    [told] = judge(con, [story], range(n_before, shape[2]))
    rows = [told[run].cases[0, 0] for run in sorted(told)]
    evidence = [row["log_evidence"] for row in rows]
    assert evidence == sorted(evidence)
    odds = [row["odds"] for row in rows]
    if n_variants == 1:
        assert odds == sorted(odds)
    refused = [told[run].has_odds for run in sorted(told)]
    assert refused == sorted(refused)
    assert refused[-1]


# ---------- laws 1 and 5


@pytest.mark.slow
@settings(max_examples=10 if EXHAUSTIVE else 1, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_the_answers_are_a_function_of_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Whatever was loaded in which order and calls, by whom, how and where."""
    rng = random.Random(seed)
    told = tell(rng)
    at_once = Shared(tmp_path_factory.mktemp("at_once"))
    at_once.load(told.files)
    at_once.accept()
    at_once.build("b")
    at_once.build("a", full_refresh=True)

    by_and_by = Shared(tmp_path_factory.mktemp("by_and_by"))
    of_main = [file for file in told.files if file.given == {"branch": "main"}]
    first = rng.sample(of_main, 3)
    left = [file for file in told.files if file not in first and not file.recheck_of]
    rng.shuffle(left)
    by_and_by.run(first)
    by_and_by.load([*left[::3], *told.corrected, *told.purged], "b")
    by_and_by.build("b", CONFIGS["a"].replace("c1", "c2"))
    by_and_by.load(left[1::3])
    if rng.random() < 0.5:
        by_and_by.build("b")
    by_and_by.purge(told.purged)
    by_and_by.load([*left[2::3], *told.files])
    by_and_by.accept()
    by_and_by.build("b")
    by_and_by.build("a")
    expected = at_once.answers()
    assert all(expected.values())
    assert by_and_by.answers() == expected
