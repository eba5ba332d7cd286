"""The gate's policy: the file that a person writes, or the built-in one."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from promptlab.contracts.gate import GatePolicy
from promptlab.errors import SettingsError, did_you_mean

FILE = "promptlab-gate.toml"
"""The default policy file in the working folder."""

DEFAULT = "default"


def default_policy() -> str:
    """The text of the built-in policy, with every rule explained."""
    return (
        resources.files("promptlab.reports.gate")
        .joinpath("policy.toml")
        .read_text("utf-8")
    )


class Policy(NamedTuple):
    """The rules in force."""

    name: str
    """The file they come from, or ``default``."""
    rules: GatePolicy


def built_in_policy() -> Policy:
    """The default policy."""
    return Policy(DEFAULT, parse_policy(default_policy(), DEFAULT))


def load_policy(path: Path | None = None) -> Policy:
    """Read a policy.

    Args:
        path: the file; ``promptlab-gate.toml`` of the working folder when not given,
            and the built-in policy without one.

    Raises:
        SettingsError: it cannot be read, or is wrong; names the key and a fix.
    """
    if path is None and Path(FILE).is_file():
        path = Path(FILE)
    if path is None:
        return built_in_policy()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such policy; `promptlab gate --init > {path}`"
            " writes one"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    return Policy(str(path), parse_policy(text, str(path)))


def parse_policy(text: str, name: str) -> GatePolicy:
    """Read the text of a policy; ``name`` is its name in messages.

    Raises:
        SettingsError: it is not TOML, or a rule is unknown or has a wrong value.
    """
    try:
        return GatePolicy.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: is not TOML: {error}") from None
    except ValidationError as error:
        raise SettingsError(_explain(error, name)) from None


def _explain(error: ValidationError, name: str) -> str:
    lines = []
    for fault in error.errors():
        loc = [str(part) for part in fault["loc"]]
        key = ".".join(loc)
        if fault["type"] == "extra_forbidden":
            instead = _INSTEAD.get(key) or _INSTEAD.get(loc[-1])
            hint = f"; {instead}" if instead else did_you_mean(loc[-1], _keys(loc[:-1]))
            lines.append(f"{name}: there is no rule `{key}`{hint}")
        else:
            lines.append(
                f"{name}: {key}: {fault['msg'].lower()}, found {fault['input']!r}"
            )
    return "\n".join(lines)


_INSTEAD = {
    "false_alarm": "`refuse_odds` says how sure it must be that a case broke",
    "on_check": '`newly_failing = "stop"` asks to run newly failing cases again',
    "allow_newly_failing": '`newly_failing = "stop"` stops for any newly failing case',
    "allow_must_have_lost": "a lost must-have fails its round; for cases that must"
    ' always pass, `[tags.TAG] must_pass = "every_round"`',
    "regression.must_pass": "`must_pass` belongs to `[tags.TAG]`",
    "regression.min_coverage": "`min_compared` is the share of cases judged again",
    "require_baseline": "`require_history` refuses a first run",
    "regression.baseline": "a run is judged by all of its earlier runs;"
    " `promptlab accept RUN` says that a run is as it should be",
}
"""Rule of another gate, or of an earlier version of this one → its replacement."""


def _keys(tables: Sequence[str]) -> list[str]:
    """The keys that a table of the policy may have."""
    model: Any = GatePolicy
    if tables:
        fields = GatePolicy.model_fields
        model = fields[tables[0]].annotation
        if tables[0] in ("dimensions", "tags"):
            model = model.__args__[1]
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return list(model.model_fields) if is_model else []
