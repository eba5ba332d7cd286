"""What an analysis says: the output half of the analysis contract (section 4).

Fields of the contract keep its names and meaning; fields of ours stand after them and
are marked so. Scores, shares and interval ends are 0–1, 1 best; ``None`` means "not
scored", never 0. Lists come in a fixed order, so the same input gives the same bytes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from promptlab.contracts.base import Contract, JsonObject, Share, html_table
from promptlab.contracts.base import Severity as Severity
from promptlab.contracts.base import Status as Status
from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import GateResult

FORMAT_VERSION = "1.4"
# 1.0  first version: contract sections 4.1–4.5, with status, rounds and intervals
# 1.1  comparison with the baseline; histogram of a dimension's case scores
# 1.2  the gate's verdict; prompt; of a case its inputs, what was expected, the answers
#      of the baseline, steps, feedback and history
# 1.3  run, variant, branch and commit of the task
# 1.4  judges with labels: the pass rate that they give, raw and corrected

TargetStatus = Literal["met", "missed", "unknown", "none"]
"""``unknown``: a target was set and could not be judged; ``none``: no target."""


class ResultTask(Contract):
    """The task's meta data, returned as it came (contract section 3.2)."""

    task_id: str
    title: str
    prompt_version: str
    model: str
    triggered_by: str
    env: dict[str, str]
    created_at: datetime
    """When the task was created, UTC."""
    run_id: str
    """The execution that it belongs to; the task itself, where the file names none."""
    variant: str
    """What is compared inside the title: provider or model, and the prompt's name."""
    branch: str | None
    """Branch that was evaluated; ``None``: not known."""
    commit: str | None
    """Commit that was evaluated; ``None``: not known."""


class EvidenceLink(Contract):
    """One piece of evidence for a score (contract section 4.5)."""

    dimension_id: str
    case_id: str
    round_id: str
    summary: str
    """One line for people, in the report's language."""
    payload: JsonObject
    """``snippet``, ``expected``, ``actual``, ``reason``, ``pointer`` and, where known,
    ``offsets``: pairs of character positions in the snippet."""


class AlertItem(Contract):
    """Something a reader must know before trusting the score (contract section 4.5)."""

    severity: Severity
    message: str
    dimension_ids: list[str]
    case_ids: list[str]
    """At most as many as the report shows; ``n_cases`` counts them all."""
    code: str
    """Ours: what kind of alert, e.g. ``below_min_score``."""
    n_cases: int
    """Ours: how many cases it concerns."""


class ResultSummary(Contract):
    """The task in one line (contract section 4.2)."""

    overall_score: Share | None
    grade: str
    """A to F, or ``n/a`` where too little was scored."""
    alerts: list[AlertItem]
    coverage: Share | None
    """Share of rounds that were scored on a dimension whose weight was used."""
    ci_low: Share | None
    """Ours: lower end of the 95 % interval of ``overall_score`` over cases."""
    ci_high: Share | None
    pass_rate: Share | None
    """Ours: passed cases over passed, failed and error cases."""
    n_cases: int
    n_pass: int
    n_fail: int
    n_error: int
    n_unevaluated: int
    n_rounds: int
    n_scored_rounds: int
    """Ours: rounds that ``coverage`` counts as scored."""
    conclusion: str
    """Ours: one sentence, in the report's language."""


class DimensionResult(Contract):
    """One dimension (contract section 4.3)."""

    dimension_id: str
    name: str
    score: Share | None
    raw_metrics: JsonObject
    weight: Share
    """The weight used; the used weights sum to 1, an unused one is 0."""
    contributions: list[EvidenceLink]
    diagnosis: str
    weight_configured: Share
    """Ours: the weight that the input asked for."""
    ci_low: Share | None
    """Ours: lower end of the 95 % interval of ``score`` over cases."""
    ci_high: Share | None
    ci_method: str | None
    """Ours: how the interval was made; ``None`` where there is none."""
    ci_reason: str | None
    """Ours: why there is no interval."""
    n_cases: int
    """Ours: cases that were scored."""
    n_rounds: int
    """Ours: rounds that were scored."""
    scorer: str
    scoring_mode: str
    target: JsonObject
    """Ours: the target as configured."""
    target_status: TargetStatus
    """Ours: whether the target was met, by the alerts of this dimension."""
    histogram: list[int] = Field(default_factory=list)
    """Ours: how many cases score in each tenth of the scale, from 0–0.1 to 0.9–1; a
    score on a border belongs to the upper tenth, 1 to the last. Empty where no case
    has a score."""


class StepOutcome(Contract):
    """Ours: one step of a pipeline in a round."""

    step: str
    """Key of the output, in the order of the steps."""
    output: str
    """A text as it is, anything else as JSON; cut at 2,000 characters."""
    output_chars: int
    latency_ms: float | None
    """Milliseconds; this and the tokens where ``metadata.steps`` gives them."""
    input_tokens: int | None
    output_tokens: int | None


class CaseRun(Contract):
    """Ours: how a case ended in one run of its title."""

    task_id: str
    prompt_version: str
    status: Status
    score: Share | None
    created_at: datetime | None


class ReportedTotal(Contract):
    """Ours: a total of another tool's file that its rows do not give."""

    total_name: str
    dimension_id: str | None
    total_rule: str
    reason: str
    reported: float | None
    computed: float | None
    n_reported: int | None
    """Rows that it is over, as the file says."""
    n_computed: int | None


class ReportedTotals(Contract):
    """Ours: the totals that another tool's file claims, held against its rows."""

    n: int
    n_agree: int
    others: list[ReportedTotal]


class JudgeResult(Contract):
    """Ours: a judge that people checked, and the pass rate corrected for its errors."""

    dimension_id: str
    """What it judged; ``verdict`` is the round as a whole."""
    judge: str
    method: Literal["labels_weighted", "corrected"] | None
    """How the rate was corrected; ``None``: it could not be."""
    reason: str | None
    """Why there is no corrected rate, or why not to rely on it."""
    n_cases: int
    n_rounds: int
    n_passed: int
    """Rounds that the judge passed."""
    raw_rate: Share
    corrected_rate: Share | None
    """Share of rounds that people would pass, by estimate."""
    ci_low: Share | None
    """Lower end of its 95 % interval, over labels and cases."""
    ci_high: Share | None
    n_labels_fail: int
    """Answers that people failed; of all runs of the judge."""
    n_labels_pass: int
    tnr: Share | None
    """Share of these failures that the judge caught."""
    tnr_low: Share | None
    tnr_high: Share | None
    tpr: Share | None
    """Share of the passes of people that the judge kept."""
    tpr_low: Share | None
    tpr_high: Share | None
    text: str
    """All of it in words, in the report's language."""


class Prompt(Contract):
    """Ours: the prompt of a task, and that of its baseline."""

    text: str | None
    """Messages stand one below the other, each after its role."""
    baseline_text: str | None


class RoundOutcome(Contract):
    """Ours: one round of a case, for people."""

    round_id: str
    run_index: int
    status: Status
    must_have_pass: bool | None
    error_code: str | None
    failed_steps: list[str]
    answer: str | None
    """The answer as text, cut at 2,000 characters."""
    answer_chars: int | None
    """Length of the whole answer in characters."""
    latency_ms: float | None
    """Milliseconds."""
    input_tokens: int | None
    output_tokens: int | None
    executed_at: datetime | None
    feedback: str | None = None
    """What the judge said of it."""
    steps: list[StepOutcome] = Field(default_factory=list)


class ScopeOutcome(Contract):
    """Ours: one expectation scope of a round, a step, the aggregation or the final."""

    round_id: str
    scope: str
    step_id: str | None
    status: Status
    checks_total: int
    checks_failed: int
    checks_unevaluated: int
    actual_source: str | None
    """Where the compared output was found; ``None`` when there was none."""
    details: str
    """One sentence, in the report's language."""


class CheckDifference(Contract):
    """Ours: one check of the testset that did not hold."""

    round_id: str
    scope: str
    step_id: str | None
    field: str | None
    """Final scope: the key of ``expected_outputs``."""
    pointer: str
    """JSON Pointer from the output of the scope or field; empty: the whole of it."""
    matcher: str
    status: Status
    reason: str
    expected: str | None
    """JSON text, cut at 500 characters."""
    actual: str | None
    """JSON text, cut at 500 characters; ``None`` when there was no value."""


class AssertionOutcome(Contract):
    """Ours: one assertion of a round that is not among its differences."""

    round_id: str
    source: Literal["testset", "tool"]
    """``tool``: another tool asserted and judged it."""
    name: str
    """As the tool names it; of a testset scope, step, field and place."""
    type: str
    status: Status
    is_member: bool
    """It belongs to a set of assertions that stands before it."""
    score: float | None
    """Of the tool."""
    weight: float | None
    threshold: float | None
    """Score from which it holds."""
    expected: str | None
    """JSON text, cut at 500 characters."""
    reason: str | None
    """Why it holds or does not, in the words of who judged, cut at 500 characters."""


class CaseResult(Contract):
    """One case (contract section 4.4)."""

    case_id: str
    dimension_scores: dict[str, float | None]
    """Every configured dimension; ``None`` where it could not be scored."""
    aggregated_score: Share | None
    evidences: list[EvidenceLink]
    notes: JsonObject
    status: Status
    must_have_pass: bool | None
    """Ours: no must was broken; ``None`` when nothing was evaluated."""
    reported_must_have_pass: bool | None
    """Ours: what the input itself said of it."""
    in_testset: bool | None
    """Ours: whether the testset holds the case; ``None`` without a testset."""
    tags: list[str]
    context: JsonObject
    n_rounds: int
    """Ours: rounds of the case; ``rounds`` may list fewer in a cut report."""
    n_rounds_passed: int
    rounds: list[RoundOutcome]
    scopes: list[ScopeOutcome]
    n_differences: int
    """Ours: checks that did not hold; ``differences`` may list fewer."""
    differences: list[CheckDifference]
    assertions: list[AssertionOutcome] = Field(default_factory=list)
    """Ours: all other assertions, those of other tools whatever came of them."""
    inputs: JsonObject = Field(default_factory=dict)
    """Ours: inputs of the test case, where the testset holds it."""
    expected: JsonObject = Field(default_factory=dict)
    """Ours: what the testset expects of the final output, by field."""
    golden_answers: list[str] = Field(default_factory=list)
    """Ours: the golden answers as texts."""
    baseline_rounds: list[RoundOutcome] = Field(default_factory=list)
    """Ours: the rounds of the case in the baseline, where it is not as it was."""
    history: list[CaseRun] = Field(default_factory=list)
    """Ours: the last runs of the case up to this one, oldest first."""


class ScorerUsed(Contract):
    """Ours: what scored a dimension, to repeat it."""

    dimension_id: str
    scorer: str
    scoring_mode: str
    parameters: JsonObject
    target: JsonObject


class Provenance(Contract):
    """Ours: the key ``promptlab`` of ``extras``: where the numbers come from."""

    format_version: str
    package_version: str
    lang: str
    load_ids: list[int]
    """Loads that the task was read from."""
    source_kind: str
    testset_id: str | None
    testset_source: str | None
    """What named the testset."""
    pipeline_id: str | None
    scorers: list[ScorerUsed]
    given: JsonObject | None = None
    """The input's own ``extras.promptlab``, if it had one."""


class AnalysisResult(Contract):
    """The whole answer for one task (contract section 4.1)."""

    task: ResultTask
    summary: ResultSummary
    dimensions: list[DimensionResult]
    case_results: list[CaseResult]
    generated_at: datetime
    version: str
    """Version of this format; its history stands beside ``FORMAT_VERSION``."""
    extras: JsonObject
    """The input's ``extras`` as given; ours under the key ``promptlab``."""
    comparison: Comparison | None = None
    """Ours: the task against its baseline; ``None`` where it has none. Of the cases,
    the worst 1,000 at most."""
    gate: GateResult | None = None
    """Ours: whether to ship, by the gate policy that is in force."""
    totals: ReportedTotals | None = None
    """Ours: the totals that the file of another tool claims; ``None`` without any."""
    judges: list[JudgeResult] = Field(default_factory=list)
    """Ours: the judges of the task that have labels of people."""
    prompt: Prompt | None = None
    """Ours: the prompt, where the task's file or its pipeline tells it."""

    def _repr_html_(self) -> str:
        """Return how a notebook shows this: the decision and the dimensions."""
        conclusion = self.summary.conclusion
        return html_table(
            f"{self.task.title}: {self.gate.headline if self.gate else conclusion}",
            ("dimension", "score", "low", "high", "weight", "target"),
            [
                (d.name, d.score, d.ci_low, d.ci_high, d.weight, d.target_status)
                for d in self.dimensions
            ],
        )
