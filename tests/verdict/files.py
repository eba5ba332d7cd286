"""Stories of several titles as files, and ways to load them."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from promptlab.cli import run_cli
from promptlab.operations.purge import purge
from promptlab.settings import load_settings
from promptlab.warehouse import Warehouse
from tests.marts import only
from tests.stories.suites import Night

MARTS = ("fct_verdicts", "fct_case_odds", "fct_gaps")
CONFIGS = {
    "a": '[titles."plain"]\nknown_flaky = [{case = "c1", until = 2026-12-31}]\n'
    '[titles."new name"]\nalias = ["old name"]\n',
    "b": '[titles."outages"]\nknown_outage = ["outages-3"]\n'
    '[variants]\n"small × short" = "little"\n',
}
"""What the two projects on one warehouse say, each of titles of its own."""


@dataclass(frozen=True)
class File:
    """One file of a night, and what its load is told."""

    title: str
    number: int
    night: Night
    branch: str = "main"
    run_name: str | None = None
    recheck_of: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of ``ingest``."""
        named = {"run_name": self.run_name, "recheck_of": self.recheck_of}
        return {"branch": self.branch} | {k: v for k, v in named.items() if v}

    def write(self, folder: Path) -> Path:
        """Write the file; its name and title may be those of an earlier time."""
        name = f"{self.title}-{self.number}"
        document = self.night.document(name.rpartition("-")[0], self.number)
        if self.recheck_of:
            document["evalId"] += "-again"
            for row in document["results"]["results"]:
                row["id"] += "-again"
            name += "-again"
        file = folder / f"{name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document), "utf-8")
        return file


@dataclass(frozen=True)
class Told:
    """Files of all titles, and what is only there for a while."""

    files: list[File]
    corrected: list[File]
    """Versions of some of the files that are replaced later."""
    purged: list[File]
    """Files of further runs that are deleted later."""


def tell(rng: random.Random) -> Told:
    """Make up four to six nights of each title."""
    files: list[File] = []

    def night(variants: Sequence[str], cases: int = 4, rounds: int = 1) -> Night:
        outcomes = {
            f"c{n}": rng.choice(("+++++++-", "++-", "----+e")) for n in range(cases)
        }
        return Night(
            {
                variant: {
                    case: "".join(rng.choice(found) for _ in range(rounds))
                    for case, found in outcomes.items()
                    if rng.random() > 0.05
                }
                for variant in variants
            },
            prompt=rng.choice(("Be brief: {{q}}", "Be brief, please: {{q}}")),
            asserted={"c2": rng.choice("xxxxx ")},
        )

    def nights(title: str, variants: Sequence[str], **more: Any) -> None:
        for number in range(1, rng.randint(4, 6) + 1):
            files.append(File(title, number, night(variants, **more)))

    nights("plain", ["small"], rounds=rng.randint(1, 2))
    nights("variants", rng.choice((["small", "large"], ["small", "large", "huge"])))
    nights("outages", ["small", "large"])
    nights("branches", ["small"])
    nights("new name", ["small"])
    files.extend(
        # a second model joins in runs of its own
        File(
            "side by side", number, night(["large" if number in (4, 6, 7) else "small"])
        )
        for number in range(1, 9)
    )
    nights("shared a", ["small"])
    nights("shared b", ["small", "large"])
    told = []
    for file in files:
        if file.title == "branches" and file.number > 1 and rng.random() < 0.5:
            file = replace(file, branch=rng.choice(("feature", "other")))
        if file.title == "new name" and file.number <= 2:
            file = replace(file, title="old name")
        if file.title.startswith("shared"):
            # of some nights one of the two titles is not there
            if rng.random() < 0.2:
                continue
            file = replace(file, run_name=f"nightly-{file.number}")
        if file.title == "variants" and file.number > 2 and rng.random() < 0.4:
            left = dict(list(file.night.variants.items())[1:])
            file = replace(file, night=replace(file.night, variants=left))
        told.append(file)
    again = night(["small", "large"], rounds=3)
    told.append(File("outages", 4, again, recheck_of="outages-4"))
    corrected = [
        replace(file, night=night(list(file.night.variants)))
        for file in rng.sample([f for f in told if not f.recheck_of], 4)
    ]
    purged = [
        File("plain", 7, night(["small"])),
        File("variants", 7, night(["large", "new"])),
    ]
    return Told(told, corrected, purged)


@dataclass(frozen=True)
class Shared:
    """A warehouse of two projects."""

    folder: Path

    def project(self, name: str, config: str | None = None) -> Warehouse:
        """Return the warehouse as a project sees it, with another config if given."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        text = CONFIGS[name] if config is None else config
        (folder / "promptlab.toml").write_text(text, "utf-8")
        db = self.folder / "shared.duckdb"
        settings = load_settings({"db": db}, folder=folder, environ={})
        return Warehouse(db, settings=settings)

    def load(self, files: Sequence[File], project: str = "a") -> None:
        """Load files: those that are told the same in one call."""
        warehouse = self.project(project)
        calls: dict[str, tuple[list[Path], dict[str, Any]]] = {}
        for file in sorted(files, key=lambda file: file.recheck_of is not None):
            paths, _ = calls.setdefault(repr(file.given), ([], file.given))
            paths.append(file.write(self.folder / "files"))
        with warehouse.kept_open():
            for paths, given in calls.values():
                warehouse.ingest(*paths, **given)

    def run(self, files: Sequence[File]) -> None:
        """Load files and build with commands, far away."""
        folder = self.folder / "run"
        for file in files:
            file.write(folder)
        self.project("a")
        shared = ["--db", str(self.folder / "shared.duckdb"), "--quiet"]
        shared += ["--config", str(self.folder / "a" / "promptlab.toml")]
        with far_away(), _marts():
            assert run_cli(["ingest", str(folder), "--branch", "main", *shared]) == 0
            assert run_cli(["build", *shared]) == 0

    def build(
        self, project: str, config: str | None = None, *, full_refresh: bool = False
    ) -> None:
        """Build with the config of a project, or with another one."""
        with _marts():
            self.project(project, config).build(full_refresh=full_refresh)

    def accept(self) -> None:
        """Accept a run as a person would, at a time that is the same everywhere."""
        with self.project("a").writable() as con:
            con.execute(
                "insert into raw.accepts select task_id, timestamptz"
                " '2026-04-01 00:00:00+00', 'as it should be', '[\"c1\", \"c2\"]'"
                " from live.tasks where run_id = 'branches-1'"
            )

    def purge(self, files: Sequence[File]) -> None:
        tasks = [
            task_id
            for file in files
            for (task_id,) in self.project("a")
            .sql(
                "select task_id from staging.stg_tasks__tasks where run_id = ?",
                [f"{file.title}-{file.number}"],
            )
            .rows()
        ]
        purge(self.project("a"), tasks=tasks)

    def answers(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of the marts of the verdict."""
        with self.project("a").connect() as con:
            return {
                mart: con.execute(f"select * from marts.{mart} order by all").fetchall()
                for mart in MARTS
            }


def _marts() -> AbstractContextManager[None]:
    """Build what is compared, and what a config asks."""
    return only("dim_tasks", "fct_case_results", *MARTS)


@contextmanager
def far_away() -> Iterator[None]:
    """Another time zone and language."""
    there = {"TZ": "Pacific/Auckland", "LC_ALL": "zh_CN.UTF-8", "LANG": "zh_CN.UTF-8"}
    try:
        with mock.patch.dict(os.environ, there):
            time.tzset()
            yield
    finally:
        time.tzset()
