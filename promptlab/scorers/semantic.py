"""Semantic similarity of an answer and the golden answers of its case.

Embeddings come from a static model (model2vec) in a folder on disk; nothing is
downloaded. Limits of the score: docs/scorers.md.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptlab.contracts.analysis_input import DimensionConfig, TestCaseBundle
from promptlab.errors import SettingsError
from promptlab.scorers import RoundScore, golden_answers

MODEL_VARIABLE = "PROMPTLAB_SEMANTIC_MODEL"
"""Environment variable with the model's folder, where no dimension names one."""

_LONGEST = 300  # characters of a golden answer in the evidence

Vector = list[float]


@dataclass(frozen=True)
class _Model:
    name: str
    fingerprint: str
    encoder: Any

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts whole, one vector each; all zero where no word is known."""
        encoded = self.encoder.encode(
            list(texts), max_length=None, use_multiprocessing=False
        )
        rows: list[Vector] = encoded.astype("float64").tolist()
        return rows


class SemanticScorer:
    """Cosine of the answer's embedding and the nearest golden answer's, 0–1.

    ``parameters.model``, else ``PROMPTLAB_SEMANTIC_MODEL``, is the model's folder. The
    same text is 1 and a blank answer 0, whatever the model. A case without a golden
    answer gets no score. The score is null if the model knows no word of the answer, or
    none of the golden answers.
    """

    name = "semantic"
    version = "1"
    scale = 1.0

    def __init__(self) -> None:
        self._models: dict[Path, _Model] = {}

    def score(
        self, dimension: DimensionConfig, case: TestCaseBundle
    ) -> Iterator[RoundScore]:
        """Score every round of a case that has golden answers.

        Raises:
            SettingsError: the library or the model is not there.
        """
        model = self._model(_model_folder(dimension))
        golden = [text for text in map(str.strip, golden_answers(case)) if text]
        if not golden or not case.rounds:
            return
        references = model.vectors(golden)
        answers = [round_.raw_output.strip() for round_ in case.rounds]
        for round_, answer, vector in zip(
            case.rounds, answers, model.vectors(answers), strict=True
        ):
            cosine, nearest = _nearest(answer, vector, golden, references)
            yield RoundScore(
                round_id=round_.round_id,
                score=None if cosine is None else min(1.0, max(0.0, cosine)),
                summary=_summary(cosine, nearest),
                payload={
                    "cosine": None if cosine is None else round(cosine, 6),
                    "golden_answer": nearest and nearest[:_LONGEST],
                    "model": model.name,
                },
                version=f"{self.version}+{model.fingerprint}",
            )

    def _model(self, folder: Path) -> _Model:
        if folder not in self._models:
            self._models[folder] = _load(folder)
        return self._models[folder]


def _nearest(
    answer: str, vector: Vector, golden: list[str], references: list[Vector]
) -> tuple[float | None, str | None]:
    """Return the best cosine and its golden answer; nulls without one."""
    if answer in golden:
        return 1.0, answer
    if not answer:
        return 0.0, golden[0]
    best: tuple[float | None, str | None] = (None, None)
    for text, reference in zip(golden, references, strict=True):
        cosine = _cosine(vector, reference)
        if cosine is not None and (best[0] is None or cosine > best[0]):
            best = (cosine, text)
    return best


def _cosine(a: Vector, b: Vector) -> float | None:
    norms = math.hypot(*a) * math.hypot(*b)
    if not norms:
        return None
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / norms


def _summary(cosine: float | None, nearest: str | None) -> str:
    if cosine is None or nearest is None:
        return "the model knows no word of the answer, or none of the golden answers"
    text = nearest if len(nearest) <= 80 else f"{nearest[:79]}…"
    return f"cosine {cosine:.3f}: {text}"


def _model_folder(dimension: DimensionConfig) -> Path:
    folder = dimension.parameters.get("model")
    origin = "parameters.model"
    if folder is None:
        folder, origin = os.environ.get(MODEL_VARIABLE) or None, MODEL_VARIABLE
    if folder is None:
        raise SettingsError(
            "scorer `semantic`: no model is named; give the folder of a model2vec model"
            f" as `parameters.model` of the dimension or in {MODEL_VARIABLE}"
        )
    if not (
        isinstance(folder, str)
        and folder.strip()
        and Path(folder).expanduser().is_dir()
    ):
        raise SettingsError(
            f"scorer `semantic`: {origin} is {folder!r}, which is no folder here; name"
            " the folder of a model2vec model (models are never downloaded)"
        )
    return Path(folder).expanduser().resolve()


def _load(folder: Path) -> _Model:
    # set before its library is imported, so that nothing uses the network
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise SettingsError(
            f"scorer `semantic`: needs the library model2vec ({error});"
            " `pip install 'promptlab-warehouse[semantic]'`"
        ) from None
    try:
        encoder = StaticModel.from_pretrained(folder, force_download=False)
    except Exception as error:  # noqa: BLE001 - a foreign file fails in many ways
        raise SettingsError(
            f"scorer `semantic`: {folder}: holds no model2vec model"
            f" (model.safetensors, tokenizer.json, config.json): {error}"
        ) from None
    return _Model(folder.name, _fingerprint(folder), encoder)


def _fingerprint(folder: Path) -> str:
    """Return a short hash of the model's files, independent of its folder."""
    digest = hashlib.sha256()
    for pattern in ("*.safetensors", "tokenizer.json", "config.json"):
        for path in sorted(folder.rglob(pattern)):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
