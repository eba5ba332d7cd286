"""Likeness of meaning, with a model of five words that the test makes itself."""

from __future__ import annotations

import sys

import pytest

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.errors import SettingsError
from promptlab.scorers.semantic import MODEL_VARIABLE, SemanticScorer
from tests.scoring import tasks


@pytest.fixture(autouse=True)
def no_model_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)


def dimension(**parameters):
    made = tasks.dimension("accuracy", match_rule="semantic", **parameters)
    return DimensionConfig.model_validate(made)


def case(*answers, golden):
    made = {"case_id": "c1", **tasks.case(*answers, golden=golden)}
    return TestCaseBundle.model_validate(made)


def scores(model, *answers, golden):
    asked = dimension(model=str(model))
    found = SemanticScorer().score(asked, case(*answers, golden=golden))
    return [None if s.score is None else round(s.score, 6) for s in found]


@pytest.mark.parametrize(
    ("answer", "golden", "score"),
    [
        ("big", "big", 1.0),
        (" big\n", "big", 1.0),
        ("large", "big", 0.8),
        ("big big", "big", 1.0),
        ("big red", "big", 0.707107),
        ("red", "big", 0.0),
        ("small", "big", 0.0),  # the cosine is -1
        ("large", ["red", "big"], 0.8),  # the best of the alternatives counts
        ("large", ["nonsense", "big"], 0.8),
        ("", "big", 0.0),
        ("nonsense", "big", None),
        ("big", "nonsense", None),
        ("nonsense", "nonsense", 1.0),
    ],
)
def test_the_score_is_the_cosine_to_the_nearest_golden_answer(
    model, answer, golden, score
):
    assert scores(model, answer, golden=golden) == [score]


def test_an_answer_is_read_to_its_end(model):
    assert scores(model, "big " * 2000 + "red " * 2000, golden="big") == [0.707107]


@pytest.mark.parametrize("golden", [None, "", [None], [" "]])
def test_a_case_without_a_golden_answer_gets_no_scores(model, golden):
    assert scores(model, "big", golden=golden) == []


def test_the_evidence_says_what_was_compared_and_by_which_model(model):
    asked = dimension(model=str(model))
    (found,) = SemanticScorer().score(asked, case("small", golden=["big", "red"]))
    assert found.payload == {
        "cosine": 0.0,
        "golden_answer": "red",
        "model": "five-words",
    }
    assert found.summary == "cosine 0.000: red"
    assert found.version is not None
    assert found.version.startswith("1+")


def test_another_model_is_another_version(model, tmp_path):
    from model2vec import StaticModel

    other = StaticModel.from_pretrained(model)
    other.embedding = other.embedding * 2
    other.save_pretrained(tmp_path / "other")
    versions = {
        next(iter(SemanticScorer().score(asked, case("big", golden="big")))).version
        for asked in (dimension(model=str(m)) for m in (model, tmp_path / "other"))
    }
    assert len(versions) == 2


def test_the_environment_names_the_model_where_the_dimension_does_not(
    model, monkeypatch
):
    monkeypatch.setenv(MODEL_VARIABLE, str(model))
    (found,) = SemanticScorer().score(dimension(), case("large", golden="big"))
    assert found.score == pytest.approx(0.8)


def complaint(asked):
    with pytest.raises(SettingsError) as error:
        list(SemanticScorer().score(asked, case("big", golden="big")))
    return str(error.value)


def test_no_model_at_all_has_one_sentence():
    message = complaint(dimension())
    assert "no model is named" in message
    assert "parameters.model" in message
    assert MODEL_VARIABLE in message


@pytest.mark.parametrize("named", ["minishlab/potion-base-8M", "gone", "", 7])
def test_a_model_that_is_no_folder_is_never_fetched(named):
    message = complaint(dimension(model=named))
    assert f"parameters.model is {named!r}, which is no folder here" in message
    assert "never downloaded" in message


def test_a_folder_without_a_model_is_reported_as_none(tmp_path):
    pytest.importorskip("model2vec", reason="the library says so")
    assert "holds no model2vec model" in complaint(dimension(model=str(tmp_path)))


def test_a_missing_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    message = complaint(dimension(model=str(tmp_path)))
    assert "pip install 'promptlab-warehouse[semantic]'" in message
