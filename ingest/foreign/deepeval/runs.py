"""One run of DeepEval: its test cases, its metrics, and what it claims of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.deepeval.structs import Metric, TestCase, TestRun
from promptlab.ingest.foreign.documents import milliseconds, number, on_scale
from promptlab.ingest.foreign.identity import SameRun, content_id
from promptlab.ingest.foreign.records import Direction, Record, Status
from promptlab.ingest.foreign.settings import env_of, setting
from promptlab.ingest.foreign.writing import CaseWriter, RoundWriter, TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_SHARES = frozenset(
    {
        *("Answer Relevancy", "Argument Correctness", "Bias"),
        *("Citation Faithfulness", "Contextual Precision", "Contextual Recall"),
        *("Contextual Relevancy", "Conversation Completeness", "Exact Match"),
        *("Faithfulness", "Goal Accuracy", "Hallucination", "Json Correctness"),
        *("Knowledge Retention", "Misuse", "Non-Advice", "PII Leakage"),
        *("Pattern Match", "Plan Adherence", "Plan Quality", "Prompt Alignment"),
        *("RAGAS", "Role Adherence", "Role Violation", "Step Efficiency"),
        *("Summarization", "Task Completion", "Tool Correctness", "Tool Use"),
        *("Topic Adherence", "Toxicity", "Turn Contextual Precision"),
        *("Turn Contextual Recall", "Turn Contextual Relevancy"),
        *("Turn Faithfulness", "Turn Relevancy"),
    }
)
"""DeepEval's own metrics: their numbers lie on the scale 0 to 1."""
_COUNTS = {"passes": "pass", "fails": "fail", "errors": "unevaluated"}
"""What a run counts of a metric → the status of its checks."""
_SHARE_ENDINGS = ("[GEval]", "(GEval)", "[DAG]", "(DAG)", "(ragas)")


class RunReading:
    """Turns test cases into records.

    Args:
        run: The run.
        cases: Its test cases, and what is to be said of those that cannot be read.
        source: The file that leads it.
    """

    def __init__(
        self, run: TestRun, cases: Sequence[TestCase | Problem], source: Source
    ) -> None:
        self._run = run
        self._source = source
        self._problems = [each for each in cases if isinstance(each, Problem)]
        self._cases = [each for each in cases if isinstance(each, TestCase)]
        self.rows = set(map(_row_id, self._cases))
        """What each test case says, as a hash."""

    def _own_rows(self) -> set[str]:
        """What tells the run from others, as hashes.

        How long each answer took differs from run to run, and stays when a run is
        judged again; where it is not written, verdicts are a part of the run.
        """
        is_timed = all(each.runDuration for each in self._cases)
        return set(map(_answer_id, self._cases)) if is_timed else self.rows

    def records(self) -> Iterator[Record | Problem]:
        """All records of the run."""
        run = self._run
        same_run = SameRun("deepeval", run.identifier or "")
        for row in self._own_rows():
            same_run.add(row)
        # no id and no time stand in the file: a run is known by what it says
        task_id = content_id(same_run.hash(), run.identifier or "deepeval")
        task = TaskWriter(
            "deepeval", task_id, self._source, same_run, is_share=_is_share
        )
        settings = run.hyperparameters or {}
        task.describe(
            run.datasetAlias or run.testFile or run.identifier or "deepeval",
            prompt_version=setting(settings, "prompt version", "prompt"),
            model=setting(settings, "model", "llm", "model name"),
            env=env_of(settings),
            extras=prompts.about(_prompt(run), identifier=run.identifier),
        )
        yield from (*task.written(), *self._problems)
        directions = _directions(self._cases)
        for each in self._cases:
            answer = _round(each, _case(each, task))
            for metric in each.metrics:
                lower = directions.get(metric.title) == "lower_better"
                _write(metric, answer, lower=lower)
            yield from task.written()
        task.grade(directions=directions)
        judges: dict[str, set[str]] = {}
        for case in self._cases:
            for metric in case.metrics:
                if metric.evaluationModel:
                    judges.setdefault(metric.title, set()).add(metric.evaluationModel)
        for name, models in judges.items():
            task.judge(name, ", ".join(sorted(models)))
        _write_totals(run, task)
        if run.testPassed is None and not run.metricsScores:
            task.warn(
                "run_incomplete",
                f"{self._source.path.name} claims no totals: DeepEval wrote it on the"
                " way, and the run may have had more test cases",
            )
        yield from task.written()


def _answer_id(case: TestCase) -> str:
    return content_id([case.order, case.asked, case.actualOutput, case.runDuration])


def _row_id(case: TestCase) -> str:
    judged = [(each.title, each.score, each.success) for each in case.metrics]
    return content_id(
        [case.order, case.asked, case.actualOutput, case.runDuration, judged]
    )


def _prompt(run: TestRun) -> Any:
    """The prompt that the run holds; of several it is not known which counted."""
    if run.prompts and len(run.prompts) == 1:
        (one,) = run.prompts
        return one.messages_template or one.text_template
    return prompts.in_settings(run.hyperparameters)


def _is_share(name: str) -> bool:
    return name in _SHARES or name.endswith(_SHARE_ENDINGS)


def _directions(cases: list[TestCase]) -> dict[str, Direction]:
    """Metric → direction, where success against threshold tells it."""
    may_be: dict[str, set[Direction]] = {}
    for case in cases:
        for metric in case.metrics:
            score, threshold = metric.score, metric.threshold
            if None in (score, threshold, metric.success) or metric.is_broken:
                continue
            assert score is not None
            assert threshold is not None
            left = may_be.setdefault(metric.title, {"higher_better", "lower_better"})
            if metric.success != (score >= threshold):
                left.discard("higher_better")
            if metric.success != (score <= threshold):
                left.discard("lower_better")
    return {name: left.pop() for name, left in may_be.items() if len(left) == 1}


def _case_id(case: TestCase) -> str:
    own = case.about.get("id")
    if isinstance(own, str | int) and str(own).strip():
        return str(own)
    asked = case.asked
    return content_id(asked, asked[0] if isinstance(asked[0], str) else case.scenario)


def _case(case: TestCase, task: TaskWriter) -> CaseWriter:
    context = {
        "input": case.input,
        "scenario": case.scenario,
        "context": case.context,
        "expected_tools": case.expectedTools,
    }
    return task.case(
        task.distinct(_case_id(case)),
        {key: value for key, value in context.items() if value is not None},
        golden=case.expectedOutput if case.turns is None else case.expectedOutcome,
        tags=[tag for tag in case.tags or [] if isinstance(tag, str)],
        categories={k: v for k, v in case.about.items() if k != "id"},
    )


def _round(case: TestCase, writer: CaseWriter) -> RoundWriter:
    status = _status(case)
    about = {
        "name": case.name,
        "cost": case.cost if case.tokenCost is None else case.tokenCost,
        "judge_cost": case.evaluationCost,
        "judge_seconds": case.runDuration,
        "retrieval_context": case.retrievalContext,
        "tools_called": case.toolsCalled,
        "metadata": case.about,
        "turns": case.turns,
    }
    counted: Literal["pass", "fail"] = "pass" if case.success else "fail"
    return writer.round(
        case.actualOutput if case.turns is None else _last_turn(case.turns),
        latency_ms=milliseconds(
            case.completionTime if case.latency is None else case.latency
        ),
        metadata={key: value for key, value in about.items() if value},
        status=status,
        counted_as=counted if status == "unevaluated" else None,
    )


def _last_turn(turns: list[Any]) -> Any:
    answers = [
        turn.get("content")
        for turn in turns
        if isinstance(turn, dict) and turn.get("role") == "assistant"
    ]
    return answers[-1] if answers else None


def _status(case: TestCase) -> Status:
    """DeepEval's verdict, but where only a metric that broke failed the test case."""
    if not case.metrics:
        return "unevaluated"
    if case.success:
        return "pass"
    failed = any(not each.success and not each.is_broken for each in case.metrics)
    broken = any(each.is_broken for each in case.metrics)
    return "unevaluated" if broken and not failed else "fail"


def _write(metric: Metric, answer: RoundWriter, *, lower: bool) -> None:
    value = number(metric.score)
    share = on_scale(value)
    judge = {"judge": metric.evaluationModel, "judge_cost": metric.evaluationCost}
    answer.check(
        metric.title,
        "metric",
        None if metric.is_broken else metric.success,
        score=value,
        threshold=metric.threshold,
        reason=metric.reason,
        error=metric.error,
    )
    answer.score(
        metric.title,
        value,
        1 - share if lower and share is not None else share,
        summary=metric.reason,
        payload={key: each for key, each in judge.items() if each},
    )


def _write_totals(run: TestRun, task: TaskWriter) -> None:
    for name, status in (("testPassed", "pass"), ("testFailed", "fail")):
        value = getattr(run, name)
        if value is not None:
            task.total(name, "count_rounds", value, parameters={"status": status})
    for place, claimed in enumerate(run.metricsScores or []):
        known = claimed.metric if claimed.metric in task.dimensions else None
        scores = [score for score in claimed.scores if score is not None]
        if scores:
            task.total(
                f"metricsScores[{place}].scores",
                "mean_over_rounds" if known else "not_in_rows",
                sum(scores) / len(scores),
                n=len(scores),
                dimension=known,
            )
        for key, status in _COUNTS.items():
            value = getattr(claimed, key)
            if value is not None:
                task.total(
                    f"metricsScores[{place}].{key}",
                    "count_checks_of_dimension" if known else "not_in_rows",
                    value,
                    n=len(scores),
                    dimension=known,
                    parameters={"status": status},
                )
