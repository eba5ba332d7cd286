"""Memory runs in bulk: a thousand files of a thousand answers, ingested and built."""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchmarks.generate import SEED
from benchmarks.history import PROMPTLAB
from benchmarks.measure import Ratio, python, run

CONVERSATIONS = 10
"""Files of a run, as LoCoMo has them."""
ROUNDS = (100, 200, 300, 400)
"""Questions of each round: it asks those before again. 1,000 answers a file."""
SYSTEMS = ("graph", "vector")
MOST_MB = 3 * 1024**3 / 1e6

_SENTENCES = """
    Melanie went camping with her family in June and painted the lake at sunrise while Tom
    repaired an old bicycle he had bought for thirty dollars at the market near the station
    小 林 周 末 去 了 北 京 看 望 老 同 学 还 买 了 一 本 旧 书
"""
_WORDS = _SENTENCES.split()

# The answers in one table: no checks, no ids, no scores.
_READ_JSON = """
import sys, duckdb
con = duckdb.connect(sys.argv[2])
con.execute("set enable_progress_bar = false")
con.execute('''
    create table answers as
    select experiment_info.*, a_round.test_index, unnest(a_round.questions, recursive := true)
    from (
        select experiment_info, unnest(test_results) as a_round
        from read_json($files, maximum_object_size = 200000000)
    )
''', {"files": sys.argv[1] + "/**/*.json"})
con.close()
"""


def memory_files(folder: Path, files: int) -> None:
    """Write runs of two systems in turn; the same questions in each, other answers."""
    asked = [_conversation(number) for number in range(CONVERSATIONS)]
    for number in range(files):
        night, conversation = divmod(number, CONVERSATIONS)
        day, system = divmod(night, len(SYSTEMS))
        stamp = f"25{day // 28 + 1:02}{day % 28 + 1:02}"
        path = folder / "locomo" / stamp / SYSTEMS[system]
        path.mkdir(parents=True, exist_ok=True)
        document = _document(conversation, asked[conversation], SEED + number)
        (path / f"conv-{conversation}_0900.json").write_text(
            json.dumps(document, ensure_ascii=False), "utf-8"
        )


def _conversation(number: int) -> list[dict]:
    rng = random.Random(SEED + number)
    return [
        {
            "question_text": f"{_text(rng, 8)} {place}?",
            "reference_answer": _text(rng, rng.randint(1, 6)),
            "evidence": [f"D{place % 20 + 1}:{place % 7 + 1}"],
            "category": rng.randint(1, 5),
        }
        for place in range(max(ROUNDS))
    ]


def _document(conversation: int, asked: list[dict], seed: int) -> dict:
    rng = random.Random(seed)
    return {
        "experiment_info": {"dataset": "locomo", "task_id": f"conv-{conversation}"},
        "dataset_statistics": {
            "total_sessions": 20,
            "total_dialogs": 600,
            "total_questions": len(asked),
            "valid_questions": len(asked),
            "invalid_questions": [],
        },
        "test_summary": {"total_tests": len(ROUNDS), "test_threshold": "1/4"},
        "test_results": [
            {
                "test_index": index,
                "question_range": {"start": 1, "end": most},
                "dialogs_inserted_count": 150 * index,
                "questions": [
                    {"question_index": place, **question, **_answer(rng, question)}
                    for place, question in enumerate(asked[:most], 1)
                ],
            }
            for index, most in enumerate(ROUNDS, 1)
        ],
    }


def _answer(rng: random.Random, question: dict) -> dict:
    kind = rng.random()
    if kind < 0.01:
        return {"predicted_answer": "[ERROR]", "error": "timeout"}
    if kind < 0.5:
        return {"predicted_answer": f"{question['reference_answer']} {_text(rng, 2)}"}
    return {"predicted_answer": _text(rng, rng.randint(3, 12))}


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def memory_runs(folder: Path, files: int = 1000) -> Ratio:
    """Ingest and build of memory runs, every score and comparison, against read_json."""
    inputs = folder / f"memory-{files}"
    memory_files(inputs, files)
    db = folder / "memory.duckdb"
    run(python(_READ_JSON, inputs, folder / "warm.duckdb"))  # both read a warm cache
    ours = [
        run([*PROMPTLAB, "ingest", str(inputs), "--quiet", "--db", str(db)]),
        run([*PROMPTLAB, "build", "--quiet", "--db", str(db)]),
    ]
    peer = run(python(_READ_JSON, inputs, folder / "read_json.duckdb"))
    seconds = sum(sample.seconds for sample in ours)
    return Ratio(
        name=f"{files:,} memory files of {sum(ROUNDS):,} answers: ingest + build",
        peer="DuckDB read_json of them into one table",
        seconds=seconds,
        peer_seconds=peer.seconds,
        peak_mb=max(sample.peak_mb for sample in ours),
        ratio=seconds / peer.seconds,
        limit=None,
        note=f"ingest {ours[0].seconds:.0f} s, {ours[0].peak_mb:.0f} MB;"
        f" build {ours[1].seconds:.0f} s, {ours[1].peak_mb:.0f} MB"
        f" (meant under {MOST_MB:.0f} MB)",
    )


BENCHMARKS = (memory_runs,)
