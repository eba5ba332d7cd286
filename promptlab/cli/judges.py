"""``promptlab judges``: compare judges with labels of people."""

from __future__ import annotations

import click

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
from promptlab.errors import NothingToDo
from promptlab.relations import fetched

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
