"""Memory-benchmark files made up for tests: every oddity that the format allows."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

WORDS = [
    *("the", "a", "an", "and", "cats", "cat", "running", "ran", "May,", "May", "7"),
    *(
        "Paris",
        "Paris's",
        "well-known",
        "2022",
        "painting",
        "pottery;",
        "$5",
        "...",
        "?",
    ),
    *(
        "café",
        "CAFÉ",
        "北京",
        "北京市",
        "とうきょう",
        "カード",
        "happily",
        "dying",
        "is",
    ),
    *("was", "Not", "mentioned!", "support-group", "e.g.", "sisters"),
]

Document = dict[str, Any]
Runs = dict[str, dict[str, Document]]
"""Run → task → document."""
RUNS = {
    "locomo/250101_0900": "locomo/250101_0900/{task}.json",
    "locomo/250102/mem0": "locomo/250102/mem0/{task}_1430.json",
    "factoid/250103_0900/tim": "factoid/tim/{task}_250103_0900.json",
}
"""Run id → where its files lie."""
ANSWERED_AGAIN = ("locomo/250101_0900", "locomo/250104_0900")
"""A run, and one that was asked the same questions."""


def write_runs(folder: Path, seed: int = 7) -> Runs:
    """Write made-up runs below *folder*; returns run → task → document."""
    random = Random(seed)
    made: Runs = {}
    for run, layout in RUNS.items():
        dataset = run.split("/")[0]
        for task in ("conv-26", "conv-30", "conv_41"):
            document = made_up(random, dataset, task)
            write(folder / ".sage" / layout.format(task=task), document)
            made.setdefault(run, {})[task] = document
    before, after = ANSWERED_AGAIN
    made[after] = {
        task: answered_again(random, document)
        for task, document in made[before].items()
    }
    for task, document in made[after].items():
        write(folder / ".sage" / after / f"{task}.json", document)
    return made


def write(path: Path, document: Document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


def answered_again(random: Random, document: Document) -> Document:
    """The same questions with other answers; in the end one other reference, one gone."""
    again = copy.deepcopy(document)
    for one in again["test_results"]:
        for question in one["questions"]:
            if random.random() < 0.4:
                question.pop("error", None)
                question.update(an_answer(random, question))
    last = again["test_results"][-1]["questions"]
    last[2]["reference_answer"] = "something else"
    del last[0]  # it was asked in rounds before
    return again


def made_up(random: Random, dataset: str, task: str) -> Document:
    questions = [one_question(random, dataset) for _ in range(30)]
    questions[5] = dict(questions[4])  # a true twin
    rounds = []
    # Round 3 did not happen: lags are differences of test_index.
    for test_index in (1, 2, 4, 5):
        asked = questions[: 6 * test_index]
        if test_index == 5:
            asked = asked[1:]  # question_index shifts
        rounds.append(
            {
                "test_index": test_index,
                "question_range": {"start": 1, "end": len(asked)},
                "dialogs_inserted_count": 20 * test_index,
                "questions": [
                    {"question_index": n, **question, **an_answer(random, question)}
                    for n, question in enumerate(asked, 1)
                ],
            }
        )
    return {
        "experiment_info": {"dataset": dataset, "task_id": task},
        "dataset_statistics": {
            "total_sessions": 3,
            "total_dialogs": 100,
            "total_questions": 33,
            "valid_questions": 31,
            "invalid_questions": [
                {"question_index": 8, "question": "?", "reason": "no_evidence"},
                {"question_index": 9, "question": "??", "reason": "no_evidence"},
            ],
        },
        "test_summary": {"total_tests": 4, "test_threshold": "1/5 of total questions"},
        "test_results": rounds,
    }


def one_question(random: Random, dataset: str) -> Document:
    question: Document = {"question_text": text(random, 6) + "?"}
    category = random.choice([1, 2, 3, 4, 5])
    if dataset == "locomo":
        question["category"] = category
        question["evidence"] = [f"D{random.randint(1, 9)}:{random.randint(1, 9)}"]
    elif category > 1:
        question["category"] = random.choice(["factoid", "entity", None])
    if question.get("category") != 5 or random.random() < 0.2:
        question["reference_answer"] = a_reference(random)
    return question


def a_reference(random: Random) -> Any:
    kind = random.random()
    if kind < 0.1:
        return random.choice([2022, 7, None, "", "...", []])
    if kind < 0.2:
        return [text(random, 2), text(random, 3)]
    if kind < 0.6:
        return ", ".join(text(random, 2) for _ in range(random.randint(1, 3)))
    return text(random, random.randint(1, 6)) + random.choice(["", "; because"])


def an_answer(random: Random, question: Document) -> Document:
    kind = random.random()
    reference = question.get("reference_answer")
    if kind < 0.06:
        return {"predicted_answer": "[ERROR]", "error": "timeout"}
    if kind < 0.1:
        return {"predicted_answer": random.choice(["[ERROR]", " [ERROR]\n"])}
    if kind < 0.15:
        return {"predicted_answer": random.choice([None, "", "..."]), "error": None}
    if kind < 0.25:
        return {"predicted_answer": "It is not mentioned in the conversation."}
    if kind < 0.6 and isinstance(reference, str):
        parts = [reference, text(random, random.randint(0, 3))]
        random.shuffle(parts)
        return {"predicted_answer": random.choice([" ", ", "]).join(parts)}
    return {"predicted_answer": text(random, random.randint(1, 8))}


def text(random: Random, words: int) -> str:
    return random.choice([" ", " ", "\u3000", "  "]).join(
        random.choice(WORDS) for _ in range(words)
    )


def answers(
    runs: Runs,
) -> Iterator[tuple[str, str, int, Document]]:
    """Every answer of made-up runs: run, task, test_index, question."""
    for run, tasks in runs.items():
        for task, document in tasks.items():
            for one in document["test_results"]:
                for question in one["questions"]:
                    yield run, task, one["test_index"], question
