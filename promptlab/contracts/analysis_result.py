"""Analysis result: the output half of the analysis contract (section 4).

Fields of the contract keep its names and meaning; promptlab's own fields follow and
are marked "Ours". Scores, shares and interval ends are 0–1, 1 best; ``None`` means "not
scored", never 0. Lists come in a fixed order, so the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from promptlab.contracts.base import Contract, JsonObject, Share, html_table
from promptlab.contracts.base import Severity as Severity
from promptlab.contracts.base import Status as Status
from promptlab.contracts.base import compact_json as _compact
from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import GateResult

FORMAT_VERSION = "1.0"

TargetStatus = Literal["met", "missed", "unknown", "none"]
"""``unknown``: a target was set and could not be judged; ``none``: no target."""


class ResultTask(Contract):
    """The task's metadata, returned unchanged (contract section 3.2)."""

    task_id: str
    title: str
    prompt_version: str
    model: str
    triggered_by: str
    env: dict[str, str]
    created_at: datetime
    """Time at which the task was created, UTC."""


class EvidenceLink(Contract):
    """One piece of evidence for a score (contract section 4.5)."""

    dimension_id: str
    case_id: str
    round_id: str
    summary: str
    """One line for people, in the report's language."""
    payload: JsonObject
    """Those that are known of ``snippet``, ``expected``, ``actual``, ``reason``,
    ``pointer``, ``metric``, ``score`` and ``offsets``: pairs of character positions in
    the snippet."""


class AlertItem(Contract):
    """A warning about the score (contract section 4.5)."""

    severity: Severity
    message: str
    dimension_ids: list[str]
    case_ids: list[str]
    """At most as many as the report shows; ``n_cases`` is the total."""
    code: str
    """Ours: code of the alert, e.g. ``below_min_score``."""
    n_cases: int
    """Ours: number of affected cases."""


class ResultSummary(Contract):
    """The task in one line (contract section 4.2)."""

    overall_score: Share | None
    """Null if nothing, or too little, was scored; never 0 for that."""
    grade: str
    """A to F, or ``n/a`` if too little was scored."""
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

    @property
    def n_judged(self) -> int:
        """Number of cases in ``pass_rate``."""
        return self.n_pass + self.n_fail + self.n_error

    @property
    def by_status(self) -> dict[Status, int]:
        """Number of cases of each status, the best first."""
        return {
            "pass": self.n_pass,
            "fail": self.n_fail,
            "error": self.n_error,
            "unevaluated": self.n_unevaluated,
        }


class DimensionResult(Contract):
    """One dimension (contract section 4.3)."""

    dimension_id: str
    name: str
    score: Share | None
    """Null if no round was scored; ``diagnosis`` says why."""
    raw_metrics: JsonObject
    weight: Share
    """The weight used; the used weights sum to 1, an unused one is 0."""
    contributions: list[EvidenceLink]
    diagnosis: str
    weight_configured: Share
    """Ours: the weight in the input."""
    ci_low: Share | None
    """Ours: lower end of the 95 % interval of ``score`` over cases."""
    ci_high: Share | None
    ci_method: str | None
    """Ours: method of the interval; ``None`` without an interval."""
    ci_reason: str | None
    """Ours: the reason for a missing interval."""
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
    """Ours: number of cases with a score in each tenth of the scale, from 0–0.1 to
    0.9–1; a score on a border belongs to the upper tenth, 1 to the last. Empty
    without scores."""

    @property
    def least(self) -> float | None:
        """The target score, 0–1, if there is one."""
        least = self.target.get("min_score")
        if isinstance(least, bool) or not isinstance(least, int | float):
            return None
        return float(least) if 0 <= least <= 1 else None


class StepOutcome(Contract):
    """Ours: one step of a pipeline in a round."""

    step: str
    """Key of the output, in the order of the steps."""
    output: str
    """A text unchanged, other values as JSON; cut at 2,000 characters."""
    output_chars: int
    latency_ms: float | None = None
    """Milliseconds; this and the tokens are from ``metadata.steps``."""
    input_tokens: int | None = None
    output_tokens: int | None = None


class CaseRun(Contract):
    """Ours: status of a case in one run of its title."""

    task_id: str
    prompt_version: str
    status: Status
    score: Share | None = None


class PastRun(Contract):
    """Ours: one run of the title and variant."""

    task_id: str
    prompt_version: str
    created_at: datetime
    overall_score: Share | None = None
    ci_low: Share | None = None
    ci_high: Share | None = None
    number: int
    """Number of the run in its title, from 1 for the oldest."""


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
    """Answers that people failed, in all results of the title; if it has no labels, in
    those of other titles with this judge."""
    n_labels_pass: int
    n_labels_own: int
    """Labelled answers of this task that were drawn by chance."""
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
    """Messages are listed one per line, each after its role."""
    baseline_text: str | None


class RoundOutcome(Contract):
    """Ours: one round of a case, for people."""

    round_id: str
    run_index: int
    status: Status
    must_have_pass: bool | None = None
    error_code: str | None = None
    failed_steps: list[str] = Field(default_factory=list)
    answer: str | None = None
    """The answer as text, cut at 2,000 characters."""
    answer_chars: int | None = None
    """Length of the whole answer in characters, if it was cut."""
    latency_ms: float | None = None
    """Milliseconds."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    executed_at: datetime | None = None
    feedback: str | None = None
    """The judge's comment."""
    steps: list[StepOutcome] = Field(default_factory=list)


class ScopeOutcome(Contract):
    """Ours: one expectation scope of a round, a step, the aggregation or the final."""

    round_id: str
    scope: str
    step_id: str | None = None
    status: Status
    checks_total: int
    checks_failed: int
    checks_unevaluated: int
    actual_source: str | None = None
    """Source of the compared output; ``None`` without an output."""
    details: str
    """One sentence, in the report's language."""


class CheckDifference(Contract):
    """Ours: one failed check of the testset."""

    round_id: str
    scope: str
    step_id: str | None = None
    field: str | None = None
    """Final scope: the key of ``expected_outputs``."""
    pointer: str
    """JSON Pointer from the output of the scope or field; empty: all of it."""
    matcher: str
    status: Status
    reason: str
    expected: str | None = None
    """JSON text, cut at 500 characters."""
    actual: str | None = None
    """JSON text, cut at 500 characters; ``None`` when there was no value."""


class AssertionOutcome(Contract):
    """Ours: one assertion of a round that is not among its differences."""

    round_id: str
    source: Literal["testset", "tool"]
    """``tool``: another tool asserted and judged it."""
    name: str
    """Name in the tool; for a testset scope, step, field and place."""
    type: str
    status: Status
    is_member: bool = False
    """True if it belongs to the set of assertions before it."""
    score: float | None = None
    """Weight in the tool."""
    weight: float | None = None
    threshold: float | None = None
    """Minimum score to pass."""
    expected: str | None = None
    """JSON text, cut at 500 characters."""
    reason: str | None = None
    """The judge's reason for the verdict, cut at 500 characters."""


class CaseResult(Contract):
    """One case (contract section 4.4)."""

    case_id: str
    dimension_scores: dict[str, Share]
    """By ``dimension_id``; a dimension without a score of the case is absent."""
    aggregated_score: Share | None
    """Null if the case has no score; never 0 for that."""
    evidences: list[EvidenceLink]
    notes: JsonObject
    status: Status
    must_have_pass: bool | None = None
    """Ours: true if no must-have failed; ``None`` when nothing was evaluated."""
    reported_must_have_pass: bool | None = None
    """Ours: the status in the input."""
    in_testset: bool | None = None
    """Ours: true if the testset contains the case; ``None`` without a testset."""
    tags: list[str] = Field(default_factory=list)
    context: JsonObject = Field(default_factory=dict)
    n_rounds: int
    """Ours: number of rounds; ``rounds`` may list fewer in a shortened report."""
    n_rounds_passed: int
    rounds: list[RoundOutcome] = Field(default_factory=list)
    scopes: list[ScopeOutcome] = Field(default_factory=list)
    n_differences: int = 0
    """Ours: number of failed checks; ``differences`` may list fewer."""
    differences: list[CheckDifference] = Field(default_factory=list)
    assertions: list[AssertionOutcome] = Field(default_factory=list)
    """Ours: all other assertions; those of other tools with any result."""
    inputs: JsonObject = Field(default_factory=dict)
    """Ours: inputs of the test case, if it is in the testset."""
    expected: JsonObject = Field(default_factory=dict)
    """Ours: expectations for the final output, by field."""
    golden_answers: list[str] = Field(default_factory=list)
    """Ours: the golden answers as texts."""
    baseline_rounds: list[RoundOutcome] = Field(default_factory=list)
    """Ours: the rounds of the case in the baseline, if its status changed or its score
    dropped clearly."""
    history: list[CaseRun] = Field(default_factory=list)
    """Ours: the last runs of the case up to this one, oldest first; empty if its status
    was the same in all of them."""


class ScorerUsed(Contract):
    """Ours: the scorer of a dimension, to reproduce the score."""

    dimension_id: str
    scorer: str
    scoring_mode: str
    parameters: JsonObject
    target: JsonObject
    versions: list[str]
    """Scorers that gave the scores, each with its version."""


class Provenance(Contract):
    """Ours: the key ``promptlab`` of ``extras``: the sources of the numbers."""

    format_version: str
    package_version: str
    lang: str
    load_ids: list[int]
    """Loads that the task was read from."""
    source_kind: str
    title: str
    """The title of the history; ``task.title`` is as given, which the config may
    rename."""
    run_id: str
    """The execution that the task belongs to; by default the task itself."""
    variant: str
    """The variant inside the title: provider or model, and the prompt's name."""
    branch: str | None
    """Branch that was evaluated; ``None``: not known."""
    commit: str | None
    """Commit that was evaluated; ``None``: not known."""
    testset_id: str | None
    testset_source: str | None
    """The source of the testset's name."""
    pipeline_id: str | None
    scorers: list[ScorerUsed]
    given: JsonObject | None = None
    """The input's own ``extras.promptlab``, if it had one."""


class AnalysisResult(Contract):
    """The complete result of one task (contract section 4.1)."""

    task: ResultTask
    summary: ResultSummary
    dimensions: list[DimensionResult]
    case_results: list[CaseResult]
    """The worst first: those that the decision names, then newly failing ones, then by
    status and score."""
    generated_at: datetime
    version: str
    """Version of this format; ``FORMAT_VERSION`` documents its history."""
    extras: JsonObject
    """The input's ``extras`` as given; ours under the key ``promptlab``."""
    comparison: Comparison | None = None
    """Ours: comparison with the baseline; ``None`` without one. At most the 1,000
    worst cases."""
    gate: GateResult | None = None
    """Ours: the decision of the gate, by the current policy."""
    judges: list[JudgeResult] = Field(default_factory=list)
    """Ours: the judges of the task that have labels of people."""
    prompt: Prompt | None = None
    """Ours: the prompt, if the task's file or its pipeline contains it."""
    runs: list[PastRun] = Field(default_factory=list)
    """Ours: the last 30 runs of the title and variant up to this one, oldest first."""

    def as_json(self) -> str:
        """Return JSON with an entry of a list on each line, such as a case.

        Of an entry, our own fields are left out where there is nothing in them.
        """
        lines = []
        for name, value in self:
            is_list = isinstance(value, list) and value
            text = ",\n".join(map(_compact, value)) if is_list else _compact(value)
            lines.append(f'"{name}": ' + (f"[\n{text}\n]" if is_list else text))
        return "{\n" + ",\n".join(lines) + "\n}"

    @property
    def names(self) -> dict[str, str]:
        """The names of the dimensions by their ids."""
        return {dimension.dimension_id: dimension.name for dimension in self.dimensions}

    @property
    def provenance(self) -> Provenance | None:
        """The sources of the numbers; a result of others may have none."""
        try:
            return Provenance.model_validate(self.extras.get("promptlab"))
        except ValidationError:
            return None

    @property
    def is_graded(self) -> bool:
        """True if a grade is shown: an analysis file asks for it."""
        provenance = self.provenance
        return provenance is None or provenance.source_kind == "analysis"

    @property
    def title(self) -> str:
        """The title of the history, which the config may have renamed."""
        provenance = self.extras.get("promptlab")
        renamed = provenance.get("title") if isinstance(provenance, dict) else None
        return renamed if isinstance(renamed, str) else self.task.title

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield None, self.task.task_id
        yield "title", self.title
        yield "decision", self.gate and self.gate.decision
        yield "pass_rate", self.summary.pass_rate
        yield "overall_score", self.summary.overall_score

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the decision and the dimensions."""
        conclusion = self.summary.conclusion
        return html_table(
            f"{self.title}: {self.gate.headline if self.gate else conclusion}",
            ("dimension", "score", "low", "high", "weight", "target"),
            [
                (d.name, d.score, d.ci_low, d.ci_high, d.weight, d.target_status)
                for d in self.dimensions
            ],
        )
