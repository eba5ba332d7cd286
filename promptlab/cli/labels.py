"""``promptlab labels``: load labels of people, and write sheets for them."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.load import STRICT, ingest_exit_code, print_problems
from promptlab.cli.options import Call, common
from promptlab.cli.translation import translated
from promptlab.errors import NothingToDo, UsageError, did_you_mean
from promptlab.relations import dictionaries
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    import duckdb


_MATCHED = """
    with

    newest as (
        select labels.*
        from live.labels as labels
        inner join raw.loads as loads using (load_id)
        where list_contains($files, loads.file_uri)
    ),

    matched as (
        select load_id, count(*) as n, count(*) filter (where is_disputed) as n_disputed
        from marts.fct_labels
        group by load_id
    ),

    answers as (
        select distinct newest.load_id, newest.line
        from newest
        inner join marts.fct_labels as labels
            on
                newest.labeler = labels.labeler
                and coalesce(newest.dimension_id, 'verdict') = labels.dimension_id
                and coalesce(newest.task_id = labels.task_id, true)
                and coalesce(newest.case_id = labels.case_id, true)
                and coalesce(newest.round_id = labels.round_id, true)
        inner join marts.fct_rounds as rounds
            on
                labels.task_id = rounds.task_id
                and labels.case_id = rounds.case_id
                and labels.round_id = rounds.round_id
        where
            coalesce(
                newest.output_hash = coalesce(rounds.answer_hash, md5(rounds.answer)),
                true
            )
    )

    select
        count(*) as n_labels,
        count(distinct newest.labeler) as n_labelers,
        count(answers.line) as n_matched,
        coalesce(
            (
                select sum(n_disputed) from matched
                where load_id in (select load_id from newest)
            ), 0
        )::bigint as n_disputed,
        count(*) filter (
            where
                answers.line is null
                and newest.output_hash is null
                and newest.round_id in (select round_id from marts.fct_rounds)
        ) as n_ambiguous
    from newest
    left join answers using (load_id, line)
"""

_ANSWERS = """
    with

    verdicts as (
        select
            task_id, case_id, round_id, judge,
            any_value(verdict) as verdict
        from marts.fct_judge_verdicts
        where dimension_id = $dimension and list_contains($tasks, task_id)
        group by all
    ),

    differing as (
        select task_id, case_id, round_id
        from marts.fct_judge_verdicts
        where list_contains($tasks, task_id) and dimension_id <> 'verdict'
        group by all
        having count(distinct verdict) > 1
    ),

    answers as (
        select
            rounds.task_id, rounds.case_id, rounds.round_id,
            rounds.answer, rounds.answer_hash, rounds.answer_chars,
            cases.context,
            verdicts.verdict,
            coalesce(rounds.answer_hash, md5(rounds.answer)) as output_hash,
            case when $draw = 'verdict' then verdicts.verdict else 'all' end as stratum,
            row_number() over (
                partition by case when $draw = 'verdict' then verdicts.verdict end
                order by md5(concat_ws(
                    ' ', $seed, rounds.task_id, rounds.case_id, rounds.round_id
                ))
            ) as place,
            count(*) over (
                partition by case when $draw = 'verdict' then verdicts.verdict end
            ) as n_in_stratum,
            md5(concat_ws(
                ' ', 'shown', $seed, rounds.task_id, rounds.case_id, rounds.round_id
            )) as shuffled
        from marts.fct_rounds as rounds
        inner join marts.dim_cases as cases using (task_id, case_id)
        inner join verdicts using (task_id, case_id, round_id)
        where
            rounds.answer is not null
            and verdicts.verdict is not null
            and (
                $draw <> 'disagree'
                or (rounds.task_id, rounds.case_id, rounds.round_id) in (
                    select (task_id, case_id, round_id) from differing
                )
            )
    )

    -- the mart has the beginning of a long answer; one that is not a text is marked
    select
        answers.* exclude (answer),
        case
            when answers.answer_hash is null then answers.answer
            when answers.answer_hash = md5(wholes.raw_output) then wholes.raw_output
            else concat(answers.answer, ' [… ', answers.answer_chars, ']')
        end as answer,
        n_in_stratum / least($n, n_in_stratum)::double as weight
    from answers
    left join live.rounds as wholes using (task_id, case_id, round_id)
    where place <= $n
    order by shuffled
"""


@click.group("labels", short_help="Load labels of people, or write sheets.")
def labels() -> None:
    """Check a judge against people.

    `labels out` writes a sheet of answers to label, `labels in` reads labels from
    sheets and labelling tools, and `promptlab judges` compares judge and people.
    """


@labels.command("in")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--policy", help="Version of the instruction that labelers followed.")
@click.option("--by", "labeler", help="Labeler, if a file does not name one.")
@click.option("--dimension", help="Judged dimension, if a file has none.")
@click.option("--scale", type=float, help="Best grade of graded labels.")
@click.option(
    "--map",
    "words",
    multiple=True,
    metavar="WORD=pass|fail",
    help="Meaning of another word; may be repeated.",
)
@click.option("--strict", is_flag=True, help=STRICT)
@common(exits=(5, 6))
def labels_in(
    call: Call,
    files: tuple[Path, ...],
    words: tuple[str, ...],
    strict: bool,
    **choices: Any,
) -> int:
    """Read labels from FILES and build the marts with them.

    Label Studio (JSON, JSON-MIN, CSV), Argilla, Langfuse, LangSmith, Opik, the sheets
    of `labels out`, and CSV tables with a row per label or a column per person. The
    same file again changes nothing; a changed file replaces its labels.
    """
    from promptlab.contracts.sources import LabelOptions

    options = LabelOptions(**choices, words=tuple(_word(word) for word in words))
    warehouse = call.warehouse()
    ingested = warehouse.ingest(*files, kind="labels", labels=options, strict=strict)
    warehouse.build()
    if not call.quiet:
        print_problems(ingested)
    uris = [str(file.path.resolve()) for file in ingested.files]
    with warehouse.built() as con:
        row = con.execute(_MATCHED, {"files": uris}).fetchone() or (0, 0, 0, 0, 0)
    n_labels, n_labelers, n_matched, n_disputed, n_ambiguous = row
    rejected = sum(file.records_rejected for file in ingested.files)
    if call.format == "json":
        click.echo(
            json.dumps(
                {
                    "labels": n_labels,
                    "labelers": n_labelers,
                    "matched": n_matched,
                    "unmatched": n_labels - n_matched,
                    "disputed": n_disputed,
                    "rejected": rejected,
                }
            )
        )
    else:
        counts = (
            f"{n_labels} labels by {n_labelers} labeler(s): {n_matched} matched,"
            f" {n_labels - n_matched} of answers that are not in the warehouse,"
            f" {n_disputed} disputed, {rejected} rejected; `promptlab judges`"
        )
        click.echo(translated(counts))
    if n_ambiguous and not call.quiet:
        call.say(
            f"{n_ambiguous} of the labels name a round that several answers have: add a"
            " column `task_id`, and `case_id`"
        )
    return ingest_exit_code(ingested, strict=strict)


def _word(pair: str) -> tuple[str, str]:
    word, _, meaning = pair.partition("=")
    if meaning not in {"pass", "fail"} or not word:
        raise click.UsageError(f"--map {pair}: expected WORD=pass or WORD=fail")
    return word.strip().lower(), meaning


@labels.command("out")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--task", default="latest", help="Task with the answers [default: latest]."
)
@click.option("--dimension", default="verdict", help="Dimension to judge.")
@click.option("--n", type=click.IntRange(min=1), default=100, show_default=True)
@click.option(
    "--draw",
    type=click.Choice(["random", "verdict", "disagree"]),
    default="random",
    show_default=True,
    help="random; verdict: half passed by the judge, half failed;"
    " disagree: answers on which dimensions differ.",
)
@click.option("--people", type=click.IntRange(1, 9), default=1, help="Label columns.")
@click.option("--seed", default=1, show_default=True, help="Another draw.")
@click.option("--force", is_flag=True, help="Replace a sheet that exists.")
@common(formats=None)
def labels_out(
    call: Call,
    file: Path,
    task: str,
    dimension: str,
    n: int,
    draw: str,
    people: int,
    seed: int,
    force: bool,
) -> int:
    """Write a sheet of answers to label to FILE (CSV).

    The judge's verdict and the model are hidden and the order is shuffled. `row`
    identifies the answer, its sampling and its weight: do not change it.
    """
    from promptlab.ingest.labels import row_id
    from promptlab.reports.printing import for_spreadsheet

    if file.exists() and not force:
        raise UsageError(f"{file} exists and may hold labels; --force replaces it")
    with call.warehouse().built() as con:
        tasks = selected_tasks(con, task)
        parameters = {
            "dimension": dimension,
            "tasks": tasks,
            "draw": draw,
            "seed": str(seed),
        }
        per_stratum = -(-n // 2) if draw == "verdict" else n
        answers = dictionaries(con, _ANSWERS, parameters | {"n": per_stratum})
        if not answers:
            raise NothingToDo(_nothing(con, tasks, dimension))
    labels = ["label"] if people == 1 else [f"label_{i}" for i in range(1, people + 1)]
    with file.open("w", encoding="utf-8-sig", newline="") as out:
        sheet = csv.writer(out)
        sheet.writerow(["case_id", "input", "output", *labels, "comment", "row"])
        for answer in answers:
            about = {
                "task": answer["task_id"],
                "case": answer["case_id"],
                "round": answer["round_id"],
                "dimension": None if dimension == "verdict" else dimension,
                "hash": answer["output_hash"],
                "draw": draw,
                "weight": None if draw == "disagree" else answer["weight"],
            }
            sheet.writerow(
                [
                    for_spreadsheet(answer["case_id"]),
                    for_spreadsheet(answer["context"]),
                    for_spreadsheet(answer["answer"]),
                    *("" for _ in labels),
                    "",
                    row_id(about),
                ]
            )
    fill = "fill the column `label`"
    by = " --by NAME"
    if people > 1:
        fill, by = "give each label column the name of a person and fill it", ""
    call.say(f"{len(answers)} answers to label: {file}")
    call.say(f"{fill}, then `promptlab labels in {shlex.quote(str(file))}{by}`")
    return 0


def _nothing(con: duckdb.DuckDBPyConnection, tasks: list[str], dimension: str) -> str:
    rows = con.execute(
        "select distinct dimension_id from marts.fct_judge_verdicts"
        " where verdict is not null and list_contains(?, task_id)",
        [tasks],
    ).fetchall()
    names = sorted(str(row[0]) for row in rows)
    hint = did_you_mean(dimension, names) or f"; it has {', '.join(names) or 'none'}"
    return f"no answer has a verdict on {dimension!r}{hint}"
