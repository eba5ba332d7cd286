"""Fake scorers, registered without installing anything, and a machine without network."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from promptlab.scorers import job

SEMANTIC = "promptlab.scorers.semantic:SemanticScorer"

_HERE: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    """The targets of the entry points of ``register``."""
    try:
        return _HERE[name]
    except KeyError:
        raise AttributeError(name) from None


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_more: Any) -> None:
        raise AssertionError("a scorer reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install scorers: ``register(tone=Tone, semantic="package.module:Name")``."""
    entries: list[EntryPoint] = []

    def fake(*, group: str) -> list[EntryPoint]:
        return [entry for entry in entries if entry.group == group]

    monkeypatch.setattr(job, "entry_points", fake)

    def add(**scorers: Any) -> None:
        for name, scorer in scorers.items():
            value = scorer
            if not isinstance(scorer, str):
                place = f"scorer_{len(entries)}"
                monkeypatch.setitem(_HERE, place, scorer)
                value = f"{__name__}:{place}"
            entries.append(EntryPoint(name, value, job.GROUP))

    return add


WORDS = {"big": (1, 0), "large": (0.8, 0.6), "small": (-1, 0), "red": (0, 1)}


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model2vec model on disk: `large` is near `big`, `small` is its opposite."""
    needs = "needs the extra promptlab-warehouse[semantic]"
    model2vec = pytest.importorskip("model2vec", reason=needs)
    import numpy
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: place for place, word in enumerate(["[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = numpy.array([(0, 0), *WORDS.values()], dtype="float32")
    folder = tmp_path_factory.mktemp("models") / "five-words"
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(folder)
    return folder
