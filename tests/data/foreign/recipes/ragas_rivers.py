"""Ragas without a judge: python ragas_rivers.py FOLDER    (needs ragas, rapidfuzz).

`early` and `late` answer the same questions; one of them is asked twice. `picky` breaks
on an empty answer, which Ragas writes as NaN.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.update(RAGAS_DO_NOT_TRACK="true", HF_HUB_OFFLINE="1")

from ragas import EvaluationDataset, RunConfig, evaluate
from ragas.metrics import (
    ExactMatch,
    NonLLMStringSimilarity,
    StringPresence,
)

RIVERS = [
    ("Nile", "Mediterranean", "Mediterranean", "the Mediterranean"),
    ("Rhine", "North Sea", "Baltic, or so", "North Sea"),
    ("Nile", "Mediterranean", "", "Mediterranean"),
    ("Ob", "Kara Sea", 'the "Kara" Sea', "Black Sea"),
]


@dataclass
class Picky(StringPresence):
    name: str = "picky"

    async def _single_turn_ascore(self, sample, callbacks):
        if not sample.response:
            raise ValueError("nothing to judge")
        return await super()._single_turn_ascore(sample, callbacks)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for version, place in (("early", 2), ("late", 3)):
    rows = [
        {
            "user_input": f"Where does the {row[0]} end?",
            "response": row[place],
            "reference": row[1],
            "retrieved_contexts": [f"The {row[0]} ends there.", "Two\nlines, 'quoted'"],
        }
        for row in RIVERS
    ]
    result = evaluate(
        EvaluationDataset.from_list(rows),
        metrics=[ExactMatch(), NonLLMStringSimilarity(), Picky()],
        raise_exceptions=False,
        show_progress=False,
        run_config=RunConfig(max_workers=1),
    ).to_pandas()
    result.to_csv(folder / f"{version}.csv", index=False)
    result.to_json(
        folder / f"{version}.jsonl", orient="records", lines=True, force_ascii=False
    )
