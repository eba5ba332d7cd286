"""The models that judge in an Inspect log, and the parameters of its scorers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from promptlab.ingest.foreign.casts import as_object
from promptlab.ingest.foreign.inspect_ai.log import Log, Scorer
from promptlab.ingest.foreign.inspect_ai.scores import dimension_of, is_rule
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick

_OF_JUDGE = ("model", "model_role")
"""Options that name the judge."""
_GRADERS = re.compile(
    r"(^|[_\W])(grader|judge|scorer|rater|evaluator)s?\d*($|[_\W])", re.IGNORECASE
)
"""Usual names of the roles of models that grade."""


def name_as_in_scores(scorers: Sequence[Scorer]) -> None:
    """Name scorers as the scores do: without a package, and the second one numbered."""
    used: set[str] = set()
    for scorer in scorers:
        name = base = (scorer.name or "").rpartition("/")[2]
        n = 0
        while name in used:
            n += 1
            name = f"{base}{n}"
        used.add(name)
        scorer.name = name


def write_judges(log: Log, task: TaskWriter) -> dict[str, dict[str, Any]]:
    """Write the judges; return the parameters of each dimension's scorer."""
    scorers = {scorer.name: scorer for scorer in log.eval.scorers or ()}
    claimed = {
        dimension_of(result, task): result.params
        for result in log.claimed
        if result.params
    }
    # if the prompts of a task have versions, the task's version is of its scorers
    has_prompt_version = "prompt_version" in as_object(log.metadata)
    scorer_version = (log.eval.task_version or None) if has_prompt_version else None
    scored = {name.split(".")[0] for name in task.dimensions}
    unscored = [name for name in scorers if name and name not in scored]
    parameters: dict[str, dict[str, Any]] = {}
    for name in (*task.dimensions, *unscored):
        scorer_name = name.split(".")[0]
        scorer = scorers.get(scorer_name, Scorer())
        options = as_object(claimed.get(name, scorer.options))
        judge, roles = _graders(log, scorer_name, options)
        if judge is not None:
            task.judge(name, _models(judge), template=_template(options))
            options = {k: v for k, v in options.items() if k not in _OF_JUDGE}
        parameters[name] = yardstick(
            {
                "options": options,
                "judge": judge,
                "roles": roles,
                "metadata": scorer.metadata,
                "task_version": scorer_version,
            }
        )
    return parameters


def _template(options: dict[str, Any]) -> str:
    """Return the prompt of a judge."""
    texts = (options.get("template"), options.get("instructions"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _graders(
    log: Log, scorer: str, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the model that judges, or several, and other models that may.

    A judge is named by its own name or its role, or is the model under test. A log does
    not contain the roles that a user's scorer asks: these are the roles in its options,
    and those with the name of a grader. Other roles may belong to a solver.
    """
    evaluation = log.eval
    roles = as_object(evaluation.model_roles)
    if options.get("model") or scorer.startswith("model_graded"):
        role = options.get("model_role")
        role_name = str(as_object(role).get("name", role) or "grader")
        tested = {"model": evaluation.model, "args": evaluation.model_args}
        judge = options.get("model") or roles.get(role_name)
        return judge or {**tested, "config": log.generation}, {}
    if is_rule(scorer):
        return None, {}
    option_names = [as_object(value).get("name", value) for value in options.values()]
    return None, {
        role: model
        for role, model in sorted(roles.items())
        if role in option_names or _GRADERS.search(role)
    }


def _models(models: Any) -> str:
    """Return the name of a model, or the names of several."""
    listed = models if isinstance(models, list) else [models]
    names = (
        model.get("model") if isinstance(model, dict) else model for model in listed
    )
    return ", ".join(str(name) for name in names if name)
