"""The run of an Inspect log: one task, with its cases, claims and warnings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from promptlab.contracts.base import plain_name
from promptlab.ingest.files.dates import base_of
from promptlab.ingest.foreign.casts import as_object, as_share
from promptlab.ingest.foreign.identity import Occurrences, OwnIds, content_id
from promptlab.ingest.foreign.inspect_ai.judges import write_judges
from promptlab.ingest.foreign.inspect_ai.log import Dataset, Log, Results, Sample
from promptlab.ingest.foreign.inspect_ai.samples import context_of, write_round
from promptlab.ingest.foreign.inspect_ai.scores import (
    dimension_of,
    has_accuracy,
    is_built_in_share,
    values_of,
)
from promptlab.ingest.foreign.inspect_ai.settings import describe
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Record,
    RoundWriter,
    TaskWriter,
    category_tag,
)
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source


class Run:
    """Converts a log to records.

    Args:
        log: The log without its samples.
        source: The file.
        label_scorers: Scorers whose letters are labels and not grades of Inspect.
    """

    def __init__(
        self, log: Log, source: Source, label_scorers: Collection[str]
    ) -> None:
        evaluation, dataset = log.eval, log.eval.dataset or Dataset()
        self._log = log
        self._label_scorers = label_scorers
        task_id = evaluation.task_id or evaluation.eval_id or evaluation.run_id
        task_id = task_id or base_of(source.path.name)
        self._task = TaskWriter("inspect_ai", task_id, source, is_share=self._is_share)
        ids = dataset.sample_ids or []
        self._places = {str(sample_id): place for place, sample_id in enumerate(ids)}
        group_keys = dict.fromkeys(
            metric.params.get("group_key")
            for result in log.claimed
            for metric in (result.metrics or {}).values()
        )
        self._group_keys = [key for key in group_keys if isinstance(key, str)]
        """Keys of the samples' metadata by which the log groups its numbers."""
        self._sample_ids: dict[str, str | int] = {}
        """Case → id of its sample."""
        self._epochs = Occurrences()
        self._ids = OwnIds("uuid")
        self._numbers: set[str] = set()
        """Dimensions with values other than letters."""
        self._n_invalid = 0

    def add(self, sample: Sample, written: bytes) -> Iterable[Record | Problem]:
        """Return the records of one sample in one epoch; *written* is all of it."""
        task, case_id = self._task, self._case_id(sample)
        if self._ids.again(sample.uuid, case_id, sample.epoch):
            return ()
        case = task.known(case_id) or self._new_case(case_id, sample)
        # an epoch that occurs twice is a separate round
        n = self._epochs.next(case_id, str(sample.epoch))
        name = sample.epoch if n == 1 else f"{sample.epoch}~{n}"
        answer = write_round(sample, case, name, self._log.eval.model, written)
        task.same_run.add(case_id, sample.epoch, sample.uuid)
        self._write_scores(sample, answer)
        return task.written()

    def _case_id(self, sample: Sample) -> str:
        case_id = plain_name(str(sample.id)) or "(blank)"
        first_id = self._sample_ids.setdefault(case_id, sample.id)
        if type(first_id) is not type(sample.id):
            return f"{case_id}~{type(sample.id).__name__}"  # 5 is not "5"
        if first_id != sample.id:  # nor is " 5"
            return f"{case_id}~{content_id(sample.id)[:4]}"
        return case_id

    def _new_case(self, case_id: str, sample: Sample) -> CaseWriter:
        metadata = as_object(sample.metadata)
        groups = [(key, metadata[key]) for key in self._group_keys if key in metadata]
        return self._task.case(
            case_id,
            context_of(sample),
            golden=None if sample.target in ("", []) else sample.target,
            tags=[category_tag(group) for group in groups],
            categories=metadata,
            place=self._places.setdefault(case_id, len(self._places)),
        )

    def _write_scores(self, sample: Sample, answer: RoundWriter) -> None:
        """Write the scores of a sample; those of an invalid one do not count."""
        self._n_invalid += bool(sample.invalidation)
        for value in values_of(sample, self._label_scorers):
            if value.value is not None and not value.is_letter:
                self._numbers.add(value.name)
            if sample.invalidation:
                value = value._replace(value=None, payload={"invalidated": value.value})
            answer.score(
                value.name,
                value.value,
                as_share(value.value),
                summary=value.explanation,
                payload=value.payload,
            )

    def _is_share(self, name: str) -> bool:
        """Return true if values between 0 and 1 are on the scale 0 to 1.

        This is so for letters, for numbers with the metric accuracy, and for those of
        built-in scorers. Other truth values need not mean that an answer is good.
        """
        if is_built_in_share(name) or name not in self._numbers:
            return True
        return has_accuracy(self._log, name)

    # ---------- the end of the log

    def closing(self) -> Iterable[Record | Problem]:
        """Return task, dimensions and claims, and problems of the whole run."""
        log, task = self._log, self._task
        describe(log, task)
        task.grade(order=self._order(), parameters=write_judges(log, task))
        if log.results is not None:
            _claim(log, log.results, task)
        self._warn()
        return (*task.written(), *self._ids.problems())

    def _order(self) -> list[str]:
        """Return the names of scorers, the headline metric first."""
        headline = as_object(self._log.eval.headline_metric)
        parts = dict.fromkeys((headline.get("scorer"), headline.get("score")))
        names = [
            ".".join(str(part) for part in parts if part),
            *(scorer.name for scorer in self._log.eval.scorers or ()),
        ]
        return list(filter(None, names))

    def _warn(self) -> None:
        """Report a run that ended early, and samples that are not valid."""
        log, task = self._log, self._task
        results = log.results or Results()
        logged, total = results.logged_samples, results.total_samples or 0
        if log.status not in (None, "success"):
            why = log.error and log.error.message
            task.warn(
                "run_incomplete",
                f"the run has the status {log.status}"
                f"{f' ({why})' if why else ''}: what it holds is loaded",
            )
        elif logged is not None and logged < total:
            task.warn(
                "run_incomplete",
                f"the run was told to end after {logged} of {total} samples: what it"
                " holds is loaded",
            )
        if n := self._n_invalid:
            samples = "1 sample was" if n == 1 else f"{n} samples were"
            task.warn(
                "samples_invalidated",
                f"{samples} invalidated: the answers are kept, and their scores do not"
                " count. `inspect eval-retry` runs them again",
            )


def _claim(log: Log, results: Results, task: TaskWriter) -> None:
    """Hand over the number of samples, and each mean of their epochs' means."""
    means: dict[str, Any] = {}
    for result in log.claimed:
        for name, metric in (result.metrics or {}).items():
            has_params = any(param is not None for param in metric.params.values())
            is_mean = (metric.name or name) in ("accuracy", "mean") and not has_params
            is_of_samples = result.reducer in (None, "mean")
            if is_mean and is_of_samples and metric.group != "grouped":
                means.setdefault(dimension_of(result, task), metric.value)
    task.claim(means, results.total_samples)
