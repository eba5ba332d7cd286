"""What HELM writes, as far as it is read."""

from __future__ import annotations

from typing import Any

import msgspec


class RunSpec(msgspec.Struct):
    """``run_spec.json``."""

    name: str
    adapter_spec: dict[str, Any] = {}
    scenario_spec: dict[str, Any] = {}
    groups: list[str] = []


class Perturbation(msgspec.Struct):
    """How an instance was changed; in a stat, which of them it covers."""

    name: str = ""
    computed_on: str | None = None


class Reference(msgspec.Struct):
    """An answer that an instance knows."""

    output: dict[str, Any] = {}
    tags: list[str] = []


class Instance(msgspec.Struct):
    """What is asked."""

    id: str
    input: dict[str, Any] = {}
    references: list[Reference] = []
    split: str | None = None
    perturbation: Perturbation | None = None


class RequestState(msgspec.Struct):
    """One request of an instance, and what came back."""

    instance: Instance
    train_trial_index: int = 0
    request_mode: str | None = None
    output_mapping: dict[str, str] | None = None
    request: dict[str, Any] = {}
    result: dict[str, Any] | None = None


class ScenarioState(msgspec.Struct):
    """``scenario_state.json``; each state is decoded when its turn comes."""

    request_states: list[msgspec.Raw]


class StatName(msgspec.Struct):
    """What a number is of."""

    name: str
    split: str | None = None
    sub_split: str | None = None
    perturbation: Perturbation | None = None


class Stat(msgspec.Struct):
    """A number; of several values their count, sum and mean."""

    name: StatName
    count: int = 0
    mean: float | None = None


class InstanceStats(msgspec.Struct):
    """One of ``per_instance_stats.json``."""

    instance_id: str
    stats: list[Stat]
    train_trial_index: int = 0
    perturbation: Perturbation | None = None
