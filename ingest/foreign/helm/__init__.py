"""HELM: the folder of a run, ``run_spec.json`` with the four files beside it.

Tried on a run of 0.5. ``run_spec.json`` leads; ``scenario_state.json`` holds what was
asked and answered, ``per_instance_stats.json`` the scores, ``stats.json`` the means.

A folder is a task. A case is an instance, perturbed or not, by the ids that HELM gives;
a train trial is a round. Means are per split and perturbation, and never added up: each
is a total. HELM has no pass rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.helm.run import HelmRun
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.runs import Part, Run, led_by
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("run_spec", "scenario_state", "per_instance_stats", "stats")


def recognise(head: Head) -> str | None:
    """By the keys of the first object of each of its files."""
    if {"name", "scenario_spec", "adapter_spec", "metric_specs"} <= head.keys:
        return "run_spec"
    if {"adapter_spec", "request_states"} <= head.keys:
        return "scenario_state"
    if {"instance_id", "train_trial_index", "stats"} <= head.keys:
        return "per_instance_stats"
    if {"name", "count", "sum", "sum_squared"} <= head.keys:
        return "stats"
    return None


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """``run_spec.json`` leads its folder; without it each file stands alone."""
    return led_by("run_spec", parts)


def translate(source: Source) -> Iterator[Record | Problem]:
    """The run as records."""
    if source.form != "run_spec":
        raise Refused(
            Problem(
                "run_spec_missing",
                f"{source.path.name} is part of a HELM run and has no run_spec.json"
                " beside it, which names task and model: give the whole folder",
            )
        )
    yield from HelmRun(source).records()
