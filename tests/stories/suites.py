"""Suites as tables: nights of promptfoo, written as one character for each round."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Rounds = Mapping[str, str]
"""Case → its rounds: ``+`` passed, ``-`` failed, ``e`` error, ``c`` from a cache, ``?``
the judge broke."""


@dataclass(frozen=True)
class Night:
    """One run of a suite: each variant on each case."""

    variants: Mapping[str, Rounds]
    """Provider → rounds."""
    prompt: str = "Be brief: {{q}}"
    asserted: Mapping[str, str] = field(default_factory=dict)
    """Case → the text that its answer has to contain; ``x`` where none is given."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Case → what it asks; its id where nothing is given."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What `ingest` is told about it."""

    def document(self, title: str, number: int) -> dict[str, Any]:
        """Return the file of promptfoo."""
        run_id = f"{title}-{number}"
        return {
            "evalId": run_id,
            "config": {"description": title},
            "results": {
                "version": 3,
                "timestamp": f"2026-03-{number:02}T01:00:00.000Z",
                "prompts": [
                    {"raw": self.prompt, "label": "short", "provider": provider,
                     "id": f"{index:040x}"}
                    for index, provider in enumerate(self.variants)
                ],
                "results": [
                    self._row(run_id, index, provider, (place, case_id), n, outcome)
                    for index, (provider, cases) in enumerate(self.variants.items())
                    for place, (case_id, rounds) in enumerate(cases.items())
                    for n, outcome in enumerate(rounds)
                ],
            },
        }  # fmt: skip

    def _row(
        self,
        run_id: str,
        index: int,
        provider: str,
        case: tuple[int, str],
        n: int,
        outcome: str,
    ) -> dict[str, Any]:
        place, case_id = case
        passed = outcome in "+c"
        asserted = {"type": "contains", "value": self.asserted.get(case_id, "x")}
        question = self.questions.get(case_id, case_id)
        variables = {"id": case_id, "q": question}
        row: dict[str, Any] = {
            "promptIdx": index, "testIdx": place,
            "id": f"{run_id}-{index}-{case_id}-{n}",
            "provider": {"id": provider},
            "prompt": {"raw": self.prompt, "label": "short"},
            "response": {"output": f"x {run_id} {n}", "cached": outcome == "c"},
            "score": float(passed), "success": passed,
            "failureReason": 0 if passed else 1, "namedScores": {},
            "gradingResult": {
                "pass": passed, "score": float(passed), "reason": "",
                "componentResults": [
                    {"pass": passed, "score": float(passed), "reason": "",
                     "assertion": asserted,
                     "metadata": {"graderError": outcome == "?"}}
                ],
            },
            "latencyMs": 5, "cost": 0.001, "vars": variables,
            "testCase": {"vars": variables, "assert": [asserted]},
        }  # fmt: skip
        if outcome == "e":
            row |= {"error": "timeout", "failureReason": 2, "response": None}
            row["gradingResult"] = None
        return row

    def write(self, folder: Path, title: str, number: int) -> Path:
        """Write the file of this night."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{title}-{number}.json"
        file.write_text(json.dumps(self.document(title, number)), "utf-8")
        return file


def suite(n: int = 12, rounds: str = "+++", **others: str) -> dict[str, str]:
    """Return cases ``c1`` to ``cn`` with these rounds, and *others* with their own.

    An empty text leaves a case out.
    """
    cases = dict.fromkeys((f"c{number}" for number in range(1, n + 1)), rounds)
    return {case: found for case, found in (cases | others).items() if found}


def nights(*runs: Rounds, variant: str = "small") -> list[Night]:
    """Return the nights of a suite with one variant."""
    return [Night({variant: cases}) for cases in runs]


def write_all(suites: Mapping[str, Sequence[Night]], folder: Path) -> None:
    """Write the files of all suites."""
    for title, runs in suites.items():
        for number, night in enumerate(runs, 1):
            night.write(folder, title, number)


PROVIDERS = ("acme:large", "acme:small", "own")
"""`own` is a file that gives itself another id."""
TESTS = [f"case {n} (x)" for n in range(1, 7)]


def of_all_variants(
    title: str,
    run_id: str,
    day: int,
    prompts: Mapping[str, str],
    providers: Sequence[str],
    tests: Sequence[str],
    repeat: int,
    passes: Callable[[str, str, str], bool],
) -> dict[str, Any]:
    """Return the file of promptfoo: all tests of all prompts of all providers."""
    columns = [(f, text, p) for p in providers for f, text in prompts.items()]
    rows = [
        (index, file, text, provider, test, n)
        for index, (file, text, provider) in enumerate(columns)
        for test in tests
        for n in range(repeat)
    ]
    return {
        "evalId": run_id,
        "config": {
            "description": title,
            "providers": ["acme:large", "acme:small", "file://own.js"],
        },
        "results": {
            "version": 3,
            "timestamp": f"2026-03-{day:02}T01:00:00.000Z",
            "prompts": [
                {"raw": text, "label": f"{file}: {text}", "provider": provider}
                for file, text, provider in columns
            ],
            "results": [
                {
                    "promptIdx": index, "testIdx": tests.index(test),
                    "id": f"{run_id}-{index}-{test}-{n}",
                    "provider": {"id": provider},
                    "prompt": {"raw": text, "label": f"{file}: {text}"},
                    "response": {"output": f"x {run_id} {n}"},
                    "success": passes(text, provider, test),
                    "score": float(passes(text, provider, test)),
                    "failureReason": 0, "namedScores": {},
                    "gradingResult": {
                        "pass": passes(text, provider, test), "score": 1, "reason": "",
                        "componentResults": [
                            {"pass": passes(text, provider, test), "score": 1,
                             "reason": "", "assertion": {"type": "contains", "value": "x"}}
                        ],
                    },
                    "vars": {"q": test},
                    "testCase": {
                        "description": test, "vars": {"q": test},
                        "assert": [{"type": "contains", "value": "x"}],
                    },
                }
                for index, file, text, provider, test, n in rows
            ],
        },
    }  # fmt: skip
