"""What the columns of the raw tables hold, where raw.sql itself does not say it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from promptlab.contracts import analysis_input, evaluation, memory, pipeline, testset
from promptlab.contracts.scores import ScoreRecord

CONTRACTS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "test_cases": (testset.TestCase,),
    "pipelines": (pipeline.Pipeline,),
    "pipeline_steps": (pipeline.PipelineStep,),
    "tasks": (analysis_input.TestTaskMeta, analysis_input.AnalysisInput),
    "cases": (analysis_input.TestCaseBundle,),
    "rounds": (analysis_input.RoundRun, evaluation.EvaluationRecord),
    "baselines": (analysis_input.BaselineSpec,),
    "golden_checks": (analysis_input.BaselineSpec,),
    "dimension_configs": (analysis_input.DimensionConfig,),
    "scores": (ScoreRecord,),
    "memory_runs": (
        memory.DatasetStatistics,
        memory.TestSummary,
        memory.ExperimentInfo,
    ),
    "memory_tests": (memory.RoundHead,),
    "memory_answers": (memory.RoundHead, memory.Question),
    "memory_invalid_questions": (memory.InvalidQuestion,),
    "memory_timings": (memory.StageTiming,),
}
"""Raw table → contracts whose fields have the names of its columns."""

TEXTS = {
    "load_id": "Load that wrote the row.",
    "file_uri": "Absolute path of the file.",
    "line": "Line of the file, from 1.",
    "position": "Place in the file, from 0.",
    "testset_id": "Path of the testset below the ingested folder, without suffix.",
    "case_id": "The case, unique in its task or testset.",
    "task_id": "The task; unique over the whole warehouse.",
    "pipeline_id": "The pipeline.",
    "step_id": "Id of the step.",
    "run_id": "Run of the memory benchmark.",
    "extras": "What the file has beyond the format, kept as it came.",
    "schema_versions.version": "Version of the raw layer.",
    "schema_versions.applied_at": "When the warehouse took it on, UTC.",
    "schema_versions.ingest_version": "Version of promptlab that did.",
    "loads.load_id": "Number of the load, counted up.",
    "loads.source_name": "Path below the ingested folder without suffix; the stem of a "
    "file named itself.",
    "loads.sha256": "Hash of the file's bytes.",
    "loads.bytes": "Size of the file.",
    "loads.started_at": "When reading began, UTC.",
    "loads.finished_at": "When reading ended, UTC.",
    "loads.ingest_version": "Version of promptlab that read it.",
    "rejects.load_id": "Load that found it.",
    "rejects.code": "Kind of problem, such as `wrong_type`.",
    "rejects.message": "What was found, what was expected, one fix.",
    "testsets.feature": "First part of the name `<feature>_<type>_<version>`; "
    "null where the name is another.",
    "testsets.type": "Second part of the name.",
    "testsets.version": "Third part of the name.",
    "testsets.cases": "Cases that were loaded.",
    "test_cases.evaluation_config": "How to judge, as written.",
    "expectations.tolerance": "Largest difference of a number that still matches.",
    "pipelines.raw_data": "The whole file, as JSON.",
    "tasks.pipeline_ref": "What the file says of its pipeline.",
    "reported_checks.round_id": "The round, unique in its case.",
    "reported_checks.type": "Kind of assertion, as the tool names it.",
    "reported_checks.weight": "Weight of the assertion, where the tool says it.",
    "reported_checks.threshold": "Score from which it holds, where the tool says it.",
    "reported_checks.expected": "What was asserted, as JSON.",
    "reported_checks.reason": "Why it holds or does not, in the tool's words.",
    "reported_scores.round_id": "The round, unique in its case.",
    "reported_scores.dimension_id": "Scorer, metric or assertion, as the tool names "
    "it.",
    "reported_scores.summary": "Why, in the tool's words.",
    "reported_scores.payload": "What else the tool says of it.",
    "reported_totals.dimension_id": "Dimension that the total is about; null: none.",
    "rounds.reported_must_have_pass": "Evaluation results: `must_have_pass` as given.",
    "named_baselines.title": "Title whose tasks are compared with it.",
    "named_baselines.testset_id": "Testset of those tasks; null: any.",
    "named_baselines.set_at": "When it was set, UTC.",
    "requested_comparisons.baseline_task_id": "The task to compare with.",
    "requested_comparisons.candidate_task_id": "The task that is compared.",
    "requested_comparisons.requested_at": "When it was asked for, UTC.",
    "memory_runs.task_id": "The conversation, a file.",
    "memory_tests.task_id": "The conversation, a file.",
    "memory_answers.task_id": "The conversation, a file.",
    "memory_invalid_questions.task_id": "The conversation, a file.",
    "memory_timings.task_id": "The conversation, a file.",
    "memory_runs.dataset": "Name of the data set.",
    "memory_runs.memory_system": "The system that was tested, where the path names it.",
    "memory_tests.range_start": "First question of the round.",
    "memory_tests.range_end": "Last question of the round.",
    "memory_answers.question_text": "The question.",
    "memory_invalid_questions.position": "Place in the list, from 0.",
    "memory_timings.min_ms": "Shortest call, in milliseconds (summary).",
    "memory_timings.max_ms": "Longest call, in milliseconds (summary).",
    "memory_timings.count": "Calls (summary).",
}
"""Column, or table.column, that neither raw.sql nor a contract describes."""
