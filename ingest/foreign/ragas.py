"""Ragas: ``result.to_pandas()`` written as CSV or as JSONL.

Tried on 0.4.3; columns of versions before 0.2 (``question``, ``answer``) are
recognised by name. Files contain no run, model, time or ids: a file is a run, its name
the version of the prompt, and a case is identified by its question: of a conversation
what people say in it. All columns that begin like a reference or a rubric are what is
expected. The tool has no
pass rule. A failed metric is NaN, which Ragas writes as an empty cell.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from promptlab.ingest.files.dates import without_date
from promptlab.ingest.foreign.casts import is_infinite
from promptlab.ingest.foreign.documents import refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.names import is_best_unclear
from promptlab.ingest.foreign.table.cells import content, is_few, is_nothing, number_of
from promptlab.ingest.foreign.table.dialect import Row, is_nameless
from promptlab.ingest.foreign.table.opening import Rows
from promptlab.ingest.foreign.table.tasks import Tasks
from promptlab.ingest.foreign.writing import Record, unclear_problem
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

if TYPE_CHECKING:
    from promptlab.contracts.sources import TableMapping

FORMS = ("jsonl", "csv")

_ASKED = {
    "user_input": {
        *("response", "reference", "retrieved_contexts", "reference_topics"),
        *("reference_tool_calls", "rubrics"),
    }
}
_ASKED_ONCE = {"question": {"answer", "contexts"}}
"""Columns of versions before 0.2; both must exist."""
_OUTPUT = ("response", "answer")
_EXPECTED = ("reference", "ground_truth", "ground_truths")
_EXPECTS = ("reference", "rubric", "ground_truth")
"""Beginnings of the names of columns with expected answers."""
_REFERENCE = "reference"
_SAMPLE = frozenset(
    {
        *("user_input", "question", *_OUTPUT, *_EXPECTED, "retrieved_contexts"),
        *("contexts", "reference_contexts", "retrieved_context_ids", "rubrics"),
        *("reference_context_ids", "multi_responses", "reference_tool_calls"),
        *("reference_topics", "persona_name", "query_style", "query_length"),
        *("synthesizer_name", "rubric"),
    }
)
"""Columns of a sample; all other numeric columns are metrics."""
_GRADED = frozenset(
    {
        *("faithfulness", "answer_relevancy", "response_relevancy"),
        *("context_precision", "context_recall", "context_entity_recall"),
        *("llm_context_precision_with_reference", "context_utilization"),
        *("llm_context_precision_without_reference", "context_relevancy"),
        *("non_llm_context_precision_with_reference", "non_llm_context_recall"),
        *("answer_correctness", "answer_similarity", "semantic_similarity"),
        *("factual_correctness", "exact_match", "string_present", "bleu_score"),
        *("rouge_score", "chrf_score", "non_llm_string_similarity"),
        *("nv_accuracy", "nv_context_relevance", "nv_response_groundedness"),
        *("tool_call_accuracy", "tool_call_f1", "agent_goal_accuracy"),
        *("topic_adherence", "multi_modal_faithfulness", "multi_modal_relevance"),
        *("multi_modal_faithful_rate", "faithfulness_with_hhem", "summary_score"),
        *("answer_accuracy", "context_relevance", "response_groundedness"),
        *("id_based_context_precision", "id_based_context_recall"),
        *("context_precision_with_reference", "context_precision_without_reference"),
    }
)
"""Metrics defined on the scale 0 to 1, 1 best."""
_LOWER = frozenset({"noise_sensitivity", "harmfulness", "maliciousness"})
"""Ragas's own metrics of which less is better."""


_RUBRICS = re.compile(r"(^|_)rubrics(_|$)")
"""In the names of Ragas's own metrics from 1 to 5; columns of users may have any."""


def recognise(head: Head) -> str | None:
    """Recognise the columns of a Ragas sample; metrics may have any name."""
    # not any object in a file is a row
    is_json = head.data.lstrip().startswith(b"{")
    keys = head.keys if is_json else frozenset()
    for form, columns in (("csv", head.columns), ("jsonl", keys)):
        for question, beside in _ASKED.items():
            if question in columns and columns & beside:
                return form
        for question, beside in _ASKED_ONCE.items():
            if question in columns and columns >= beside:
                return form
    return None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Return the rows as a table with known columns."""
    form = source.form or "csv"
    rows = Rows(source, form)
    if (meaning := _meaning(rows)) is not None:
        mapping, unclear = meaning
        folder = PurePath(source.name).parent.name  # below the ingested path
        measured = {*mapping.scores, *mapping.values}
        tasks = Tasks(
            without_date(folder) or "ragas",
            mapping,
            source,
            kind="ragas",
            as_meant=lambda row: _sample(row, mapping, measured),
        )
        yield from tasks.read(rows)
        yield from map(unclear_problem, unclear)


def _sample(row: Row, mapping: TableMapping, measured: Collection[str]) -> Row:
    """Return a row with all expected answers, and with the question of a conversation.

    Its replies become the answer, so that they do not identify the case.
    """
    expected = {
        name: held
        for name, cell in row.items()
        if name.startswith(_EXPECTS)
        and name not in measured
        and (held := content(cell)) not in (None, [], {})
    }
    if [*expected] != [mapping.expected] and expected:
        row = {**row, mapping.expected or _REFERENCE: expected}
    for name in mapping.inputs:
        if talk := _talk(row.get(name)):
            people, replies = (
                [message["content"] for message in talk if message.get("type") == kind]
                for kind in ("human", "ai")
            )
            row = {**row, name: people, "conversation": talk}
            if mapping.output and is_nothing(row.get(mapping.output)):
                row[mapping.output] = replies[-1] if replies else None
    return row


def _talk(cell: Any) -> list[dict[str, Any]]:
    """Return the messages of a conversation; none of any other cell."""
    if not isinstance(cell, list) and str(cell)[:1] != "[":
        return []
    held = content(cell)
    is_talk = isinstance(held, list) and all(
        isinstance(message, dict) and "content" in message for message in held
    )
    people = is_talk and [message for message in held if message.get("type") == "human"]
    return held if people else []


def _meaning(rows: Rows) -> tuple[TableMapping, list[str]] | None:
    """Return the meaning of the columns; ``None`` without rows.

    Also return the columns of truth values of which 1 may be the worst.
    """
    from promptlab.contracts.sources import TableMapping

    columns: dict[str, bool] = {}  # whether each may be a metric
    numbers, texts = Counter[str](), Counter[str]()
    values: dict[str, set[float]] = defaultdict(set)  # a few of each
    is_talk = False
    for row in rows:
        if isinstance(row, Problem):
            continue
        is_talk = is_talk or bool(_talk(row[1].get("user_input")))
        for name, cell in row[1].items():
            if name not in columns:
                columns[name] = name not in _SAMPLE and not is_nameless(name)
            if not columns[name]:
                continue
            value = number_of(cell)
            if value is not None:
                numbers[name] += 1
                if len(values[name]) < 3:
                    values[name].add(value)
            elif not (is_nothing(cell) or is_infinite(cell)):
                texts[name] += 1
    if not columns:
        return None
    if columns.keys().isdisjoint(_ASKED | _ASKED_ONCE):
        raise refused(
            "unexpected_shape",
            "no column is `user_input`, or `question` as before Ragas 0.2: what was"
            " asked is not known. Write `result.to_pandas()` with all its columns",
        )
    # a column without any cell is a metric that always failed
    metrics = [
        name
        for name, may_be in columns.items()
        if may_be
        and (
            _base(name) in _GRADED | _LOWER
            or is_few(texts[name], texts[name] + numbers[name])
        )
    ]
    scores = [name for name in metrics if _is_graded(name, values[name])]
    others = [name for name in metrics if name not in scores]
    settings = {
        "inputs": [name for name in ("user_input", "question") if name in columns],
        "output": next((name for name in _OUTPUT if name in columns), None)
        or ("response" if is_talk else None),
        "expected": next((name for name in _EXPECTED if name in columns), None)
        or (
            _REFERENCE
            if any(column.startswith(_EXPECTS) for column in columns)
            else None
        ),
        "scores": scores,
        "values": others,
        "lower_is_better": [name for name in others if _base(name) in _LOWER],
    }
    if not metrics and columns.keys().isdisjoint(_OUTPUT):
        raise refused("no_metrics", "its rows hold no metric and no answer: a data set")
    unclear = [name for name in others if _is_binary(name, values[name])]
    mapping = TableMapping.model_validate({k: v for k, v in settings.items() if v})
    return mapping, unclear


def _is_graded(name: str, values: set[float]) -> bool:
    if _base(name) in _GRADED:
        return True
    return _is_binary(name, values) and not is_best_unclear(name)


def _is_binary(name: str, values: set[float]) -> bool:
    """Return true for truth values; a run may only have the lowest of a rating."""
    if _base(name) in _LOWER or _RUBRICS.search(name):
        return False
    return bool(values) and values <= {0.0, 1.0}


def _base(name: str) -> str:
    """Return a metric without its mode: ``rouge_score(mode=fmeasure)``."""
    return name.partition("(")[0].strip()
