"""The gate: the policy that a person writes, and its result.

Shares, scores and drops of scores are 0–1; ``None`` in a policy means "not asked for",
in a result "not known".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from promptlab.contracts.base import Contract, NonBlank

GATE_FORMAT_VERSION = "2.0"

Decision = Literal["do_not_ship", "cannot_tell", "run_again", "first_run", "ship"]
"""The worst first."""
RuleVerdict = Literal["pass", "fail", "inconclusive", "check", "skipped"]
"""``check``: run again; ``skipped``: there is nothing to compare with, or to test."""
Significance = Literal["required", "ignored"]
MustPass = Literal["majority", "every_round"]
Advice = Literal[
    "title",
    "accept",
    "recheck",
    "new_run",
    "load_files",
    "load_records",
    "ask_again",
    "label",
    "pass_score",
    "testset",
    "expectations",
    "golden_answers",
    "verdict_column",
    "score_rules",
]
"""What to do next: give the runs a ``title`` that repeats, ``accept`` the run as it is,
``recheck`` its cases, wait for a ``new_run`` of a memory (its cases cannot be asked
again by themselves), load the files that were left out, ask without a cache, ``label``
answers; the others give cases a verdict."""

EXIT_CODES: dict[Decision, int] = {
    "do_not_ship": 1,
    "cannot_tell": 4,
    "run_again": 3,
    "first_run": 0,
    "ship": 0,
}
"""Exit code of each decision, the worst first."""

ShareLimit = Annotated[float, Field(ge=0, le=1)]
Ceiling = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Rules(Contract, strict=True):
    """A table of the policy: an unknown key is a mistake, not an extension."""


class RegressionRules(_Rules):
    """The allowed drop of the overall score below the baseline of the page."""

    max_drop: ShareLimit | None = None
    """Largest drop of the overall score, paired by case, that passes."""
    significance: Significance = "required"
    """``required``: a larger drop fails only when it is significant, else the rule is
    inconclusive; ``ignored``: any larger drop fails."""


class LatencyRules(_Rules):
    """Ceilings for the time to answer, over rounds with a usable answer."""

    max_p50_ms: Ceiling | None = None
    max_p95_ms: Ceiling | None = None


class TokenRules(_Rules):
    """Ceilings for tokens."""

    max_total: Ceiling | None = None
    """Input and output tokens of all rounds."""


class CostRules(_Rules):
    """Ceilings for the cost: what the tool says, else tokens by ``[prices]``."""

    max_total: Ceiling | None = None
    max_per_round: Ceiling | None = None


class DimensionRules(_Rules):
    """Rules for one dimension."""

    min_score: ShareLimit | None = None
    max_drop: ShareLimit | None = None
    significance: Significance = "required"
    """As in ``regression``; the p-value is adjusted for the number of dimensions."""


class TagRules(_Rules):
    """Rules for the cases with one tag."""

    min_pass_rate: ShareLimit | None = None
    """Minimum share of passed cases with the tag."""
    must_pass: MustPass | None = None
    """Every case with the tag must pass: in most of its rounds, or in every one."""


class GatePolicy(_Rules):
    """The rules of a gate; a TOML file."""

    version: Literal[1] = 1
    min_score: ShareLimit | None = None
    min_pass_rate: ShareLimit | None = None
    min_coverage: ShareLimit | None = None
    """Minimum share of scored rounds; with less, the rule is inconclusive, and so is a
    limit that is met by fewer measured rounds. Latency is measured for rounds with an
    answer."""
    max_error_share: ShareLimit | None = None
    """Maximum share of rounds in error."""
    min_tnr: ShareLimit | None = None
    """Of the answers that people failed, those that the judge failed: the lower end of
    its 95 % interval. A judge below it, or with fewer than 15 passing or failing
    labels, is inconclusive, and so is a task whose judges have no labels."""
    must_pass_tags: list[NonBlank] = Field(default_factory=list)
    """Tags whose cases must all pass, in most of their rounds."""
    allow_critical_alerts: bool = True
    allow_missed_targets: bool = True
    """If true, a dimension may miss its target."""
    refuse_odds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    """Odds that a case of the run broke, from which it is refused: 10 is 10 to 1."""
    newly_failing: Literal["watch", "stop"] = "watch"
    """Newly failing cases that nothing shows to be broken: ``watch`` names them,
    ``stop`` asks to run them again (exit code 3)."""
    min_compared: ShareLimit = 1.0
    """Minimum share of the cases that were judged in the last run and are judged now,
    by the same yardstick; with less, a broken case may be among the others."""
    require_history: bool = False
    """If true, a first run, which has nothing to compare with, is inconclusive."""
    regression: RegressionRules = RegressionRules()
    latency: LatencyRules = LatencyRules()
    tokens: TokenRules = TokenRules()
    cost: CostRules = CostRules()
    dimensions: dict[NonBlank, DimensionRules] = Field(default_factory=dict)
    """Rules by ``dimension_id``."""
    tags: dict[NonBlank, TagRules] = Field(default_factory=dict)
    """Rules by tag."""


class GateRule(Contract):
    """One rule and its result."""

    rule: str
    """As in the policy: ``min_score``, ``dimensions.accuracy.max_drop``; the others are
    ``whole_rate``, ``judged_cases``, ``new_answers``, ``all_rows``, ``all_files``."""
    value: float | None
    """The task's value; a drop for ``max_drop``, a share of cases for tags, odds for
    ``refuse_odds``, a p-value for ``whole_rate``."""
    limit: float | None
    verdict: RuleVerdict
    note: str | None
    """The reason, in the requested language; ``None`` if the numbers are enough."""


class CaseList(Contract):
    """Some cases of a task: their number and ids, the worst first."""

    n: int
    case_ids: list[str]
    """At most 1,000 of them."""


class CaseRecord(Contract):
    """A newly failing case with its rounds."""

    case_id: str
    state: Literal["broken", "watched"]
    odds: float | None
    """Odds that this case broke; ``None`` without a history."""
    n_passed: int
    """Rounds with a verdict, from the run ``since_run_id`` to this one."""
    n_rounds: int
    n_errors: int
    """Rounds of this run that ended in an error."""
    n_passed_before: int
    """Rounds of the runs before that."""
    n_rounds_before: int
    since_run_id: str | None
    since_at: datetime | None
    """Time of that run, UTC."""
    since_prompt: str | None
    """Its prompt version."""
    is_known_flaky: bool
    """True if the config lists it as flaky: it is reported and never refuses."""
    text: str
    """``0 of 2 since 14 Oct (prompt v7), 24 of 24 before``, in the requested
    language."""


class NotCompared(Contract):
    """Cases of the last run that are not compared, for one reason."""

    why: Literal[
        "gone",
        "unjudged",
        "question",
        "assertions",
        "judge",
        "fewer_rounds",
        "rejected",
        "errors",
        "cached",
        "variant_gone",
        "title_gone",
    ]
    """The last two have the names of variants and titles."""
    n: int
    """Number of cases."""
    names: list[str]
    """At most 1,000 of them."""


class Change(Contract):
    """A difference from the last run; ``variant``: it had the given name there."""

    what: Literal[
        "prompt",
        "model",
        "settings",
        "variant",
        "questions",
        "assertions",
        "judge",
        "cases_added",
        "cases_removed",
    ]
    name: str | None
    n: int | None
    """Number of cases."""


@dataclass(frozen=True, slots=True)
class HeadlinePart:
    """A part of the sentence of a decision: text, or the id of a case."""

    text: str
    case_id: str | None = None


class GateResult(Contract):
    """The gate's result for a task: the decision at the top of every report."""

    task_id: str
    title: str
    variant: str
    """The variant inside the title."""
    run_id: str
    prompt_version: str
    model: str
    created_at: datetime
    """Time at which the task was created, UTC."""
    last_run_at: datetime | None
    """Time of the variant's last earlier run on the base branch; ``None``: none."""
    baseline_task_id: str | None
    """The task that its page compares it with, for display."""
    policy: str
    """The policy file, or ``default``."""
    decision: Decision
    exit_code: int
    headline: str
    """The decision and its reasons in one sentence, in the requested language."""
    odds: float | None
    """Odds that a case of the run broke, over all its variants; ``None`` without a
    history."""
    p_whole: float | None
    """Chance of so low a whole pass rate, or score, if nothing changed; ``None`` where
    it was not tested."""
    measure: Literal["verdict", "score"] | None
    """What was compared: verdicts, or scores of a title without verdicts."""
    rate_now: float | None
    """Mean pass rate (or score) of the compared cases."""
    rate_before: float | None
    """The same of the earlier runs."""
    broke: CaseList
    """Cases that newly fail with odds of 1 or more, in a run that is refused."""
    watched: CaseList
    """The other cases that newly fail."""
    fixed: CaseList
    """Cases that newly pass."""
    not_compared: list[NotCompared]
    n_not_compared: int
    n_cases_before: int
    """Cases that were judged in the last run."""
    n_pass: int
    n_judged: int
    """Cases that passed, failed or ended in an error."""
    cases: list[CaseRecord]
    """Newly failing cases: the broken ones, then the watched ones; 1,000 at most."""
    changes: list[Change]
    """What changed since the last run."""
    accept_reason: str | None
    """Why a person accepted the run; ``None`` if nobody did, empty without a reason."""
    advice: list[Advice]
    """What to do next, the nearest first."""
    rules: list[GateRule]
    lang: str
    version: str
    """Version of this format."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield None, self.task_id
        yield "headline", self.headline
