"""Ragas: ``result.to_pandas()`` written as CSV or as JSONL.

Tried on 0.4.3; columns of versions before 0.2 (``question``, ``answer``) are
recognised by name. Files contain no run, model, time or ids: a file is a run, its name
the version of the prompt, and a case is identified by its question. The tool has no
pass rule. A failed metric is NaN, which Ragas writes as an empty cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from promptlab.ingest.foreign.documents import is_infinite, refused
from promptlab.ingest.foreign.registry import Head
from promptlab.ingest.foreign.table.cells import is_few, is_nothing, number_of
from promptlab.ingest.foreign.table.dialect import is_nameless
from promptlab.ingest.foreign.table.opening import Rows
from promptlab.ingest.foreign.table.tasks import Tasks
from promptlab.ingest.foreign.writing import Record
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

if TYPE_CHECKING:
    from promptlab.contracts.sources import TableMapping

FORMS = ("jsonl", "csv")

_ASKED = {"user_input": {"response", "reference", "retrieved_contexts"}}
_ASKED_ONCE = {"question": {"answer", "contexts"}}
"""Columns of versions before 0.2; both must exist."""
_OUTPUT = ("response", "answer")
_EXPECTED = ("reference", "ground_truth", "ground_truths")
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
    }
)
"""Metrics defined on the scale 0 to 1, 1 best."""
_LOWER = frozenset({"noise_sensitivity"})


def recognise(head: Head) -> str | None:
    """Recognise the columns of a Ragas sample; metrics may have any name."""
    # not any object in a file is a row
    is_json = head.data.lstrip().startswith(b"{")
    keys = head.keys if is_json else frozenset()
    for form, columns in (("csv", head.columns), ("jsonl", keys)):
        for asked, beside in _ASKED.items():
            if asked in columns and columns & beside:
                return form
        for asked, beside in _ASKED_ONCE.items():
            if asked in columns and columns >= beside:
                return form
    return None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Return the rows as a table with known columns."""
    form = source.form or "csv"
    rows = Rows(source, form)
    mapping = _mapping(rows)
    if mapping is not None:
        folder = PurePath(source.name).parent.name  # below the ingested path
        tasks = Tasks(folder or "ragas", mapping, source, kind="ragas")
        yield from tasks.read(rows)


def _mapping(rows: Rows) -> TableMapping | None:
    """Return the meaning of the columns; ``None`` without rows."""
    from promptlab.contracts.sources import TableMapping

    columns: dict[str, _CellsSeen] = {}
    for row in rows:
        if isinstance(row, Problem):
            continue
        for name, cell in row[1].items():
            column = columns.get(name)
            if column is None:
                is_metric = name not in _SAMPLE and not is_nameless(name)
                column = columns[name] = _CellsSeen(is_metric)
            if column.is_metric:
                column.see(cell)
    if not columns:
        return None
    if columns.keys().isdisjoint(_ASKED | _ASKED_ONCE):
        raise refused(
            "unexpected_shape",
            "no column is `user_input`, or `question` as before Ragas 0.2: what was"
            " asked is not known. Write `result.to_pandas()` with all its columns",
        )
    metrics = [name for name, each in columns.items() if _is_metric(name, each)]
    scores = [name for name in metrics if _is_graded(name, columns[name].values)]
    values = [name for name in metrics if name not in scores]
    settings = {
        "inputs": [name for name in ("user_input", "question") if name in columns],
        "output": next((name for name in _OUTPUT if name in columns), None),
        "expected": next((name for name in _EXPECTED if name in columns), None),
        "scores": scores,
        "values": values,
        "lower_is_better": [name for name in values if _base(name) in _LOWER],
    }
    if not metrics and settings["output"] is None:
        raise refused("no_metrics", "its rows hold no metric and no answer: a data set")
    return TableMapping.model_validate({k: v for k, v in settings.items() if v})


@dataclass(slots=True)
class _CellsSeen:
    """Counts of the kinds of cells in a column."""

    is_metric: bool
    numbers: int = 0
    texts: int = 0
    values: set[float] = field(default_factory=set)
    """A few of its numbers."""

    def see(self, cell: Any) -> None:
        """Record a cell."""
        value = number_of(cell)
        if value is not None:
            self.numbers += 1
            if len(self.values) < 3:
                self.values.add(value)
        elif not (is_nothing(cell) or is_infinite(cell)):
            self.texts += 1


def _is_metric(name: str, column: _CellsSeen) -> bool:
    """Return true by name, or if its cells are numbers except for a few error texts."""
    if not column.is_metric or _base(name) in _GRADED | _LOWER:
        return column.is_metric
    # a column without any cell is a metric that always failed
    return is_few(column.texts, column.texts + column.numbers)


def _is_graded(name: str, values: set[float]) -> bool:
    if _base(name) in _LOWER:
        return False
    return _base(name) in _GRADED or (bool(values) and values <= {0.0, 1.0})


def _base(name: str) -> str:
    """Return a metric without its mode: ``rouge_score(mode=fmeasure)``."""
    return name.partition("(")[0].strip()
