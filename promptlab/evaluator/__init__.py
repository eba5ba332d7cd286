"""The evaluator: a small judge of pipeline outputs, for use in tests.

It implements the matching rules (docs/matching.md) independently of the SQL, so that
tests can compare the two. It needs neither the warehouse nor a data frame.
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
