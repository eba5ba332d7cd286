"""The gate: the policy that a person writes, and its result.

Shares, scores and drops of scores are 0–1; ``None`` in a policy means "not asked for",
in a result "not known".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from promptlab.contracts.base import Contract, NonBlank
from promptlab.contracts.comparison import Verdict

GATE_FORMAT_VERSION = "1.9"
# 1.0  first version
# 1.1  the decision in one sentence, the cases that broke and were fixed; rules that a
#      first run skips
# 1.2  the cases of the baseline that are not compared
# 1.3  the variant; the decision `run_again`; what chance explains
# 1.4  the rounds of suspected cases, now and before; re-checks; what the test attains
# 1.5  the smallest drop of the pass rate that the run can find
# 1.6  the run; the p-value of the variant by itself; advice on a changed evaluation,
#      flaky cases and runs without a re-check
# 1.7  cases that only ended in errors, which are not broken; the rounds that were run,
#      and those that the test counted
# 1.8  advice where the baseline is a run of another variant
# 1.9  cases that newly fail apart from those that broke

GateVerdict = Literal["pass", "fail", "inconclusive", "check"]
RuleVerdict = Literal["pass", "fail", "inconclusive", "check", "skipped"]
"""``skipped``: a rule about the baseline in the first run of a title."""
Decision = Literal["ship", "do_not_ship", "run_again", "cannot_tell", "first_run"]
Advice = Literal[
    "pass_score",
    "testset",
    "expectations",
    "golden_answers",
    "verdict_column",
    "score_rules",
    "name_baseline",
    "new_run",
    "on_check",
    "own_baseline",
    "other_variant",
]
Significance = Literal["required", "ignored"]

ShareLimit = Annotated[float, Field(ge=0, le=1)]
Ceiling = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Rules(Contract, strict=True):
    """A table of the policy: an unknown key is a mistake, not an extension."""


class RegressionRules(_Rules):
    """The allowed drop of the overall score below the baseline's."""

    baseline: NonBlank = "baseline"
    """Task to compare with: ``baseline``, ``previous``, an id or a unique prefix."""
    max_drop: ShareLimit | None = None
    """Largest drop of the paired overall score that passes."""
    significance: Significance = "required"
    """``required``: a larger drop fails only when it is significant, else the rule is
    inconclusive; ``ignored``: any larger drop fails."""
    false_alarm: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Allowed rate of false alarms. The rule fails if more rounds fail than chance
    explains (``fct_verdicts``), or if the overall score fell by more."""
    on_check: Literal["run_again", "pass"] = "run_again"
    """Result if cases newly fail and their rounds cannot decide whether they broke:
    ``run_again`` asks for more rounds (exit code 3), ``pass`` lets them pass."""
    must_pass: Literal["majority", "every_round"] = "majority"
    """Definition of a lost must-have: ``majority``, most rounds of its case fail (if
    fewer fail, run again); ``every_round``, one round fails."""
    allow_must_have_lost: bool = True
    """If true, a case may lose its must-haves against the baseline."""
    allow_newly_failing: bool = True
    """If true, a case that passed in the baseline may fail, or end in an error."""
    min_coverage: ShareLimit | None = None
    """Minimum share of the baseline's judged or scored cases that are compared; with
    less, a broken case may be among the others, and the rule is inconclusive. The same
    share applies to rounds, scores, must-haves and expectations. Default: all."""
    require_baseline: bool = False
    """If true, the first run of a title, which has nothing to compare with, is
    inconclusive; else the rules about the baseline are skipped."""


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
    false_alarm: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Like in ``regression``, but only for cases with the tag; both rules apply."""
    must_pass: Literal["majority", "every_round"] | None = None
    """Every case with the tag must pass: in most of its rounds, or in every one."""


class GatePolicy(_Rules):
    """The rules of a gate; a TOML file."""

    version: Literal[1] = 1
    min_score: ShareLimit | None = None
    min_pass_rate: ShareLimit | None = None
    min_coverage: ShareLimit | None = None
    """Minimum share of scored rounds. A limit that is met by a smaller share of
    measured rounds is inconclusive; latency is measured for rounds with an answer."""
    max_error_share: ShareLimit | None = None
    """Maximum share of rounds in error."""
    min_tnr: ShareLimit | None = None
    """Of the answers that people failed, those that the judge failed: the lower end of
    its 95 % interval. A judge below it, or with fewer than 15 passing or failing
    labels, is inconclusive, and so is a task whose judges have no labels."""
    must_pass_tags: list[NonBlank] = Field(default_factory=list)
    """Tags whose cases must all pass, as defined by ``regression.must_pass``."""
    allow_critical_alerts: bool = True
    allow_missed_targets: bool = True
    """If true, a dimension may miss its target."""
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
    """As in the policy: ``min_score``, ``dimensions.accuracy.max_drop``."""
    value: float | None
    """The task's value; a drop for ``max_drop``, a share of cases for tags."""
    limit: float | None
    verdict: RuleVerdict
    note: str | None
    """The reason, in the requested language; ``None`` if the numbers are enough."""


class CaseList(Contract):
    """Some cases of a task: their number and ids, the worst first."""

    n: int
    case_ids: list[str]
    """At most 1,000 of them."""


class CaseRecheck(Contract):
    """The new rounds of a re-checked case."""

    n_passed: int
    n_rounds: int
    """Judged rounds; copies of an answer count once."""
    n_errors: int
    n_copies: int
    """Rounds left out because they came from a cache or had a fixed seed."""
    n_passed_before: int
    n_rounds_before: int
    """New rounds of the baseline, else rounds of other earlier runs."""
    reference: Literal["rechecked", "earlier_runs", "none"]
    """Source of the earlier rounds; ``none``: there are no earlier rounds."""
    is_enough: bool
    """True if there are enough new rounds to decide."""


class CaseRecord(Contract):
    """The rounds of a newly failing or broken case, now and before."""

    case_id: str
    n_passed: int
    n_rounds: int
    n_errors: int
    n_passed_before: int
    n_rounds_before: int
    """Rounds of all reference runs."""
    n_rounds_counted: int
    n_rounds_counted_before: int
    """The rounds that the test counted: copies count once, and so do the rounds of a
    run that are alike."""
    to_recheck: int | None
    """New rounds to run on either side; ``None`` if no re-check is needed or, in a
    memory run, possible."""
    recheck: CaseRecheck | None
    text: str
    """``0 of 3 now, 33 of 33 before``, in the requested language."""


class GateResult(Contract):
    """The gate's result for a task: the verdict at the top of every report."""

    task_id: str
    title: str
    variant: str
    """The variant inside the title."""
    prompt_version: str
    model: str
    created_at: datetime
    """Time at which the task was created, UTC."""
    baseline_task_id: str | None
    """The task that it was compared with."""
    run_id: str
    """The run of the task."""
    policy: str
    """The policy file, or ``default``."""
    verdict: GateVerdict
    """``fail`` if any rule fails, else ``inconclusive`` if any is, else ``check``: the
    rounds cannot decide whether a case broke."""
    decision: Decision
    """The verdict as a decision; ``first_run``: it passes without a comparison."""
    headline: str
    """The decision and its reasons in one sentence, in the requested language."""
    broke: CaseList
    """Cases that passed in the baseline and do not now, or lost a must-have, where the
    test, a re-check or a rule says that it is no chance; without those of
    ``only_errors``."""
    newly_failing: CaseList
    """The other cases that passed in the baseline and do not now: nothing says yet that
    they broke."""
    only_errors: CaseList
    """Cases that passed in the baseline and gave no answer now: every round ended in an
    error."""
    fixed: CaseList
    """Cases that pass now and did not in the baseline."""
    not_compared: CaseList
    """Of those, cases that are missing or cannot be compared."""
    p: float | None
    """The p-value of the exact test of ``fct_verdicts``, adjusted for the variants of
    the run (Simes); ``None`` without cases to test."""
    p_alone: float | None
    """The same of this variant by itself. If it is larger than the limit of the rule,
    only all variants of the run together fail more than chance explains."""
    newly_failing_by_chance: float | None
    """Expected number of newly failing cases by chance if nothing changed."""
    attained_level: float | None
    """Upper limit of the false alarm rate of the test; ``None`` as for ``p``, where
    cases share clusters, where several variants of a run are tested together, and with
    another ``false_alarm`` than that of the built-in policy."""
    power_of_one_break: float | None
    """Probability of detecting a single broken case at once, by simulation; ``None`` as
    for ``attained_level``, and where whole runs differ."""
    smallest_drop: float | None
    """Smallest drop of the pass rate, 0–1, that a comparison of two results of this
    size finds 8 times in 10; ``None`` if none is, or the noise is not known yet."""
    rounds_per_case: int | None
    """Rounds of the median case of the task that the test counted, rounded down."""
    rounds_run_per_case: int | None
    """Rounds of the task with a verdict. More than ``rounds_per_case`` where rounds are
    copies of one answer, or where the rounds of a run are alike (``rounds_alike`` in
    ``assumptions``): these count once."""
    cases: list[CaseRecord]
    """Cases to run again and those listed as broken, the worst first; 1,000 at most."""
    assumptions: list[str]
    """Assumptions of the test that the available runs cannot confirm, and
    ``rounds_alike`` where they show that the rounds of a run are alike."""
    n_cases_before: int
    """Cases that have a verdict or a score in the baseline."""
    change: float | None
    """Change of the overall score, paired by case; ``None`` if unknown."""
    change_verdict: Verdict | None
    """Significance of the change; ``None`` if nothing was compared."""
    n_pass: int
    n_judged: int
    """Cases that passed, failed or ended in an error."""
    n_judged_twice: int
    """Cases that also did so in the baseline."""
    advice: list[Advice]
    """Ways out: how to get cases judged if none could be; ``name_baseline`` if the
    evaluation was changed on purpose, or has fewer cases or variants; ``new_run`` where
    no case can be run again; ``on_check`` if all newly failing cases are flaky;
    ``own_baseline`` if only the scores of the pair could be tested, as it is not a task
    with its own baseline; ``other_variant`` if the baseline is a run of the variant
    that this one seems to replace."""
    rules: list[GateRule]
    lang: str
    version: str
    """Version of this format; ``GATE_FORMAT_VERSION`` documents its history."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield None, self.task_id
        yield "headline", self.headline
