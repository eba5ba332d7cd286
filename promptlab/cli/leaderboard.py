"""``promptlab leaderboard``: rank variants by score, within a title and over titles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from promptlab.cli.options import FORMATS, Call, common, nothing_titled, titled
from promptlab.cli.output import (
    BREAK,
    Cell,
    Column,
    Table,
    ident,
    interval,
    plain,
    print_lines,
    print_text,
    score,
    spoken,
)
from promptlab.errors import NothingToDo, UsageError
from promptlab.relations import Row, dictionaries, fetched

_LEADERBOARD = """
    select
        board.title, score_rank as rank, board.variant, board.model, prompt_version,
        board.overall_score, board.ci_low, board.ci_high, overlaps_leader, is_partial,
        board.pass_rate, board.pass_rate_low, board.pass_rate_high, n_cases, n_tasks,
        board.task_id, testset_id, rank_best, rank_worst, primary_metric
    from marts.fct_leaderboard as board
    inner join (select task_id, primary_metric from marts.dim_tasks) using (task_id)
    left join (
        select task_id, rank_best, rank_worst from marts.fct_variant_scores
    ) using (task_id)
    where $title is null or board.title = $title
    order by title, testset_id, score_rank nulls last, variant, prompt_version
"""

_DIMENSIONS = """
    select distinct scores.dimension_id, scores.name
    from marts.fct_leaderboard as board
    inner join marts.fct_dimension_scores as scores using (task_id)
    where $title is null or board.title = $title
    order by all
"""

_BY_DIMENSION = """
    select
        board.title,
        case when not is_partial then rank() over by_score end as rank, board.variant,
        board.model, board.prompt_version, scores.dimension_id, scores.score,
        scores.ci_low, scores.ci_high,
        scores.ci_high >= first_value(scores.ci_low) over by_score as overlaps_leader,
        is_partial, scores.n_cases, board.task_id, testset_id
    from marts.fct_leaderboard as board
    inner join marts.fct_dimension_scores as scores using (task_id)
    where
        ($title is null or board.title = $title) and scores.dimension_id = $dimension
        and scores.score is not null
    window by_score as (
        partition by board.title, testset_id, is_partial order by scores.score desc
    )
    order by board.title, testset_id, is_partial, rank, board.variant, prompt_version
"""

_BY_TAG = """
    select
        board.title, board.variant, board.model, board.prompt_version,
        board.overall_score, tags.subject as tag, tags.measure, tags.value as score,
        tags.ci_low, tags.ci_high, tags.n as n_cases, task_id, board.testset_id
    from marts.fct_leaderboard as board
    inner join marts.fct_trends as tags using (task_id)
    where
        ($title is null or board.title = $title) and board.is_newest_of_variant
        and tags.measure in ('tag_score', 'tag_pass_rate')
    -- cases without a score have a pass rate
    qualify row_number() over (
        partition by task_id, tags.subject order by tags.measure desc
    ) = 1
    order by
        board.title, board.testset_id, score_rank nulls last, board.variant,
        board.prompt_version, tag
"""

_MATRIX = """
    select
        variant, averages.model, title, scores.overall_score, scores.ci_low,
        scores.ci_high, scores.is_won, averages.macro_average,
        averages.ci_low as macro_low, averages.ci_high as macro_high, averages.n_won,
        averages.n_won_clearly, averages.n_titles, averages.n_titles_of_all
    from marts.fct_variant_averages as averages
    inner join marts.fct_variant_scores as scores using (variant)
    where scores.n_variants > 1
    order by
        averages.n_titles desc, averages.macro_average desc, variant, scores.title
"""


def _against_leader(rank: int | None, overlaps: bool | None, is_partial: bool) -> Cell:
    """Return whether the order may be chance; unknown without an interval."""
    if is_partial:
        return Cell(spoken("not ranked: a part of its rows"))
    if rank == 1:
        return Cell(spoken("leads"))
    return Cell(
        spoken({None: "–", True: "? intervals overlap", False: "behind"}[overlaps])
    )


def _ranks(best: int | None, worst: int | None) -> Cell:
    """Return the possible ranks according to the intervals."""
    if best is None or worst is None:
        return plain(None)
    return Cell(str(best) if best == worst else f"{best}–{worst}", is_number=True)


def _columns(of_score: str) -> tuple[Column, ...]:
    return (
        Column("rank", plain, "rank"),
        Column("variant", plain, "variant"),
        Column("version", plain, "prompt_version"),
        Column("score", score, of_score),
        Column("95% interval", interval, "ci_low", "ci_high"),
        Column("order", _against_leader, "rank", "overlaps_leader", "is_partial"),
    )


_DIMENSION_TABLE = Table(
    columns=_columns("score"),
    wide=(
        Column("model", plain, "model"),
        Column("cases", plain, "n_cases"),
        Column("newest task", ident, "task_id"),
    ),
    by=("title", "testset_id", "dimension_id"),
)

_TABLE = Table(
    columns=_columns("overall_score"),
    wide=(
        Column("ranks by interval", _ranks, "rank_best", "rank_worst"),
        Column("score is", plain, "primary_metric"),
        Column("model", plain, "model"),
        Column("pass rate", score, "pass_rate"),
        Column("its interval", interval, "pass_rate_low", "pass_rate_high"),
        Column("cases", plain, "n_cases"),
        Column("tasks", plain, "n_tasks"),
        Column("newest task", ident, "task_id"),
    ),
    by=("title", "testset_id"),
)


@click.command("leaderboard", short_help="Rank variants within and over titles.")
@titled
@click.option(
    "--matrix",
    is_flag=True,
    help="Print only the table of variants by titles, with means.",
)
@click.option(
    "--dimension", metavar="NAME", help="Rank by this dimension, an id or a part of it."
)
@click.option(
    "--by",
    type=click.Choice(("tag",)),
    help="Score of each variant on each tag, such as a question type.",
)
@common(formats=(*FORMATS, "markdown", "latex"))
def leaderboard(
    call: Call, title: str | None, matrix: bool, dimension: str | None, by: str | None
) -> int:
    """Rank variants within each title by their newest results, and over titles.

    The order may be chance if an interval overlaps the leader's (`overlaps_leader`):
    `promptlab compare` tests the two case by case. Titles with several variants form a
    table of variants by titles, with intervals, the mean over titles and the number of
    titles won. `--format markdown` and `--format latex` write it, or the table of the
    only title, for a paper.

    --by tag prints variants by tags: the question types of a memory benchmark, the
    categories of a testset. --dimension ranks by one metric, such as acc_norm.
    """
    if matrix + (dimension is not None) + (by is not None) > 1:
        raise UsageError("leaderboard: one of --matrix, --dimension and --by at a time")
    if dimension is not None:
        return _of_dimension(call, title, dimension)
    if by is not None:
        return _by_tag(call, title)
    with call.warehouse().built() as con:
        names, rows = fetched(con, _LEADERBOARD, {"title": title})
        if not rows and call.format == "table":
            raise NothingToDo(f"leaderboard: {nothing_titled(con, title)}")
        standings = [] if title else dictionaries(con, _MATRIX)
    titles = sorted({row["title"] for row in standings})
    if matrix and not titles:
        raise NothingToDo(
            "leaderboard: --matrix needs a title with several variants, and no TITLE"
        )
    is_matrix = matrix or len(titles) > 1
    if call.format in _WRITERS:
        board = [dict(zip(names, row, strict=True)) for row in rows]
        lines = _matrix_lines(standings, titles) if is_matrix else _board_lines(board)
        print_lines("\n".join(_WRITERS[call.format](lines)))
        return 0
    if not matrix:
        call.print_rows(names, rows, _TABLE)
    if is_matrix and (matrix or call.format == "table"):
        if not matrix:
            print_text("")
        _print_matrix(standings, titles, call)
    return 0


def _of_dimension(call: Call, title: str | None, wanted: str) -> int:
    """Print the variants of each title by one dimension."""
    with call.warehouse().built() as con:
        known = con.execute(_DIMENSIONS, {"title": title}).fetchall()
        if not known:
            raise NothingToDo(f"leaderboard: {nothing_titled(con, title)}")
        folded = wanted.casefold()
        matching = {i for i, name in known if folded in (i.casefold(), name.casefold())}
        matching = matching or {i for i, _ in known if folded in i.casefold()}
        if len(matching) != 1:
            several = (
                f"{len(matching)} dimensions match" if matching else "no such dimension"
            )
            ids = ", ".join(sorted(matching or {i for i, _ in known}))
            raise UsageError(f"leaderboard: {wanted}: {several}: {ids}")
        values = {"title": title, "dimension": matching.pop()}
        names, rows = fetched(con, _BY_DIMENSION, values)
    if call.format in _WRITERS:
        lines = [_heading("Title", "Variant", "Score")]
        for row in (dict(zip(names, row, strict=True)) for row in rows):
            value = row["score"], row["ci_low"], row["ci_high"]
            lines.append(
                [
                    (row["title"], "", False),
                    (row["variant"], "", False),
                    _scored(*value, is_best=row["rank"] == 1),
                ]
            )
        print_lines("\n".join(_WRITERS[call.format](lines)))
    else:
        call.print_rows(names, rows, _DIMENSION_TABLE)
    return 0


def _by_tag(call: Call, title: str | None) -> int:
    """Print the variants of each title by tags; JSON and CSV have a row for each."""
    with call.warehouse().built() as con:
        names, rows = fetched(con, _BY_TAG, {"title": title})
        if not rows and call.format == "table":
            raise NothingToDo(
                "leaderboard: no case has a tag"
                if con.execute(_DIMENSIONS, {"title": title}).fetchone()
                else f"leaderboard: {nothing_titled(con, title)}"
            )
    if call.format in ("json", "csv"):
        call.print_rows(names, rows)
        return 0
    tagged = [dict(zip(names, row, strict=True)) for row in rows]
    parts = groupby(tagged, key=lambda row: (row["title"], row["testset_id"]))
    for place, (_, part) in enumerate(parts):
        if place:
            print_text("")
        _print_tags(list(part), call)
    return 0


def _print_tags(rows: Sequence[Row], call: Call) -> None:
    """Print a title's tags by variants; for papers, its variants by tags."""
    tags = sorted({row["tag"] for row in rows})
    of_variant: dict[str, dict[str, Row]] = {}
    for row in rows:
        of_variant.setdefault(row["variant"], {})[row["tag"]] = row
    scores = [
        [
            next(iter(by_tag.values()))["overall_score"]
            for by_tag in of_variant.values()
        ],
        *(
            [by_tag.get(tag, {}).get("score") for by_tag in of_variant.values()]
            for tag in tags
        ),
    ]
    if call.format in _WRITERS:
        best = [max((v for v in row if v is not None), default=None) for row in scores]
        lines = [_heading("Variant", "Score", *tags)]
        for variant, *values in zip(of_variant, *scores, strict=True):
            cells = [
                (score(value).text, "", value == top and len(of_variant) > 1)
                for value, top in zip(values, best, strict=True)
            ]
            lines.append([(variant, "", False), *cells])
        print_lines("\n".join(_WRITERS[call.format](lines)))
        return
    print_text(rows[0]["title"])
    call.print_rows(
        ["tag", *of_variant],
        [
            (tag, *row)
            for tag, row in zip((spoken("all cases"), *tags), scores, strict=True)
        ],
        Table(
            columns=(
                Column("tag", _breakable, "tag"),
                *(Column(_breakable(v).text, score, v) for v in of_variant),
            )
        ),
    )


def _breakable(text: str) -> Cell:
    """Return a name that may be wrapped after a slash, a colon or an underline."""
    return Cell(re.sub(r"([/:_])", rf"\1{BREAK}", plain(text).text))


def _print_matrix(standings: Sequence[Row], titles: list[str], call: Call) -> None:
    """Print variants by titles; JSON and CSV have a column for each end of interval."""
    fixed = (
        "macro_average", "macro_low", "macro_high", "n_won", "n_won_clearly", "n_titles"
    )  # fmt: skip
    ends = [f"{title}{end}" for title in titles for end in ("", " low", " high")]
    rows = [
        [
            variant,
            *(value for title in titles for value in _ends(by_title.get(title, {}))),
            *(next(iter(by_title.values()))[name] for name in fixed),
        ]
        for variant, by_title in _by_variant(standings).items()
    ]
    table = Table(
        columns=(
            Column("variant", plain, "variant"),
            *(
                Column(title, _with_interval, title, f"{title} low", f"{title} high")
                for title in titles
            ),
            Column("mean", _with_interval, "macro_average", "macro_low", "macro_high"),
            Column("won", plain, "n_won"),
            Column("titles", plain, "n_titles"),
        ),
        wide=(Column("won clearly", plain, "n_won_clearly"),),
    )
    call.print_rows(["variant", *ends, *fixed], rows, table)


def _ends(row: Row) -> tuple[float | None, float | None, float | None]:
    """Return the score of a variant in a title, and the ends of its interval."""
    return row.get("overall_score"), row.get("ci_low"), row.get("ci_high")


def _with_interval(value: float | None, low: float | None, high: float | None) -> Cell:
    shown = score(value)
    if value is None or low is None:
        return shown
    return Cell(f"{shown.text} {interval(low, high).text}")


def _by_variant(standings: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """Return the rows of each variant by title, the best variant first."""
    by_variant: dict[str, dict[str, Row]] = {}
    for row in standings:
        by_variant.setdefault(row["variant"], {})[row["title"]] = row
    return by_variant


_Line = list[tuple[str, str, bool]]
"""The cells of a line: a text, its interval, and true for the best of a column."""


def _matrix_lines(standings: Sequence[Row], titles: list[str]) -> list[_Line]:
    """Return a heading and a line for each variant."""
    lines = [_heading("Variant", *titles, "Mean", "Won")]
    by_variant = _by_variant(standings)
    n_all = standings[0]["n_titles_of_all"]
    # a mean over fewer titles is not comparable
    whole = [row["macro_average"] for row in standings if row["n_titles"] == n_all]
    best = max(whole, default=None)
    for variant, by_title in by_variant.items():
        row = next(iter(by_title.values()))
        is_best = row["n_titles"] == n_all and row["macro_average"] == best
        mean, ends, _ = _scored(
            row["macro_average"], row["macro_low"], row["macro_high"]
        )
        if row["n_titles"] < n_all:
            mean += f" ({row['n_titles']} of {n_all})"
        scores = [
            _scored(*_ends(by_title[title]), is_best=by_title[title]["is_won"])
            if title in by_title
            else ("–", "", False)
            for title in titles
        ]
        won = (str(row["n_won"]), "", False)
        lines.append([(variant, "", False), *scores, (mean, ends, is_best), won])
    return lines


def _board_lines(rows: Sequence[Row]) -> list[_Line]:
    """Return a heading and a line for each variant of each title."""
    lines = [_heading("Title", "Variant", "Score", "Pass rate", "Ranks")]
    for row in rows:
        passed = row["pass_rate"], row["pass_rate_low"], row["pass_rate_high"]
        lines.append(
            [
                (row["title"], "", False),
                (row["variant"], "", False),
                _scored(*_ends(row), is_best=row["rank"] == 1),
                _scored(*passed),
                (_ranks(row["rank_best"], row["rank_worst"]).text, "", False),
            ]
        )
    return lines


def _heading(*texts: str) -> _Line:
    return [(text, "", False) for text in texts]


def _scored(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    is_best: bool | None = False,
) -> tuple[str, str, bool]:
    """Return the cell of a score, its interval, and whether it is the best."""
    ends = "" if value is None or low is None else interval(low, high).text
    return score(value).text, ends, bool(is_best)


def _markdown(lines: Sequence[_Line]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""

    def cell(text: str, ends: str, is_best: bool) -> str:
        plain_text = re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))
        shown = f"**{plain_text}**" if is_best else plain_text
        return f"{shown} ({ends})" if ends else shown

    for place, line in enumerate(lines):
        yield f"| {' | '.join(cell(*part) for part in line)} |"
        if not place:
            yield f"| {' | '.join('---' for _ in line)} |"


_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def _latex(lines: Sequence[_Line]) -> Iterator[str]:
    """Yield the lines of a table in LaTeX; it needs the package booktabs."""

    def safe(text: str) -> str:
        return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))

    def cell(text: str, ends: str, is_best: bool) -> str:
        shown = rf"\textbf{{{safe(text)}}}" if is_best else safe(text)
        return rf"{shown} {{\scriptsize [{safe(ends)}]}}" if ends else shown

    n_texts = sum(head[0] in ("Title", "Variant") for head in lines[0])
    yield rf"\begin{{tabular}}{{{'l' * n_texts}{'r' * (len(lines[0]) - n_texts)}}}"
    yield r"\toprule"
    for place, line in enumerate(lines):
        yield rf"{' & '.join(cell(*part) for part in line)} \\"
        if not place:
            yield r"\midrule"
    yield r"\bottomrule"
    yield r"\end{tabular}"


_WRITERS = {"markdown": _markdown, "latex": _latex}
"""The formats for papers."""
