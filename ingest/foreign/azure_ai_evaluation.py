"""Azure AI Evaluation: the file of ``evaluate(output_path=…)``.

Tried on 1.18.10. A file is a run of one task. The id of a case is `inputs.id` of its
row, else its question: the query, or the first inputs that no other row has. The
columns `outputs.<evaluator>.<key>` are outputs of an evaluator: the dimension is
`<evaluator>.<key>`. Other columns of `outputs` are what the target of the evaluation
returned. An output that is a level of harm is a text; its number is in `<key>_score`.

An evaluator with a `_result` has a pass rule: its result is a check. Labels of defects
are checks too, and so is `passed` of a grader of Azure OpenAI whose name is too long
for a `_result`. The verdict of the round is that all checks pass. A check that is not
applicable to a row does not count there. A broken evaluator is a bare NaN, or has a
`_status` of error or failed: no score, no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from promptlab.ingest.files.dates import without_date
from promptlab.ingest.foreign.casts import (
    as_float,
    as_list,
    as_object,
    first_member,
)
from promptlab.ingest.foreign.constant_settings import ConstantSettings
from promptlab.ingest.foreign.documents import ToolFiles
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import SameRun, case_name
from promptlab.ingest.foreign.scorings import verdict, write_score
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Direction,
    Record,
    RoundWriter,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("json",)

_FILES = ToolFiles("Azure AI Evaluation", "1.18.10")
_QUERY = ("query", "question")
_ANSWER = ("response", "answer")
_TRUTH = ("ground_truth", "truth", "expected_response", "expected_output", "expected")
_BESIDE_QUERY = ("conversation", "messages", "tool_definitions")
"""Inputs of Azure's evaluators that belong to the question, with or without a query.

Of conversations the user's turns are.
"""
_SHOWN = {"id", *_QUERY, *_ANSWER, *_TRUTH}
_NOTHING: tuple[Any, ...] = (None, "", [])
_OF_RESULTS = (
    *("model", "input", "output", "usage", "error", "finish reason", "execution"),
    *("usage available", "result usage scope", "native answer", "native mean"),
    *("native status answer", "status completion probability", "probabilities"),
    *("confidence", "expected score"),
)
"""Members of Azure's description of a judge that belong to its result. Its model is
read separately."""
_BROKEN = frozenset({"error", "errored", "failed"})
"""States of an evaluator that could not judge, even if it has a result."""
_PASSED = {"pass": True, "fail": False, "true": True, "false": False}
_BESIDE = ("_result", "_threshold", "_reason", "_status", "_properties", "_passed")
_BESIDE_TOO = ("_score", "_details", "_label", "_sample", "_model", "_finish_reason")
_GRADED = frozenset(
    {
        *("f1_score", "bleu_score", "meteor_score", "gleu_score"),
        *("rouge_precision", "rouge_recall", "rouge_f1_score"),
    }
)
"""Keys of built-in evaluators defined on the scale 0 to 1, 1 best."""
RATINGS = frozenset(
    {
        *("coherence", "fluency", "groundedness", "intent_resolution", "relevance"),
        *("response_completeness", "retrieval", "similarity"),
        # of the retrieved documents: their labels, 25 times their labels, counts
        *(
            "top1_relevance",
            "top3_max_relevance",
            "xdcg@3",
            "total_retrieved_documents",
        ),
    }
)
"""Keys of built-in evaluators that rate from 1 to 5, or on another long scale."""
SEVERITIES = frozenset(
    {
        *("hate_unfairness", "hate_fairness", "self_harm", "sexual", "violence"),
        *("holes", "holes_ratio"),
    }
)
"""Keys of built-in evaluators of which 0 is the best, most of them up to 7."""
_DEFECTS = frozenset(
    {
        *("protected_material_label", "fictional_characters_label", "artwork_label"),
        *("logos_and_brands_label", "code_vulnerability_label", "xpia_label"),
        *("ungrounded_attributes_label", "eci_label"),
    }
)
"""Keys of built-in evaluators that are true if there is a defect."""
_OF_GRADERS = ("threshold", "row_missing", "sample")
"""Columns next to the score of a grader of Azure OpenAI."""
_NOT_APPLICABLE = "not_applicable"


class Export(msgspec.Struct):
    """A file that ``evaluate`` writes."""

    rows: list[msgspec.Raw]
    """Decoded one by one."""
    metrics: dict[str, Any] = {}
    studio_url: Any = None


def recognise(head: Head) -> str | None:
    """Recognise rows with ``inputs.`` and ``outputs.``."""
    # a run without rows has the names of the document alone
    is_export = "rows" in head.keys and (
        head.has(b'"inputs.') or {"metrics", "studio_url"} <= head.keys
    )
    return "json" if is_export else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the rows as records, then the claims of the file."""
    export = _FILES.document(source, Export)
    read = [*_FILES.items(export.rows, dict[str, Any], "/rows")]
    yield from (item for item in read if isinstance(item, Problem))
    run = _RunOfRows([row for row in read if not isinstance(row, Problem)], source)
    yield from run.records()
    if export.metrics:
        run.task.claim(export.metrics)
    yield from run.task.written()


class _RunOfRows:
    """One run; it has no id, so its id is a hash of its rows."""

    def __init__(self, rows: Sequence[dict[str, Any]], source: Source) -> None:
        self._rows = rows
        self._source = source
        self._questions = _questions([_inputs(row) for row in rows])
        same_rows = SameRun("azure_ai_evaluation")
        for row in rows:
            same_rows.add(compact(sorted(row.items())))
        same_run = SameRun(same_rows.hash(), source=source)
        task_id = f"azure-{same_run.hash_with_run_key()[:12]}"
        self.task = TaskWriter(
            "azure_ai_evaluation", task_id, source, same_run, is_share=_is_share
        )
        self._directions: dict[str, Direction | None] = {}
        self._numbers: dict[str, list[float]] = {}
        self._judges = ConstantSettings()

    def records(self) -> Iterator[Record | Problem]:
        """Yield all records except the claims."""
        for row, question in zip(self._rows, self._questions, strict=True):
            self._write(row, question)
            yield from self.task.written()
        self.task.describe("azure", prompt_version=without_date(self._source.path.stem))
        self._warn_of_ids()
        judges = self._judges.parameters("judge")
        self.task.grade(directions=self._directions, parameters=judges)

    def _warn_of_ids(self) -> None:
        """Warn of rows without id and query, naming the inputs that identify them."""
        known_by = [
            question
            for row, question in zip(self._rows, self._questions, strict=True)
            if row.get("inputs.id") is None and not _of_query(_inputs(row))
        ]
        names = ", ".join(
            {f"`inputs.{name}`": 0 for question in known_by for name in question}
        )
        if names:
            self.task.warn(
                "id_missing",
                f"{len(known_by)} of {len(self._rows)} rows have neither `inputs.id`"
                f" nor `inputs.query`: their cases are known by {names}, and runs are"
                " compared where that is the same. Name the rows of the data in a"
                " column `id`",
            )

    def _write(self, row: dict[str, Any], question: dict[str, Any]) -> None:
        columns, inputs = _columns_of(tuple(row)), _inputs(row)
        outputs = {name: row[column] for column, name in columns.outputs.items()}
        verdicts = _verdicts(columns, outputs)
        # a target's own answer is the one that was judged
        answered = first_member({**inputs, **_present(outputs)}, *_ANSWER)
        texts = self._texts(outputs, columns.measured)
        answer = self._case(inputs, question).round(
            answered if isinstance(answered, str | None) else compact(answered),
            metadata={
                name: value
                for name, value in [*inputs.items(), *texts]
                if name not in _SHOWN
            },
            status=verdict(verdicts.applicable),
        )
        _write_checks(answer, columns, outputs, verdicts)
        for key in (*verdicts.passed, *columns.measured):
            self._see_judge(key, outputs)
        self._write_scores(answer, columns, outputs, verdicts)

    def _case(self, inputs: dict[str, Any], question: dict[str, Any]) -> CaseWriter:
        """Return the case of a row: its question and its expected answer."""
        case_id = inputs.get("id")
        if case_id is None:
            query = question.get("query")
            text = query if isinstance(query, str) else None
            case_id = case_name(question if query is None else query, text)
        return self.task.case(
            self.task.distinct(str(case_id)),
            question,
            golden=first_member(inputs, *_TRUTH),
        )

    def _write_scores(
        self,
        answer: RoundWriter,
        columns: _Columns,
        outputs: dict[str, Any],
        verdicts: _Verdicts,
    ) -> None:
        """Write the outputs that are numbers."""
        for name in columns.measured:
            output = outputs[name]
            value = _value(outputs, name)
            if value is None and output is not None and not self._numbers_of(name):
                continue  # a column of texts is not a score
            self._see_scale(name, value, outputs)
            write_score(
                answer,
                name,
                output if value is None else value,
                broke=verdicts.broken.get(name),
                is_share=name not in self.task.dimensions.ratings
                and max(self._numbers_of(name), default=0) <= 1,
            )

    def _see_judge(self, key: str, outputs: dict[str, Any]) -> None:
        """Record the settings of the judge or grader of an output in a row."""
        # a score and its result have one judge
        ends = dict.fromkeys((key, key.removesuffix("_score")))
        judged_key = next((name for name in ends if f"{name}_model" in outputs), key)
        described_key = next(
            (name for name in ends if f"{name}_properties" in outputs), key
        )
        properties = as_object(outputs.get(f"{described_key}_properties"))
        sample = as_object(outputs.get(f"{_of(key)}.sample"))
        for model in (
            outputs.get(f"{judged_key}_model"),
            properties.get("model"),
            sample.get("model"),
        ):
            self.task.judge(key, model if isinstance(model, str) else None)
        sample_input = sample.get("input")
        settings = {
            "decision_model": properties.get("decision_model"),
            "type": outputs.get(f"{_of(key)}.type"),
            "sample": sample,
            "instructions": [
                message.get("content")
                for message in map(as_object, as_list(sample_input))
                if message.get("role") in ("system", "developer")
            ],
        }
        self._judges.add(key, yardstick(settings, *_OF_RESULTS))

    def _texts(
        self, outputs: dict[str, Any], measured: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the texts among the outputs that are neither score nor answer."""
        for name in measured:
            text = outputs[name]
            if isinstance(text, str) and text and not self._numbers_of(name):
                yield name, text

    def _numbers_of(self, name: str) -> list[float]:
        """Return the numbers of all rows for it."""
        if name not in self._numbers:
            values = (_value(row, f"outputs.{name}") for row in self._rows)
            self._numbers[name] = [value for value in values if value is not None]
        return self._numbers[name]

    def _see_scale(
        self, name: str, value: float | None, outputs: dict[str, Any]
    ) -> None:
        """Record the highest level of an output: a run may only have its lowest."""
        names, judged = self.task.dimensions, name.removesuffix("_score")
        threshold = as_float(outputs.get(f"{judged}_threshold"))
        if _key(name) in SEVERITIES:
            self._directions[name] = "lower_better"
            names.ratings.add(name)
        elif _key(name) in RATINGS:
            names.ratings.add(name)
        elif threshold is not None and threshold > 1:
            self._directions[name] = None
            names.ratings.add(name)
        passed = _PASSED.get(str(outputs.get(f"{judged}_result")).lower())
        if None not in (passed, value) and passed != (value == 1):
            names.doubted.add(name)


def _is_share(name: str) -> bool:
    """Return true for what is defined on the scale 0 to 1, 1 best."""
    return name.rpartition(".")[2] in _GRADED


class _Columns(NamedTuple):
    """The meaning of a row's columns. A name is a column without its start."""

    inputs: dict[str, str]
    """Column → name."""
    outputs: dict[str, str]
    """Column → name."""
    judged: dict[str, str]
    """Output with a pass rule → the name of its result."""
    measured: list[str]
    """Names of the outputs that are dimensions if they are numbers."""
    labels: list[str]
    """Names of the outputs that label a defect, and have no other pass rule."""


@lru_cache  # most rows of most runs have the same
def _columns_of(columns: tuple[str, ...]) -> _Columns:
    inputs, outputs = (
        {
            column: column.removeprefix(start)
            for column in columns
            if column.startswith(start)
        }
        for start in ("inputs.", "outputs.")
    )
    names = outputs.values()
    judged = {
        name.removesuffix("_result"): name for name in names if name.endswith("_result")
    }
    with_result = {key.partition(".")[0] for key in judged}
    for name in names:
        grader = _grader(name, names)
        if grader is not None and grader not in with_result:
            judged[grader] = name
    return _Columns(
        inputs,
        outputs,
        judged,
        measured=[name for name in names if not _is_beside(name, names)],
        labels=[
            name
            for name in names
            if name.rpartition(".")[2] in _DEFECTS
            and f"{name.removesuffix('_label')}_result" not in names
        ],
    )


class _Verdicts(NamedTuple):
    """The results of the evaluators for one row."""

    passed: dict[str, bool | None]
    """Output with a pass rule → whether it passed; null if it was not judged."""
    skipped: set[str]
    """Outputs that are not applicable to the row."""
    broken: dict[str, str]
    """Output whose evaluator could not judge → its status."""

    @property
    def applicable(self) -> list[bool | None]:
        """Return the results that the verdict of the round depends on."""
        return [
            passed for key, passed in self.passed.items() if key not in self.skipped
        ]


def _verdicts(columns: _Columns, outputs: dict[str, Any]) -> _Verdicts:
    # older releases write it in place of the score, and a row that passed
    skipped = {
        key
        for key, column in columns.judged.items()
        for name in (column, key, f"{key}_score")
        if _is_not_applicable(outputs.get(name))
    }
    broken = {
        name.removesuffix("_status"): str(status)
        for name, status in outputs.items()
        if name.endswith("_status") and str(status).lower() in _BROKEN
    }
    passed = {
        key: _PASSED.get(str(outputs[column]).lower())
        for key, column in columns.judged.items()
    }
    for name in columns.labels:
        is_defect = outputs[name]
        is_judged = isinstance(is_defect, bool)
        passed[name.removesuffix("_label")] = not is_defect if is_judged else None
    passed |= dict.fromkeys(passed.keys() & {*skipped, *broken})
    return _Verdicts(passed, skipped, broken)


def _write_checks(
    answer: RoundWriter, columns: _Columns, outputs: dict[str, Any], verdicts: _Verdicts
) -> None:
    """Write a check for each output with a pass rule."""
    for key, is_passed in verdicts.passed.items():
        reason = outputs.get(f"{key}_reason")
        of_grader = outputs.get(f"{_of(key)}.threshold")
        answer.check(
            key,
            "evaluator",
            is_passed,
            score=_value(outputs, columns.judged.get(key, "").removesuffix("_result")),
            threshold=as_float(outputs.get(f"{key}_threshold", of_grader)),
            reason=reason if isinstance(reason, str) else None,
            error=verdicts.broken.get(key),
        )


def _key(name: str) -> str:
    """Return the key of an evaluator, by which all versions know it."""
    key = name.rpartition(".")[2].partition("@")[0]
    return key.removeprefix("gpt_").removesuffix("_score")


def _value(held: dict[str, Any], name: str) -> float | None:
    """Return the number of an output; of a text, the one with the ending ``_score``."""
    value = as_float(held.get(name))
    return as_float(held.get(f"{name}_score")) if value is None else value


def _is_not_applicable(value: Any) -> bool:
    return isinstance(value, str) and value.lower().replace(" ", "_") == _NOT_APPLICABLE


def _present(held: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in held.items() if value is not None}


def _of(key: str) -> str:
    """Return the evaluator or grader of an output."""
    return key.partition(".")[0]


def _inputs(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[c] for c, name in _columns_of(tuple(row)).inputs.items()}


def _questions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the question of each row, from its inputs.

    Without a query a question looks like a reply, and data begin with the
    question: it is as many of the first inputs as make it unlike other rows.
    """
    beginnings = [_beginnings(inputs) for inputs in rows]
    times = Counter(compact(beginning) for of_row in beginnings for beginning in of_row)
    return [
        next(
            (beginning for beginning in of_row if times[compact(beginning)] == 1),
            of_row[-1],
        )
        for of_row in beginnings
    ]


def _of_query(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a query, with the inputs that Azure's evaluators add to the question."""
    named = {"query": first_member(inputs, *_QUERY)}
    named |= {name: _turns(inputs.get(name)) for name in _BESIDE_QUERY}
    return {name: value for name, value in named.items() if value not in _NOTHING}


def _beginnings(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the query, or the first input, the first two, and so on.

    Fractions are left out: they are measures. Whole numbers, which may be, come last.
    """
    if of_query := _of_query(inputs):
        return [of_query]
    members = [
        (name, value)
        for name, value in inputs.items()
        if name not in _SHOWN and value not in _NOTHING and not isinstance(value, float)
    ]
    members.sort(key=lambda named: isinstance(named[1], int))
    return [dict(members[:n]) for n in range(1, len(members) + 1)] or [{}]


def _turns(value: Any) -> Any:
    """Return the user's turns of a conversation; anything else as it is."""
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not any(
        "role" in as_object(m) for m in messages
    ):
        return value
    turns = [as_object(message) for message in messages]
    return [turn.get("content") for turn in turns if turn.get("role") == "user"]


def _grader(name: str, outputs: Collection[str]) -> str | None:
    """Return the grader of Azure OpenAI whose verdict is in this column."""
    grader = name.removesuffix(".passed")
    return grader if grader != name and f"{grader}.type" in outputs else None


def _is_beside(name: str, outputs: Collection[str]) -> bool:
    """Return whether a column describes another: its threshold, reason or duplicate."""
    for end in (*_BESIDE, *_BESIDE_TOO):
        if name.endswith(end) and name.removesuffix(end) in outputs:
            return True
    key = name.rpartition(".")[2]
    if key in _DEFECTS or _grader(name, outputs) is not None:
        return True
    if key in _OF_GRADERS and f"{_of(name)}.type" in outputs:
        return True
    return name.endswith(("_result", "_reason", "_threshold", "_status", "_properties"))
