"""Dimensions of an analysis input as rows: parameters and targets, checked and typed.

An invalid parameter or target does not reject the file: a warning names the place, the
dimension gets no score where it needs the value, and an alert explains it after the
build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from promptlab.contracts.analysis_input import AnalysisInput, DimensionConfig
from promptlab.contracts.scoring import PARAMETERS, DimensionParameters
from promptlab.errors import nearest
from promptlab.ingest.raw.rows import Columns
from promptlab.ingest.reading.problems import faults
from promptlab.json_text.reading import Fault
from promptlab.json_text.writing import compact, shown
from promptlab.seeds import builtin_scorer

_LARGEST = 1e300
_WORDS = ("match_rule", "compare", "reducer", "aggregation", "of")
"""Parameters that an alert shows without quotes."""
_OTHERS = ("scorer", "scorer_name", "of")
"""Parameters that no contract checks."""
_THRESHOLDS = ("min_score", "max_score", "max_variance")

_EMPTY: dict[str, Any] = dict.fromkeys(
    (
        *("match_rule", "compare", "reducer", "aggregation", "stability_of"),
        *("scorer_name", "k", "tolerance", "pass_score", "trim_share"),
        *("input_price_per_million", "output_price_per_million"),
        *("must", "must_not", "required_keys", "bad_parameters"),
        *("lower_limit", "upper_limit", *_THRESHOLDS),
        *("target_problem", "target_warning"),
    )
)
"""Typed columns; null: missing or invalid."""


def dimension_rows(contract: AnalysisInput) -> tuple[Columns, list[Fault]]:
    """Return the rows of ``dimension_configs``, and a warning for each error."""
    scorers = {
        dimension.dimension_id: scorer_of(dimension)
        for dimension in contract.dimensions
    }
    rows: list[dict[str, Any]] = []
    warnings: list[Fault] = []
    for position, dimension in enumerate(contract.dimensions):
        parameters, parameter_faults = _parameters(dimension, scorers)
        target, target_faults = _target(dimension, scorers[dimension.dimension_id])
        warnings += [
            replace(fault, keys=("dimensions", position, *fault.keys))
            for fault in (*parameter_faults, *target_faults)
        ]
        rows.append(
            {
                "task_id": contract.task.task_id,
                "dimension_id": dimension.dimension_id,
                "position": position,
                "name": dimension.name,
                "weight": dimension.weight,
                "target": compact(dimension.target),
                "parameters": compact(dimension.parameters),
                "scoring_mode": dimension.scoring_mode,
                **_EMPTY,
                **parameters,
                **target,
            }
        )
    names = rows[0] if rows else {"task_id": None}
    return {name: [row[name] for row in rows] for name in names}, warnings


def scorer_of(dimension: DimensionConfig) -> str:
    """Return the name of a dimension's scorer; its id is the default."""
    name = _text(dimension.parameters.get("scorer"))
    return (name or "").strip(" ") or dimension.dimension_id


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact(value)


def _parameters(
    dimension: DimensionConfig, scorers: Mapping[str, str]
) -> tuple[dict[str, Any], list[Fault]]:
    parameters = dimension.parameters
    own_scorer = scorers[dimension.dimension_id]
    model = PARAMETERS.get(own_scorer, DimensionParameters)
    invalid: list[Fault] = []
    try:
        model.model_validate(parameters)
    except ValidationError as error:
        invalid = faults(error, parameters, model)
    invalid_names = {str(name): None for fault in invalid for name in fault.keys[:1]}
    if any(not fault.keys for fault in invalid):
        invalid_names |= {"must": None, "must_not": None}
    if own_scorer == "stability":
        referred_id = parameters.get("of")
        referred = scorers.get(referred_id) if isinstance(referred_id, str) else None
        if referred in (None, "stability"):
            invalid_names["of"] = None
            known = [
                name
                for name, scorer_name in scorers.items()
                if scorer_name != "stability"
            ]
            message = (
                f"expected another dimension of the task, found {shown(referred_id)}"
                f"{nearest(str(referred_id), known)}"
            )
            invalid.append(Fault(("of",) if "of" in parameters else (), "", message))
    typed = {
        name: parameters.get(name)
        for name in model.model_fields
        if name not in invalid_names
    }
    for name in ("must", "must_not", "required_keys"):
        if typed.get(name) is not None:
            typed[name] = compact(typed[name])
    if "trim" in typed:
        typed["trim_share"] = typed.pop("trim")
    typed["scorer_name"] = _text(parameters.get("scorer_name"))
    typed["stability_of"] = _text(parameters.get("of"))
    typed["bad_parameters"] = _shown_parameters(parameters, invalid_names)
    warnings = [
        Fault(
            ("parameters", *fault.keys),
            "invalid_parameter",
            f"{fault.message}. The dimension will have no score",
        )
        for fault in invalid
    ]
    for name in parameters:
        if name not in model.model_fields and name not in _OTHERS:
            known = [field for field in model.model_fields if field not in parameters]
            if near := nearest(name, known, cutoff=0.8):
                message = f"the scorer {own_scorer} does not read this parameter{near}"
                fault = Fault(("parameters", name), "unknown_parameter", message)
                warnings.append(fault)
    return typed, warnings


def _shown_parameters(
    parameters: Mapping[str, Any], invalid_names: Iterable[str]
) -> str | None:
    """Return invalid parameters as shown in the alert: ``k = 0, trim = 0.5``."""
    texts = []
    for name in invalid_names:
        value = parameters.get(name)
        is_word = isinstance(value, str) and name in _WORDS
        texts.append(f"{name} = {value if is_word else compact(value)}")
    return ", ".join(texts) or None


def _target(
    dimension: DimensionConfig, scorer_name: str
) -> tuple[dict[str, Any], list[Fault]]:
    """Read the limits of a target.

    A side's limit is its plain key (``max``), else the one other ``max_*`` key. Shares
    are scored without a limit, unless the mode is ``range``; other metrics need the
    limits of their mode.
    """
    target = {
        key: value for key, value in dimension.target.items() if value is not None
    }
    mode, built_in = dimension.scoring_mode, builtin_scorer(scorer_name)
    in_ms = built_in is not None and built_in["unit"] == "ms"
    is_share = built_in is None or built_in["is_share"] == "true"
    typed: dict[str, Any] = {name: _number(target.get(name)) for name in _THRESHOLDS}
    problems: dict[str, str | None] = {}
    keys: dict[str, str | None] = {}
    limits: dict[str, float | None] = {}
    for side in ("min", "max"):
        names = [key for key in target if key.startswith(f"{side}_")]
        names = [key for key in names if key not in _THRESHOLDS]
        names = [side] if side in target else names
        keys[side] = names[-1] if names else None
        number = _number(target[names[0]]) if len(names) == 1 else None
        if number is not None and in_ms and names[0] == f"{side}_seconds":
            number *= 1000
        limits[side] = number
        problems[side] = None
        if len(names) > 1:
            problems[side] = "target_ambiguous"
        elif names and number is None:
            problems[side] = "target_not_a_number"
    typed["lower_limit"], typed["upper_limit"] = limits["min"], limits["max"]
    lower = limits["min"] if mode in ("higher_better", "range") else None
    upper = limits["max"] if mode in ("lower_better", "range") else None
    problem = None
    if is_share and mode != "range":
        pass
    elif mode in ("lower_better", "range") and problems["max"]:
        problem = problems["max"]
    elif mode in ("higher_better", "range") and problems["min"]:
        problem = problems["min"]
    elif lower is None and upper is None:
        problem = "target_missing"
    elif lower is not None and upper is not None:
        problem = "target_crossed" if lower > upper else None
    elif upper is not None and upper < 0:
        problem = "target_negative"
    elif lower is not None and lower <= 0:
        problem = "target_not_positive"
    not_a_number = next(
        (n for n in _THRESHOLDS if n in target and typed[n] is None), None
    )
    warning = problem or problems["max"] or problems["min"]
    warning = warning or ("target_not_a_number" if not_a_number else None)
    typed |= {"target_problem": problem, "target_warning": warning}
    if warning is None:
        return typed, []
    bad_side = "max" if problems["max"] == warning else "min"
    key = keys[bad_side] if warning in problems.values() else not_a_number
    message = _ADVICE[warning].format(value=shown(target.get(key or "")), mode=mode)
    if problem:
        message += ". The dimension will have no score"
    path = ("target",) if key is None else ("target", key)
    return typed, [Fault(path, "invalid_target", message)]


_ADVICE = {
    "target_ambiguous": "the target has two limits for this side; keep one of them",
    "target_not_a_number": "expected a number, found {value}",
    "target_missing": 'scoring_mode {mode} needs a limit, such as "max" or "min"',
    "target_crossed": "the lower limit is above the upper one",
    "target_negative": "expected an upper limit of at least 0",
    "target_not_positive": "expected a lower limit above 0",
}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LARGEST else None
