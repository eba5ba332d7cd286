"""One log of Inspect: its samples in order, then its task, scorers and totals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import decode, first_line, is_there, time
from promptlab.ingest.foreign.identity import Occurrences, OwnIds
from promptlab.ingest.foreign.inspect_ai.samples import (
    context_of,
    expected_of,
    values_of,
    write_round,
)
from promptlab.ingest.foreign.inspect_ai.structs import Generation, Log, Plan, Sample
from promptlab.ingest.foreign.inspect_ai.totals import group_keys, write_totals
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.settings import env_of
from promptlab.ingest.foreign.writing import TaskWriter, category_tag
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_GRADED_SCORERS = frozenset(
    {
        *("match", "includes", "pattern", "answer", "exact", "f1", "choice", "math"),
        *("model_graded_qa", "model_graded_fact"),
    }
)
"""Inspect's built-in scorers, with values from 0 to 1."""


class LogReading:
    """Converts samples to records.

    Args:
        log: The log without its samples.
        source: Its file.
    """

    def __init__(self, log: Log, source: Source) -> None:
        about = log.eval
        self._log = log
        # a retry has a new eval_id and run_id, and the task_id of the log it continues
        name = source.path.name.split(".", 1)[0]
        task_id = about.task_id or about.eval_id or about.run_id or name
        self._task = TaskWriter("inspect_ai", task_id, source, is_share=self._is_share)
        ids = (about.dataset and about.dataset.sample_ids) or []
        self._places = {str(each): place for place, each in enumerate(ids)}
        self._group_keys = group_keys(log)
        self._known: dict[str, str | int] = {}
        self._seen = Occurrences()
        self._ids = OwnIds("uuid")
        self._numbers: set[str] = set()
        """Dimensions with values other than letters and booleans."""

    def add(self, sample: Sample) -> Iterable[Record | Problem]:
        """Return the records of one sample in one epoch."""
        task, case_id = self._task, self._case_id(sample)
        if self._ids.again(sample.uuid, case_id, sample.epoch):
            return ()
        case = task.known(case_id)
        if case is None:
            self._known[case_id] = sample.id
            about: Any = None
            if is_there(sample.metadata):
                about = decode(sample.metadata, Any)
            case = task.case(
                case_id,
                context_of(sample),
                golden=expected_of(sample),
                golden_id="target",
                tags=self._groups(about),
                categories=about,
                place=self._places.setdefault(case_id, len(self._places)),
            )
        # an epoch that occurs twice is a separate round
        again = self._seen.next(case_id, str(sample.epoch))
        name = sample.epoch if again == 1 else f"{sample.epoch}~{again}"
        answer = write_round(sample, case, name, self._log.eval.model)
        task.same_run.add(case_id, sample.epoch, sample.uuid)
        for value in values_of(sample):
            if value.value is not None and not value.is_letter:
                self._numbers.add(value.name)
            answer.score(
                value.name,
                value.value,
                value.value if value.is_on_scale else None,
                summary=value.explanation,
                payload=value.payload,
            )
        return task.written()

    def closing(self) -> Iterable[Record | Problem]:
        """Return task, dimensions and totals, and problems of the whole run."""
        log, task = self._log, self._task
        self._describe()
        self._write_judges()
        task.grade()
        write_totals(log, task)
        if log.status not in (None, "success"):
            why = log.error.message if log.error else None
            task.warn(
                "run_incomplete",
                f"the run has the status {log.status}"
                f"{f' ({why})' if why else ''}: what it holds is loaded",
            )
        return (*task.written(), *self._ids.problems())

    def _is_share(self, name: str) -> bool:
        """Return true if values between 0 and 1 are on the scale 0 to 1.

        This is so for letters, for numbers with the metric accuracy, and for those of
        built-in scorers.
        """
        if name in _GRADED_SCORERS or name not in self._numbers:
            return True
        scorer, _, key = name.partition(".")
        for each in self._log.eval.scorers or []:
            if each.name == scorer:
                metrics = each.metrics
                if isinstance(metrics, dict):
                    metrics = metrics.get(key or scorer)
                if "inspect_ai/accuracy" in _names(metrics):
                    return True
        claimed = (self._log.results and self._log.results.scores) or []
        return any(
            "accuracy" in (each.metrics or {})
            for each in claimed
            if name in (each.name, f"{each.scorer}.{each.name}")
        )

    def _describe(self) -> None:
        about = self._log.eval
        metadata = about.metadata if isinstance(about.metadata, dict) else {}
        version = metadata.get("prompt_version", about.task_version)
        arguments: Any = {}
        if is_there(about.task_args):
            arguments = decode(about.task_args, Any)
        passed = arguments  # logs before 0.3.100 do not say which were passed
        if is_there(about.task_args_passed):
            passed = decode(about.task_args_passed, Any)
        self._task.describe(
            about.task,
            prompt_version=None if version is None else str(version),
            model=about.model,
            created_at=time(about.created),
            run_id=about.eval_set_id or about.run_id,
            written_at=time(about.created),
            provider=_provider(about.model, passed),
            settings=_settings(about.model_generate_config),
            judge=about.model_roles,
            commit_sha=about.revision.commit if about.revision else None,
            tool_version=str((about.packages or {}).get("inspect_ai") or "") or None,
            env=env_of(arguments),
            extras=prompts.about(
                _prompt(self._log),
                status=self._log.status,
                tags=about.tags,
                metadata=about.metadata,
                dataset=about.dataset.name if about.dataset else None,
                task_file=about.task_file,
            ),
        )

    def _groups(self, about: Any) -> list[str]:
        """Return the groups that the log counts a sample in, as tags."""
        if not isinstance(about, dict):
            return []
        return [category_tag((k, about[k])) for k in self._group_keys if k in about]

    def _write_judges(self) -> None:
        """Write the models that graded; by default the grader role."""
        about = self._log.eval
        roles = about.model_roles if isinstance(about.model_roles, dict) else {}
        grader = roles.get("grader")
        for scorer in about.scorers or []:
            options = scorer.options if isinstance(scorer.options, dict) else {}
            model = options.get("model") or grader
            if isinstance(model, dict):
                model = model.get("model")
            name = scorer.name or ""
            if not name.startswith("model_graded") and not options.get("model"):
                continue
            asked = (options.get(key) for key in ("template", "instructions"))
            template = "\n".join(each for each in asked if isinstance(each, str))
            self._task.judge(name, str(model or about.model), template=template)

    def _case_id(self, sample: Sample) -> str:
        case_id = plain_name(str(sample.id)) or "(blank)"
        known = self._known.get(case_id)
        if known is not None and type(known) is not type(sample.id):
            return f"{case_id}~{type(sample.id).__name__}"  # 5 is not "5"
        return case_id


def _provider(model: str, arguments: Any) -> str:
    """Return the model and the arguments of its task, which form the variant."""
    if not isinstance(arguments, dict) or not arguments:
        return model
    said = (f"{key}={value}" for key, value in sorted(arguments.items()))
    return first_line(f"{model} ({', '.join(said)})", 120) or model


def _settings(config: Generation | None) -> dict[str, Any]:
    """Return the settings of the model, without its prompt."""
    said = msgspec.structs.asdict(config) if config else {}
    return {
        key: value
        for key, value in said.items()
        if value is not None and key != "system_message"
    }


def _prompt(log: Log) -> Any:
    """Return system messages and templates in the order of the plan."""
    plan, generation = log.plan or Plan(), log.eval.model_generate_config
    systems = [each.system_message for each in (generation, plan.config) if each]
    templates = (
        ("system" if step.solver == "system_message" else "user", template)
        for step in plan.steps
        if (template := step.params.get("template")) is not None
    )
    return prompts.messages(
        *(("system", each) for each in dict.fromkeys(systems)), *templates
    )


def _names(metrics: Any) -> list[str]:
    if not isinstance(metrics, list):
        return []
    return [str(each.get("name")) for each in metrics if isinstance(each, dict)]
