"""HELM: the folder of a run, ``run_spec.json`` with the four files next to it.

Tried on a run of 0.5. ``run_spec.json`` leads; ``scenario_state.json`` contains
questions and answers, ``per_instance_stats.json`` the scores, ``stats.json`` the means.

A folder is a task. A case is an instance, perturbed or not, identified by HELM's ids;
a train trial is a round. Its means are per split and perturbation; those of a run with
one part are compared with the rows. HELM has no pass rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import as_float, as_object, as_time, first_line
from promptlab.ingest.foreign.documents import ToolFiles, file_bytes, refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import content_id
from promptlab.ingest.foreign.runs_of_files import Files, Run, led_by
from promptlab.ingest.foreign.scorings import write_score
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Record,
    RoundWriter,
    TaskWriter,
    category_tag,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

_FILES = ToolFiles("HELM", "a run of 0.5")
_KEYS = {
    "run_spec": {"name", "scenario_spec", "adapter_spec", "metric_specs"},
    "scenario_state": {"adapter_spec", "request_states"},
    "per_instance_stats": {"instance_id", "train_trial_index", "stats"},
    "stats": {"name", "count", "sum", "sum_squared"},
    "instances": {"id", "input", "references", "split"},
}
_LISTS = frozenset({"per_instance_stats", "stats", "instances"})
"""Files that are a list. ``helm-summarize`` adds the last one, which repeats the
states, and above the folders of runs a list of all run specs."""
FORMS = tuple(_KEYS)


def recognise(head: Head) -> str | None:
    """Recognise each file by the keys of its first object."""
    is_list = head.data.lstrip().startswith(b"[")
    forms = (form for form in FORMS if (form in _LISTS) is is_list)
    return next((form for form in forms if _KEYS[form] <= head.keys), None)


def gather(files: Files) -> Iterator[Run]:
    """Group a folder with its ``run_spec.json``; without it each file is a run."""
    return led_by("run_spec", files)


class RunSpec(msgspec.Struct):
    """``run_spec.json``."""

    name: str
    adapter_spec: dict[str, Any] = {}
    scenario_spec: dict[str, Any] = {}
    metric_specs: Any = None
    annotators: Any = None
    groups: list[str] = []

    def parameters(self, dimension: str) -> dict[str, Any]:
        """Return the class, arguments and annotators of a metric.

        A metric that no specification names may be of any of those without names. How
        answers are mapped to references is a part of every metric.
        """
        listed = self.metric_specs if isinstance(self.metric_specs, list) else []
        name = dimension.partition("@")[0]  # of the best of several answers
        naming, nameless = [], []
        for spec in map(as_object, listed):
            names = as_object(spec.get("args")).get("names")
            if names is None:
                nameless.append(spec)
            elif isinstance(names, list) and name in names:
                naming.append(spec)
        adapter = self.adapter_spec
        parameters: dict[str, Any] = yardstick(
            {
                "metrics": naming or nameless,
                "annotators": None if naming else self.annotators,
                "multi_label": adapter.get("multi_label") or None,
                "output_mapping_pattern": adapter.get("output_mapping_pattern"),
            },
            "names",  # other metrics of the class
        )
        return parameters

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of generation, without the prompt and other columns."""
        settings: dict[str, Any] = yardstick(self.adapter_spec, *_NO_SETTINGS)
        return settings


_NO_SETTINGS = (
    *("method", "model", "instructions", "max_train_instances", "global_prefix"),
    *("global_suffix", "input_prefix", "input_suffix", "reference_prefix"),
    *("reference_suffix", "output_prefix", "output_suffix", "max_eval_instances"),
    *("eval_splits", "multi_label", "output_mapping_pattern"),
)
"""Members of an ``adapter_spec`` with the prompt and its version, the model, the number
of cases and parameters of the metrics."""


Perturbation = dict[str, Any]
"""A change of an instance; in a stat, the changes that it covers."""
_NO_SETTING = frozenset({"name", "computed_on", "robustness", "fairness"})


def _name(perturbation: Perturbation | None) -> str | None:
    return str((perturbation or {}).get("name") or "") or None


def _case_id(instance_id: str, perturbation: Perturbation | None) -> str:
    """Return the id of a case: HELM gives an instance and its perturbations the same.

    Perturbations of one name differ in their settings: ``id1/typos (prob=0.1)``.
    """
    name = _name(perturbation)
    if perturbation is None or name is None:
        return instance_id
    settings = ", ".join(
        f"{setting}={value}"
        for setting, value in sorted(perturbation.items())
        if setting not in _NO_SETTING and value is not None
    )
    return f"{instance_id}/{name}" + (f" ({settings})" if settings else "")


_CORRECT = "correct"
"""The tag of a reference that is right; others may be ranks, or names of files."""


class Reference(msgspec.Struct):
    """A reference answer of an instance."""

    output: dict[str, Any] = {}
    tags: list[str] = []


class Instance(msgspec.Struct):
    """The question."""

    id: str
    input: dict[str, Any] = {}
    references: list[Reference] = []
    split: str | None = None
    perturbation: Perturbation | None = None
    sub_split: str | None = None
    contrast_inputs: Any = None
    contrast_references: Any = None
    extra_data: Any = None
    """Data for the scenario's own metrics: a checklist, an answer to compare."""

    @property
    def context(self) -> dict[str, Any]:
        """Return the question, and everything else that a metric may use."""
        names = ("sub_split", "contrast_inputs", "contrast_references", "extra_data")
        beside = {name: getattr(self, name) for name in names}
        tags = [[tag for tag in r.tags if tag != _CORRECT] for r in self.references]
        beside["tags"] = tags if any(tags) else None
        return {
            "input": _content(self.input),
            "choices": [_content(reference.output) for reference in self.references],
            **{name: value for name, value in beside.items() if value},
        }

    @property
    def golden(self) -> Any:
        """Return the right answer, or all of them."""
        right = [_content(r.output) for r in self.references if _CORRECT in r.tags]
        return right[0] if len(right) == 1 else right or None


def _content(part: Mapping[str, Any]) -> Any:
    """Return the text; if there are messages or media in place of it, all of them."""
    beside = yardstick(part, "text")
    return {"text": part.get("text"), **beside} if beside else part.get("text")


class RequestState(msgspec.Struct):
    """One request of an instance, and its response."""

    instance: Instance
    train_trial_index: int = 0
    output_mapping: dict[str, str] | None = None
    result: dict[str, Any] | None = None

    @property
    def is_cached(self) -> bool | None:
        """Return whether the answer came from HELM's cache; ``None``: not known."""
        cached = (self.result or {}).get("cached")
        return cached if isinstance(cached, bool) else None


class ScenarioState(msgspec.Struct):
    """``scenario_state.json``; states are decoded one by one."""

    request_states: list[msgspec.Raw]


class StatName(msgspec.Struct):
    """The subject of a number."""

    name: str
    split: str | None = None
    sub_split: str | None = None
    perturbation: Perturbation | None = None


class Stat(msgspec.Struct):
    """A statistic: count, sum and mean of its values."""

    name: StatName
    count: int = 0
    mean: Any = None


class InstanceStats(msgspec.Struct):
    """One of ``per_instance_stats.json``: there is one for each class of metrics."""

    instance_id: str
    stats: list[Stat]
    train_trial_index: int = 0
    perturbation: Perturbation | None = None


class Row(msgspec.Struct):
    """The data of all files about an instance and a trial."""

    instance: Instance
    state: RequestState | None = None
    """The first one, if there is a request per choice."""
    stats: dict[str, Stat] = {}

    def add(self, stats: list[Stat]) -> None:
        """Add stats: of two of one name the later counts, unless it has no value."""
        for stat in stats:
            if stat.count or stat.name.name not in self.stats:
                self.stats[stat.name.name] = stat


_GRADED = frozenset(
    {
        *("exact_match", "quasi_exact_match", "prefix_exact_match"),
        *("quasi_prefix_exact_match", "final_number_exact_match", "f1_score"),
        *("rouge_1", "rouge_2", "rouge_l", "bleu_1", "bleu_4", "math_equiv"),
        *("math_equiv_chain_of_thought", "chain_of_thought_correctness"),
        *("ifeval_strict_accuracy", "classification_micro_f1", "code_eval_acc"),
    }
)
"""Metrics of an instance defined on the scale 0 to 1, 1 best."""
_ABOUT_THE_REQUEST = frozenset(
    {
        *("num_references", "num_train_trials", "num_prompt_tokens"),
        *("num_completion_tokens", "num_output_tokens", "training_co2_cost"),
        *("training_energy_cost", "batch_size", "num_train_instances"),
        *("prompt_truncated", "num_perplexity_tokens", "num_bytes", "max_prob"),
        *("finish_reason_length", "finish_reason_stop", "finish_reason_endoftext"),
        *("finish_reason_unknown", "num_instances"),
    }
)
"""Stats that are not about the answer, stored with the round."""
_LOWER = frozenset({"inference_runtime", "denoised_runtime", "bits_per_byte"})


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the run as records."""
    if source.form != "run_spec":
        raise refused(
            "run_spec_missing",
            f"{source.path.name} is part of a HELM run and has no run_spec.json"
            " beside it, which names task and model: give the whole folder",
        )
    yield from HelmRun(source).records()


class HelmRun:
    """The files of one folder."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spec = _FILES.document(source, RunSpec)
        self._files = {path.stem: path for path in source.companions}
        self._parts: set[str] = set()
        """Splits and perturbations of its cases."""

    def records(self) -> Iterator[Record | Problem]:
        """Yield all records of the run."""
        states = self._states()
        yield from (state for state in states if isinstance(state, Problem))
        answered = [state for state in states if isinstance(state, RequestState)]
        # a run has no id and no time but that of its first answer; one from a cache has
        # the time of another run
        times = [(state.result or {}).get("request_datetime") for state in answered]
        new = [
            t for t, state in zip(times, answered, strict=True) if not state.is_cached
        ]
        known = [t for t in new or times if isinstance(t, int | float)]
        first = min(known, default=None)
        stamp = [
            self._spec.name,
            self._spec.adapter_spec,
            len(states),
            first,
            bool(new),
        ]
        task = TaskWriter("helm", content_id(stamp, self._spec.name), self._source)
        for (case_id, trial), row in self._rows(answered).items():
            self._write(case_id, trial, row, task)
            yield from task.written()
        self._describe(task, first)
        graded = [name for name in task.dimensions if _is_graded(name)]
        # prefix and quasi matches measure the same thing: only one of them is weighted
        task.grade(
            graded,
            dict.fromkeys(_LOWER, "lower_better"),
            weights=dict.fromkeys(graded[:1], 1.0),
            parameters={name: self._spec.parameters(name) for name in task.dimensions},
        )
        self._claim(task)
        missing = {"scenario_state", "per_instance_stats"} - self._files.keys()
        if missing:
            task.warn(
                "totals_only" if len(missing) > 1 else "files_missing",
                f"{self._spec.name}: {' and '.join(sorted(missing))} are not in its"
                " folder: what was asked and answered, or its scores, is not known",
            )
        yield from task.written()

    def _states(self) -> list[RequestState | Problem]:
        """Return each question with its answer."""
        path = self._files.get("scenario_state")
        if path is None:
            return []
        data = self._source.mend(file_bytes(self._source, path))
        states = _FILES.decoded(data, ScenarioState).request_states
        redact = self._source.redact
        return [*_FILES.items(states, RequestState, "/request_states", redact)]

    def _rows(self, states: list[RequestState]) -> dict[tuple[str, int], Row]:
        """Return the row of each case and trial; some may only have scores."""
        rows: dict[tuple[str, int], Row] = {}
        for state in states:
            instance = state.instance
            key = _case_id(instance.id, instance.perturbation), state.train_trial_index
            rows.setdefault(key, Row(instance, state))
        path = self._files.get("per_instance_stats")
        stats = _FILES.document(self._source, list[InstanceStats], path) if path else []
        for instance_stats in stats:
            key = (
                _case_id(instance_stats.instance_id, instance_stats.perturbation),
                instance_stats.train_trial_index,
            )
            if key not in rows:
                split = next((stat.name.split for stat in instance_stats.stats), None)
                instance = Instance(instance_stats.instance_id, split=split)
                instance.perturbation = instance_stats.perturbation
                rows[key] = Row(instance)
            rows[key].add(instance_stats.stats)
        return rows

    def _write(self, case_id: str, trial: int, row: Row, task: TaskWriter) -> None:
        instance = row.instance
        groups = [category_tag(("group", group)) for group in self._spec.groups]
        part = _part(instance.split, instance.perturbation)
        self._parts.add(part)
        case = task.case(
            case_id,
            instance.context if row.state else {"instance_id": instance.id},
            golden=instance.golden,
            tags=[*([part] if part else []), *groups],
        )
        task.same_run.add(case.id, trial)
        answer = _round(case, trial, row)
        for name, stat in row.stats.items():
            if stat.count and name not in _ABOUT_THE_REQUEST:
                task.same_run.add(case_id, trial, name, as_float(stat.mean))
                write_score(answer, name, stat.mean, is_share=_is_graded(name))

    def _describe(self, task: TaskWriter, first_answer: float | None) -> None:
        spec = self._spec
        named, _, arguments = spec.name.partition(":")
        parts = [p for p in arguments.split(",") if not p.startswith("model=")]
        task.describe(
            f"{named}:{','.join(parts)}" if arguments and parts else named,
            model=str(spec.adapter_spec.get("model") or "unknown"),
            prompt_version=_version(spec.adapter_spec),
            created_at=as_time(first_answer),
            settings=spec.settings,
            extras=prompts.about(
                _prompt(spec.adapter_spec),
                adapter_spec=spec.adapter_spec,
                groups=spec.groups,
            ),
        )

    def _claim(self, task: TaskWriter) -> None:
        """Hand over the means of a run whose instances are all of one part."""
        path = self._files.get("stats")
        stats = _FILES.document(self._source, list[Stat], path) if path else []
        if any(stat.count for stat in stats):
            means = {
                stat.name.name: stat.mean
                for stat in stats
                if stat.count and not stat.name.perturbation and not stat.name.sub_split
            }
            task.claim(means if len(self._parts) == 1 else {})


def _round(case: CaseWriter, trial: int, row: Row) -> RoundWriter:
    """Write an answer."""
    values = {name: stat.mean for name, stat in row.stats.items()}
    state = row.state or RequestState(row.instance)
    result = state.result or {}
    completions = result.get("completions")
    first = completions[0] if isinstance(completions, list) and completions else {}
    output = as_object(first).get("text")
    about = {name: values[name] for name in sorted(_ABOUT_THE_REQUEST & values.keys())}
    choice = (state.output_mapping or {}).get(str(output).strip())
    failed = result.get("success") is False
    return case.round(
        output,
        n=trial + 1,
        input_tokens=values.get("num_prompt_tokens"),
        output_tokens=values.get("num_completion_tokens"),
        seconds=result.get("request_time"),
        metadata={"choice": choice, **about},
        executed_at=result.get("request_datetime"),
        error=str(result.get("error") or "the request failed") if failed else None,
        is_cached=state.is_cached,
    )


def _part(split: str | None, perturbation: Perturbation | None) -> str:
    """Return the part of a run that a case belongs to, as a tag."""
    return "/".join(filter(None, (split, _name(perturbation))))


def _is_graded(name: str) -> bool:
    return name.partition("@")[0] in _GRADED


def _prompt(adapter: dict[str, Any]) -> str:
    """Return the parts of a request around the text of an instance."""

    def text(name: str) -> str:
        return str(adapter.get(name) or "")

    is_choice = text("method") == "multiple_choice_joint"
    choices = f"{text('reference_prefix')}{{references}}{text('reference_suffix')}"
    parts = [
        f"{text('global_prefix')}{text('instructions')}",
        f"{text('input_prefix')}{{input}}{text('input_suffix')}",
        choices if is_choice else "",
        f"{text('output_prefix')}{text('global_suffix')}",
    ]
    return "".join(parts) if adapter else ""


def _version(adapter: dict[str, Any]) -> str:
    """Return the method, instructions and examples of the request."""
    instructions = first_line(str(adapter.get("instructions") or ""), 40)
    shots = adapter.get("max_train_instances")
    parts = [
        str(adapter.get("method") or ""),
        f"{shots}-shot" if shots is not None else "",
        instructions or "",
    ]
    return ", ".join(filter(None, parts)) or "unknown"
