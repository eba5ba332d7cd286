"""OpenAI's Evals API, also of Azure Foundry: the output items of a run, as exported.

Written from the reference of both services and from items that users posted. A file is
a page (``{"object": "list", "data": […]}``), a list or lines of
``eval.run.output_item``; an ``eval.run`` and an ``eval`` may be in it, or next to it. A
run is a task. ``datasource_item_id`` is a place in a data set, which another version of
the data set moves: a case is known by an id inside its item, else by its question.

A result has the verdict of a grader. OpenAI writes ``passed: false`` where a grader
broke, and its own sample has the error. The ``status`` of an item is its verdict
(OpenAI) or the state of its request (Foundry: ``completed``), so results decide.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptlab.ingest.files.dates import without_date
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.azure_ai_evaluation import RATINGS, SEVERITIES
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_list,
    as_object,
    as_time,
    first_member,
)
from promptlab.ingest.foreign.documents import ToolFiles, beginning, values_in
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import AskedOfIds, OwnIds, case_name, first_text
from promptlab.ingest.foreign.names import plain_name
from promptlab.ingest.foreign.runs_of_files import Files, Run, pages_of_runs
from promptlab.ingest.foreign.scorings import (
    error_text,
    unjudged_problems,
    verdict,
    write_score,
)
from promptlab.ingest.foreign.writing import Record, RoundWriter, Status, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("items", "run", "eval")

_FILES = ToolFiles("the Evals API", "output items of 2025 and 2026")
_ITEM = "eval.run.output_item"
_KINDS = {_ITEM: "items", "eval.run": "run", "eval": "eval"}
_KIND = re.compile(rb'"object"\s*:\s*"(eval(?:\.run(?:\.output_item)?)?)"')
_DEEPEST = 3
_UUID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The suffix of a grader's name from OpenAI, which differs in each eval."""
_IDS = ("id", "case_id", "item_id", "question_id", "sample_id", "test_id", "uid")
_ASKED = ("query", "question", "input", "prompt", "user_input", "messages")
_EXPECTED = (
    *("ground_truth", "expected", "expected_output", "expected_answer", "reference"),
    *("reference_answer", "ideal", "golden", "golden_answer", "target", "label"),
    *("correct_answer", "correct_label"),
)
_ANSWERED = (
    *("sample.output_text", "response", "output", "completion", "prediction"),
    *("actual_output", "model_output", "candidate_response", "sample.output_items"),
)
_OF_AGENTS = ("response_id", "agent_name", "agent_version")
_STATUS: dict[str, Status] = {
    **dict.fromkeys(("pass", "passed"), "pass"),
    **dict.fromkeys(("fail", "failed"), "fail"),
    **dict.fromkeys(("error", "errored"), "error"),
}
_BROKEN = frozenset({"error", "errored", "failed", "skipped"})
_OF_AZURE = "azure_ai_evaluator"


class Result(Struct):
    """The result of one grader."""

    name: str
    type: str | None = None
    passed: bool | None = None
    score: Any = None
    sample: Any = None
    """The answer of a model that graded."""
    metric: str | None = None
    threshold: Any = None
    reason: Any = None
    status: Any = None
    error: Any = None

    @property
    def broke(self) -> str | None:
        """Return the error of a grader that could not judge: it has no verdict."""
        failed = as_object(self.sample).get("error") or self.error
        if not failed and str(self.status).lower() in _BROKEN:
            failed = f"status {self.status}"
        return error_text(failed)

    @property
    def is_judged(self) -> bool:
        """Return true if it has a verdict or a score, and no error."""
        has_result = self.passed is not None or as_float(self.score) is not None
        return self.broke is None and has_result


class Item(Struct):
    """An answer and its results."""

    run_id: str
    id: str | None = None
    eval_id: str | None = None
    created_at: Any = None
    datasource_item: Any = None
    datasource_item_id: Any = None
    results: list[Result] | None = None
    sample: Any = None
    status: Any = None


def recognise(head: Head) -> str | None:
    """Recognise the objects of the API by their member ``object``."""
    kinds = {_KINDS[e.decode()] for e in _KIND.findall(head.data) if head.is_json}
    return next((form for form in FORMS if form in kinds), None)


def gather(files: Files) -> Iterator[Run]:
    """Group the pages of a run with its run and its eval in the same folder."""

    def ids(file: FoundFile) -> set[str]:
        names = ("run_id", "eval_id") if file.form == "items" else ("id",)
        return {own_id for name in names if (own_id := _first_id(file.path, name))}

    def run_id(file: FoundFile) -> list[str]:
        return list(filter(None, [_first_id(file.path, "run_id")]))

    return pages_of_runs(files, ("items",), run_id, ids, _item_ids)


def _first_id(path: Path, name: str) -> str | None:
    """Return the first value of an id in a file."""
    match = re.search(rb'"%b"\s*:\s*"([^"\\]+)"' % name.encode(), beginning(path))
    return match[1].decode("utf-8", "replace") if match else None


def _item_ids(file: FoundFile) -> set[str]:
    objects = (entry for value in values_in(file.path) for entry in _inside(value))
    return {str(entry.get("id")) for entry in objects if entry.get("object") == _ITEM}


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the runs of a file as records."""
    items: dict[str, list[Item]] = defaultdict(list)
    about: dict[str, dict[str, Any]] = {}
    ids = OwnIds("id of an output item")
    more: list[bool] = []
    for path in (source.path, *source.companions):
        for entry in _objects(source, path):
            if isinstance(entry, Problem):
                yield entry
                continue
            if entry.get("object") != _ITEM:
                more += [bool(entry["has_more"])] if "has_more" in entry else []
                about[str(entry.get("id"))] = entry
                continue
            item = _FILES.converted(entry, Item, path.name)
            if isinstance(item, Problem):
                yield item
            elif not ids.again(item.id, item.run_id):
                items[item.run_id].append(item)
    for run_id, of_run in items.items():
        run = about.get(run_id, {})
        eval_id = of_run[0].eval_id or run.get("eval_id")
        task = TaskWriter("openai_evals_api", run_id, source)
        yield from _Run(task, run, about.get(str(eval_id), {})).records(of_run)
    yield from ids.problems()
    if more and all(more):
        yield warning(
            "rows_missing",
            "the last page says `has_more`: export the pages behind it too, and give"
            " all of them",
        )
    if not items:
        yield warning(
            "totals_only",
            f"{source.path.name} has no output items, so nothing can be compared by"
            " case. Export …/output_items of the run too, and give both",
        )


def _objects(source: Source, path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the objects of the API in a file, at any depth, and pages."""
    for value in _FILES.values(source, path):
        yield from (value,) if isinstance(value, Problem) else _inside(value)


def _inside(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and str(value.get("object")) in _KINDS:
        yield value
        return
    if depth == _DEEPEST:
        return
    if isinstance(value, dict) and "has_more" in value:
        yield {"has_more": value["has_more"]}
    inside = value if isinstance(value, list) else as_object(value).values()
    for item in inside:
        if isinstance(item, dict | list):
            yield from _inside(item, depth + 1)


class _Run:
    """Writes one task."""

    def __init__(
        self, task: TaskWriter, run: Mapping[str, Any], of_eval: Mapping[str, Any]
    ) -> None:
        self._task = task
        self._run = run
        self._eval = of_eval
        self._names: dict[tuple[str, str | None], str] = {}
        self._graded: dict[str, bool] = {}
        self._lower: set[str] = set()
        self._of_ids = AskedOfIds()
        self._case_of: dict[tuple[str, str | None], str] = {}

    def records(self, items: list[Item]) -> Iterator[Record | Problem]:
        """Yield the records of the items and of the run."""
        task = self._task
        items.sort(key=_place)
        self._names = _names_of(items)
        has_ids = _own_ids(items)
        unjudged: list[str] = []
        for item in items:
            case_id = self._write(item, has_ids)
            if any(not result.is_judged for result in item.results or ()):
                unjudged.append(case_id)
            yield from task.written()
        samples = [as_object(item.sample) for item in items]
        self._describe(items, samples)
        graded = [name for name, is_graded in self._graded.items() if is_graded]
        task.grade(
            graded,
            dict.fromkeys(self._lower, "lower_better"),
            parameters=self._criteria(),
        )
        counts = as_object(self._run.get("result_counts"))
        if (total := as_int(counts.get("total"))) is not None:
            task.claim({}, total)
        yield from (*task.written(), *self._of_ids.problems("datasource_item"))
        yield from unjudged_problems("passed", unjudged)

    def _write(self, item: Item, has_ids: bool) -> str:
        sample = as_object(item.sample)
        output = _text_of(sample.get("output"))
        row = as_object(item.datasource_item) or {"item": item.datasource_item}
        answers = _ANSWERED if output is None else _ANSWERED[:1] + _ANSWERED[-1:]
        left_out = {*answers, *_EXPECTED, *_OF_AGENTS}
        inputs = {k: v for k, v in row.items() if k not in left_out} or row
        if output is None:
            output = first_member(row, *_ANSWERED)
        case = self._task.case(
            self._case_id(item, row, inputs, has_ids),
            inputs,
            golden=first_member(row, *_EXPECTED),
        )
        error = error_text(sample.get("error"))
        results = item.results or []
        status = _verdict(results, item.status)
        if error is None and status == "error":
            error = f"status {item.status}"
        usage = as_object(sample.get("usage"))
        answer = case.round(
            output,
            executed_at=item.created_at,
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            metadata={"output_item": item.id} if item.id else None,
            error=error,
            status="error" if error else status,
        )
        for result in results:
            self._judged(result, answer)
        return case.id

    def _case_id(
        self, item: Item, row: dict[str, Any], inputs: dict[str, Any], has_ids: bool
    ) -> str:
        """Return the id of an item's case; items of one place are its rounds."""
        place = None
        if item.datasource_item_id is not None:
            place = compact(item.datasource_item_id)
        question = first_member(inputs, *_ASKED)
        name = (
            str(first_member(row, *_IDS))
            if has_ids
            else self._of_ids.named(
                case_name(
                    inputs if question is None else question,
                    question
                    if isinstance(question, str)
                    else first_text(inputs.values()),
                ),
                (compact(inputs),),
            )
        )
        known = self._case_of.get((name, place)) if place else None
        if known is None:
            known = self._case_of[name, place] = self._task.distinct(name)
        return known

    def _judged(self, result: Result, answer: RoundWriter) -> None:
        task, broke = self._task, result.broke
        name = self._names[result.name, result.metric]
        value = as_float(result.score)
        reason = result.reason if isinstance(result.reason, str) else None
        judge = as_object(result.sample).get("model")
        task.judge(name, judge if isinstance(judge, str) else None)
        if result.passed is not None or not result.is_judged:
            answer.check(
                name,
                result.type or "grader",
                result.passed if broke is None else None,
                score=value if broke is None else None,
                threshold=as_float(result.threshold),
                reason=reason,
                error=broke,
            )
        if result.passed is not None and result.score is None and broke is None:
            return  # a verdict without a number
        value = value if broke is None else None
        key = plain_name(result.metric or result.name).replace(" ", "_")
        if key in SEVERITIES:
            self._lower.add(name)
        if key in RATINGS:
            task.dimensions.ratings.add(name)
        is_share = self._is_share(result, key)
        self._graded[name] = self._graded.get(name, True) and (
            is_share and (value is None or 0 <= value <= 1)
        )
        write_score(
            answer, name, result.score, why=reason, broke=broke, is_share=is_share
        )

    def _is_share(self, result: Result, key: str) -> bool:
        """Return true for a grader whose scores are from 0 to 1, 1 best.

        Those of OpenAI are, unless the eval names a range; of Azure's those are with a
        threshold on that scale.
        """
        if key in RATINGS or key in SEVERITIES:
            return False
        if result.type == _OF_AZURE:
            threshold = as_float(result.threshold)
            return threshold is not None and 0 < threshold <= 1
        limits = as_object(self._criterion(result.name)).get("range")
        return limits in (None, [0, 1])

    def _criterion(self, name: str) -> Any:
        for criterion in as_list(self._eval.get("testing_criteria")):
            if name in (
                as_object(criterion).get("id"),
                as_object(criterion).get("name"),
            ):
                return criterion
        return None

    def _criteria(self) -> dict[str, dict[str, Any]]:
        """Return the criterion of each grader in the eval, which is the yardstick."""
        criteria = {}
        for (name, _), dimension in self._names.items():
            if criterion := yardstick(self._criterion(name), "id", "name"):
                criteria[dimension] = {"criterion": criterion}
        return criteria

    def _describe(self, items: list[Item], samples: list[dict[str, Any]]) -> None:
        task, run = self._task, self._run
        models = Counter(
            str(sample["model"]) for sample in samples if sample.get("model")
        )
        first = as_object(items[0].datasource_item)
        name = run.get("name")
        version = prompts.setting(as_object(run.get("metadata")), "prompt version")
        agent_version = first.get("agent_version") or name
        settings = {
            key: samples[0].get(key)
            for key in ("temperature", "top_p", "seed", "max_completion_tokens")
            if all(sample.get(key) == samples[0].get(key) for sample in samples)
        }
        prompts_sent = [_messages(sample.get("input")) for sample in samples]
        title = self._eval.get("name") or items[0].eval_id or run.get("eval_id")
        task.describe(
            str(title) if title else None,
            model=", ".join(sorted(models))
            or run.get("model")
            or first.get("agent_name"),
            prompt_version=version
            or (without_date(str(agent_version)) if agent_version else None),
            created_at=as_time(run.get("created_at")),
            settings={k: v for k, v in settings.items() if v is not None},
            extras=prompts.about(prompts.opening(prompts_sent), run_name=name),
        )


def _place(item: Item) -> tuple[float, str]:
    place = as_float(item.datasource_item_id)
    return (float("inf") if place is None else place), item.id or ""


def _names_of(items: Iterable[Item]) -> dict[tuple[str, str | None], str]:
    """Return the dimension of each grader, and of each metric of one with several."""
    metrics: dict[str, dict[str | None, None]] = defaultdict(dict)
    several: set[str] = set()
    for item in items:
        for result in item.results or ():
            metrics[result.name][result.metric] = None
        counts = Counter(result.name for result in item.results or ())
        several |= {name for name, n in counts.items() if n > 1}
    short = Counter(_UUID.sub("", name) for name in metrics)
    dimensions = {}
    for name, of_name in metrics.items():
        shown = _UUID.sub("", name)
        shown = shown if shown and short[shown] == 1 else name
        for metric in of_name:
            is_one = name not in several or metric in (None, name)
            dimensions[name, metric] = shown if is_one else f"{shown}.{metric}"
    return dimensions


def _own_ids(items: list[Item]) -> bool:
    """Return true if each data set item has its own id."""
    ids = defaultdict(set)
    for item in items:
        own_id = first_member(item.datasource_item, *_IDS)
        if not isinstance(own_id, str | int) or own_id == "":
            return False
        ids[str(own_id)].add(compact(item.datasource_item_id))
    return all(len(places) == 1 for places in ids.values())


def _messages(messages: Any) -> list[Any]:
    if not isinstance(messages, list):
        return []
    shown = ("role", "content")
    return [{k: e[k] for k in shown if k in e} for e in messages if isinstance(e, dict)]


def _text_of(output: Any) -> Any:
    """Return the text of the last message with one; else all messages."""
    if not isinstance(output, list):
        return output or None
    for message in reversed(output):
        if content := as_object(message).get("content"):
            return content
    return output or None


def _verdict(results: list[Result], status: Any) -> Status | None:
    """Return the verdict of all graders; without one, the status of the item."""
    status_of_item = _STATUS.get(str(status).lower())
    if status_of_item == "error":
        return status_of_item
    # a grader with a score and no verdict has no part in it
    passed = [
        result.passed if result.broke is None else None
        for result in results
        if result.passed is not None or not result.is_judged
    ]
    return verdict(passed) if results else status_of_item
