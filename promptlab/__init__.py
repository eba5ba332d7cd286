"""promptlab, the warehouse for prompt evaluation: the public Python API.

Names are loaded on first use, so that ``import promptlab`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlab.contracts.analysis_input import AnalysisInput
    from promptlab.contracts.analysis_result import AnalysisResult
    from promptlab.contracts.testset import TestCase
    from promptlab.evaluator import (
        EvaluationConfig,
        EvaluationResult,
        PipelineEvaluator,
        RuleConfig,
        UnifiedEvaluator,
    )
    from promptlab.ingest.pipelines import load_pipeline_config
    from promptlab.ingest.testsets import (
        filter_by_tags,
        load_testset,
        validate_testset,
    )
    from promptlab.version import __version__
    from promptlab.warehouse import Warehouse

_HOMES = {
    "AnalysisInput": "promptlab.contracts.analysis_input",
    "AnalysisResult": "promptlab.contracts.analysis_result",
    "EvaluationConfig": "promptlab.evaluator",
    "EvaluationResult": "promptlab.evaluator",
    "PipelineEvaluator": "promptlab.evaluator",
    "RuleConfig": "promptlab.evaluator",
    "TestCase": "promptlab.contracts.testset",
    "UnifiedEvaluator": "promptlab.evaluator",
    "Warehouse": "promptlab.warehouse",
    "__version__": "promptlab.version",
    "filter_by_tags": "promptlab.ingest.testsets",
    "load_pipeline_config": "promptlab.ingest.pipelines",
    "load_testset": "promptlab.ingest.testsets",
    "validate_testset": "promptlab.ingest.testsets",
}

__all__ = [
    "AnalysisInput",
    "AnalysisResult",
    "EvaluationConfig",
    "EvaluationResult",
    "PipelineEvaluator",
    "RuleConfig",
    "TestCase",
    "UnifiedEvaluator",
    "Warehouse",
    "__version__",
    "filter_by_tags",
    "load_pipeline_config",
    "load_testset",
    "validate_testset",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'promptlab' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
