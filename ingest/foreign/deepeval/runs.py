"""One run of DeepEval: its test cases, its metrics, and what it claims of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from ingest.foreign import prompts
from ingest.foreign.deepeval.structs import Metric, TestCase, TestRun
from ingest.foreign.documents import answer, number, on_scale, text
from ingest.foreign.grading import Dimensions
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.records import (
    Baseline,
    Case,
    Check,
    Direction,
    Record,
    Round,
    Score,
    Status,
    Task,
    Total,
)
from ingest.foreign.settings import env_of, setting
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

VERSIONS = "4.3.1 and files of 2024"

_SHARES = frozenset(
    {
        "Answer Relevancy",
        "Argument Correctness",
        "Bias",
        "Citation Faithfulness",
        "Contextual Precision",
        "Contextual Recall",
        "Contextual Relevancy",
        "Conversation Completeness",
        "Exact Match",
        "Faithfulness",
        "Goal Accuracy",
        "Hallucination",
        "Json Correctness",
        "Knowledge Retention",
        "Misuse",
        "Non-Advice",
        "PII Leakage",
        "Pattern Match",
        "Plan Adherence",
        "Plan Quality",
        "Prompt Alignment",
        "RAGAS",
        "Role Adherence",
        "Role Violation",
        "Step Efficiency",
        "Summarization",
        "Task Completion",
        "Tool Correctness",
        "Tool Use",
        "Topic Adherence",
        "Toxicity",
        "Turn Contextual Precision",
        "Turn Contextual Recall",
        "Turn Contextual Relevancy",
        "Turn Faithfulness",
        "Turn Relevancy",
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
        source: The file that leads it.
    """

    def __init__(self, run: TestRun, source: Source) -> None:
        self._run = run
        self._source = source
        self._cases: list[TestCase] = []
        self.problems: list[Problem] = []
        self.rows: set[str] = set()
        """What each test case says, as a hash."""

    def add(self, case: TestCase) -> None:
        """Add a test case."""
        said = [(each.title, each.score, each.success) for each in case.metrics]
        row = [case.order, case.asked, case.actualOutput, case.runDuration, said]
        self.rows.add(content_id(row))
        self._cases.append(case)

    def records(self) -> Iterator[Record | Problem]:
        """All records of the run."""
        run = self._run
        same_run = SameRun("deepeval", run.identifier or "")
        for row in self.rows:
            same_run.add(row)
        title = run.datasetAlias or run.testFile or run.identifier or "deepeval"
        # no id and no time stand in the file: a run is known by what it says
        task_id = content_id(same_run.hash(), run.identifier or "deepeval")
        settings = run.hyperparameters or {}
        yield Task(
            task_id=task_id,
            source_kind="deepeval",
            title=title,
            prompt_version=setting(settings, "prompt version", "prompt") or "unknown",
            model=setting(settings, "model", "llm", "model name") or "unknown",
            created_at=self._source.modified_at,
            run_id=task_id,
            run_hash=same_run.hash(),
            env=env_of(settings),
            extras=text(
                prompts.about(_prompt(run), identifier=run.identifier),
            ),
        )
        yield from self.problems
        dimensions, seen = Dimensions(task_id, _is_share), Occurrences()
        directions = _directions(self._cases)
        for position, case in enumerate(self._cases):
            case_id = _case_id(case)
            case_id = seen.named(case_id, seen.next(case_id))
            yield from _case(case, task_id, case_id, position)
            place = (task_id, case_id, f"{case_id}-1")
            yield _round(case, place)
            for at, metric in enumerate(case.metrics):
                dimensions.see(metric.title, metric.score)
                lower = directions.get(metric.title) == "lower_better"
                yield from _said(metric, place, at, lower=lower)
        yield from dimensions.records(directions=directions)
        yield from _totals(run, task_id, dimensions)
        if run.testPassed is None and not run.metricsScores:
            yield Problem(
                "run_incomplete",
                f"{self._source.path.name} claims no totals: DeepEval wrote it on the"
                " way, and the run may have had more test cases",
                severity="warning",
                record_id=task_id,
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
    said = asked[0] if isinstance(asked[0], str) else case.scenario
    return content_id(asked, said)


def _case(
    case: TestCase, task_id: str, case_id: str, position: int
) -> Iterator[Record]:
    context = {
        "input": case.input,
        "scenario": case.scenario,
        "context": case.context,
        "expected_tools": case.expectedTools,
    }
    tags = [tag for tag in case.tags or [] if isinstance(tag, str)]
    said = {key: value for key, value in context.items() if value is not None}
    yield Case(task_id, case_id, position, text(said), text(tags))
    expected = case.expectedOutput if case.turns is None else case.expectedOutcome
    if expected is not None:
        golden = text({"answer": expected})
        yield Baseline(task_id, case_id, "expected", 0, golden)


def _round(case: TestCase, place: tuple[str, str, str]) -> Round:
    task_id, case_id, round_id = place
    seconds = case.completionTime if case.latency is None else case.latency
    output, parsed = answer(
        case.actualOutput if case.turns is None else _last_turn(case.turns)
    )
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
    counted: Any = "pass" if case.success else "fail"
    return Round(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=0,
        run_index=1,
        raw_output=output,
        parsed_output=parsed,
        latency_ms=None if seconds is None else round(seconds * 1000, 6),
        metadata=text({key: value for key, value in about.items() if value}),
        reported_status=status,
        counted_as=counted if status == "unevaluated" else None,
    )


def _last_turn(turns: list[Any]) -> Any:
    said = [
        turn.get("content")
        for turn in turns
        if isinstance(turn, dict) and turn.get("role") == "assistant"
    ]
    return said[-1] if said else None


def _status(case: TestCase) -> Status:
    """DeepEval's verdict, but where only a metric that broke failed the test case."""
    if not case.metrics:
        return "unevaluated"
    if case.success:
        return "pass"
    failed = any(not each.success and not each.is_broken for each in case.metrics)
    broken = any(each.is_broken for each in case.metrics)
    return "unevaluated" if broken and not failed else "fail"


def _said(
    metric: Metric, place: tuple[str, str, str], position: int, *, lower: bool
) -> Iterator[Record]:
    task_id, case_id, round_id = place
    score = number(metric.score)
    yield Check(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=position,
        name=metric.title,
        type="metric",
        passed=None if metric.is_broken else metric.success,
        score=score,
        threshold=metric.threshold,
        reason=metric.reason,
        error=metric.error,
    )
    share = on_scale(score)
    judge = {"judge": metric.evaluationModel, "judge_cost": metric.evaluationCost}
    yield Score(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        dimension_id=metric.title,
        value=score,
        score=1 - share if lower and share is not None else share,
        summary=metric.reason,
        payload=text({key: each for key, each in judge.items() if each}),
    )


def _totals(run: TestRun, task_id: str, dimensions: Dimensions) -> Iterator[Total]:
    places = count()
    for name, status in (("testPassed", "pass"), ("testFailed", "fail")):
        value = getattr(run, name)
        if value is not None:
            yield Total(
                task_id=task_id,
                position=next(places),
                name=name,
                rule="count_rounds",
                value=number(value),
                parameters=text({"status": status}),
            )
    for place, claimed in enumerate(run.metricsScores or []):
        name, known = claimed.metric, claimed.metric in dimensions
        scores = [score for score in claimed.scores if score is not None]
        if scores:
            yield Total(
                task_id=task_id,
                position=next(places),
                name=f"metricsScores[{place}].scores",
                rule="mean_over_rounds" if known else "not_in_rows",
                value=sum(scores) / len(scores),
                n=len(scores),
                dimension_id=name if known else None,
            )
        for key, status in _COUNTS.items():
            value = getattr(claimed, key)
            if value is not None:
                yield Total(
                    task_id=task_id,
                    position=next(places),
                    name=f"metricsScores[{place}].{key}",
                    rule="count_checks_of_dimension" if known else "not_in_rows",
                    value=number(value),
                    n=len(scores),
                    dimension_id=name if known else None,
                    parameters=text({"status": status}),
                )
