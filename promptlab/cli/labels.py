"""Labels of people: load them, write sheets, compare judges with them."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.load import STRICT, ingest_exit_code, print_problems
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Cell,
    Column,
    Table,
    interval,
    p_value,
    plain,
    score,
    words,
)
from promptlab.cli.translation import translated
from promptlab.database import dictionaries, fetched
from promptlab.errors import NothingToDo, UsageError, did_you_mean
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    import duckdb


# ---------- labels


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


# ---------- judges


SLICES = ("tag", "length", "model", "family", "position", "month", "title")

_AGREEMENT = """
    select agreement.*, stability.n_outputs, stability.stability
    from marts.fct_judge_agreement as agreement
    left join marts.fct_judge_stability as stability using (dimension_id, judge)
    where
        agreement.slice_kind = $by
        and ($judge is null or $judge in (agreement.judge, agreement.dimension_id))
    order by agreement.dimension_id, agreement.judge, agreement.slice
"""

_RATES = """
    select rates.*, tasks.variant, tasks.created_at
    from marts.fct_corrected_pass_rates as rates
    inner join marts.dim_tasks as tasks using (task_id)
    where $judge is null or rates.judge = $judge or rates.dimension_id = $judge
    order by tasks.created_at desc, rates.title, tasks.variant
    limit 20
"""

_CHANGES = """
    select *
    from marts.fct_judge_changes
    where $judge in (judge_before, judge_after, dimension_id)
    order by dimension_id, judge_before, judge_after
"""

_DIFFERENT = """
    select
        dimension_id, case_id, round_id, truth, verdict, label_comment, task_id
    from marts.fct_labels
    where truth <> verdict and (judge = $judge or dimension_id = $judge)
    group by all
    order by verdict desc, dimension_id, case_id, round_id
    limit 30
"""

_REASONS = {
    "nothing_judged": "no label of a judged answer",
    "no_passing_label": "no passing label",
    "no_failing_label": "no failing label",
    "few_labels": "too few labels to say",
    "judge_no_better_than_chance": "judge no better than chance",
    "below_false_passes": "fewer passes than the judge's false passes",
    "above_true_passes": "more passes than the judge's true passes",
    "labels_of_other_titles": "labels of other titles",
}


def _reason(code: str | None) -> Cell:
    return Cell("" if code is None else _REASONS[code], "yellow" if code else "")


_TABLE = Table(
    columns=(
        Column("judge", plain, "judge"),
        Column("dimension", plain, "dimension_id"),
        Column("labels", plain, "n_judged"),
        Column("fails", plain, "n_fail"),
        Column("fails caught", score, "tnr"),
        Column("95% interval", interval, "tnr_low", "tnr_high"),
        Column("passes kept", score, "tpr"),
        Column("note", _reason, "reason"),
    ),
    wide=(
        Column("its interval", interval, "tpr_low", "tpr_high"),
        Column("leniency", score, "leniency"),
        Column("agreement", score, "agreement"),
        Column("its interval", interval, "agreement_low", "agreement_high"),
        Column("kappa", plain, "cohens_kappa"),
        Column("AC1", plain, "gwet_ac1"),
        Column("people agree", score, "people_agreement"),
        Column("alpha of people", plain, "people_alpha"),
        Column("disputed", plain, "n_disputed"),
        Column("not judged", plain, "n_unjudged"),
        Column("same verdict again", score, "stability"),
        Column("mean difference of grades", plain, "mean_difference"),
        Column("correlation of grades", plain, "pearson"),
        Column("weighted kappa of grades", plain, "weighted_kappa"),
    ),
)
_SLICE = Column("slice", plain, "slice")
_SLICED = Table(columns=(_SLICE, *_TABLE.columns[1:]), wide=_TABLE.wide)
_SLICED_OF_SEVERAL = Table(columns=(_SLICE, *_TABLE.columns), wide=_TABLE.wide)
_RATE_TABLE = Table(
    columns=(
        Column("title", plain, "title"),
        Column("variant", plain, "variant"),
        Column("raw", score, "raw_rate"),
        Column("corrected", score, "corrected_rate"),
        Column("95% interval", interval, "ci_low", "ci_high"),
        Column("method", words, "method"),
        Column("note", _reason, "reason"),
    ),
    wide=(
        Column("judge", plain, "judge"),
        Column("dimension", plain, "dimension_id"),
        Column("measure", words, "measure"),
        Column("task", plain, "task_id"),
        Column("created", plain, "created_at"),
    ),
)
_CHANGES_TABLE = Table(
    columns=(
        Column("before", plain, "judge_before"),
        Column("after", plain, "judge_after"),
        Column("outputs", plain, "n_outputs"),
        Column("only before right", plain, "n_only_before_right"),
        Column("only after right", plain, "n_only_after_right"),
        Column("p", p_value, "p_value"),
    ),
    wide=(Column("dimension", plain, "dimension_id"),),
)
_DIFFERENT_TABLE = Table(
    columns=(
        Column("case", plain, "case_id"),
        Column("round", plain, "round_id"),
        Column("people", plain, "truth"),
        Column("judge", plain, "verdict"),
        Column("comment", plain, "label_comment"),
    ),
    wide=(Column("dimension", plain, "dimension_id"), Column("task", plain, "task_id")),
)


@click.command("judges", short_help="Compare judges with labels of people.")
@click.argument("judge", required=False)
@click.option("--by", type=click.Choice(SLICES), help="Print one row per part.")
@click.option(
    "--min-tnr",
    type=click.FloatRange(0, 1),
    help="Exit 1 unless the lower end of the share of caught failures reaches this.",
)
@common(exits=(1, 5))
def judges(call: Call, judge: str | None, by: str | None, min_tnr: float | None) -> int:
    """Compare the verdicts of judges with the labels of people.

    Without JUDGE, prints a line per judge and dimension. With a JUDGE (or a dimension),
    prints its table, the answers on which it differs from people, the pass rates of the
    newest results, corrected for its errors, and other judges of the same outputs.
    """
    with call.warehouse().built() as con:
        parameters = {"judge": judge, "by": by or "all"}
        names, rows = fetched(con, _AGREEMENT, parameters)
        if not rows:
            labels = con.execute("select 1 from marts.fct_labels limit 1").fetchone()
            if labels is None:
                raise NothingToDo(
                    "no labels yet; `promptlab labels out sheet.csv` writes a sheet"
                )
            raise NothingToDo(
                f"no labels of {judge!r}; `promptlab judges` lists the judges"
                if judge
                else f"no labelled answer has a {by}; docs/judges.md tells what {by} is"
            )
        n_judges = len({row[names.index("judge")] for row in rows})
        sliced = _SLICED if n_judges == 1 else _SLICED_OF_SEVERAL
        call.print_rows(names, rows, sliced if by else _TABLE)
        if judge and not by and call.format == "table":
            for sql, table, title in (
                (_DIFFERENT, _DIFFERENT_TABLE, "Judge and people differ"),
                (_RATES, _RATE_TABLE, "Pass rates, corrected for the judge"),
                (_CHANGES, _CHANGES_TABLE, "Judges on the same labelled outputs"),
            ):
                parameters = {"judge": judge}
                columns, lines = fetched(con, sql, parameters)
                if lines:
                    click.echo(f"\n{title}")
                    call.print_rows(columns, lines, table)
    lowest = [row[names.index("tnr_low")] for row in rows]
    if min_tnr is not None and any(low is None or low < min_tnr for low in lowest):
        return 1
    return 0
