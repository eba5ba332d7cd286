"""Finding scorers by name, and the sentences when that does not work."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from promptlab.errors import SettingsError, UsageError
from promptlab.scorers.job import GROUP, load_scorer, scorer_names
from tests.scorers.fakes import lengths, scorer

ROOT = Path(__file__).resolve().parents[2]


def broken() -> None:
    raise ValueError("bad setup")


class Broken:
    def __init__(self) -> None:
        broken()


def test_a_registered_class_becomes_a_new_scorer_each_time(register):
    register(tone=scorer(lengths))
    assert scorer_names() == ["tone"]
    assert load_scorer("tone").name == "tone"
    assert load_scorer("tone") is not load_scorer("tone")


def test_names_are_listed_without_importing_anything(register):
    register(b="nowhere.at_all:X", a="nowhere.else:Y")
    assert scorer_names() == ["a", "b"]


def test_an_unknown_name_gets_the_nearest_one(register):
    register(semantic="x:Y", tone="x:Z")
    with pytest.raises(
        UsageError, match="`semantik`; did you mean `semantic`"
    ) as error:
        load_scorer("semantik")
    assert "installed: semantic, tone" in str(error.value)


def test_where_none_is_installed_that_is_said(register):
    with pytest.raises(UsageError, match="installed: none"):
        load_scorer("tone")


def test_two_packages_with_one_name_are_refused(register):
    register(tone="one:X")
    register(tone="two:X")
    with pytest.raises(UsageError, match="several packages bring it: one:X, two:X"):
        load_scorer("tone")


def test_one_scorer_seen_twice_is_one(register):
    register(tone=f"{__name__}:Tone")
    register(tone=f"{__name__}:Tone")
    assert load_scorer("tone").version == "1"


Tone = scorer(lengths)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_package_here.at:All", "cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:Gone", "cannot be loaded: AttributeError"),
        (f"{__name__}:Broken", "cannot be loaded: ValueError: bad setup"),
        (f"{__name__}:ROOT", r"no method `score\(dimension, case\)`"),
    ],
)
def test_a_scorer_that_cannot_be_loaded_says_why(register, value, message):
    register(tone=value)
    with pytest.raises(SettingsError, match=message) as error:
        load_scorer("tone")
    assert value in str(error.value)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"name": "mood"}, "its `name` is 'mood', expected 'tone'"),
        ({"version": 2}, "its `version` is 2, expected a text"),
        ({"version": " "}, "its `version` is ' ', expected a text"),
        ({"scale": 0}, "its `scale` is 0, expected a number above 0"),
        ({"scale": "10"}, "its `scale` is '10', expected a number above 0"),
        ({"scale": True}, "its `scale` is True, expected a number above 0"),
        ({"scale": float("inf")}, "its `scale` is inf, expected a number above 0"),
    ],
)
def test_a_scorer_with_wrong_attributes_is_refused(register, own, message):
    register(tone=scorer(lengths, **own))
    with pytest.raises(SettingsError, match="is no scorer: ") as error:
        load_scorer("tone")
    assert message in str(error.value)


def test_the_scorers_of_this_package_are_registered_under_their_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, value in project["entry-points"][GROUP].items():
        module, _, attribute = value.partition(":")
        assert getattr(import_module(module), attribute).name == name
