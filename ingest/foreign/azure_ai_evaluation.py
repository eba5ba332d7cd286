"""Azure AI Evaluation: what ``evaluate(output_path=…)`` writes.

Tried on 1.18.10. A file is a run of one task. A case is a row's ``inputs.id``, else a
hash of its query; ``outputs.<evaluator>.<key>`` is the dimension ``<evaluator>.<key>``.
An evaluator with ``_result`` has a pass rule: its result is a check, and the round's
verdict is that all of them pass. A broken evaluator is a bare NaN: missing.

The folder that its sample repositories write (``eval_results.jsonl`` with
``summary.json`` and ``evaluate_parameters.json``) is read too: ratings from 1 to 5,
lengths and seconds are compared on their own scale. There is no verdict in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ingest.foreign.documents import (
    decode,
    decode_file,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import file_bytes, lines
from ingest.foreign.grading import dimension_records
from ingest.foreign.heads import Head
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.records import (
    Baseline,
    Case,
    Check,
    Record,
    Round,
    Rule,
    Score,
    Status,
    Task,
    Total,
)
from ingest.foreign.runs import Part, Run
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("json", "rows", "summary", "parameters")
VERSIONS = "1.18.10"

_QUERY = ("query", "question")
_ANSWER = ("response", "answer")
_TRUTH = ("ground_truth", "truth", "expected_response")
_SHOWN = {"id", *_QUERY, *_ANSWER, *_TRUTH}
_PASSED = {"pass": True, "fail": False}
_BESIDE = ("_result", "_threshold", "_reason", "_status", "_properties", "_passed")
_BESIDE_TOO = ("_score", "_details", "_label", "_sample", "_model", "_finish_reason")
_GRADED = frozenset(
    {
        *("f1_score", "bleu_score", "meteor_score", "gleu_score"),
        *("rouge_precision", "rouge_recall", "rouge_f1_score"),
    }
)
"""Keys of its own evaluators that lie from 0 to 1, 1 best, by their definition."""
_PASSING_RATING = 4
_RULES: dict[str, tuple[Rule, dict[str, Any]]] = {
    "mean": ("mean_over_rounds", {"digits": 2}),
    "mean_rating": ("mean_over_rounds", {"digits": 2}),
    "max": ("max_over_rounds", {}),
    "min": ("min_over_rounds", {}),
    "rate": ("mean_over_rounds", {"digits": 2}),
    "total": ("sum_over_rounds", {}),
    "pass_rate": ("mean_over_rounds", {"threshold": _PASSING_RATING, "digits": 2}),
    "pass_count": ("sum_over_rounds", {"threshold": _PASSING_RATING}),
}
"""How the sample repositories sum up a metric."""


class Export(msgspec.Struct):
    """What ``evaluate`` writes."""

    rows: list[dict[str, Any]]
    metrics: dict[str, Any] = {}
    studio_url: Any = None


def recognise(head: Head) -> str | None:
    """Rows with ``inputs.`` and ``outputs.``; the three files of a sample's folder."""
    # a run without rows has the names of the document alone
    if "rows" in head.keys and (
        head.has(b'"inputs.') or {"metrics", "studio_url"} <= head.keys
    ):
        return "json"
    if {"question", "answer", "truth"} <= head.keys:
        return "rows"
    if {"evaluation_gpt_model", "evaluation_timestamp"} <= head.keys:
        return "parameters"
    ratings = head.has(b'"mean_rating"', b'"pass_rate"')
    return "summary" if ratings and _is_summary(head) else None


def _is_summary(head: Head) -> bool:
    rated = (head.keys_below(key) for key in head.keys)
    return any({"mean_rating", "pass_rate"} <= each for each in rated)


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """Rows lead the summary and the parameters of their folder."""
    folders: dict[Path, list[Part]] = defaultdict(list)
    for part in parts:
        if part.form == "json":
            yield part, ()
        else:
            folders[part.path.parent].append(part)
    for of_folder in folders.values():
        leads = [part for part in of_folder if part.form == "rows"]
        others = [part for part in of_folder if part.form != "rows"]
        if len(leads) == 1:
            yield leads[0], tuple(others)
        else:
            for part in of_folder:
                yield part, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """The rows as records, then what the file claims of them."""
    if source.form == "json":
        data = source.redact(file_bytes(source))
        export = decode_file(data, Export, "Azure AI Evaluation", VERSIONS)
        reading = _Rows(source, {})
        for row in export.rows:
            reading.add(row)
        yield from reading.closing()
        for name, value in export.metrics.items():
            yield reading.total(name, value, *reading.rule_of(name))
    elif source.form == "rows":
        yield from _folder(source)
    else:
        yield Problem(
            "rows_missing",
            f"{source.path.name} belongs to an eval_results.jsonl that is not in its"
            " folder: it holds no row to load",
            severity="warning",
        )


def _folder(source: Source) -> Iterator[Record | Problem]:
    beside: dict[str, dict[str, Any]] = {}
    for path in source.companions:
        data = source.redact(file_bytes(source, path))
        kind = "summary" if path.stem == "summary" else "parameters"
        beside[kind] = decode_file(data, dict[str, Any], "Azure's samples", VERSIONS)
    reading = _Rows(source, beside.get("parameters", {}))
    for line, written in lines(source):
        try:
            row = decode(written, dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield shape_problem(
                error, "Azure's samples", VERSIONS, line=line, raw=written
            )
        else:
            reading.add(_as_export(row))
    yield from reading.closing()
    for metric, claims in beside.get("summary", {}).items():
        for name, value in claims.items() if isinstance(claims, dict) else ():
            yield reading.summary(metric, name, value)


def _as_export(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a sample's folder, named as ``evaluate`` would."""
    texts = {*_QUERY, *_ANSWER, *_TRUTH, "context"}
    return {
        f"inputs.{k}" if k in texts or isinstance(v, str) else f"outputs.{k}": v
        for k, v in row.items()
    }


class _Rows:
    """The rows of one run."""

    def __init__(self, source: Source, parameters: dict[str, Any]) -> None:
        self._source = source
        self._parameters = parameters
        self._same_run = SameRun("azure_ai_evaluation")
        # the run has no id: rows wait until all of them have given it one
        self._rows: list[dict[str, Any]] = []
        self._task_id = ""
        self.dimensions: dict[str, bool] = {}
        """Dimension → whether its values lie on the scale 0 to 1."""
        self._places = count()

    def add(self, row: dict[str, Any]) -> None:
        """Take a row in; its records come at the end."""
        self._same_run.add(text(sorted(row.items())))
        self._rows.append(row)

    def closing(self) -> Iterator[Record]:
        """Everything but the totals."""
        stamp = self._parameters.get("evaluation_timestamp")
        same = SameRun(self._same_run.hash(), str(stamp)).hash()
        self._task_id = f"azure-{same[:12]}"
        seen = Occurrences()
        for position, row in enumerate(self._rows):
            yield from self._row(row, position, seen)
        yield self._task(same, stamp)
        graded = [name for name, is_graded in self.dimensions.items() if is_graded]
        yield from dimension_records(self._task_id, self.dimensions, graded)

    def _task(self, same: str, stamp: Any) -> Task:
        return Task(
            task_id=self._task_id,
            source_kind="azure_ai_evaluation",
            title="azure",
            prompt_version=(
                self._source.path.parent.name
                if self._source.form == "rows"
                else self._source.path.stem
            ),
            model="unknown",
            created_at=time(stamp) or self._source.modified_at,
            run_id=self._task_id,
            run_hash=same,
            extras=text({"parameters": self._parameters}) if self._parameters else "{}",
        )

    def _row(
        self, row: dict[str, Any], position: int, seen: Occurrences
    ) -> Iterator[Record]:
        columns = _columns_of(tuple(row))
        inputs = {name: row[column] for column, name in columns.inputs.items()}
        outputs = {name: row[column] for column, name in columns.outputs.items()}
        query = _first(inputs, _QUERY)
        named = inputs.get("id")
        asked = query if query is not None else sorted(inputs.items())
        said = query if isinstance(query, str) else None
        case_id = str(named) if named is not None else content_id(asked, said)
        case_id = seen.named(case_id, seen.next(case_id))
        round_id = f"{case_id}-1"
        yield Case(self._task_id, case_id, position, text({"query": query}))
        truth = _first(inputs, _TRUTH)
        if truth is not None:
            golden = text({"answer": truth})
            yield Baseline(self._task_id, case_id, "ground_truth", 0, golden)
        answer = _first(inputs, _ANSWER)
        checks = [
            self._check(outputs, key, case_id, round_id, place)
            for place, key in enumerate(columns.judged)
        ]
        yield Round(
            task_id=self._task_id,
            case_id=case_id,
            round_id=round_id,
            position=0,
            run_index=1,
            raw_output=answer if isinstance(answer, str | None) else text(answer),
            metadata=text({k: v for k, v in inputs.items() if k not in _SHOWN}),
            reported_status=_verdict(checks),
        )
        yield from checks
        for name in columns.measured:
            given = outputs[name]
            value = number(given)
            if value is None and given is not None:
                continue  # a text is no score
            if name not in self.dimensions:
                self.dimensions[name] = self._is_graded(name)
            yield Score(
                task_id=self._task_id,
                case_id=case_id,
                round_id=round_id,
                dimension_id=name,
                value=value,
                score=on_scale(value) if self.dimensions[name] else None,
            )

    def _is_graded(self, name: str) -> bool:
        """By its definition, or as its numbers are 0 or 1 throughout the run."""
        if name.rpartition(".")[2] in _GRADED:
            return True
        values = {number(row.get(f"outputs.{name}")) for row in self._rows} - {None}
        return bool(values) and values <= {0.0, 1.0}

    def _check(
        self, outputs: dict[str, Any], key: str, case_id: str, round_id: str, place: int
    ) -> Check:
        reason = outputs.get(f"{key}_reason")
        return Check(
            task_id=self._task_id,
            case_id=case_id,
            round_id=round_id,
            position=place,
            name=key,
            type="evaluator",
            passed=_PASSED.get(str(outputs[f"{key}_result"]).lower()),
            score=number(outputs.get(key)),
            threshold=number(outputs.get(f"{key}_threshold")),
            reason=reason if isinstance(reason, str) else None,
        )

    def rule_of(self, name: str) -> tuple[Rule, str | None]:
        """How a metric of ``evaluate`` is counted, and of which dimension."""
        if name in self.dimensions:
            return "mean_over_rounds", name
        evaluator, _, key = name.rpartition(".")
        for dimension in self.dimensions:
            if dimension.rpartition(".")[0] != evaluator:
                continue
            if name == f"{dimension}_score":  # the same number again
                return "mean_over_rounds", dimension
            if name == f"{dimension}_passed" or key == "binary_aggregate":
                return "share_of_checks_passed", dimension
        return "not_in_rows", None

    def summary(self, metric: str, name: str, value: Any) -> Total:
        """One claim of a sample's summary."""
        where = f"summary.{metric}.{name}"
        if (metric, name) == ("num_questions", "total"):
            return self.total(where, value, "count_rounds", None)
        if metric not in self.dimensions:
            return self.total(where, value, "not_in_rows", None)
        rule, about = _RULES.get(name, ("own_formula", {}))
        return self.total(where, value, rule, metric, about)

    def total(
        self,
        name: str,
        value: Any,
        rule: Rule,
        dimension: str | None,
        about: dict[str, Any] | None = None,
    ) -> Total:
        """One claim of the run."""
        return Total(
            task_id=self._task_id,
            position=next(self._places),
            name=name if name.startswith("summary.") else f"metrics.{name}",
            rule=rule,
            value=number(value),
            dimension_id=dimension,
            parameters=text(about or {}),
        )


class _RowColumns(NamedTuple):
    """What the columns of a row are called."""

    inputs: dict[str, str]
    """Column → name of what was asked, or answered."""
    outputs: dict[str, str]
    """Column → name of what an evaluator said."""
    judged: list[str]
    """Outputs that have a pass rule."""
    measured: list[str]
    """Outputs that are dimensions, where they hold a number."""


@lru_cache  # most rows of most runs have the same
def _columns_of(columns: tuple[str, ...]) -> _RowColumns:
    inputs, outputs = (
        {each: each.removeprefix(start) for each in columns if each.startswith(start)}
        for start in ("inputs.", "outputs.")
    )
    names = outputs.values()
    return _RowColumns(
        inputs,
        outputs,
        [name.removesuffix("_result") for name in names if name.endswith("_result")],
        [name for name in names if not _is_beside(name, names)],
    )


def _first(held: dict[str, Any], names: Sequence[str]) -> Any:
    return next((held[name] for name in names if held.get(name) is not None), None)


def _is_beside(name: str, outputs: Collection[str]) -> bool:
    """Whether a column says more of another: its threshold, reason or duplicate."""
    for end in (*_BESIDE, *_BESIDE_TOO):
        if name.endswith(end) and name.removesuffix(end) in outputs:
            return True
    return name.endswith(("_result", "_reason", "_threshold", "_status", "_properties"))


def _verdict(checks: Sequence[Check]) -> Status | None:
    """All evaluators that have a pass rule; one that judged nothing leaves it open."""
    if not checks:
        return None
    if any(check.passed is False for check in checks):
        return "fail"
    if any(check.passed is None for check in checks):
        return "unevaluated"
    return "pass"
