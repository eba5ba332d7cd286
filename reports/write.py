"""Write reports as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from promptlab.errors import PromptlabError, RenderError, UsageError
from promptlab.reports.files import folder_name, remove_file, write_file
from promptlab.reports.formats import FORMATS, Format
from promptlab.reports.gate.verdict import badness, worst
from promptlab.reports.index import read_index, to_index_html
from promptlab.reports.judge import judges, read_judge, to_judge_html
from promptlab.reports.memory import (
    memory_result,
    memory_runs,
    to_memory_html,
    to_memory_json,
)
from promptlab.reports.pages import (
    COMPARISON_SECTIONS,
    INDEX,
    MEMORY,
    PAGE,
    Links,
    environment,
    to_html,
)
from promptlab.reports.queries import Row, rows
from promptlab.reports.report_options import NO_LIMITS, PAGE_LIMITS, ReportOptions
from promptlab.reports.result import analysis_result
from promptlab.reports.run import read_run, titles_with_variants, to_run_html
from promptlab.reports.title import keep_histories, read_title, to_title_html

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.gate import GateResult
    from promptlab.contracts.pages import Page, TitlePage

_OF_ONE_PAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Errors of one page's content. A full disk or a locked warehouse stops all pages."""

COMPARISONS = "compare"
"""Folder of the comparisons of any two tasks below the output folder."""

INDEX_JSON = "index.json"

TITLES = "titles"
"""Folder of the pages of titles below the output folder, one per title."""

RUNS = "runs"
"""Folder of the pages of runs below the output folder, one per title."""

JUDGES = "judges"
"""Folder of the pages of judges below the output folder, one per dimension."""


def write_all(
    con: duckdb.DuckDBPyConnection,
    task_ids: Iterable[str],
    out: Path,
    options: ReportOptions,
    *,
    formats: Sequence[str] = ("json", "html"),
    on_report: Callable[[str], None] = lambda _name: None,
) -> list[Path]:
    """Write the reports of these tasks, and the index.

    *formats* are names of :data:`promptlab.reports.FORMATS`; *on_report* is called
    before each task with its id.

    Returns:
        Every file written, the index last.

    Raises:
        UsageError: the format or the language is unknown.
        SettingsError: the folder of templates is missing, or a template is invalid.
        NothingToDo: a task is not in the warehouse.
        RenderError: some reports could not be rendered; all others, and the index,
            are written. The message names each with the reason.
    """
    # report an invalid option before writing anything
    chosen_formats(formats)
    environment(options.lang, options.templates)
    written: list[Path] = []
    failed: list[str] = []

    def attempt(name: str, pages: list[str], report: Callable[[], list[Path]]) -> None:
        try:
            written.extend(report())
        except (RenderError, *_OF_ONE_PAGE) as error:
            reason = str(error)
            if not isinstance(error, PromptlabError):
                reason = f"{type(error).__name__}: {error}"
            failed.append(f"{name}: {reason}")
            # an older page would look like the current one
            for page in pages:
                remove_file(out, page)

    def written_page(other: _OtherPage) -> list[Path]:
        page = other.read()
        html = other.to_html(page).encode()
        files = [write_file(out, other.folder, PAGE, html)]
        if "json" in formats:
            text = f"{page.as_json()}\n".encode()
            files.append(write_file(out, other.folder, other.json_name, text))
        return files

    task_ids = list(task_ids)
    of_memory = memory_runs(con)
    # all at once; what fails is reported with the page that needs it
    with suppress(PromptlabError, *_OF_ONE_PAGE):
        options.gates_of(con, task_ids)
    for task_id in task_ids:
        on_report(task_id)
        folder = folder_name(task_id)
        report = partial(write_task, con, task_id, out, options, formats=formats)
        if task_id in of_memory:
            figures = partial(write_memory, con, task_id, out, options, formats)
            attempt(task_id, [f"{MEMORY}/{folder}/{PAGE}"], figures)
        attempt(task_id, [f"{folder}/{PAGE}"], partial(report, index=True))
    for other in _other_pages(con, task_ids, out, options):
        pages = [f"{other.folder}/{name}" for name in (PAGE, other.json_name)]
        attempt(other.name, pages, partial(written_page, other))
    attempt(
        INDEX,
        [INDEX, INDEX_JSON],
        lambda: write_index(con, out, options, formats=formats),
    )
    if failed:
        raise RenderError(
            f"not rendered ({len(failed)}), while all other pages were written to"
            f" {out}:\n  " + "\n  ".join(failed)
        )
    return written


def write_task(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    out: Path,
    options: ReportOptions,
    *,
    formats: Sequence[str] = ("json", "html"),
    index: bool = False,
) -> list[Path]:
    """Write the report of one task to ``out/<task>/`` and return its files.

    Arguments and errors are those of :func:`write_all`; with ``index`` the page may
    link to one.
    """
    chosen = chosen_formats(formats)
    # read once: pages select from the complete result
    limits = NO_LIMITS if any(fmt.lists_all for fmt in chosen) else PAGE_LIMITS
    result = analysis_result(con, task_id, options, limits=limits)
    before = result.comparison and result.comparison.baseline.task_id
    folder = folder_name(task_id)
    links = Links(
        index=f"../{INDEX}" if index else None,
        baseline=_link(out, folder_name(before), from_page="../") if before else None,
        result="result.json" if "json" in formats else None,
        memory=_link(out, f"{MEMORY}/{folder}", from_page="../"),
    )
    return [
        write_file(out, folder, f.file_name, f.render(result, options, links))
        for f in chosen
    ]


def write_comparison(
    con: duckdb.DuckDBPyConnection,
    baseline: str,
    candidate: str,
    out: Path,
    options: ReportOptions,
) -> Path:
    """Write the comparison of any two tasks in the marts.

    The page is the candidate's report with this baseline, without the sections about
    other things: ``out/compare/<baseline>..<candidate>/report.html``.

    Raises:
        NothingToDo: the comparison is not in the marts.
    """
    sides = folder_name(baseline), folder_name(candidate)
    before, after = (_link(out, side, from_page="../../") for side in sides)
    page = to_html(
        analysis_result(con, candidate, options, limits=PAGE_LIMITS, baseline=baseline),
        lang=options.lang,
        templates=options.templates,
        links=Links(
            index=f"../../{INDEX}" if (out / INDEX).is_file() else None,
            baseline=before,
            candidate=after,
        ),
        sections=COMPARISON_SECTIONS,
        template="comparison.html.j2",
    )
    folder = f"{COMPARISONS}/{'..'.join(sides)}"
    return write_file(out, folder, PAGE, page.encode())


class _OtherPage(NamedTuple):
    """A page of a judge, a run or a title."""

    name: str
    folder: str
    """Its folder below the output folder."""
    json_name: str
    read: Callable[[], Page]
    to_html: Callable[[Any], str]


def _other_pages(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    out: Path,
    options: ReportOptions,
) -> Iterator[_OtherPage]:
    """Yield the pages of judges, runs and titles.

    They link to the reports and to each other, and are therefore written last.
    """
    index = f"../../{INDEX}"

    @cache
    def link(folder: str) -> str | None:
        return _link(out, folder, from_page="../../")

    def href(task_id: str) -> str | None:
        return link(folder_name(task_id))

    def judge_page(dimension_id: str, judge: str) -> str | None:
        return link(_judge_folder(dimension_id, judge))

    def title_html(page: TitlePage) -> str:
        run = link(f"{RUNS}/{folder_name(page.title)}")
        return to_title_html(page, options, href=href, index=index, run=run)

    for dimension_id, judge in judges(con):
        yield _OtherPage(
            judge,
            _judge_folder(dimension_id, judge),
            "judge.json",
            partial(read_judge, con, dimension_id, judge, options),
            partial(to_judge_html, options=options, href=href, index=index),
        )
    run_html = partial(
        to_run_html, options=options, href=href, index=index, judge=judge_page
    )
    for title in titles_with_variants(con):
        folder = f"{RUNS}/{folder_name(title)}"
        read = partial(read_run, con, title, options)
        yield _OtherPage(title, folder, "run.json", read, run_html)
    titles = titles_of(con, task_ids)
    keep_histories(con, titles)
    for title in titles:
        folder = f"{TITLES}/{folder_name(title)}"
        of_title = partial(read_title, con, title, options)
        yield _OtherPage(title, folder, "title.json", of_title, title_html)


def _judge_folder(dimension_id: str, judge: str) -> str:
    return f"{JUDGES}/{folder_name(f'{dimension_id}/{judge}')}"


def _link(out: Path, folder: str, *, from_page: str = "") -> str | None:
    """Return the link of the page in *folder* of *out*, if it exists."""
    exists = (out / folder / PAGE).is_file()
    return f"{from_page}{quote(folder)}/{PAGE}" if exists else None


@dataclass(frozen=True)
class TitleDecision:
    """The gate's results for the tasks of one title."""

    gate: GateResult
    """The worst result."""
    gates: list[GateResult]
    """All results."""
    page: Path
    """Return the page of the run if it has several variants, else that of the task."""
    renamed: Row | None = None
    """For a first run: the ``earlier_title`` that has most of its cases, if there is
    one, ``n_same`` of ``n_cases``."""


def decisions(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    out: Path,
    options: ReportOptions,
) -> list[TitleDecision]:
    """Return a decision for each title among these tasks, the worst first.

    Of each title the current variants are judged, or else the newest task of each
    variant.
    """
    newest = [
        str(row[0])
        for row in con.execute(_NEWEST, {"tasks": list(task_ids)}).fetchall()
    ]
    gates = options.gates_of(con, newest)
    titles: dict[str, dict[str, GateResult]] = {}
    for task_id, gate in gates.items():
        titles.setdefault(gate.title, {})[task_id] = gate
    with_pages = set(titles_with_variants(con))
    first = [gate.title for gate in gates.values() if gate.decision == "first_run"]
    renamed = rows(con, _RENAMED, {"tasks": newest, "titles": first}) if first else []
    earlier = {row["title"]: row for row in renamed}
    decisions = []
    for title, of_title in titles.items():
        gate = worst(of_title.values())
        folder = folder_name(gate.task_id)
        if title in with_pages:
            folder = f"{RUNS}/{folder_name(title)}"
        page = out / folder / PAGE
        decisions.append(
            TitleDecision(gate, list(of_title.values()), page, earlier.get(title))
        )
    return sorted(decisions, key=lambda decision: badness(decision.gate))


def page_of(results: Sequence[GateResult]) -> str:
    """Return the address of the page about *results*, below the folder of reports.

    It is the page of the run if the first title has several variants.
    """
    first = results[0]
    variants = {result.variant for result in results if result.title == first.title}
    of_run = f"{RUNS}/{folder_name(first.title)}"
    folder = of_run if len(variants) > 1 else folder_name(first.task_id)
    return f"{quote(folder)}/{PAGE}"


def titles_of(con: duckdb.DuckDBPyConnection, task_ids: Sequence[str]) -> list[str]:
    """Return the titles of these tasks, sorted."""
    titles = con.execute(
        "select distinct title from marts.dim_tasks"
        " where task_id in (select unnest($tasks)) order by title",
        {"tasks": list(task_ids)},
    )
    return [str(row[0]) for row in titles.fetchall()]


_NEWEST = """
select tasks.task_id
from marts.dim_tasks as tasks
left join marts.dim_variants as variants
    on tasks.task_id = variants.newest_task_id and variants.is_current
where tasks.task_id in (select unnest($tasks)) and tasks.role = 'full'
qualify
    row_number() over (
        partition by tasks.title, tasks.variant
        order by tasks.run_number desc, tasks.task_id desc
    ) = 1
    and (
        variants.title is not null
        or count(variants.title) over (partition by tasks.title) = 0
    )
order by tasks.title, tasks.variant
"""


# the best of those that these tasks do not have
_RENAMED = """
select *
from marts.fct_renamed_titles
where
    title in (select unnest($titles))
    and earlier_title not in (
        select title from marts.dim_tasks where task_id in (select unnest($tasks))
    )
qualify row_number() over (
    partition by title order by n_same desc, earlier_title
) = 1
"""


def write_memory(
    con: duckdb.DuckDBPyConnection,
    run_id: str,
    out: Path,
    options: ReportOptions,
    formats: Sequence[str],
) -> list[Path]:
    """Write the figures of a memory run to ``out/memory/<run>/``; return its files.

    The page links to the report of the run if *formats* include one.
    """
    result = memory_result(con, run_id, options)
    folder = f"{MEMORY}/{folder_name(run_id)}"
    report = f"../../{quote(folder_name(run_id))}/{PAGE}"
    links = Links(
        index=f"../../{INDEX}",
        run=report if "html" in formats else None,
    )
    page = to_memory_html(result, templates=options.templates, links=links)
    return [
        write_file(out, folder, "memory.json", to_memory_json(result).encode()),
        write_file(out, folder, PAGE, page.encode()),
    ]


def write_index(
    con: duckdb.DuckDBPyConnection,
    out: Path,
    options: ReportOptions,
    *,
    formats: Sequence[str] = (),
) -> list[Path]:
    """Write ``out/index.html``, which links to those reports that are below *out*.

    With the format ``json`` also ``index.json``, before it.
    """

    @cache
    def link(folder: str) -> str | None:
        return _link(out, folder)

    index = read_index(con, options)
    html = to_index_html(
        index,
        options,
        task=lambda task_id: link(folder_name(task_id)),
        title=lambda title: link(f"{TITLES}/{folder_name(title)}"),
        run=lambda title: link(f"{RUNS}/{folder_name(title)}"),
        judge=lambda dimension_id, judge: link(_judge_folder(dimension_id, judge)),
    )
    written = []
    if "json" in formats:
        text = f"{index.as_json()}\n"
        written.append(write_file(out, "", INDEX_JSON, text.encode()))
    return [*written, write_file(out, "", INDEX, html.encode())]


def chosen_formats(names: Iterable[str]) -> list[Format]:
    """Return the formats of these names, without duplicates.

    Raises:
        UsageError: the format is unknown.
    """
    unique = list(dict.fromkeys(names))
    unknown = [name for name in unique if name not in FORMATS]
    if unknown:
        known = ", ".join(FORMATS)
        raise UsageError(f"format: {', '.join(unknown)} is not one of {known}")
    return [FORMATS[name] for name in unique]
