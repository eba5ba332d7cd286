"""One log of Inspect: its samples as they come, then its task, scorers and totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingest.foreign import prompts
from ingest.foreign.documents import decode, is_there, text, time
from ingest.foreign.grading import dimension_records
from ingest.foreign.identity import Occurrences, SameRun
from ingest.foreign.inspect_ai.samples import (
    context_of,
    expected_of,
    round_of,
    values_of,
)
from ingest.foreign.inspect_ai.structs import Log, Plan, Sample
from ingest.foreign.inspect_ai.totals import group_keys, group_tag, totals
from ingest.foreign.records import Baseline, Case, Record, Score, Task
from ingest.foreign.settings import env_of
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

_GRADED_SCORERS = frozenset(
    {
        "match",
        "includes",
        "pattern",
        "answer",
        "exact",
        "f1",
        "choice",
        "math",
        "model_graded_qa",
        "model_graded_fact",
    }
)
"""Inspect's own: their numbers lie on the scale 0 to 1."""


@dataclass
class Kinds:
    """Which values a dimension has had."""

    letters: bool = False
    """Letters and truth values, which stand for 0 to 1."""
    numbers: bool = False
    all_binary: bool = True
    """Every value was 0 or 1."""
    all_on_scale: bool = True


@dataclass
class LogDimensions:
    """The dimensions of a log, in the order they appear."""

    log: Log
    kinds: dict[str, Kinds] = field(default_factory=dict)

    def see(self, name: str, value: float | None, *, is_letter: bool) -> None:
        """Take note of a value."""
        kinds = self.kinds.setdefault(name, Kinds())
        if value is None:
            return
        kinds.letters |= is_letter
        kinds.numbers |= not is_letter
        kinds.all_binary &= value in (0, 1)
        kinds.all_on_scale &= 0 <= value <= 1

    def is_graded(self, name: str) -> bool:
        """Whether its values are known to lie on the scale 0 to 1.

        Letters do; so do numbers that Inspect takes an accuracy of, those of its own
        scorers, and those that are only ever 0 or 1.
        """
        kinds = self.kinds[name]
        if not kinds.all_on_scale:
            return False
        known = name in _GRADED_SCORERS or self._has_accuracy(name)
        return known or kinds.all_binary or not kinds.numbers

    def _has_accuracy(self, name: str) -> bool:
        scorer, _, key = name.partition(".")
        for each in self.log.eval.scorers or []:
            if each.name == scorer:
                metrics = each.metrics
                if isinstance(metrics, dict):
                    metrics = metrics.get(key or scorer)
                if "inspect_ai/accuracy" in _names(metrics):
                    return True
        claimed = (self.log.results and self.log.results.scores) or []
        return any(
            "accuracy" in (each.metrics or {})
            for each in claimed
            if name in (each.name, f"{each.scorer}.{each.name}")
        )


class LogReading:
    """Turns samples into records.

    Args:
        log: The log without its samples.
        source: Its file.
    """

    def __init__(self, log: Log, source: Source) -> None:
        about = log.eval
        self._log = log
        self._source = source
        self.task_id = about.eval_id or "/".join(
            filter(None, (about.run_id, about.task_id))
        )
        self.task_id = self.task_id or source.path.name.split(".", 1)[0]
        ids = (about.dataset and about.dataset.sample_ids) or []
        self._places = {str(each): place for place, each in enumerate(ids)}
        self._group_keys = group_keys(log)
        self._known: dict[str, str | int] = {}
        self._seen = Occurrences()
        self._dimensions = LogDimensions(log)
        self._same_run = SameRun("inspect_ai", self.task_id)
        self.n_rounds = 0

    def add(self, sample: Sample) -> Iterator[Record]:
        """The records of one sample in one epoch."""
        task_id, case_id = self.task_id, self._case_id(sample)
        if case_id not in self._known:
            self._known[case_id] = sample.id
            place = self._places.setdefault(case_id, len(self._places))
            tags = text(self._groups(sample)) if self._group_keys else "[]"
            yield Case(task_id, case_id, place, context_of(sample), tags)
            expected = expected_of(sample)
            if expected is not None:
                yield Baseline(task_id, case_id, "target", 0, expected)
        # an epoch that stands twice is another round, and not the same
        again = self._seen.next(case_id, str(sample.epoch))
        name = f"{case_id}-{sample.epoch}"
        round_id = name if again == 1 else f"{name}~{again}"
        yield round_of(sample, task_id, case_id, round_id, self._log.eval.model)
        self.n_rounds += 1
        self._same_run.add(case_id, sample.epoch, sample.uuid)
        for value in values_of(sample):
            self._dimensions.see(value.name, value.value, is_letter=value.is_letter)
            yield Score(
                task_id=task_id,
                case_id=case_id,
                round_id=round_id,
                dimension_id=value.name,
                value=value.value,
                score=value.value if value.is_on_scale else None,
                summary=value.explanation,
                payload=value.payload,
            )

    def closing(self) -> Iterator[Record | Problem]:
        """Task, dimensions and totals, and what is to be said of the whole run."""
        yield self._task()
        names = list(self._dimensions.kinds)
        graded = {name for name in names if self._dimensions.is_graded(name)}
        yield from dimension_records(self.task_id, names, graded)
        yield from totals(self._log, self.task_id, names)
        if self._log.status not in (None, "success"):
            why = self._log.error.message if self._log.error else None
            yield Problem(
                "run_incomplete",
                f"the run has the status {self._log.status}"
                f"{f' ({why})' if why else ''}: what it holds is loaded",
                severity="warning",
                record_id=self.task_id,
            )

    def _task(self) -> Task:
        about = self._log.eval
        metadata = about.metadata if isinstance(about.metadata, dict) else {}
        version = metadata.get("prompt_version", about.task_version)
        arguments: Any = {}
        if is_there(about.task_args):
            arguments = decode(about.task_args, Any)
        extras = prompts.about(
            _prompt(self._log),
            status=self._log.status,
            tags=about.tags,
            metadata=about.metadata,
            dataset=about.dataset.name if about.dataset else None,
        )
        return Task(
            task_id=self.task_id,
            source_kind="inspect_ai",
            title=about.task,
            prompt_version="unknown" if version in (None, "") else str(version),
            model=about.model,
            created_at=time(about.created) or self._source.modified_at,
            run_id=about.run_id or self.task_id,
            run_hash=self._same_run.hash(),
            tool_version=str((about.packages or {}).get("inspect_ai") or "") or None,
            env=env_of(arguments),
            extras=text(extras),
        )

    def _groups(self, sample: Sample) -> list[str]:
        """The groups that the log counts a sample in, as tags."""
        about: Any = decode(sample.metadata, Any) if is_there(sample.metadata) else None
        if not isinstance(about, dict):
            return []
        return [group_tag(k, about[k]) for k in self._group_keys if k in about]

    def _case_id(self, sample: Sample) -> str:
        case_id = str(sample.id) if str(sample.id).strip() else "(blank)"
        known = self._known.get(case_id)
        if known is not None and type(known) is not type(sample.id):
            return f"{case_id}~{type(sample.id).__name__}"  # 5 is not "5"
        return case_id


def _prompt(log: Log) -> Any:
    """System messages and templates, in the order in which the plan applies them."""
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
