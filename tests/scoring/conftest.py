"""One warehouse for all tests of this folder, of the tasks that their modules name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptlab.reports import sentences
from promptlab.warehouse import Warehouse
from tests.conftest import made_once

Row = dict[str, Any]

WRITERS = {
    "fct_alerts": sentences.alert,
    "fct_dimension_scores": sentences.diagnosis,
    "fct_evidence": sentences.evidence,
    "fct_task_summaries": sentences.conclusion,
}


class Scored:
    """Reads the marts of the built warehouse."""

    def __init__(self, db: Path) -> None:
        self._con = duckdb.connect(str(db), read_only=True)

    def close(self) -> None:
        self._con.close()

    def rows(self, mart: str, task_id: str, **where: str) -> list[Row]:
        """Rows of a task, further narrowed by equal columns; JSON columns decoded."""
        conditions = "".join(f" and {column} = ?" for column in where)
        found = self._con.execute(
            f"select * from marts.{mart} where task_id = ?{conditions} order by all",
            [task_id, *where.values()],
        )
        columns = [(name, str(kind)) for name, kind, *_ in found.description]
        return [
            {
                name: json.loads(value) if kind == "JSON" and value else value
                for (name, kind), value in zip(columns, row, strict=True)
            }
            for row in found.fetchall()
        ]

    def row(self, mart: str, task_id: str, **where: str) -> Row:
        """The only such row."""
        (found,) = self.rows(mart, task_id, **where)
        return found

    def summary(self, task_id: str) -> Row:
        return self.row("fct_task_summaries", task_id)

    def dimension(self, task_id: str, dimension_id: str) -> Row:
        return self.row("fct_dimension_scores", task_id, dimension_id=dimension_id)

    def metrics(self, task_id: str, dimension_id: str) -> list[Any]:
        """The metric of every round, or the reason why it has none, in their order."""
        rounds = self.rows("fct_round_scores", task_id, dimension_id=dimension_id)
        return [
            each["reason"] if each["metric"] is None else each["metric"]
            for each in sorted(
                rounds, key=lambda each: (each["case_id"], each["round_id"])
            )
        ]

    def scores(self, task_id: str, dimension_id: str) -> list[float | None]:
        """The score of every round, in their order."""
        rounds = self.rows("fct_round_scores", task_id, dimension_id=dimension_id)
        return [
            each["score"]
            for each in sorted(
                rounds, key=lambda each: (each["case_id"], each["round_id"])
            )
        ]

    def sentence(self, mart: str, row: Row, lang: str = "en") -> str:
        """Return the sentence of a row of a mart."""
        if row.get("weakest_dimension_id"):
            weakest = self.dimension(row["task_id"], row["weakest_dimension_id"])
            row |= {f"weakest_{name}": weakest[name] for name in ("name", "score")}
        return WRITERS[mart](sentences.Speech.for_language(lang), row)

    def message(self, task_id: str, code: str, lang: str = "en") -> str:
        """Return the sentence of an alert; the worst of several with this code."""
        return self.sentence("fct_alerts", self.alerts(task_id)[code], lang)

    def alerts(self, task_id: str) -> dict[str, Row]:
        """Alerts by their code; of several the worst."""
        found = self.rows("fct_alerts", task_id)
        found.sort(key=lambda each: -each["alert_position"])
        return {each["code"]: each for each in found}


@pytest.fixture(scope="session")
def scored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """Every ``TASKS`` and ``SCORES`` of the modules that are run, ingested and built."""
    here = Path(__file__).parent
    modules = {i.module for i in request.session.items if i.path.parent == here}

    def make(folder: Path) -> None:
        for module in sorted(modules, key=lambda each: each.__name__):
            write_inputs(folder / "in" / module.__name__, module)
        warehouse = Warehouse(folder / "scoring.duckdb")
        assert warehouse.ingest(folder / "in").n_rejected == 0
        warehouse.build()

    reader = Scored(made_once(tmp_path_factory, "scoring", make) / "scoring.duckdb")
    yield reader
    reader.close()


def write_inputs(folder: Path, module: Any) -> None:
    """Write what a module asks for as files that ingest reads."""
    folder.mkdir(parents=True)
    for document in getattr(module, "TASKS", []):
        name = document["task"]["task_id"]
        (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
    for place, lines in enumerate(getattr(module, "SCORES", [])):
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / f"scores-{place}.jsonl").write_text(text, "utf-8")
    for name, lines in getattr(module, "TESTSETS", {}).items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    for name, lines in getattr(module, "RESULTS", {}).items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
