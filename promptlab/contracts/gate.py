"""The gate: the policy that a person writes, and what became of it.

Shares, scores and drops of scores are 0–1; ``None`` in a policy means "not asked for",
in a result "not known".
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from promptlab.contracts.base import Contract, NonBlank

GATE_FORMAT_VERSION = "1.0"
# 1.0  first version

GateVerdict = Literal["pass", "fail", "inconclusive"]
Significance = Literal["required", "ignored"]

ShareLimit = Annotated[float, Field(ge=0, le=1)]
Ceiling = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Rules(BaseModel):
    """A table of the policy: an unknown key is a mistake, not an extension."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class RegressionRules(_Rules):
    """How far the overall score may fall below the baseline's."""

    baseline: NonBlank = "baseline"
    """Task to compare with: ``baseline``, ``previous``, an id or a unique prefix."""
    max_drop: ShareLimit | None = None
    """Largest drop of the paired overall score that passes."""
    significance: Significance = "required"
    """``required``: a larger drop fails only when it is significant, else the rule is
    inconclusive; ``ignored``: any larger drop fails."""
    allow_must_have_lost: bool = True
    """Whether a case may lose its must-haves against the baseline."""


class LatencyRules(_Rules):
    """Ceilings for the time to answer, over rounds with a usable answer."""

    max_p50_ms: Ceiling | None = None
    max_p95_ms: Ceiling | None = None


class TokenRules(_Rules):
    """Ceilings for tokens."""

    max_total: Ceiling | None = None
    """Input and output tokens of all rounds."""


class CostRules(_Rules):
    """Ceilings for the cost; the task needs a dimension ``cost``, of any weight."""

    max_total: Ceiling | None = None
    max_per_round: Ceiling | None = None


class DimensionRules(_Rules):
    """Rules for one dimension."""

    min_score: ShareLimit | None = None
    max_drop: ShareLimit | None = None
    significance: Significance = "required"
    """As in ``regression``; the p-value is adjusted for the number of dimensions."""


class GatePolicy(_Rules):
    """What a task must keep to; a TOML file."""

    version: Literal[1] = 1
    min_score: ShareLimit | None = None
    min_pass_rate: ShareLimit | None = None
    min_coverage: ShareLimit | None = None
    max_error_share: ShareLimit | None = None
    """Of the rounds."""
    must_pass_tags: list[NonBlank] = Field(default_factory=list)
    """Tags whose cases must all pass."""
    allow_critical_alerts: bool = True
    regression: RegressionRules = RegressionRules()
    latency: LatencyRules = LatencyRules()
    tokens: TokenRules = TokenRules()
    cost: CostRules = CostRules()
    dimensions: dict[NonBlank, DimensionRules] = Field(default_factory=dict)
    """Rules by ``dimension_id``."""


class GateRule(Contract):
    """One rule, and what the task made of it."""

    rule: str
    """As in the policy: ``min_score``, ``dimensions.accuracy.max_drop``."""
    value: float | None
    """What the task has; a drop for ``max_drop``, a share of cases for tags."""
    limit: float | None
    verdict: GateVerdict
    note: str | None
    """Why, in the language asked for; ``None`` where the numbers say it."""


class GateResult(Contract):
    """A task at the gate."""

    task_id: str
    title: str
    prompt_version: str
    model: str
    created_at: datetime
    """When the task was created, UTC."""
    baseline_task_id: str | None
    """The task that it was compared with."""
    policy: str
    """The policy file, or ``default``."""
    verdict: GateVerdict
    """``fail`` if any rule does, else ``inconclusive`` if any is."""
    rules: list[GateRule]
    lang: Literal["zh", "en"]
    version: str
    """Version of this format; its history stands beside ``GATE_FORMAT_VERSION``."""
