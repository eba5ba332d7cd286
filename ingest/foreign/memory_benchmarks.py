"""Result files of memory benchmarks: LongMemEval, LoCoMo and their relatives.

One row is one question. `LAYOUTS` has each project's names for the parts of a row. A
file is one task: its title is the data set, its variant the system that answered; a
list of answers of several systems is a task of each. The category of a question is a
tag with the code and the data set's own name.

The model that judged belongs to the identity of a result, so one set of answers under
two judges is two results. A row without a judgement is not evaluated, whatever the
file writes in its place. The means that the file claims of all its
rows are compared with them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from promptlab.ingest.files.dates import base_of, without_date
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign.casts import (
    as_float,
    as_object,
    as_share,
    first_member,
    joined_texts,
    some_of,
)
from promptlab.ingest.foreign.constant_settings import ConstantSettings
from promptlab.ingest.foreign.documents import ToolFiles, refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    AskedOfIds,
    Occurrences,
    SameRun,
    content_id,
)
from promptlab.ingest.foreign.runs_of_files import Files, Run, by_folder
from promptlab.ingest.foreign.scorings import unjudged_problems
from promptlab.ingest.foreign.writing import Record, RoundWriter, Status, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.places import pointer
from promptlab.json_text.writing import compact

_FILES = ToolFiles("a memory benchmark", "the layouts in docs/tools/memory_benchmarks")

_KIND = "memory_benchmarks"
_JUDGE = "llm_judge"
"""The dimension of verdicts by a model."""
_TYPES = "longmemeval_types"
"""The form of a file with the types of LongMemEval's questions."""
_OF_JUDGE = ".eval-results-"
"""Between the name of a file of LongMemEval's answers and that of their judge."""

_LONGMEMEVAL = {
    "single-session-user": 70,
    "single-session-assistant": 56,
    "single-session-preference": 30,
    "multi-session": 133,
    "knowledge-update": 78,
    "temporal-reasoning": 133,
}
"""Question type → number of questions in the data set."""
_LOCOMO = {
    "1": ("multi-hop", 282),
    "2": ("temporal", 321),
    "3": ("open-domain", 96),
    "4": ("single-hop", 841),
    "5": ("adversarial", 446),
}
"""Code → name in the data set, and number of questions. Projects print other names."""
_ADVERSARIAL = "5"
_WORDS: dict[str, float] = {
    **dict.fromkeys(("yes", "correct", "true", "1"), 1.0),
    **dict.fromkeys(("partial",), 0.5),
    **dict.fromkeys(("no", "wrong", "incorrect", "false", "0"), 0.0),
}

_ASKED = ("question_date", "question_time", "options")
"""Members of a row that belong to the question."""
_NOT_ASKED = (
    # results of AMB's coding tasks
    *("solved", "interventions", "capped", "cost_usd", "turns", "wall_s"),
    *("final_pytest", "tokens", "agent", "model"),
    # of MemoryAgentBench's data: how many, and how they are given to the system
    *("max_test_samples", "max_test_queries", "chunk_size", "generation_max_length"),
    *("seed", "debug"),
)
_SETTINGS = ("agent_config", "dataset_config", "metadata", "ingested_docs")
"""Members of a document that are settings of its system."""
_NO_SETTINGS = ("usage", "prices", "cost", "replicate_id", "timestamp", "date", "debug")
_OF_VERDICTS = (
    *("model", "label", "llm", "reason", "score", "correct", "verdict", "reply", "raw"),
    *("explanation", "response", "usage", "tokens", "cost", "latency", "time", "error"),
    *("judge_model", "judge_llm", "judge_reason", "judge_label", "judge_score"),
    *("judge_correct", "judge_raw", "judge_response", "judge_tokens", "judge_cost"),
)
"""Members of a row about its judge: the verdict, or read separately."""

Row = dict[str, Any]
Placed = tuple[str | None, Row]
"""The conversation of a row, and the row."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One project's names for the parts of a row; the first one in a row counts."""

    title: str
    rows: str | None = None
    """Key of the list of rows, or of the object of lists; None: the document."""
    id: Sequence[str] = ()
    question: Sequence[str] = ("question",)
    output: Sequence[str]
    golden: Sequence[str] = ()
    category: str = "category"
    verdict: Sequence[str] = ()
    """The judgement; a dotted name is inside an object."""
    share: Sequence[str] = ()
    """The number that the accuracy is the mean of, where it is finer than a verdict."""
    judge: Sequence[str] = ("judge_model",)
    reason: Sequence[str] = ("judge_reason",)
    scores: Mapping[str, str] = field(default_factory=dict)
    """Number of a row → its dimension."""
    metrics: str | None = None
    """Object of numbers in a row."""
    system: Sequence[str] = ()
    """Members that distinguish systems; for a switch that is on, its name."""
    model: Sequence[str] = ()
    title_of: Sequence[str] = ()


_LME = Layout(
    title="LongMemEval",
    id=("question_id",),
    output=("hypothesis", "model_answer", "answer"),
    golden=("gold_answer", "reference", "expected"),
    category="question_type",
    verdict=("autoeval_label.label", "llm_judge_correct", "evaluation"),
    judge=("autoeval_label.model", "judge_model"),
)
_MEM0 = Layout(
    title="LoCoMo",
    output=("response",),
    golden=("answer",),
    verdict=("llm_score",),
    scores={"f1_score": "f1_mem0", "bleu_score": "bleu1"},
)
LAYOUTS: dict[str, Layout] = {
    "longmemeval": _LME,
    "longmemeval_list": _LME,
    "longmemeval_results": Layout(
        title="LongMemEval",
        rows="results",
        id=("question_id",),
        output=("hypothesis", "model_answer", "answer"),
        golden=("gold_answer", "expected_answer"),
        category="question_type",
        verdict=("correct",),
    ),
    "mem0": _MEM0,
    "zep": Layout(
        title="LoCoMo",
        output=("answer",),
        golden=("golden_answer",),
        verdict=("grade",),
    ),
    "evermemos": Layout(
        title="LoCoMo",
        rows="detailed_results",
        id=("question_id",),
        output=("generated_answer",),
        golden=("golden_answer",),
        verdict=("llm_judgments", "is_correct"),
        judge=("judge_model", "metadata.model"),
    ),
    "a_mem": Layout(
        title="LoCoMo",
        rows="individual_results",
        output=("prediction",),
        golden=("reference",),
        metrics="metrics",
        model=("model",),
    ),
    "memory_agent_bench": Layout(
        title="MemoryAgentBench",
        rows="data",
        id=("qa_pair_id", "query_id"),
        question=("query",),
        output=("output",),
        golden=("answer",),
        title_of=("dataset_config.sub_dataset",),
        system=("agent_config.agent_name",),
        model=("agent_config.model",),
    ),
    "memory_agent_rows": Layout(
        title="MemoryAgentBench",
        id=("qa_pair_id",),
        question=("prompt",),
        output=("answer",),
        golden=("golds",),
        category="source",
        verdict=("judge_correct",),
        scores={"correct": "rule"},
    ),
    "amb": Layout(
        title="AMB",
        rows="results",
        id=("query_id",),
        question=("query", "question"),
        output=("answer",),
        golden=("gold_answers",),
        verdict=("correct",),
        share=("score",),
        judge=("judge_llm",),
        title_of=("dataset", "split"),
        system=("memory_provider", "mode", "oracle", "run_name"),
        model=("answer_llm",),
    ),
    "ironmem": Layout(
        title="LoCoMo",
        rows="per_question",
        id=("question_id", "id"),
        output=(
            *("prediction", "predicted", "response", "generated", "generated_answer"),
        ),
        golden=("gold", "golden_answer", "answer", "expected", "ground_truth"),
        verdict=("score",),
    ),
    "locomo_plus": Layout(
        title="LoCoMo-Plus",
        id=("sample_id",),
        question=("question", "question_input", "query"),
        output=("prediction",),
        golden=("answer", "reference", "evidence"),
        verdict=("judge_score", "judge_label"),
        system=("system",),
    ),
}
FORMS = (*LAYOUTS, _TYPES)
_EVERMEMOS = {
    "locomo": "LoCoMo",
    "longmemeval": "LongMemEval",
    "personamem": "PersonaMem",
}
"""Data set in the name of a folder of EverMemOS → title."""
_CONVERSATION = re.compile(r"(?:conv_|locomo_exp(?:eriment)?_user_)?(\d+)")


def recognise(head: Head) -> str | None:
    """Return the layout of a file, by the names of its parts."""
    if not head.is_json:
        return None
    keys, is_list = head.keys, head.data.lstrip().startswith(b"[")
    if {"question_id", "hypothesis"} <= keys:
        return "longmemeval_list" if is_list else "longmemeval"
    if is_list:
        return "locomo_plus" if {"prediction", "judge_label"} <= keys else None
    if {"source", "instance_id", "qa_pair_id", "golds"} <= keys:
        return "memory_agent_rows"
    for form, names in {
        "longmemeval_results": {"by_question_type", "results"},
        "evermemos": {"total_questions", "detailed_results"},
        "a_mem": {"aggregate_metrics", "individual_results"},
        "memory_agent_bench": {"agent_config", "dataset_config", "data"},
        "amb": {"memory_provider", "results"},
        "ironmem": {"results", "per_question"},
    }.items():
        if names <= keys:
            return form
    if keys and all(map(_CONVERSATION.fullmatch, keys)):
        if head.has(b'"golden_answer"'):  # grades, or answers before they are graded
            return "zep"
        return "mem0" if head.has(b'"question"', b'"response"') else None
    types = head.has(b'"single-session-user"') or head.has(b'"temporal-reasoning"')
    return _TYPES if types and not keys & {"question_id", "question_type"} else None


def gather(files: Files) -> Iterator[Run]:
    """Answers of LongMemEval, each with the file of question types in its folder.

    Its judge writes the answers again, each with a verdict, into a file next to theirs.
    """
    for folder in by_folder(files):
        types = [file for file in folder if file.form == _TYPES]
        answers = [file for file in folder if file.form != _TYPES]
        takers = [file for file in answers if LAYOUTS[str(file.form)] is _LME]
        of_judge: dict[Path, list[FoundFile]] = {}
        for file in takers:
            name, is_of_judge, _ = file.path.name.partition(_OF_JUDGE)
            if is_of_judge:
                of_judge.setdefault(file.path.with_name(name), []).append(file)
        judged = {
            files[0].path: [file for file in takers if file.path == path]
            for path, files in of_judge.items()
        }
        for file in answers:
            if file.path not in of_judge:
                again = judged.get(file.path, [])
                yield file, [*again, *types] if file in takers else ()
        if not takers:
            yield from ((file, ()) for file in types)


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the file as one task."""
    if source.form == _TYPES:
        yield warning(
            "rows_missing",
            f"{source.path.name} holds types of LongMemEval's questions and no answers:"
            " put it into the folder of the answers, and ingest that folder",
        )
        return
    types: dict[str, Any] = {}
    for path in source.companions:
        if source.path.name.startswith(path.name + _OF_JUDGE):
            yield warning(
                "copy_of_run",
                f"{path.resolve().as_posix()} holds the answers that {source.uri}"
                " judges: they are no run of their own, and are left out. Judge them"
                " again if they changed",
            )
        else:
            types |= _FILES.document(source, dict[str, Any], path)
    form = source.form or ""
    document: dict[str, Any] = {}
    key = LAYOUTS[form].rows
    rows: list[Placed] = []
    if form in ("longmemeval", "memory_agent_rows"):
        for line in _FILES.lines(source, dict[str, Any]):
            if isinstance(line, Problem):
                yield line
            else:
                rows.append((None, line))
    else:
        whole = _FILES.document(source, Any)
        document = {} if key is None else as_object(whole)
        for placed_row in _placed(whole if key is None else document.get(key), key):
            if isinstance(placed_row, Problem):
                yield placed_row
            else:
                rows.append(placed_row)
    if not rows:
        raise refused("no_rows", "it has no row with an answer to load")
    systems: dict[str | None, list[Placed]] = {}
    for placed in rows:
        name = _word(placed[1].get("system")) if form == "locomo_plus" else None
        systems.setdefault(name, []).append(placed)
    for of_system in systems.values():
        yield from _Run(form, document, of_system, types, source).records()


def _placed(listed: Any, key: str | None) -> Iterator[Placed | Problem]:
    """Yield rows with their conversations, and each entry that is not a row."""
    groups: Iterable[tuple[str | None, Any]] = (
        listed.items() if isinstance(listed, dict) else [(None, listed)]
    )
    for name, group in groups:
        rows = group if isinstance(group, list) else [group]
        for place, row in enumerate(rows):
            if isinstance(row, dict) and row:
                yield name, row
                continue
            steps = (key, name, place if rows is group else None)
            yield Problem(
                "unexpected_shape",
                "the entry is not an object with a question: it is left out",
                pointer=pointer(step for step in steps if step is not None),
                raw_text=compact(row),
            )


def _word(value: Any) -> str | None:
    """Return a text or a number as text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip() or None


def _judgement(value: Any) -> float | None:
    """Return a judge's number; a reply is a yes where the word is anywhere in it."""
    if not isinstance(value, str):
        return as_share(as_float(value))
    reply = value.strip().strip(".").lower()
    return _WORDS.get(reply, 1.0 if "yes" in reply else None)


def _of_folder(form: str, path: Path) -> tuple[str | None, str | None]:
    """Return data set and system in ``locomo-zep/eval_results.json`` of EverMemOS."""
    name, _, system = path.parent.name.partition("-")
    title = _EVERMEMOS.get(name.lower())
    if form != "evermemos" or path.stem != "eval_results" or not system:
        return None, None
    return title, system if title else None


class _Run:
    """One file of answers."""

    def __init__(
        self,
        form: str,
        document: dict[str, Any],
        rows: list[Placed],
        types: dict[str, Any],
        source: Source,
    ) -> None:
        layout = LAYOUTS[form]
        title, of_folder = _of_folder(form, source.path)
        if title is not None:
            layout = replace(layout, title=title)
        self._layout = layout
        self._form = form
        self._document = document
        self._types = types
        self._source = source
        self._metrics = (
            set(as_object(document.get("metrics"))) if form.endswith("bench") else set()
        )
        self._repeated = 0
        self._rows = self._last_of_each(rows)
        # one row with it is enough: others lost it, and their verdict is another scale
        self._has_share = any(self._share_of(row) is not None for *_, row in self._rows)
        self._judges = sorted(
            {
                str(judge)
                for _, row in rows
                if (
                    judge := first_member(row, *layout.judge)
                    or first_member(document, *layout.judge)
                )
            }
        )
        systems = [
            n
            if (system := first_member(document, n)) is True
            else _word(system) or _word(rows[0][1].get(n))
            for n in layout.system
        ]
        if "run_name" in layout.system and (own_name := systems.pop()):
            own_name = without_date(own_name)
            # the name of the memory, unless the user chose another
            systems += [own_name] if own_name != systems[0] else []
        self._system = (
            joined_texts(systems)
            or without_date(of_folder or base_of(source.path.name))
            or "unknown"
        )
        same_run = SameRun(_KIND, self._system, *self._judges, source=source)
        for case_id, _, row in self._rows:
            same_run.add(case_id, compact(first_member(row, *layout.output)))
        task_id = content_id(same_run.hash_with_run_key(), self._system)
        self._task = TaskWriter(_KIND, task_id, source, same_run, is_share=_is_share)
        self._codes: Counter[str] = Counter()
        self._unjudged: list[str] = []
        self._n_answers = 0
        self._judging = ConstantSettings()
        self._odd_verdicts: list[str] = []

    def _last_of_each(self, rows: list[Placed]) -> list[tuple[str, str | None, Row]]:
        """Return case id, conversation and row; of two with one id the last counts.

        Questions without an id may occur twice in a conversation.
        """
        ids, of_ids = Occurrences(), AskedOfIds()
        kept: dict[str, tuple[str, str | None, Row]] = {}
        for name, row in rows:
            cluster = name or _word(
                first_member(row, "sample_id", "instance_id", "conversation_id")
            )
            indexed = _CONVERSATION.fullmatch(cluster or "")
            cluster = indexed[1] if indexed else cluster
            own_id = _word(first_member(row, *self._layout.id))
            question = first_member(row, *self._layout.question)
            if own_id is None or (
                self._layout.title == "LoCoMo" and question is not None
            ):
                base = content_id(
                    [cluster, question if question is not None else row],
                    _word(question),
                )
                case_id = Occurrences.named(base, ids.next(base))
            else:
                instance = cluster if self._form == "memory_agent_rows" else None
                case_id = joined_texts([instance, own_id], "/")
            words = (
                question
                if question is None or isinstance(question, str)
                else compact(question)
            )
            case_id = of_ids.named(case_id, (words,))
            if case_id in kept:
                self._repeated += 1
            kept[case_id] = case_id, cluster, row
        return list(kept.values())

    def records(self) -> Iterator[Record | Problem]:
        """Yield the rows, the task, the claims of the file, and warnings."""
        task = self._task
        for case_id, cluster, row in self._rows:
            self._write(case_id, cluster, row)
            yield from task.written()
        title = joined_texts(
            [_word(first_member(self._document, n)) for n in self._layout.title_of]
        )
        task.describe(
            f"{self._layout.title}: {title}" if title else self._layout.title,
            model=_word(first_member(self._document, *self._layout.model)),
            provider=self._system,
            variant=self._system,
            judge={"models": self._judges} if self._judges else None,
            settings=yardstick(
                {name: self._document.get(name) for name in _SETTINGS}, *_NO_SETTINGS
            )
            if self._layout.rows
            else None,
        )
        if _JUDGE in task.dimensions:
            task.judge(_JUDGE, " + ".join(self._judges))
        names = list(task.dimensions)
        headline = next((n for n in (_JUDGE, *_HEADLINES) if n in names), None)
        task.grade(
            weights={headline: 1.0} if headline else None,
            parameters=self._judging.parameters("judge"),
        )
        self._claim()
        self._warn()
        yield from task.written()
        yield from unjudged_problems("verdict", self._unjudged)

    def _write(self, case_id: str, cluster: str | None, row: Row) -> None:
        layout, task = self._layout, self._task
        question, output = (
            first_member(row, *layout.question),
            first_member(row, *layout.output),
        )
        self._n_answers += output is not None
        tags = self._tags_of(case_id, row)
        tags += [
            f"{axis}:{name}"
            for axis, values in as_object(row.get("category_axes")).items()
            for value in (values if isinstance(values, list) else [values])
            if (name := _word(value)) is not None
        ]
        case = task.case(
            case_id,
            {
                **({"question": question} if question is not None else {"id": case_id}),
                **self._rest_of_question(row),
            },
            golden=first_member(row, *layout.golden),
            tags=tags,
            cluster=cluster,
        )
        verdict = first_member(row, *layout.verdict)
        repeats = list(as_object(verdict).items())
        judged = [_judgement(reply) for _, reply in repeats] or [_judgement(verdict)]
        known = [number for number in judged if number is not None]
        value = sum(known) / len(known) if known else None
        judge_reason = str(row.get("judge_reason") or "").strip().lower()
        if judge_reason.startswith("empty context"):  # written without asking the judge
            value = None
        if isinstance(verdict, str) and value is None:
            self._odd_verdicts.append(verdict)
        error = row.get("error")
        status: Status | None = None
        if layout.verdict:
            status = (
                "unevaluated" if value is None else "pass" if value > 0.5 else "fail"
            )
            if value is None and not error:
                self._unjudged.append(case_id)
        usage = as_object(row.get("usage")) or as_object(row.get("tokens"))
        kept = ("tokens", "context_tokens", "chunks_truncated")
        answer = case.round(
            output,
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            latency_ms=row.get("duration_ms"),
            seconds=row.get("response_time"),
            metadata={name: row.get(name) for name in kept},
            error=str(error) if error else None,
            status="error" if error else status,
        )
        if layout.verdict and known:
            self._judging.add(_JUDGE, self._judged_by(row))
        if layout.verdict and (known or status == "unevaluated"):
            reason = _word(first_member(row, *layout.reason))
            if self._has_share and value is not None:
                value = self._share_of(row)
            answer.score(_JUDGE, value, value, summary=reason)
        for name, reply in repeats:
            judgement = _judgement(reply)
            answer.check(name, _JUDGE, None if judgement is None else judgement > 0.5)
        self._write_scores(row, answer)

    def _share_of(self, row: Row) -> float | None:
        return as_share(as_float(first_member(row, *self._layout.share)))

    def _rest_of_question(self, row: Row) -> dict[str, Any]:
        """Return the rest of the question: a date, options, its data."""
        rest = {name: row[name] for name in _ASKED if row.get(name) is not None}
        if self._form == "amb":
            more = as_object(row.get("meta"))
        elif self._form == "memory_agent_bench":
            more = as_object(self._document.get("dataset_config"))
        else:
            more = {}
        more = {key: value for key, value in more.items() if key not in _NOT_ASKED}
        return {**rest, "data": more} if more else rest

    def _judged_by(self, row: Row) -> dict[str, Any]:
        """Return the settings of the judge, in addition to its model."""
        settings = {
            name: value
            for members in (self._document if self._layout.rows else {}, row)
            for name, value in members.items()
            if name.startswith("judge") and not isinstance(value, bool)
        }
        label = as_object(row.get("autoeval_label"))
        by = dict(yardstick({**settings, **label}, *_OF_VERDICTS))
        return {**by, "score": "a share"} if self._has_share else by

    def _write_scores(self, row: Row, answer: RoundWriter) -> None:
        code = _word(row.get(self._layout.category))
        is_false = self._form == "a_mem" and code == _ADVERSARIAL  # the reference
        inside = row.get(self._layout.metrics or "")
        named = {name: row.get(key) for key, name in self._layout.scores.items()}
        named |= {name: row.get(name) for name in self._metrics}
        named |= as_object(inside)
        for name in sorted(named):
            value = as_float(named[name])
            if value is not None:
                shared = as_share(value) if _is_share(name) else None
                if shared is not None and is_false:
                    shared = 1 - shared
                answer.score(name, value, shared)
            else:
                answer.task.see_odd(name, named[name], answer.case_id)

    def _tags_of(self, case_id: str, row: Row) -> list[str]:
        code = _word(row.get(self._layout.category))
        if self._layout.title == "LongMemEval":
            kind = _word(self._types.get(case_id)) or code
            if kind:
                self._codes[kind] += 1
            abstains = "abstention" if "_abs" in case_id else "answerable"
            return [f"question_type:{kind}", abstains] if kind else [abstains]
        if code is None:
            return []
        if self._layout.title != "LoCoMo":
            return [f"category:{code}"]
        self._codes[code] += 1
        name, _ = _LOCOMO.get(code, (None, 0))
        tag = f"category:{code} {name}" if name else f"category:{code}"
        return [tag, "adversarial" if code == _ADVERSARIAL else "answerable"]

    def _claim(self) -> None:
        """Hand over the figures that the file itself claims of all its rows."""
        document = self._document
        figures = document | as_object(document.get("results"))  # IronMem
        accuracy = figures.get("accuracy", figures.get("overall_accuracy"))
        n_rows = figures.get("total_questions", figures.get("total_queries"))
        means = {_JUDGE: accuracy}
        for name, value in as_object(document.get("averaged_metrics")).items():
            scale = 1 if name.endswith(("_len", "_time")) else 100
            if (claimed := as_float(value)) is not None:
                means[name] = claimed / scale
        overall = as_object(as_object(document.get("aggregate_metrics")).get("overall"))
        means |= {
            name: as_object(metric).get("mean") for name, metric in overall.items()
        }
        if n_rows is not None or any(
            as_float(mean) is not None for mean in means.values()
        ):
            self._task.claim(means, n_rows)

    def _warn(self) -> None:
        """Warn of everything that limits the comparison of this file with others."""
        task, n = self._task, len(self._rows)
        if self._repeated:
            task.warn(
                "repeated_row",
                f"{self._repeated} rows have the id of a later row: the last row of an"
                " id counts. Was an earlier run left in the file?",
            )
        if not self._n_answers:
            task.warn(
                "answers_missing",
                "no row has its answer under "
                + " or ".join(self._layout.output)
                + ": verdicts and scores are loaded without answers",
            )
        if len(self._judges) > 1:
            task.warn(
                "several_judges",
                f"its rows were judged by {some_of(self._judges)}: scores of two judges"
                " cannot be compared. Split the file by judge",
            )
        if self._odd_verdicts:
            task.warn(
                "verdict_unknown",
                f"{len(self._odd_verdicts)} verdicts are not yes or no, the first"
                f" {self._odd_verdicts[0][:60]!r}: these rows are not evaluated",
            )
        if self._layout.title == "LongMemEval":
            if missing := n - self._codes.total():
                task.warn(
                    "types_missing",
                    f"{missing} of {n} questions have no type: they are in no category,"
                    " and the macro average leaves them out. Put a JSON object of"
                    " question id to type into the folder, and ingest the folder",
                )
            self._warn_of_size(_LONGMEMEVAL, n)
        elif self._layout.title == "LoCoMo":
            sizes = {code: size for code, (_, size) in _LOCOMO.items()}
            if not self._codes[_ADVERSARIAL]:
                del sizes[_ADVERSARIAL]
            self._warn_of_size(sizes, n)

    def _warn_of_size(self, sizes: Mapping[str, int], n: int) -> None:
        """Compare the numbers of questions with those of the data set."""
        all_of_them = sum(sizes.values())
        if n < all_of_them:
            self._task.warn(
                "part_of_data_set",
                f"it has {n} of the {all_of_them} questions of {self._layout.title}:"
                " compare it only over the questions that both runs have",
            )
        more = [
            f"{code} ({n_rows} of {sizes.get(code, 0)})"
            for code, n_rows in sorted(self._codes.items())
            if n_rows > sizes.get(code, 0)
        ]
        if more:
            self._task.warn(
                "category_counts",
                f"it has more questions than {self._layout.title} in {some_of(more)}:"
                " its category codes may be those of another data set",
            )


_HEADLINES = (
    *("substring_exact_match", "eventqa_recall", "exact_match", "recsys_recall@5"),
    *("rule", "f1", "f1_mem0"),
)
"""Metrics that are the score where no model judged, the first that a file has."""


def _is_share(name: str) -> bool:
    """Return whether a metric is on the scale 0 to 1 by its definition."""
    return name in {_JUDGE, *_HEADLINES, "bleu1"} or name.startswith(("rouge", "bleu"))
