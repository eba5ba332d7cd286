"""The evaluator: a small, plain judge of what a pipeline gave, for use in tests.

It writes the matching rules (docs/matching.md) a second time, independent of the
SQL, so that the two check each other. It needs neither the warehouse nor a data frame.
"""

from promptlab.evaluator.models import (
    EvaluationConfig,
    EvaluationResult,
    PipelineEvaluationResult,
    PipelineRun,
    RuleConfig,
    RunInfo,
)
from promptlab.evaluator.pipeline import PipelineEvaluator
from promptlab.evaluator.unified import UnifiedEvaluator
from promptlab.json_text.reading import JsonText

__all__ = [
    "EvaluationConfig",
    "EvaluationResult",
    "JsonText",
    "PipelineEvaluationResult",
    "PipelineEvaluator",
    "PipelineRun",
    "RuleConfig",
    "RunInfo",
    "UnifiedEvaluator",
]
