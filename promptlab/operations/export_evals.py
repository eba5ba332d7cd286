"""Export tasks to Every Eval Ever: an aggregate JSON and a JSONL line per score.

``DIR/data/<title>/<developer>/<model>/<uuid>.json`` with its ``_samples.jsonl``, valid
against schema version 0.3.0. The uuid is derived from the task's id, so
exporting a task again only replaces its own files.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import NothingToDo, WarehouseError
from promptlab.task_ids import resolve_task

if TYPE_CHECKING:
    import duckdb

    from promptlab.warehouse_file import WarehouseFile

SCHEMA_VERSION = "0.3.0"
VERDICT = "verdict"
"""Metric of a round's verdict: 1 for pass, 0 for fail and error."""

_ROWS_AT_ONCE = 1000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_QUESTIONS = ("input", "question", "query", "user_input", "prompt")

# All exported numbers: scores of graded dimensions; else the tool's number or the
# measurement, on its own scale.
_VALUES = """
    select s.case_id, s.round_id, s.dimension_id,
        if(d.score is null, s.metric, s.score) as value
    from marts.fct_round_scores as s
    inner join marts.fct_dimension_scores as d using (task_id, dimension_id)
    where s.task_id = $task_id and if(d.score is null, s.metric, s.score) is not null
    union all
    select case_id, round_id, dimension_id, value
    from raw.reported_scores as s
    anti join marts.fct_round_scores as graded using (task_id, dimension_id)
    where s.task_id = $task_id and value is not null
    union all
    select case_id, round_id, $verdict, if(status = 'pass', 1.0, 0.0)
    from marts.fct_rounds
    where task_id = $task_id and status in ('pass', 'fail', 'error')
"""
_METRICS = f"""
    with of_rounds as ({_VALUES}),
    of_cases as (
        select dimension_id, case_id, avg(value) as value from of_rounds group by all
    )
    select c.dimension_id, avg(c.value) as score, count(*) as n_cases,
        stddev_samp(c.value) / sqrt(count(*)) as stderr,
        any_value(d.score) is not null or c.dimension_id = $verdict as is_graded,
        any_value(d.weight_used) as weight, any_value(d.score) as own_score,
        coalesce(any_value(r.direction), any_value(d.scoring_mode)) as direction
    from of_cases as c
    left join marts.fct_dimension_scores as d
        on d.task_id = $task_id and c.dimension_id = d.dimension_id
    left join staging.stg_tasks__dimension_configs as r
        on r.task_id = $task_id and c.dimension_id = r.dimension_id
    group by c.dimension_id
    order by any_value(d.dimension_position) nulls last
"""
_LINES = f"""
    with of_rounds as ({_VALUES}),
    rounds as (
        select
            *,
            case
                -- a table may repeat a number, and a line needs one of its own
                when count(distinct run_index) over (partition by case_id)
                    < count(*) over (partition by case_id)
                    then row_number() over (
                        partition by case_id order by run_index, round_id
                    )
                else run_index
            end as number
        from marts.fct_rounds
        where task_id = $task_id
    ),
    golden as (
        select
            case_id,
            list(answer order by baseline_position) as answers
        from (
            select
                case_id, baseline_position,
                coalesce(
                    payload ->> '$.text', payload ->> '$.answer', payload ->> '$.output'
                ) as answer
            from staging.stg_tasks__baselines
            where task_id = $task_id and baseline_type = 'golden_answer'
        )
        where answer is not null
        group by case_id
    )
    select v.dimension_id, v.value, c.case_id, c.context, c.tags, golden.answers,
        (
            select any_value(cluster) from staging.stg_tasks__cases as own
            where own.task_id = $task_id and own.case_id = c.case_id
        ) as cluster,
        r.number, r.status, r.input_tokens, r.output_tokens, r.latency_ms, r.cost,
        coalesce(raw.raw_output, r.answer) as answer, coalesce(raw.error, r.error_code)
            as error
    from of_rounds as v
    inner join rounds as r on v.case_id = r.case_id and v.round_id = r.round_id
    inner join marts.dim_cases as c on c.task_id = $task_id and v.case_id = c.case_id
    inner join staging.stg_tasks__rounds as raw
        on raw.task_id = $task_id and v.case_id = raw.case_id
        and v.round_id = raw.round_id
    left join golden on v.case_id = golden.case_id
    order by c.case_position, r.number, v.dimension_id
"""


@dataclass(frozen=True)
class Exported:
    """The exported files of one task."""

    task_id: str
    aggregate: Path
    """Path below the target folder."""
    lines: int
    left_out: int
    """Number of rounds without a score and a verdict."""


def export_evals(
    warehouse: WarehouseFile,
    folder: Path,
    *,
    tasks: Sequence[str] = (),
    organization: str = "unknown",
    exported_at: datetime,
) -> list[Exported]:
    """Write tasks below *folder*.

    *tasks* are as `promptlab.task_ids.resolve_task` takes them; empty: every task.

    Raises:
        NothingToDo: there are no marts, or there is no task.
        UsageError: no task, or several, begin with one of *tasks*.
        WarehouseError: the folder cannot be written to.
    """
    with warehouse.built() as con:
        ids = [resolve_task(con, task) for task in tasks] or [
            task_id
            for (task_id,) in con.execute(
                "select task_id from marts.dim_tasks where recheck_of is null"
                " order by created_at, task_id"
            ).fetchall()
        ]
        if not ids:
            raise NothingToDo(f"{warehouse.settings.db}: there is no task yet")
        try:
            return [
                _ExportedTask(con, task_id).write(folder, organization, exported_at)
                for task_id in dict.fromkeys(ids)
            ]
        except OSError as error:
            raise WarehouseError(f"{folder}: cannot be written: {error}") from None


class _ExportedTask:
    """The export of one task."""

    def __init__(self, con: duckdb.DuckDBPyConnection, task_id: str) -> None:
        self._con = con
        self._task = _rows(
            con,
            "select t.task_id, t.run_id, t.variant, t.title, t.model,"
            " t.prompt_version, t.source_kind, t.tool_version,"
            " cast(epoch(t.created_at) as bigint) as created,"
            " cast(p.prompt as varchar) as prompt"
            " from marts.dim_tasks as t"
            " left join marts.dim_task_prompts as p using (task_id)"
            " where t.task_id = ?",
            [task_id],
        )[0]
        digest = hashlib.blake2b(task_id.encode(), digest_size=16).digest()
        self._uuid = uuid.UUID(bytes=digest, version=4)
        self._about = {"task_id": task_id, "verdict": self._verdict(task_id)}
        title, model = self._task["title"], self._task["model"]
        self._id = f"{title}/{model}/{self._task['created']}-{self._uuid.hex[:8]}"

    def _verdict(self, task_id: str) -> str:
        """Return a name for the verdict's metric that no dimension has."""
        taken = self._con.execute(
            "select 1 from marts.fct_dimension_scores"
            " where task_id = ? and dimension_id = ?",
            [task_id, VERDICT],
        ).fetchone()
        return f"round.{VERDICT}" if taken else VERDICT

    def write(self, folder: Path, organization: str, now: datetime) -> Exported:
        """Write both files, the aggregate last."""
        developer, _, name = self._task["model"].rpartition("/")
        place = Path(
            "data", *map(_name, (self._task["title"], developer, name)), str(self._uuid)
        )
        samples = place.with_name(f"{self._uuid}_samples.jsonl")
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        digest, n_lines = self._write_lines(folder / samples)
        left_out = self._left_out()
        aggregate = self._aggregate(organization, now, left_out)
        if n_lines:
            aggregate["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": samples.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": digest,
                "total_rows": n_lines,
            }
        written = json.dumps(aggregate, ensure_ascii=False, indent=2) + "\n"
        target = place.with_name(f"{self._uuid}.json")
        beside = (folder / target).with_suffix(".new")
        beside.write_text(written, "utf-8")
        beside.replace(folder / target)
        return Exported(self._task["task_id"], target, n_lines, left_out)

    def _write_lines(self, path: Path) -> tuple[str, int]:
        digest, count = hashlib.sha256(), 0
        beside = path.with_suffix(".new")
        with beside.open("wb") as file:
            for row in _stream(self._con, _LINES, self._about):
                line = json.dumps(self._line(row), ensure_ascii=False) + "\n"
                # a lone surrogate, which a model may write, is not valid UTF-8
                data = line.encode("utf-8", "replace")
                digest.update(data)
                file.write(data)
                count += 1
        if count:
            beside.replace(path)
        else:
            beside.unlink()
            path.unlink(missing_ok=True)
        return digest.hexdigest(), count

    def _left_out(self) -> int:
        found = self._con.execute(
            f"with of_rounds as ({_VALUES}) select count(*) from marts.fct_rounds as r"
            " anti join of_rounds as v using (case_id, round_id)"
            " where r.task_id = $task_id",
            self._about,
        ).fetchone()
        return 0 if found is None else int(found[0])

    def _aggregate(
        self, organization: str, now: datetime, left_out: int
    ) -> dict[str, Any]:
        task = self._task
        developer, _, name = task["model"].rpartition("/")
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "evaluation_timestamp": str(task["created"]),
            "retrieved_timestamp": str(int(now.timestamp())),
            "source_metadata": {
                "source_name": "promptlab",
                "source_type": "evaluation_run",
                "source_organization_name": organization,
                "evaluator_relationship": "other",
                "additional_details": {
                    "task_id": task["task_id"],
                    "run_id": task["run_id"],
                    "variant": task["variant"],
                    "rounds_left_out": str(left_out),
                },
            },
            "eval_library": {
                "name": task["source_kind"],
                "version": task["tool_version"] or "unknown",
            },
            "model_info": {
                "name": name or task["model"],
                "id": task["model"],
                "developer": developer or "unknown",
                "additional_details": {
                    "deployment_type": "unknown",
                    "model_availability": "unknown",
                },
            },
            "evaluation_results": [
                self._result(row) for row in _rows(self._con, _METRICS, self._about)
            ],
        }

    def _result(self, row: dict[str, Any]) -> dict[str, Any]:
        graded = {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
        is_lower = not row["is_graded"] and row["direction"] == "lower_better"
        uncertainty: dict[str, Any] = {"num_samples": row["n_cases"]}
        if row["stderr"] is not None:
            uncertainty["standard_error"] = {
                "value": row["stderr"],
                "method": "standard deviation of case means over root n",
            }
        return {
            "evaluation_result_id": self._result_id(row["dimension_id"]),
            "evaluation_name": self._task["title"],
            "source_data": {
                "dataset_name": self._task["title"],
                "source_type": "other",
            },
            "metric_config": {
                "metric_id": row["dimension_id"],
                "metric_name": row["dimension_id"],
                "lower_is_better": is_lower,
                **(graded if row["is_graded"] else {}),
                "additional_details": {"weight": repr(row["weight"] or 0.0)},
            },
            "score_details": {
                "score": row["score"],
                # by the dimension's own aggregation, which may weight or trim cases
                "details": {"score_in_the_warehouse": repr(row["own_score"])},
                "uncertainty": uncertainty,
            },
            "generation_config": {
                **self._prompt(),
                "additional_details": {"prompt_version": self._task["prompt_version"]},
            },
        }

    def _prompt(self) -> dict[str, Any]:
        if self._task["prompt"] is None:
            return {}
        prompt = json.loads(self._task["prompt"])
        template = prompt if isinstance(prompt, str) else self._task["prompt"]
        return {"generation_args": {"prompt_template": template}}

    def _result_id(self, dimension: str) -> str:
        return f"{self._id}#{dimension}"

    def _line(self, row: dict[str, Any]) -> dict[str, Any]:
        asked, references = _asked(row["context"]), row["answers"] or []
        hashed = (asked + "".join(references)).encode("utf-8", "replace")
        tags = ",".join(map(str, json.loads(row["tags"] or "[]")))
        line = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "model_id": self._task["model"],
            "evaluation_name": self._task["title"],
            "evaluation_result_id": self._result_id(row["dimension_id"]),
            "sample_id": row["case_id"],
            "sample_hash": hashlib.sha256(hashed).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": asked, "reference": references},
            "output": {"raw": [] if row["answer"] is None else [row["answer"]]},
            "answer_attribution": [],
            "evaluation": {
                "score": row["value"],
                "is_correct": row["status"] == "pass",
            },
            "performance": {"latency_ms": row["latency_ms"]},
            "error": row["error"] if row["status"] == "error" else None,
            "metadata": {
                "round": str(row["number"]),
                "verdict": row["status"],
                **({"tags": tags} if tags else {}),
                **({"cluster": row["cluster"]} if row["cluster"] else {}),
                **({} if row["cost"] is None else {"cost": repr(float(row["cost"]))}),
            },
        }
        given, made = row["input_tokens"], row["output_tokens"]
        if given is not None and made is not None:
            line["token_usage"] = {
                "input_tokens": given,
                "output_tokens": made,
                "total_tokens": given + made,
            }
        return line


def _asked(context: str | None) -> str:
    """Return the input as one text: the question, or the whole context as JSON."""
    held = json.loads(context or "{}")
    if isinstance(held, dict):
        texts = (held.get(name) for name in _QUESTIONS)
        said = next((each for each in texts if isinstance(each, str)), None)
        if said is not None:
            return said
    return json.dumps(held, ensure_ascii=False)


def _name(part: str) -> str:
    """Return a part of a path without separators and leading dots."""
    return _NOT_IN_NAMES.sub("-", part).strip("-.")[:80] or "unknown"


def _rows(con: duckdb.DuckDBPyConnection, sql: str, about: Any) -> list[dict[str, Any]]:
    return list(_stream(con, sql, about))


def _stream(
    con: duckdb.DuckDBPyConnection, sql: str, about: Any
) -> Iterator[dict[str, Any]]:
    found = con.cursor().execute(sql, about)
    names = [column[0] for column in found.description or []]
    while rows := found.fetchmany(_ROWS_AT_ONCE):
        for row in rows:
            yield dict(zip(names, row, strict=True))
