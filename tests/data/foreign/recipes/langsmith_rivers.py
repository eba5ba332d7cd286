"""Two models over the same examples, two repetitions, without uploading.

usage: python langsmith_rivers.py OUT
"""

import json
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

os.environ.update(LANGSMITH_TRACING="false", LANGSMITH_ENDPOINT="http://127.0.0.1:9")

from langsmith import Client, evaluate
from langsmith.schemas import Example

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
SEAS = {"Nile": "Mediterranean", "Rhine": "North", "Danube": "Black", "Styx": "Hades"}
KNOWN = {"early": {"Nile"}, "late": {"Nile", "Rhine"}}
rivers = uuid.UUID("00000000-0000-4000-8000-000000000002")
examples = [
    Example(
        id=uuid.uuid5(rivers, river),
        dataset_id=rivers,
        inputs={"river": river},
        outputs={"sea": sea},
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    for river, sea in SEAS.items()
]


def right(outputs, reference_outputs):
    return {"key": "right", "score": outputs["sea"] == reference_outputs["sea"]}


def length(outputs):
    if outputs["sea"] == "North":
        raise ValueError("cannot count this")
    return {"key": "length", "score": len(outputs["sea"])}


def tone(outputs):
    return {"key": "tone", "value": "short" if len(outputs["sea"]) < 9 else "long"}


for model, known in KNOWN.items():

    def answer(inputs, known=known):
        if inputs["river"] == "Styx":
            raise RuntimeError("no such river")
        river = inputs["river"]
        return {"sea": SEAS[river] if river in known else "I cannot say"}

    results = evaluate(
        answer,
        data=examples,
        evaluators=[right, length, tone],
        num_repetitions=2,
        max_concurrency=0,
        upload_results=False,
        client=Client(api_key="none", auto_batch_tracing=False),
    )
    table = results.to_pandas()
    table.to_csv(out / f"{model}.csv", index=False)
    rows = table.to_dict(orient="records")
    lines = "".join(json.dumps(row, default=str) + "\n" for row in rows)
    (out / f"{model}.jsonl").write_text(lines)
