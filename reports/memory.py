"""The page and the JSON of one memory run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.contracts.memory_result import (
    MEMORY_FORMAT_VERSION,
    ForgottenQuestion,
    InvalidReason,
    MemoryAnswer,
    MemoryCategory,
    MemoryResult,
    MemoryRetention,
    MemoryRun,
    MemoryScore,
    MemoryTask,
    MemoryTiming,
)
from promptlab.errors import NothingToDo
from promptlab.reports.pages import NOWHERE, Links, environment, render
from promptlab.reports.queries import Row, of_contract, rows, select
from promptlab.reports.sentences import Speech, category_name
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.report_options import ReportOptions

MOST_LISTED = 200
"""Maximum number of wrong answers, and of forgotten questions, in a result."""

_SCORES = """
select scores.*
from marts.fct_memory_scores as scores
left join marts.fct_dimension_scores as dimensions
    on
        scores.run_id = dimensions.task_id
        and scores.metric = dimensions.dimension_id
where scores.run_id = $run_id
order by
    case scores."view" when 'last_round' then 0 when 'by_round' then 1 else 2 end,
    scores.test_index nulls first, scores.failed_calls, scores.average desc,
    case scores.category when 'all' then 0 else 1 end, scores.category,
    dimensions.dimension_position, scores.metric
"""

_WRONG = """
select *, right_score as score, count(*) over () as n_found
from marts.fct_memory_answers
where run_id = $run_id and is_last_round and status <> 'pass'
order by
    case status when 'error' then 0 when 'fail' then 1 else 2 end,
    right_score, task_id, question_index
limit $most
"""


def memory_result(
    con: duckdb.DuckDBPyConnection, run_id: str, options: ReportOptions
) -> MemoryResult:
    """Return the result of one memory run.

    Raises:
        UsageError: the language is unknown.
        NothingToDo: the run is not in the marts.
    """
    language = catalogue(options.lang).lang
    speech = Speech.for_language(language)

    def of_run(mart: str, order: str, **limit: int) -> list[Row]:
        return select(con, mart, order=order, run_id=run_id, **limit)

    def scores(scored_run_id: str | None) -> list[MemoryScore]:
        return [
            of_contract(MemoryScore, r)
            for r in rows(con, _SCORES, {"run_id": scored_run_id})
        ]

    runs = of_run("dim_memory_runs", "run_id")
    if not runs:
        raise NothingToDo(
            f"memory run {run_id!r} is not in the warehouse; "
            "`promptlab runs` lists the runs that are"
        )
    run = of_contract(MemoryRun, runs[0])
    wrong = rows(con, _WRONG, {"run_id": run_id, "most": MOST_LISTED})
    forgotten = of_run(
        "fct_memory_forgotten",
        "last_status = 'pass', forgotten_test_index desc, task_id, question_index",
        limit=MOST_LISTED,
    )
    return MemoryResult(
        run=run,
        categories=[
            of_contract(
                MemoryCategory,
                row,
                name=category_name(speech, run.dataset, row["category"]),
            )
            for row in of_run(
                "dim_memory_categories",
                "case kind when 'all' then 0 when 'group' then 1 else 2 end, category",
            )
        ],
        scores=scores(run_id),
        previous_headline=sorted(
            (
                score
                for score in scores(run.previous_run_id)
                if score.is_headline and score.category == "all"
            ),
            key=lambda score: score.metric,
        ),
        retention=[
            of_contract(MemoryRetention, row)
            for row in of_run("fct_memory_retention", '"lag"')
        ],
        tasks=[
            of_contract(MemoryTask, row)
            for row in of_run("dim_memory_tasks", "task_id")
        ],
        n_wrong=wrong[0]["n_found"] if wrong else 0,
        wrong=[of_contract(MemoryAnswer, row) for row in wrong],
        n_forgotten=forgotten[0]["n_found"] if forgotten else 0,
        forgotten=[of_contract(ForgottenQuestion, row) for row in forgotten],
        invalid_reasons=[
            of_contract(InvalidReason, row)
            for row in of_run("fct_memory_invalid_reasons", "n_questions desc, reason")
        ],
        timings=[
            of_contract(MemoryTiming, row)
            for row in of_run("fct_memory_timings", "operation, sum_ms desc, stage")
        ],
        lang=language,
        generated_at=options.generated_at,
        version=MEMORY_FORMAT_VERSION,
        package_version=options.package_version,
    )


def memory_runs(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the ids of all memory runs."""
    run_ids = con.execute("select run_id from marts.dim_memory_runs").fetchall()
    return {str(row[0]) for row in run_ids}


def to_memory_html(
    result: MemoryResult, *, templates: Path | None = None, links: Links = NOWHERE
) -> str:
    """Return the report of a memory run as one self-contained page."""
    env = environment(result.lang, templates)
    return render(env, "memory.html.j2", result=result, links=links)


def to_memory_json(result: MemoryResult) -> str:
    """Return *result* as JSON: keys in the contract's order, letters unescaped."""
    return result.as_json() + "\n"
