"""HELM: the folder of a run, ``run_spec.json`` with the four files next to it.

Tried on a run of 0.5. ``run_spec.json`` leads; ``scenario_state.json`` contains
questions and answers, ``per_instance_stats.json`` the scores, ``stats.json`` the means.

A folder is a task. A case is an instance, perturbed or not, identified by HELM's ids;
a train trial is a round. Its means are per split and perturbation; those of a run with
one part are compared with the rows. HELM has no pass rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_object,
    as_time,
    first_line,
)
from promptlab.ingest.foreign.documents import (
    ToolFiles,
    decode,
    file_bytes,
    refused,
)
from promptlab.ingest.foreign.identity import content_id
from promptlab.ingest.foreign.registry import Files, Head, Run, led_by
from promptlab.ingest.foreign.results import write_score
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


class RunSpec(msgspec.Struct):
    """``run_spec.json``."""

    name: str
    adapter_spec: dict[str, Any] = {}
    scenario_spec: dict[str, Any] = {}
    metric_specs: Any = None
    annotators: Any = None
    groups: list[str] = []

    def parameters(self, dimension: str) -> dict[str, Any]:
        """Return what a metric was computed with: its class, arguments, annotators.

        A metric that no specification names may be of any of those without names. How
        answers are mapped to references is a part of every metric.
        """
        listed = self.metric_specs if isinstance(self.metric_specs, list) else []
        specs = [
            (as_object(each), as_object(as_object(each).get("args"))) for each in listed
        ]
        name = dimension.partition("@")[0]  # of the best of several answers
        naming = [each for each, args in specs if name in _names(args)]
        nameless = [each for each, args in specs if "names" not in args]
        adapter = self.adapter_spec
        said: dict[str, Any] = yardstick(
            {
                "metrics": naming or nameless,
                "annotators": None if naming else self.annotators,
                "multi_label": adapter.get("multi_label") or None,
                "output_mapping_pattern": adapter.get("output_mapping_pattern"),
            },
            "names",  # other metrics of the class
        )
        return said

    @property
    def settings(self) -> dict[str, Any]:
        """How answers are generated: all that is not the prompt, or said elsewhere."""
        said: dict[str, Any] = yardstick(self.adapter_spec, *_NO_SETTINGS)
        return said


_NO_SETTINGS = (
    *("method", "model", "instructions", "max_train_instances", "global_prefix"),
    *("global_suffix", "input_prefix", "input_suffix", "reference_prefix"),
    *("reference_suffix", "output_prefix", "output_suffix", "max_eval_instances"),
    *("eval_splits", "multi_label", "output_mapping_pattern"),
)
"""Of an ``adapter_spec``: the prompt and its version, the model, how many cases there
are, and what is a parameter of the metrics."""


def _names(arguments: Mapping[str, Any]) -> list[Any]:
    names = arguments.get("names")
    return names if isinstance(names, list) else []


_CORRECT = "correct"
"""The tag of a reference that is right; others may be ranks, or names of files."""
Perturbation = dict[str, Any]
"""A change of an instance; in a stat, the changes that it covers."""
_NO_SETTING = frozenset({"name", "computed_on", "robustness", "fairness"})


def _name(perturbation: Perturbation | None) -> str | None:
    return str((perturbation or {}).get("name") or "") or None


def _settings(perturbation: Perturbation) -> str:
    """Return what tells it from others of its name: ``prob=0.1, seed=1``."""
    return ", ".join(
        f"{setting}={value}"
        for setting, value in sorted(perturbation.items())
        if setting not in _NO_SETTING and value is not None
    )


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
    """What the scenario's own metrics judge by: a checklist, an answer to compare."""

    @property
    def beside(self) -> dict[str, Any]:
        """All that a metric may use beside input and references."""
        names = ("sub_split", "contrast_inputs", "contrast_references", "extra_data")
        said = {name: getattr(self, name) for name in names}
        tags = [
            [tag for tag in each.tags if tag != _CORRECT] for each in self.references
        ]
        said["tags"] = tags if any(tags) else None
        return {name: each for name, each in said.items() if each}


def _said(part: Mapping[str, Any]) -> Any:
    """Return a text; with messages or media, which ask in place of it, all of them."""
    media = as_object(part.get("multimedia_content")).get("media_objects")
    listed = media if isinstance(media, list) else ()
    beside = {
        "messages": part.get("messages"),
        "media": [_located(as_object(each)) for each in listed],
    }
    beside = {name: each for name, each in beside.items() if each}
    return {"text": part.get("text"), **beside} if beside else part.get("text")


def _located(media: Mapping[str, Any]) -> dict[str, Any]:
    """Return a medium; its file lies in a folder of the run's output."""
    location = media.get("location")
    if not isinstance(location, str) or "://" in location:
        return {**media}
    return {**media, "location": location.rpartition("/scenarios/")[2]}


class RequestState(msgspec.Struct):
    """One request of an instance, and its response."""

    instance: Instance
    train_trial_index: int = 0
    output_mapping: dict[str, str] | None = None
    request: dict[str, Any] = {}
    result: dict[str, Any] | None = None


def _is_cached(result: Mapping[str, Any]) -> bool | None:
    """Return whether an answer came from HELM's cache, if the file says so."""
    said = result.get("cached")
    return said if isinstance(said, bool) else None


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
    """One of ``per_instance_stats.json``."""

    instance_id: str
    stats: list[Stat]
    train_trial_index: int = 0
    perturbation: Perturbation | None = None


_FILES = ToolFiles("HELM", "a run of 0.5")
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


class HelmRun:
    """The files of one folder."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spec = _FILES.document(source, RunSpec)
        self._files = {path.stem: path for path in source.companions}
        self._times: dict[bool, list[float]] = {False: [], True: []}
        """Whether answers came from a cache → their times."""
        self._rounds: dict[tuple[str, int], RoundWriter] = {}
        self._parts: set[str] = set()
        """Splits and perturbations of its cases."""
        stamp = [self._spec.name, self._spec.adapter_spec, self._first_answer()]
        task_id = content_id(stamp, self._spec.name)
        self._task = TaskWriter("helm", task_id, source)
        self._settings: dict[str | None, set[str]] = defaultdict(set)
        """Name of a perturbation → those of its name."""

    def _scenario(self) -> list[msgspec.Raw]:
        """Return question and answer as written."""
        path = self._files.get("scenario_state")
        if path is None:
            return []
        data = self._source.mend(file_bytes(self._source, path))
        return _FILES.decoded(data, ScenarioState).request_states

    def _first_answer(self) -> Any:
        """Return the time of the first answer: a HELM run has no id and no time.

        One from a cache has the time of another run, so a new one counts before it.
        """
        if "scenario_state" not in self._files:
            return None
        states = self._scenario()
        try:
            results = (decode(each, RequestState).result or {} for each in states)
            first = next(results, {})
            others = (each for each in results if not _is_cached(each))
            new = next(others, None) if _is_cached(first) else first
        except msgspec.DecodeError:
            return None
        if new is None:
            return [len(states), first.get("request_datetime"), "cached"]
        return [len(states), new.get("request_datetime")]

    def records(self) -> Iterator[Record | Problem]:
        """Yield all records of the run."""
        task = self._task
        path = self._files.get("per_instance_stats")
        stats = _FILES.document(self._source, list[InstanceStats], path) if path else []
        for change in filter(None, (each.perturbation for each in stats)):
            self._settings[_name(change)].add(_settings(change))
        rows: dict[tuple[str, int], InstanceStats] = {}
        for each in stats:
            case_id = self._case_id(each.instance_id, each.perturbation)
            key = case_id, each.train_trial_index
            rows[key] = _merged(rows[key], each) if key in rows else each
        for state in _FILES.items(
            self._scenario(), RequestState, "/request_states", self._source.redact
        ):
            if isinstance(state, Problem):
                yield state
            else:
                self._write_state(state, rows)
                yield from task.written()
        for (case_id, trial), each in rows.items():
            answer = self._rounds.get((case_id, trial))
            if answer is None:  # no state: scores alone
                split = next((s.name.split for s in each.stats), None)
                case = task.case(
                    case_id,
                    {"instance_id": each.instance_id},
                    tags=self._tags(split, each.perturbation),
                )
                answer = self._round(case, trial, each, None)
            self._write_scores(case_id, trial, answer, each)
            yield from task.written()
        self._describe()
        graded = [name for name in task.dimensions if _is_graded(name)]
        # prefix and quasi matches measure the same thing: only one of them is weighted
        task.grade(
            graded,
            dict.fromkeys(_LOWER, "lower_better"),
            weights=dict.fromkeys(graded[:1], 1.0),
            parameters={name: self._spec.parameters(name) for name in task.dimensions},
        )
        self._claim()
        missing = {"scenario_state", "per_instance_stats"} - self._files.keys()
        if missing:
            task.warn(
                "totals_only" if len(missing) > 1 else "files_missing",
                f"{self._spec.name}: {' and '.join(sorted(missing))} are not in its"
                " folder: what was asked and answered, or its scores, is not known",
            )
        yield from task.written()

    def _case_id(self, instance_id: str, perturbation: Perturbation | None) -> str:
        """HELM gives an instance and all its perturbations the same id.

        Perturbations of one name are told apart by their settings.
        """
        name = _name(perturbation)
        if perturbation is None or name is None:
            return instance_id
        settings = _settings(perturbation) if len(self._settings[name]) > 1 else ""
        return f"{instance_id}/{name}" + (f" ({settings})" if settings else "")

    def _write_state(
        self, state: RequestState, rows: dict[tuple[str, int], InstanceStats]
    ) -> None:
        instance, trial = state.instance, state.train_trial_index
        case_id = self._case_id(instance.id, instance.perturbation)
        right = [
            _said(each.output) for each in instance.references if _CORRECT in each.tags
        ]
        case = self._task.case(
            case_id,
            {
                "input": _said(instance.input),
                "choices": [_said(each.output) for each in instance.references],
                **instance.beside,
            },
            golden=right[0] if len(right) == 1 else right or None,
            tags=self._tags(instance.split, instance.perturbation),
        )
        # one request per choice, if the method requests each separately
        if (case_id, trial) not in self._rounds:
            self._round(case, trial, rows.get((case_id, trial)), state)

    def _round(
        self,
        case: CaseWriter,
        trial: int,
        stats: InstanceStats | None,
        state: RequestState | None,
    ) -> RoundWriter:
        self._task.same_run.add(case.id, trial)
        values = {s.name.name: s.mean for s in stats.stats} if stats else {}
        result = (state.result if state else None) or {}
        completions = result.get("completions") or []
        first = completions[0] if isinstance(completions, list) and completions else {}
        output = as_object(first).get("text")
        seconds = as_float(result.get("request_time"))
        moment = result.get("request_datetime")
        if isinstance(moment, int | float):
            self._times[bool(_is_cached(result))].append(moment)
        failed = result.get("success") is False
        mapped = (state.output_mapping or {}) if state else {}
        kept: dict[str, Any] = {
            name: values[name] for name in _ABOUT_THE_REQUEST & values.keys()
        }
        if isinstance(output, str) and output.strip() in mapped:
            kept["choice"] = mapped[output.strip()]
        answer = self._rounds[case.id, trial] = case.round(
            output,
            n=trial + 1,
            input_tokens=as_int(values.get("num_prompt_tokens")),
            output_tokens=as_int(values.get("num_completion_tokens")),
            latency_ms=None if seconds is None else seconds * 1000,
            metadata=dict(sorted(kept.items())),
            executed_at=as_time(moment),
            error=str(result.get("error") or "the request failed") if failed else None,
            is_cached=_is_cached(result),
        )
        return answer

    def _write_scores(
        self, case_id: str, trial: int, answer: RoundWriter, stats: InstanceStats
    ) -> None:
        for stat in stats.stats:
            name = stat.name.name
            if stat.count and name not in _ABOUT_THE_REQUEST:
                value = as_float(stat.mean)
                self._task.same_run.add(case_id, trial, name, value)
                write_score(answer, name, stat.mean, is_share=_is_graded(name))

    def _tags(self, split: str | None, perturbation: Perturbation | None) -> list[str]:
        """Return the groups of the run, and the part of it that a case belongs to."""
        groups = [category_tag(("group", each)) for each in self._spec.groups]
        part = _part(split, perturbation)
        self._parts.add(part)
        return [*([part] if part else []), *groups]

    def _describe(self) -> None:
        spec = self._spec
        named, _, arguments = spec.name.partition(":")
        parts = [p for p in arguments.split(",") if not p.startswith("model=")]
        self._task.describe(
            f"{named}:{','.join(parts)}" if arguments and parts else named,
            model=str(spec.adapter_spec.get("model") or "unknown"),
            prompt_version=_version(spec.adapter_spec),
            created_at=as_time(
                min(self._times[False] or self._times[True], default=None)
            ),
            settings=spec.settings,
            extras=prompts.about(
                _prompt(spec.adapter_spec),
                adapter_spec=spec.adapter_spec,
                groups=spec.groups,
            ),
        )

    def _claim(self) -> None:
        """Hand over the means of a run whose instances are all of one part."""
        path = self._files.get("stats")
        stats = _FILES.document(self._source, list[Stat], path) if path else []
        counted = [each for each in stats if each.count]
        if counted:
            is_one = len(self._parts) == 1
            self._task.claim(
                {
                    each.name.name: each.mean
                    for each in counted
                    if is_one and not each.name.perturbation and not each.name.sub_split
                }
            )


def _part(split: str | None, perturbation: Perturbation | None) -> str:
    """Return the part of a run that a case or a number belongs to, as a tag."""
    return "/".join(filter(None, (split, _name(perturbation))))


def _merged(first: InstanceStats, second: InstanceStats) -> InstanceStats:
    """Return the stats of both: HELM writes an entry for each class of metrics.

    Of two stats of one name the later counts, as for HELM, unless it has no value.
    """
    stats = {stat.name.name: stat for stat in first.stats}
    for stat in second.stats:
        if stat.count or stat.name.name not in stats:
            stats[stat.name.name] = stat
    return msgspec.structs.replace(first, stats=list(stats.values()))


def _is_graded(name: str) -> bool:
    return name.partition("@")[0] in _GRADED


def _prompt(adapter: dict[str, Any]) -> str:
    """Return the parts of a request around the text of an instance."""

    def said(name: str) -> str:
        return str(adapter.get(name) or "")

    is_choice = said("method") == "multiple_choice_joint"
    choices = f"{said('reference_prefix')}{{references}}{said('reference_suffix')}"
    parts = [
        f"{said('global_prefix')}{said('instructions')}",
        f"{said('input_prefix')}{{input}}{said('input_suffix')}",
        choices if is_choice else "",
        f"{said('output_prefix')}{said('global_suffix')}",
    ]
    return "".join(parts) if adapter else ""


def _version(adapter: dict[str, Any]) -> str:
    """Return the method, instructions and examples of the request."""
    said = first_line(str(adapter.get("instructions") or ""), 40)
    shots = adapter.get("max_train_instances")
    parts = [
        str(adapter.get("method") or ""),
        f"{shots}-shot" if shots is not None else "",
        said or "",
    ]
    return ", ".join(filter(None, parts)) or "unknown"


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
    """``run_spec.json`` leads its folder; without it each file stands alone."""
    return led_by("run_spec", files)


def translate(source: Source) -> Iterator[Record | Problem]:
    """The run as records."""
    if source.form != "run_spec":
        raise refused(
            "run_spec_missing",
            f"{source.path.name} is part of a HELM run and has no run_spec.json"
            " beside it, which names task and model: give the whole folder",
        )
    yield from HelmRun(source).records()
