"""Azure AI Evaluation, local evaluators: python azure_rivers.py FOLDER.

Needs azure-ai-evaluation. `exact` breaks on an empty answer, which becomes a bare NaN.
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(AZURE_AI_EVALUATION_TELEMETRY="0", PF_DISABLE_TELEMETRY="true")

from azure.ai.evaluation import F1ScoreEvaluator, evaluate

RIVERS = [
    ("nile", "Nile", "Mediterranean", "Mediterranean"),
    ("rhine", "Rhine", "North Sea", "the Baltic Sea"),
    ("ob", "Ob", "Kara Sea", ""),
]


class Exact:
    """One or nothing."""

    def __call__(self, *, response, ground_truth):
        """Compare."""
        if not response:
            raise ValueError("nothing to judge")
        return {"exact": float(response == ground_truth), "exact_reason": "equality"}


class Length:
    """Characters."""

    def __call__(self, *, response):
        """Count."""
        return {"chars": len(response)}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    data = folder / "data.jsonl"
    rows = [
        {
            "id": name,
            "query": f"Where does the {river} end?",
            "response": answer,
            "ground_truth": truth,
        }
        for name, river, truth, answer in RIVERS
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluate(
        data=str(data),
        evaluation_name="rivers",
        evaluators={"f1": F1ScoreEvaluator(), "exact": Exact(), "length": Length()},
        output_path=str(folder / "early.json"),
    )
    data.unlink()
