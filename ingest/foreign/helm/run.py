"""One HELM run: instances, requests, scores, and what it claims of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ingest.foreign import prompts
from ingest.foreign.documents import (
    decode,
    decode_file,
    first_line,
    integer,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import file_bytes
from ingest.foreign.helm.structs import (
    InstanceStats,
    Perturbation,
    RequestState,
    RunSpec,
    ScenarioState,
    Stat,
)
from ingest.foreign.identity import SameRun, content_id
from ingest.foreign.records import (
    Baseline,
    Case,
    Dimension,
    Direction,
    Record,
    Round,
    Rule,
    Score,
    Task,
    Total,
)
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

T = TypeVar("T")

_VERSIONS = "a run of 0.5"
_GRADED = frozenset(
    {
        *("exact_match", "quasi_exact_match", "prefix_exact_match"),
        *("quasi_prefix_exact_match", "final_number_exact_match", "f1_score"),
        *("rouge_1", "rouge_2", "rouge_l", "bleu_1", "bleu_4", "math_equiv"),
        *("math_equiv_chain_of_thought", "chain_of_thought_correctness"),
        *("ifeval_strict_accuracy", "classification_micro_f1", "code_eval_acc"),
    }
)
"""Metrics of an instance that lie from 0 to 1, 1 best, by their definition."""
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
"""Stats that say nothing of the answer: kept with the round."""
_DERIVED = frozenset({"perplexity", "bits_per_byte", "logprob_per_byte"})
"""Made of the sums of others."""
_LOWER = frozenset({"inference_runtime", "denoised_runtime", "bits_per_byte"})


class HelmRun:
    """The files of one folder.

    Args:
        source: ``run_spec.json``, with the others as companions.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spec = self._decoded(source.path, RunSpec)
        self._files = {path.stem: path for path in source.companions}
        model = self._spec.adapter_spec.get("model")
        self._model = str(model or "unknown")
        self._times: list[float] = []
        self._cases: dict[str, None] = {}
        self._rounds: set[tuple[str, int]] = set()
        self._dimensions: dict[str, None] = {}
        self._figures: set[str] = set()
        self._is_perturbed = False
        stamp = [self._spec.name, self._spec.adapter_spec, self._first_answer()]
        self._task_id = content_id(stamp, self._spec.name)
        self._same_run = SameRun("helm", self._task_id)

    def _decoded(self, path: Path, kind: type[T]) -> T:
        data = self._source.redact(file_bytes(self._source, path))
        return decode_file(data, kind, "HELM", _VERSIONS)

    def _first_answer(self) -> Any:
        """When the first answer came: HELM gives a run no id and no time."""
        path = self._files.get("scenario_state")
        if path is None:
            return None
        states = decode_file(
            file_bytes(self._source, path), ScenarioState, "HELM", _VERSIONS
        ).request_states
        try:
            state = decode(states[0], RequestState) if states else None
        except msgspec.DecodeError:
            return None
        result = state.result if state else None
        return [len(states), (result or {}).get("request_datetime")]

    def records(self) -> Iterator[Record | Problem]:
        """Everything of the run."""
        stats = list(self._stats())
        self._is_perturbed = any(each.perturbation for each in stats)
        rows = {
            (_case_id(each.instance_id, each.perturbation), trial): each
            for each in stats
            for trial in [each.train_trial_index]
        }
        for state in self._states():
            if isinstance(state, Problem):
                yield state
            else:
                yield from self._state(state, rows)
        for (case_id, trial), each in rows.items():
            if (case_id, trial) not in self._rounds:  # no state: scores alone
                if case_id not in self._cases:
                    asked = {"instance_id": each.instance_id}
                    split = next((s.name.split for s in each.stats), None)
                    part = _part(split, each.perturbation)
                    yield self._case(case_id, asked, [part] if part else [])
                yield self._round(case_id, trial, each, None)
            yield from self._scores(case_id, trial, each)
        yield self._task()
        yield from self._closing()
        missing = {"scenario_state", "per_instance_stats"} - self._files.keys()
        if missing:
            yield Problem(
                "totals_only" if len(missing) > 1 else "files_missing",
                f"{self._spec.name}: {' and '.join(sorted(missing))} are not in its"
                " folder: what was asked and answered, or its scores, is not known",
                severity="warning",
                record_id=self._task_id,
            )

    def _stats(self) -> Iterator[InstanceStats]:
        path = self._files.get("per_instance_stats")
        if path is not None:
            yield from self._decoded(path, list[InstanceStats])

    def _states(self) -> Iterator[RequestState | Problem]:
        path = self._files.get("scenario_state")
        if path is None:
            return
        data = file_bytes(self._source, path)
        states = decode_file(data, ScenarioState, "HELM", _VERSIONS)
        for place, raw in enumerate(states.request_states):
            written = self._source.redact(bytes(raw))
            try:
                yield decode(written, RequestState)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                where = f"/request_states/{place}"
                yield shape_problem(
                    error, "HELM", _VERSIONS, pointer=where, raw=written
                )

    def _state(
        self, state: RequestState, rows: dict[tuple[str, int], InstanceStats]
    ) -> Iterator[Record]:
        instance, trial = state.instance, state.train_trial_index
        case_id = _case_id(instance.id, instance.perturbation)
        if case_id not in self._cases:
            choices = [each.output.get("text") for each in instance.references]
            asked = {"input": instance.input.get("text"), "choices": choices}
            part = _part(instance.split, instance.perturbation)
            yield self._case(case_id, asked, [part] if part else [])
            right = [
                each.output.get("text")
                for each in instance.references
                if "correct" in each.tags
            ]
            if right:
                golden = text({"answer": right[0] if len(right) == 1 else right})
                yield Baseline(self._task_id, case_id, "correct", 0, golden)
        # one request per choice, where the method asks for each apart
        if (case_id, trial) not in self._rounds:
            yield self._round(case_id, trial, rows.get((case_id, trial)), state)

    def _case(self, case_id: str, asked: dict[str, Any], tags: list[str]) -> Case:
        self._cases[case_id] = None
        place = len(self._cases) - 1
        return Case(self._task_id, case_id, place, text(asked), text(tags))

    def _round(
        self,
        case_id: str,
        trial: int,
        stats: InstanceStats | None,
        state: RequestState | None,
    ) -> Round:
        self._rounds.add((case_id, trial))
        self._same_run.add(case_id, trial)
        values = {s.name.name: s.mean for s in stats.stats} if stats else {}
        result = (state.result if state else None) or {}
        completions = result.get("completions") or []
        output = completions[0].get("text") if completions else None
        seconds = number(result.get("request_time"))
        moment = result.get("request_datetime")
        if isinstance(moment, int | float):
            self._times.append(moment)
        failed = result.get("success") is False
        mapped = (state.output_mapping or {}) if state else {}
        kept: dict[str, Any] = {
            name: values[name] for name in _ABOUT_THE_REQUEST & values.keys()
        }
        if isinstance(output, str) and output.strip() in mapped:
            kept["choice"] = mapped[output.strip()]
        return Round(
            task_id=self._task_id,
            case_id=case_id,
            round_id=f"{case_id}-{trial + 1}",
            position=trial,
            run_index=trial + 1,
            raw_output=output,
            input_tokens=integer(values.get("num_prompt_tokens")),
            output_tokens=integer(values.get("num_completion_tokens")),
            latency_ms=None if seconds is None else seconds * 1000,
            metadata=text(dict(sorted(kept.items()))),
            executed_at=time(moment),
            error=str(result.get("error") or "the request failed") if failed else None,
            reported_status="error" if failed else None,
        )

    def _scores(
        self, case_id: str, trial: int, stats: InstanceStats
    ) -> Iterator[Record]:
        for stat in stats.stats:
            name = stat.name.name
            if name in _ABOUT_THE_REQUEST:
                self._figures.add(name)
            if name in _ABOUT_THE_REQUEST or stat.count == 0:
                continue
            self._dimensions[name] = None
            value = number(stat.mean)
            self._same_run.add(case_id, trial, name, value)
            yield Score(
                task_id=self._task_id,
                case_id=case_id,
                round_id=f"{case_id}-{trial + 1}",
                dimension_id=name,
                value=value,
                score=on_scale(value) if _is_graded(name) else None,
            )

    def _task(self) -> Task:
        spec = self._spec
        named, _, arguments = spec.name.partition(":")
        parts = [p for p in arguments.split(",") if not p.startswith("model=")]
        return Task(
            task_id=self._task_id,
            source_kind="helm",
            title=f"{named}:{','.join(parts)}" if arguments and parts else named,
            prompt_version=_version(spec.adapter_spec),
            model=self._model,
            created_at=time(min(self._times, default=None)) or self._source.modified_at,
            run_id=self._task_id,
            run_hash=self._same_run.hash(),
            extras=text(
                prompts.about(
                    _prompt(spec.adapter_spec),
                    adapter_spec=spec.adapter_spec,
                    groups=spec.groups,
                )
            ),
        )

    def _closing(self) -> Iterator[Record]:
        # prefix and quasi matches say the same thing again: one of them is weighed
        main = next((n for n in self._dimensions if _is_graded(n)), None)
        for position, name in enumerate(self._dimensions):
            yield Dimension(
                task_id=self._task_id,
                dimension_id=name,
                position=position,
                name=name,
                weight=float(name == main),
                is_graded=_is_graded(name),
                direction=_direction(name),
            )
        path = self._files.get("stats")
        places = count()
        for stat in self._decoded(path, list[Stat]) if path else ():
            if stat.count:
                yield self._total(stat, next(places))

    def _total(self, stat: Stat, position: int) -> Total:
        name, about = stat.name, dict[str, str]()
        part = _part(name.split, name.perturbation, name.sub_split)
        rule: Rule = "own_formula" if name.name in _DERIVED else "not_in_rows"
        if name.name in self._dimensions or name.name in self._figures:
            rule = "mean_over_cases"
            about = {"tag": part} if part else {}
        if name.name in self._figures:
            about["figure"] = name.name
        perturbation = name.perturbation
        if name.sub_split or (
            perturbation
            and self._is_perturbed
            and perturbation.computed_on != "perturbed"
        ):
            rule, about = "own_formula", {}  # the worst of an instance's perturbations
        elif perturbation and not self._is_perturbed:
            about |= {"tag": name.split or ""}  # of none, the instance is the worst
        return Total(
            task_id=self._task_id,
            position=position,
            name=f"stats.{name.name}" + (f"[{part}]" if part else ""),
            rule=rule,
            value=number(stat.mean),
            dimension_id=name.name if name.name in self._dimensions else None,
            parameters=text(about),
        )


def _part(
    split: str | None, perturbation: Perturbation | None, sub_split: str | None = None
) -> str:
    """The part of a run that a case is of, or a number is over: its cases' tag."""
    perturbed = perturbation.name if perturbation else None
    return "/".join(filter(None, (split, sub_split, perturbed)))


def _case_id(instance_id: str, perturbation: Perturbation | None) -> str:
    """HELM gives an instance and all its perturbations the same id."""
    perturbed = perturbation.name if perturbation else ""
    return f"{instance_id}/{perturbed}" if perturbed else instance_id


def _is_graded(name: str) -> bool:
    return name.partition("@")[0] in _GRADED


def _direction(name: str) -> Direction | None:
    if _is_graded(name):
        return "higher_better"
    return "lower_better" if name in _LOWER else None


def _prompt(adapter: dict[str, Any]) -> str:
    """What a request is put together from, around the text of an instance."""

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
    """How it was asked: method, instructions, examples."""
    said = first_line(str(adapter.get("instructions") or ""), 40)
    shots = adapter.get("max_train_instances")
    parts = [
        str(adapter.get("method") or ""),
        f"{shots}-shot" if shots is not None else "",
        said or "",
    ]
    return ", ".join(filter(None, parts)) or "unknown"
