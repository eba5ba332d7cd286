"""What holds for the verdict of any story."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from benchmarks import verdict_suites as sql
from tests.conftest import EXHAUSTIVE
from tests.verdict.files import CONFIGS, Shared, tell
from tests.verdict.stories import Answer, Story, judge

RUNS, CASES, VARIANTS = 9, 6, 3
LAST = RUNS - 1


def made_up(seed: int) -> Story:
    """Return a story of a title with one to three variants."""
    rng = np.random.default_rng(seed)

    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    shape = (VARIANTS, CASES, RUNS)
    rounds = rng.integers(1, 4)
    kinds = np.array([1.0, 1.0, 0.98, 0.8, 0.5, 0.0])
    p = np.repeat(rng.choice(kinds, CASES)[None, :, None], VARIANTS, 0)
    p = np.repeat(p, RUNS, 2)
    broken_at = rng.integers(1, 2 * RUNS + 1)
    p[: rng.integers(4), : rng.integers(3), broken_at:] = 0.1
    n = np.where(rng.random(shape) < one_of(0.0, 0.0, 0.1, 0.3), 0, rounds)
    for variant in range(VARIANTS):
        n[variant, :, : one_of(0, 0, 0, 3, 6)] = 0
        if one_of(True, False):
            n[variant, :, rng.random(RUNS) < 0.15] = 0
    n[rng.integers(1, VARIANTS + 1) :] = 0
    n[0, 0, LAST] = rounds  # the last run asks something
    x = rng.binomial(n, p)
    again = (x < n) & (rng.random(shape) < one_of(0, 0, 0.5))
    n_again = np.where(again, 5, 0)
    changed = rng.random((CASES, RUNS)) < one_of(0, 0, 0.1)
    on_branch = rng.random(RUNS) < one_of(0, 0, 0.4)
    cases = rng.choice(CASES, rng.integers(4), replace=False)
    accepted = (int(rng.integers(RUNS)), tuple(map(int, cases)))
    return Story(
        x, n, rng.binomial(n_again, p), n_again,
        yardsticks=np.cumsum(changed, 1),
        branches=np.where(on_branch, rng.integers(1, 3, RUNS), 0),
        accepted=one_of((), (), (), (accepted,)),
        known_flaky=one_of((), (), (1,)),
        outages=one_of((), (), (2,), (5,)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with sql.warehouse() as con:
        con.execute("set threads = 1")
        yield con


Answers = dict[int, Answer]


@dataclass
class Questions:
    """Other stories than one that was made up, and what has to hold of their answers."""

    stories: list[Story]
    checks: list[Callable[[list[Answers]], None]] = field(default_factory=list)

    def ask(self, story: Story, check: Callable[[Answers, Answers], None]) -> None:
        """Ask how the answers to a story compare with those to the story itself."""
        self.stories.append(story)
        place = len(self.stories) - 1
        self.checks.append(lambda answers: check(answers[0], answers[place]))


def answers_to(
    con: duckdb.DuckDBPyConnection, asked: Sequence[Questions], runs: Iterable[int]
) -> list[list[Answers]]:
    """Judge all stories at once, since most of the time goes into planning queries."""
    answers = iter(judge(con, [s for each in asked for s in each.stories], runs))
    return [list(islice(answers, len(each.stories))) for each in asked]


def test_the_answers_to_a_story_obey_the_laws(con: duckdb.DuckDBPyConnection) -> None:
    stories = [made_up(seed) for seed in range(160 if EXHAUSTIVE else 16)]
    of_all_runs = [Questions([story]) for story in stories]
    of_the_last = [Questions([story]) for story in stories]
    for questions in of_all_runs:
        later_nights_change_nothing(questions)
        a_purged_run_changes_only_what_has_it_in_its_history(questions)
        an_outage_is_as_if_the_run_were_not_there(questions)
    for questions in of_the_last:
        a_failure_more_never_takes_the_odds_below_the_threshold(questions)
        what_is_dropped_never_gives_a_ship(questions)
        solving_cases_that_always_failed_changes_no_other_odds(questions)
    whole = answers_to(con, of_all_runs, range(RUNS))
    last = answers_to(con, of_the_last, [LAST])
    for seed, story in enumerate(stories):
        try:
            a_case_that_passes_does_not_refuse(whole[seed][0], story)
            what_is_known_to_be_flaky_does_not_refuse(whole[seed][0], story)
            for check in of_all_runs[seed].checks:
                check(whole[seed])
            for check in of_the_last[seed].checks:
                check(last[seed])
        except AssertionError as error:
            error.add_note(f"in the story {seed}")
            raise


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


def a_purged_run_changes_only_what_has_it_in_its_history(questions: Questions) -> None:
    [story, *_] = questions.stories
    for run in range(RUNS - 1):

        def check(told: Answers, purged: Answers, run: int = run) -> None:
            for night, answer in told.items():
                is_first = [v["is_first_run"] for v in answer.variants.values()]
                # a run of new variants misses those that ran more than once before
                if run not in answer.history and not all(is_first):
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
    story, run = questions.stories[0], LAST
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
    story, run = questions.stories[0], LAST

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
    story, run = questions.stories[0], LAST
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


def failing_from(n_before: int, n_variants: int, rounds: int, seed: int) -> Story:
    """Return a suite in which one case fails in 20 runs, and others stay as they are."""
    rng = np.random.default_rng(seed)
    n = np.full((VARIANTS, CASES, MOST_BEFORE + 20), rounds)
    always = rng.random(CASES) < 0.8
    x = np.where(always[None, :, None], n, 0)
    x[:, 0] = rng.integers(0, rounds + 1, n.shape[::2])  # whatever other variants do
    x[0, 0, :MOST_BEFORE] = rounds
    x[0, 0, MOST_BEFORE:] = 0
    for counts in (x, n):
        counts[n_variants:] = 0
        counts[:, :, : MOST_BEFORE - n_before] = 0
    nothing = np.zeros_like(n)
    return Story(x, n, nothing, nothing, yardsticks=nothing[0], branches=nothing[0, 0])


MOST_BEFORE = 9
FAILING = ((3, 1, 1), (4, 2, 3), (7, 3, 2), (9, 1, 3))
"""Runs before, variants and rounds. With one or two runs before the odds are small, and
may fall a little. Where other cases change, so does what the suite is known to be like."""


def test_the_odds_of_a_case_do_not_fall_while_it_fails(
    con: duckdb.DuckDBPyConnection,
) -> None:
    stories = [failing_from(*kind, seed) for seed, kind in enumerate(FAILING)]
    runs = range(MOST_BEFORE, MOST_BEFORE + 20)
    for told, kind in zip(judge(con, stories, runs), FAILING, strict=True):
        rows = [told[run].cases[0, 0] for run in runs]
        evidence = [row["log_evidence"] for row in rows]
        assert evidence == sorted(evidence), kind
        odds = [row["odds"] for row in rows]
        if kind[1] == 1:
            assert odds == sorted(odds), kind
        refused = [told[run].has_odds for run in runs]
        assert refused == sorted(refused), kind
        assert refused[-1], kind


# ---------- laws 1 and 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10 if EXHAUSTIVE else 1))
def test_the_answers_are_a_function_of_what_is_loaded(
    tmp_path: Path, seed: int
) -> None:
    """Whatever was loaded in which order and calls, by whom, how and where."""
    rng = random.Random(seed)
    told = tell(rng)
    at_once = Shared(tmp_path / "at_once")
    at_once.load(told.files)
    at_once.accept()
    at_once.build("b")
    at_once.build("a", full_refresh=True)

    by_and_by = Shared(tmp_path / "by_and_by")
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
