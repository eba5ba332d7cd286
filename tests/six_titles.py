"""Thirty runs of six titles over ten days, for pages that show history.

``python -m tests.six_titles FOLDER`` writes them. Every title has its own story:

| title | story |
| --- | --- |
| Sales FAQ | improves with each prompt version |
| Parcel tracker | slides slowly |
| Account support | breaks at its fourth run, with a new prompt |
| Travel planner | scatters, nothing changed |
| Invoice reader | stays as it is, with another model from its fourth run on |
| Meeting summary | gets slower and dearer with another prompt, scores stay |

Each day has its own folder, ``1`` to ``5``: load them one after the other, like a
nightly job does.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST = datetime(2026, 11, 10, 2, tzinfo=UTC)
DAYS = (0, 2, 4, 7, 9)
CASES = 24
ROUNDS = 3
PASS_SCORE = 0.6
TAGS = ("billing", "delivery", "account", "small talk")


@dataclass(frozen=True)
class Story:
    """One title: what changes from run to run."""

    title: str
    level: tuple[float, ...]
    """Mean quality of an answer, by run."""
    versions: tuple[str, ...]
    models: tuple[str, ...] = ("acme/large",) * len(DAYS)
    seconds: tuple[float, ...] = (1.2,) * len(DAYS)
    noise: float = 0.08
    """Standard deviation between the rounds of a case."""
    flaky: int = 2
    """Cases whose rounds scatter whatever the run."""


STORIES = (
    Story(
        "Sales FAQ",
        level=(0.61, 0.66, 0.70, 0.76, 0.80),
        versions=("v11", "v12", "v13", "v14", "v15"),
    ),
    Story(
        "Parcel tracker",
        level=(0.74, 0.70, 0.66, 0.62, 0.58),
        versions=("v7",) * 5,
    ),
    Story(
        "Account support",
        level=(0.78, 0.78, 0.78, 0.56, 0.55),
        versions=("v3", "v3", "v3", "v4", "v4"),
    ),
    Story(
        "Travel planner",
        level=(0.66, 0.70, 0.64, 0.69, 0.66),
        versions=("v2",) * 5,
        noise=0.22,
        flaky=10,
    ),
    Story(
        "Invoice reader",
        level=(0.83,) * 5,
        versions=("v9",) * 5,
        models=("acme/large",) * 3 + ("acme/large-2",) * 2,
        noise=0.03,
        flaky=0,
    ),
    Story(
        "Meeting summary",
        level=(0.77,) * 5,
        versions=("v5",) * 3 + ("v6",) * 2,
        seconds=(1.1, 1.2, 1.1, 2.4, 2.6),
        noise=0.03,
        flaky=0,
    ),
)


def write(folder: Path) -> list[Path]:
    """Write the analysis input and the scores of every run; return the files."""
    written = []
    for number in range(len(DAYS)):
        day = folder / str(number + 1)
        day.mkdir(parents=True, exist_ok=True)
        for story in STORIES:
            written += _write_run(day, story, number)
    return written


def _write_run(folder: Path, story: Story, number: int) -> list[Path]:
    slug = story.title.lower().replace(" ", "-")
    task_id = f"{slug}-{number + 1}"
    created_at = FIRST + timedelta(days=DAYS[number])
    of_title = random.Random(story.title)  # the same cases in every run
    rng = random.Random(task_id)
    bases = [of_title.gauss(0, 0.14) for _ in range(CASES)]
    if not story.flaky:  # no case close to the pass score
        bases = [b if story.level[0] + b > PASS_SCORE + 0.1 else 0.0 for b in bases]
    cases: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for at, base in enumerate(bases):
        case_id = f"{slug}-{at + 1:02}"
        rounds = []
        for index in range(1, ROUNDS + 1):
            noise = 0.3 if at < story.flaky else story.noise
            quality = story.level[number] + base + rng.gauss(0, noise)
            quality = round(min(1.0, max(0.0, quality)), 2)
            round_id = f"{case_id}-{index}"
            seconds = story.seconds[number] * rng.uniform(0.8, 1.3)
            rounds.append(
                {
                    "round_id": round_id,
                    "run_index": index,
                    "raw_output": f"Answer {round(quality * 9)} to question {at + 1}.",
                    "parsed_output": None,
                    "input_tokens": 420 + 7 * at,
                    "output_tokens": round(90 * story.seconds[number]),
                    "latency_ms": round(1000 * seconds),
                    "metadata": {},
                    "executed_at": created_at.isoformat(),
                }
            )
            scores.append(
                {
                    "task_id": task_id,
                    "case_id": case_id,
                    "round_id": round_id,
                    "dimension_id": "quality",
                    "score": quality,
                    "scale": 1,
                    "scorer": "judge",
                    "scorer_version": "1",
                }
            )
        cases.append(
            {
                "case_id": case_id,
                "context": {"question": f"Question {at + 1} about {TAGS[at % 4]}?"},
                "rounds": rounds,
                "baselines": [],
                "tags": [TAGS[at % 4]],
            }
        )
    task = {
        "task": {
            "task_id": task_id,
            "title": story.title,
            "prompt_version": story.versions[number],
            "model": story.models[number],
            "triggered_by": "schedule",
            "env": {},
            "created_at": created_at.isoformat(),
        },
        "cases": cases,
        "dimensions": [
            _dimension("quality", "Quality", 1, {"pass_score": PASS_SCORE}),
            _dimension(
                "cost",
                "Cost",
                0,
                {"input_price_per_million": 2, "output_price_per_million": 8},
            ),
        ],
        "extras": {},
    }
    run = folder / f"{task_id}.json"
    run.write_text(json.dumps(task, indent=1), "utf-8")
    judged = folder / f"{task_id}.scores.jsonl"
    judged.write_text("\n".join(map(json.dumps, scores)) + "\n", "utf-8")
    return [run, judged]


def _dimension(
    dimension_id: str, name: str, weight: float, parameters: dict[str, Any]
) -> dict[str, Any]:
    return {
        "dimension_id": dimension_id,
        "name": name,
        "weight": weight,
        "target": {},
        "parameters": parameters,
        "scoring_mode": "lower_better" if dimension_id == "cost" else "higher_better",
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]))
