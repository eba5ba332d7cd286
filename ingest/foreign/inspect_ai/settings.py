"""The model, settings and prompt of an Inspect log."""

from __future__ import annotations

from typing import Any

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import as_object, as_time, short_name
from promptlab.ingest.foreign.inspect_ai.log import Eval, Log, Plan
from promptlab.ingest.foreign.prompts import env_of
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.json_text.writing import compact


def describe(log: Log, task: TaskWriter) -> None:
    """Write the head of a task: its prompt, model, settings and times."""
    evaluation = log.eval
    arguments = evaluation.task_args
    passed = evaluation.task_args_passed
    version = as_object(log.metadata).get("prompt_version", evaluation.task_version)
    task.describe(
        evaluation.task,
        prompt_version=None if version is None else str(version),
        model=evaluation.model,
        created_at=as_time(evaluation.created),
        run_id=evaluation.eval_set_id or evaluation.run_id,
        written_at=as_time(evaluation.created),
        provider=_provider(evaluation, arguments if passed is None else passed),
        settings=_settings(log),
        judge=evaluation.model_roles,
        commit_sha=evaluation.revision.commit if evaluation.revision else None,
        tool_version=str((evaluation.packages or {}).get("inspect_ai") or "") or None,
        env=env_of(arguments or {}),
        extras=prompts.about(
            _prompt(log),
            status=log.status,
            tags=log.tags,
            metadata=log.metadata,
            dataset=evaluation.dataset.name if evaluation.dataset else None,
            task_file=evaluation.task_file,
        ),
    )


def _provider(evaluation: Eval, arguments: Any) -> str:
    """Return the model, the arguments of its task, and the solver: the variant."""
    parts = dict(as_object(arguments))
    if evaluation.solver:
        solver_args = evaluation.solver_args
        options = compact(solver_args) if solver_args else ""
        parts["solver"] = f"{evaluation.solver} {options}".rstrip()
    # `hf/local` may be any model
    if path := as_object(evaluation.model_args).get("model_path"):
        parts["model_path"] = yardstick(path)
    if not parts:
        return evaluation.model
    listed = ", ".join(f"{key}={value}" for key, value in sorted(parts.items()))
    in_one_line = " ".join(f"{evaluation.model} ({listed})".split())
    return short_name(in_one_line, 120) or evaluation.model


_NO_LIMITS = (
    *("epochs", "epochs_reducer", "limit", "sample_id", "sample_shuffle", "max_tasks"),
    *("max_samples", "max_dataset_memory", "max_subprocesses", "max_sandboxes"),
    *("fail_on_error", "continue_on_fail", "retry_on_error", "score_on_error"),
    *("sandbox_cleanup", "sandbox_prebuilt", "notification", "score_display"),
    *("acp_server", "log_samples", "log_realtime", "log_images", "log_model_api"),
    *("log_buffer", "log_shared", "log_level", "log_level_transcript"),
)
"""Settings of a run that do not change an answer: the choice of samples, concurrency,
display and logging. The other settings limit the model, or name who approves its calls.
"""


def _settings(log: Log) -> dict[str, Any]:
    """Return the settings of the model, without its prompt, and its limits."""
    evaluation = log.eval
    surroundings = {
        "model_args": evaluation.model_args,
        "sandbox": evaluation.sandbox,
    }
    settings: dict[str, Any] = yardstick(
        {**log.generation, **as_object(evaluation.config), **surroundings},
        "system_message",
        *_NO_LIMITS,
    )
    return settings


def _prompt(log: Log) -> Any:
    """Return system messages and templates in the order of the plan."""
    plan = log.plan or Plan()
    configs = (log.eval.model_generate_config, plan.config)
    systems = [as_object(config).get("system_message") for config in configs]
    templates = (
        ("system" if step.solver == "system_message" else "user", template)
        for step in plan.steps
        if (template := step.params.get("template")) is not None
    )
    return prompts.messages(
        *(("system", text) for text in dict.fromkeys(systems)), *templates
    )
