"""The recipes of CONTRIBUTING.md, followed: nothing else has to be touched for what they
add to count, in files, numbers and commands.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptlab.build import plan
from tests.conftest import ROOT
from tests.recipes.checkout import Checkout
from tests.scoring.tasks import case, dimension, task

SCORER = """\
{{ config(materialized=view_of_step()) }}

with

dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'politeness' and problem is null
),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        case when contains(lower(rounds.answer), 'please') then 1.0 else 0.0 end as metric,
        cast(null as string) as reason,
        'please' as expected,
        rounds.answer as actual,
        cast(null as json) as detail

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

)

select * from scored
"""

DESCRIPTION = """
  - name: int_politeness_scored
    description: "Scorer `politeness`: whether an answer says please."
"""

ALERT = """
    union all

    select
        task_id,
        case_id,
        'many_words' as code,
        n_rounds

    from case_results

),

counted as ("""

STARTS = """\
        when matcher = 'starts' then case
            when actual_text is null or not starts_with(actual_text, operand)
                then 'value_mismatch'
        end
        when matcher = 'regex' then case
"""

STARTS_IN_PYTHON = """\
    if matcher == "starts":
        text = searchable_text(actual) or ""
        return None if text.startswith(text_check(expected).operand) else "value_mismatch"
    if matcher in ("contains", "regex"):
"""

FORMAT = '''\
"""Glossaries: a JSON object of terms and what they mean."""

from __future__ import annotations

import json
from collections.abc import Iterator

from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source


def read(source: Source) -> Iterator[Reading]:
    """A row per term; a glossary of the same name is replaced."""
    found = json.loads(source.data)
    name, terms = found["glossary"], found["terms"]
    yield Reading(
        rows={
            "glossary_terms": {
                "glossary_id": [name] * len(terms),
                "term": list(terms),
                "meaning": list(terms.values()),
            }
        },
        records_loaded=len(terms),
        keys=[("glossary", name)],
    )
'''

GLOSSARY_TABLE = """
-- One term of a glossary.
create table if not exists raw.glossary_terms (
    load_id bigint not null,
    glossary_id varchar not null,
    term varchar not null,
    meaning varchar
);
"""

GLOSSARY_LINE = """\
RAW_TABLES = (
    RawTable(
        "glossary_terms", RawObject("glossary", ("glossary_id",)), records=EVERY_ROW
    ),
"""

GLOSSARY_STAGED = """\
with

source as (select * from {{ source('raw', 'glossary_terms') }} where {{ is_live() }}),

renamed as (

    select

        ---------- ids
        load_id,
        glossary_id,

        ---------- strings
        term,
        meaning

    from source

)

select * from renamed
"""

GLOSSARY_DESCRIBED = """\
version: 2

models:
  - name: stg_glossaries__terms
    description: One term of a glossary.
"""

TOOL = '''\
"""Quizmaster: a JSON object of a run and its answers."""

from __future__ import annotations

from typing import Any

from promptlab.ingest.foreign.documents import ToolFiles
from promptlab.ingest.foreign.writing import TaskWriter

FORMS = ("json",)
_FILES = ToolFiles("Quizmaster", "3.1")


def recognise(head):
    """By the keys of the document."""
    return "json" if {"quiz", "replies"} <= head.keys else None


def translate(source):
    """A task, and a case with one round per reply."""
    run = _FILES.document(source, dict[str, Any])
    task = TaskWriter("quizmaster", run["quiz"], source)
    for asked, reply in run["replies"].items():
        answer = task.case(asked, {"asked": asked}).round(
            reply["text"], status=reply["verdict"]
        )
        answer.score("stars", reply["stars"])
        yield from task.written()
    task.describe(run["quiz"], model="vendor/model")
    task.grade()
    yield from task.written()
'''

RESULT = {
    "sample_id": "a",
    "entity_type": "pipeline",
    "entity_id": "p",
    "variant": "v",
    "run_id": "r",
    "created_at": "2026-01-01T00:00:00Z",
}


def add_a_scorer(checkout: Checkout) -> None:
    recipe, folder = (
        checkout.recipe("a scorer"),
        "dbt_project/models/intermediate/scoring",
    )
    recipe.append(f"{folder}/scorers/_scorers__models.yml", DESCRIPTION)
    recipe.write(f"{folder}/scorers/int_politeness_scored.sql", SCORER)
    union = "\nunion all\n\nselect * from {{ ref('int_politeness_scored') }}\n"
    recipe.append(f"{folder}/scorers/int_round_metrics.sql", union)
    recipe.add_row(
        "dbt_project/seeds/scoring/promptlab_scorers.csv",
        scorer="politeness",
        scorer_version="1",
        unit="share",
        is_share="true",
        has_verdict="true",
    )


def add_an_alert(checkout: Checkout) -> None:
    recipe, scoring = (
        checkout.recipe("an alert"),
        "dbt_project/models/intermediate/scoring",
    )
    rounds = f"{scoring}/alerts/int_alerts_of_rounds.sql"
    recipe.edit(rounds, ("\n),\n\ncounted as (", ALERT))
    policy = "dbt_project/seeds/scoring/promptlab_alert_policy.csv"
    recipe.add_row(policy, code="many_words", severity="minor", threshold="0")
    for lang, words in (("en", "too many words"), ("zh", "话太多")):
        recipe.edit(
            f"reports/texts/{lang}.toml",
            ("\n[alert]\n", f'\n[alert]\nmany_words = "{words}"\n'),
        )


def add_a_grade(checkout: Checkout) -> None:
    grades = "dbt_project/seeds/scoring/promptlab_grades.csv"
    checkout.recipe("a grade").add_row(grades, grade="A+", min_score="1")


def add_a_matcher(checkout: Checkout) -> None:
    recipe = checkout.recipe("a matcher")
    recipe.edit(
        "dbt_project/macros/matching/failure_reason.sql",
        ("        when matcher = 'regex' then case\n", STARTS),
    )
    recipe.edit(
        "promptlab/patterns.py",
        ('Literal["text", "contains",', 'Literal["text", "starts", "contains",'),
        ("    (\"contains:\", \"contains\"),\n", "    (\"contains:\", \"contains\"),\n    (\"starts:\", \"starts\"),\n"),
    )  # fmt: skip
    recipe.edit(
        "promptlab/evaluator/matching.py",
        (
            '"object", "array", "text", "contains",',
            '"object", "array", "text", "starts",',
        ),
        ('    if matcher in ("contains", "regex"):\n', STARTS_IN_PYTHON),
    )


IDS = '    if "sample_id" in keys:\n'
"""A line of `ingest/formats.py` before which a kind is recognized."""


def add_an_input_format(checkout: Checkout) -> None:
    recipe = checkout.recipe("an input format")
    recipe.write("ingest/glossary.py", FORMAT)
    recipe.edit(
        "ingest/formats.py",
        ('    "memory": "memory.reader",\n', '    "memory": "memory.reader",\n    "glossary": "glossary",\n'),
        (IDS, '    if {"glossary", "terms"} <= keys:\n        return "glossary"\n' + IDS),
    )  # fmt: skip
    recipe.edit(
        "promptlab/cli/load.py",
        ('    "memory",\n', '    "memory",\n    "glossary",\n'),
    )
    recipe.edit("pyproject.toml", ("| scores | memory", "| scores | memory | glossary"))
    recipe.append("ingest/raw/raw.sql", GLOSSARY_TABLE)
    recipe.edit(
        "ingest/raw/catalogue.py",
        ("RAW_TABLES = (\n", GLOSSARY_LINE),
    )  # fmt: skip
    staging = "dbt_project/models/staging"
    recipe.append(
        f"{staging}/_raw__sources.yml",
        "      - name: glossary_terms\n        description: One term of a glossary.\n",
    )
    recipe.write(f"{staging}/glossaries/stg_glossaries__terms.sql", GLOSSARY_STAGED)
    recipe.write(f"{staging}/glossaries/_glossaries__models.yml", GLOSSARY_DESCRIBED)


def add_a_tool(checkout: Checkout) -> None:
    recipe = checkout.recipe("a format of another tool")
    recipe.write("ingest/foreign/quizmaster.py", TOOL)
    recipe.edit(
        "ingest/foreign/registry.py",
        ('    "table",\n', '    "quizmaster",\n    "table",\n'),
    )


def add_a_memory_metric(checkout: Checkout) -> None:
    """True if an answer has as many tokens as its reference."""
    recipe = checkout.recipe("a memory metric")
    recipe.edit(
        "dbt_project/models/intermediate/memory/int_memory_token_scores.sql",
        ("        answer_tokens =", "        len(answer_tokens) = len(reference_tokens) as is_as_long,\n        answer_tokens ="),
        ("        max(mem0_f1)", "        max(cast(is_as_long as double)) as same_length,\n        max(mem0_f1)"),
    )  # fmt: skip
    recipe.edit(
        "dbt_project/macros/memory/memory_scores.sql",
        ('    "exact_match":', '    "same_length": "has_reference",\n    "exact_match":'),
    )  # fmt: skip
    recipe.edit(
        "dbt_project/models/marts/memory/_memory__models.yml",
        ("      - {name: right_score,", "      - {name: same_length, data_type: double, description: As many tokens.}\n      - {name: right_score,"),
    )  # fmt: skip
    for lang, words in (("en", "as long"), ("zh", "同长")):
        file = f"reports/texts/{lang}.toml"
        recipe.edit(file, ("\nmem0_f1 = ", f'\nsame_length = "{words}"\nmem0_f1 = '))


def add_a_number(checkout: Checkout) -> None:
    """The rounds without a score: six files for the report, a template for each other page."""
    recipe, marts = (
        checkout.recipe("a number on a page"),
        "dbt_project/models/marts/scoring",
    )
    recipe.edit(
        f"{marts}/fct_task_summaries.sql",
        ("        n_scored_rounds,\n\n", "        n_scored_rounds,\n        n_rounds - n_scored_rounds as n_unscored_rounds,\n\n"),
    )  # fmt: skip
    recipe.edit(
        f"{marts}/_scoring__marts.yml",
        ("      - {name: is_capped,", "      - {name: n_unscored_rounds, data_type: bigint, description: Other rounds.}\n      - {name: is_capped,"),
    )  # fmt: skip
    recipe.edit(
        "promptlab/contracts/analysis_result.py",
        ("    n_scored_rounds: int\n", "    n_unscored_rounds: int\n    n_scored_rounds: int\n"),
    )  # fmt: skip
    recipe.edit(
        "reports/templates/sections/summary.html.j2",
        ("</section>", '<p>{{ t("summary.unscored", n=s.n_unscored_rounds) }}</p>\n</section>'),
    )  # fmt: skip
    recipe.edit(
        "promptlab/contracts/pages.py",
        ("    drawn: list", "    n_unscored_rounds: int\n    drawn: list"),
        ("    n_newly_failing: int | None\n", "    n_unscored_rounds: int\n    n_newly_failing: int | None\n"),
    )  # fmt: skip
    recipe.edit(
        "reports/templates/index.html.j2",
        ("</article>", '<p>{{ t("summary.unscored", n=first.n_unscored_rounds) }}</p></article>'),
    )  # fmt: skip
    recipe.edit(
        "reports/templates/title.html.j2",
        ("{% set best =", '<p>{{ t("summary.unscored", n=page.runs[0].n_unscored_rounds) }}</p>\n{% set best ='),
    )  # fmt: skip
    for lang, words in (("en", "Rounds without a score: {n}"), ("zh", "无分数：{n}")):
        file = f"reports/texts/{lang}.toml"
        recipe.edit(file, ("\n[summary]\n", f'\n[summary]\nunscored = "{words}"\n'))


def add_a_chat(checkout: Checkout) -> None:
    """One template."""
    checkout.recipe("a chat").write(
        "reports/templates/chat/mattermost.json.j2",
        '{% from "chat/message.j2" import message, bold, link with context %}\n'
        '{"hosts": ["chat.example.com"], "limit": 16000,'
        ' "body": {"text": {{ message(bold, link) | tojson }}}}\n',
    )


FOLLOWED = (
    add_a_scorer,
    add_an_alert,
    add_a_grade,
    add_a_matcher,
    add_an_input_format,
    add_a_tool,
    add_a_memory_metric,
    add_a_number,
    add_a_chat,
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy with one of everything more, and what it makes of a few files."""
    copy = Checkout(tmp_path_factory.mktemp("checkout"))
    inputs = copy.root / "in"
    write(inputs / "old.jsonl", {"id": "a", "expected_output": "b"})
    copy.run("ingest", "in", "--db", "w.duckdb")
    for follow in FOLLOWED:
        follow(copy)
    asked = task("t", [case("Please wait."), case("please")], [dimension("politeness")])
    write(inputs / "run.json", asked)
    steps = {"full": "starts:Rivers", "none": "starts:Lakes"}
    write(inputs / "set.jsonl", {"id": "a", "intermediate_expectations": {"s": steps}})
    said = {"s": {"full": "Rivers run.", "none": "Rivers run."}}
    write(inputs / "out.jsonl", RESULT | {"testset": "set", "step_outputs": said})
    replies = {"one": {"text": "yes", "verdict": "pass", "stars": 4}}
    terms = {"delta": "mouth", "ford": "crossing"}
    write(inputs / "words.json", {"glossary": "rivers", "terms": terms})
    write(inputs / "quiz.json", {"quiz": "rivers", "replies": replies})
    memory = str(ROOT / "examples" / "memory")
    copy.run("run", "in", memory, "--db", "w.duckdb", "--out", "out", "--lang", "en")
    return copy


def write(file: Path, document: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(document), "utf-8")


@pytest.mark.slow
def test_a_scorer_scores_and_a_grade_is_given(checkout: Checkout) -> None:
    scores = "select score from marts.fct_dimension_scores where scorer = 'politeness'"
    assert checkout.rows(scores) == [{"score": 1.0}]
    grades = "select grade from marts.fct_task_summaries where task_id = 't'"
    assert checkout.rows(grades) == [{"grade": "A+"}]


@pytest.mark.slow
def test_an_alert_is_raised_in_its_own_words(checkout: Checkout) -> None:
    assert "too many words" in checkout.run("show", "t", "--db", "w.duckdb")


@pytest.mark.slow
def test_a_matcher_judges_alike_in_sql_and_python(checkout: Checkout) -> None:
    rows = checkout.rows(
        "select pointer, status from marts.fct_check_results "
        "where matcher = 'starts' order by pointer"
    )
    assert [(row["pointer"], row["status"]) for row in rows] == [
        ("/full", "pass"),
        ("/none", "fail"),
    ]
    program = (
        "from promptlab.evaluator.matching import compare\n"
        "for wanted in ('starts:Rivers', 'starts:Lakes'):\n"
        "    print(compare(wanted, 'Rivers run.').status)"
    )
    assert checkout.evaluate(program).split() == ["pass", "fail"]


@pytest.mark.slow
def test_a_number_goes_from_the_mart_to_the_page_and_the_json(
    checkout: Checkout,
) -> None:
    out = checkout.root / "out"
    page = (out / "t" / "report.html").read_text("utf-8")
    assert "Rounds without a score: 0" in page
    others = [out / "index.html", *(out / "titles").glob("*/report.html")]
    assert len(others) > 1
    for other in others:
        assert "Rounds without a score: " in other.read_text("utf-8")
    found = json.loads((checkout.root / "out" / "t" / "result.json").read_text("utf-8"))
    assert found["summary"]["n_unscored_rounds"] == 0


@pytest.mark.slow
def test_a_chat_gets_the_digest(checkout: Checkout) -> None:
    where = ("--db", "w.duckdb", "--out", "out", "--lang", "en")
    checkout.run("digest", "--since", "5000d", "--webhook", "mattermost", "--dry-run", *where)  # fmt: skip
    text = (checkout.root / "out" / "digest.mattermost.json").read_text("utf-8")
    assert "**• New: " in json.loads(text)["text"]


@pytest.mark.slow
def test_a_format_is_recognised_staged_and_replaced_in_a_warehouse_that_was_there(
    checkout: Checkout,
) -> None:
    terms = "select term, meaning from staging.stg_glossaries__terms order by term"
    assert checkout.rows(terms) == [
        {"term": "delta", "meaning": "mouth"},
        {"term": "ford", "meaning": "crossing"},
    ]
    file = checkout.root / "in" / "words.json"
    write(file, {"glossary": "rivers", "terms": {"ford": "shallow place"}})
    checkout.run("ingest", "in", "--kind", "auto", "--db", "w.duckdb")
    checkout.run("build", "--db", "w.duckdb")
    assert checkout.rows(terms) == [{"term": "ford", "meaning": "shallow place"}]
    assert {row["state"] for row in checkout.health()} == {"ok"}
    assert checkout.run("ingest", "--help").count("glossary") == 1


@pytest.mark.slow
def test_a_format_has_its_place_among_the_layers(checkout: Checkout) -> None:
    assert "0 broken" in checkout.lint_imports()


@pytest.mark.slow
def test_a_tool_is_recognised_read_and_reported(checkout: Checkout) -> None:
    kinds = "select kind from raw.loads where file_uri like '%quiz.json'"
    assert checkout.rows(kinds) == [{"kind": "quizmaster"}]
    stars = "select value, score from raw.reported_scores where task_id = 'rivers'"
    assert checkout.rows(stars) == [{"value": 4.0, "score": None}]
    assert (checkout.root / "out" / "rivers" / "report.html").is_file()


@pytest.mark.slow
def test_a_memory_metric_is_counted_and_shown(checkout: Checkout) -> None:
    counted = checkout.rows(
        "select count(*) > 0 as n from marts.fct_memory_scores "
        "where metric = 'same_length' and score between 0 and 1"
    )
    assert counted == [{"n": True}]
    of_rounds = checkout.rows(
        "select count(*) > 0 as n from marts.fct_round_scores"
        " where dimension_id = 'same_length' and score between 0 and 1"
    )
    assert of_rounds == [{"n": True}]
    pages = list((checkout.root / "out" / "memory").rglob("report.html"))
    assert pages and all("as long" in page.read_text("utf-8") for page in pages)
    [newest] = checkout.rows("select max(run_id) as id from marts.dim_memory_runs")
    assert "same_length" in checkout.run(
        "show", newest["id"], "--db", "w.duckdb", "--format", "csv"
    ).partition("\n")[0]  # fmt: skip


@pytest.mark.slow
def test_without_them_the_project_is_the_one_that_is_shipped(tmp_path: Path) -> None:
    copy = Checkout(tmp_path)
    shipped = plan.sources_hash(ROOT / "dbt_project")
    assert plan.sources_hash(tmp_path / "dbt_project") == shipped
    add_a_grade(copy)
    assert plan.sources_hash(tmp_path / "dbt_project") != shipped
