"""The evaluator of a pipeline on many samples.

The caller runs the pipeline: a ``runner`` is called with a sample (and with the
variant, if it takes two arguments) and returns a ``PipelineRun``, a mapping with
``step_outputs``, bare step outputs, or a text; it may be ``async``. Samples with
outputs are judged directly. A runner that raises makes its sample an
error, and the others go on; but errors of the program, such as ``TypeError``, are
raised. A runner that returns something else is a ``UsageError``.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from promptlab.errors import UsageError
from promptlab.evaluator.cases import case_fields
from promptlab.evaluator.models import (
    EvaluationConfig,
    EvaluationResult,
    PipelineEvaluationResult,
    PipelineRun,
    RunInfo,
)
from promptlab.evaluator.outputs import PipelineOutline
from promptlab.evaluator.sentences import Language
from promptlab.evaluator.unified import Judge, UnifiedEvaluator
from promptlab.json_text.reading import copy_json
from promptlab.messages import warn

Runner = Callable[..., Any]
"""Returns a run, an object, a text (``PipelineRun.from_output``) or an awaitable."""

_PROGRAM_ERRORS = (
    AttributeError,
    ImportError,
    NameError,
    NotImplementedError,
    TypeError,
)
"""Errors of the runner itself, whatever the model answered."""

OUTPUT_FIELDS: Final = (
    "step_outputs",
    "final_output",
    "parsed_output",
    "raw_output",
    "error",
)
"""A sample with one of these keys was already run."""


class PipelineEvaluator:
    """Evaluates a pipeline by the expectations of its samples.

    Args:
        pipeline_config: From ``load_pipeline_config``, or a mapping with ``id`` and
            ``steps``. Its ``runner``, if it has one, runs the samples.
        runner: Runs the pipeline on a sample; overrides the configuration's.
        config: Rules and judge; default: no rules, and the judge if one is given.
        judge: The judge (see ``promptlab.evaluator.unified``).
        lang: Language of ``details`` and messages, ``zh`` or ``en``; default: the
            locale's, else English.
        clock: Returns seconds; measures runners that report no time.
    """

    def __init__(
        self,
        pipeline_config: Any,
        runner: Runner | None = None,
        *,
        config: EvaluationConfig | None = None,
        judge: Judge | None = None,
        lang: Language | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.pipeline = PipelineOutline.from_config(pipeline_config)
        self.runner: Runner | None = runner or _runner_of(pipeline_config)
        self.evaluator = UnifiedEvaluator(
            config or EvaluationConfig(judge_enabled=judge is not None),
            judge=judge,
            pipeline=self.pipeline,
            lang=lang,
        )
        self._clock = clock

    def evaluate_pipeline(
        self,
        samples: Iterable[Any],
        variant: str = "baseline",
        apply_rules: bool = True,
        apply_judge: bool = True,
        *,
        info: RunInfo | None = None,
        repeats: int = 1,
        concurrency: int = 1,
        on_progress: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> PipelineEvaluationResult:
        """Evaluate every sample.

        With more than one at a time, runner and judge are called in threads; ``async``
        runners always share one event loop.

        Args:
            samples: Test cases, as mappings or ``TestCase``; never changed.
            variant: The pipeline's variant; also the runner's second argument.
            apply_rules: False: leave the rules out.
            apply_judge: False: leave the judge out. True without a judge logs a warning
                why ``average_score`` is ``nan``.
            info: Properties of the run: run id, testset, model, … Its ``created_at`` is
                now, if neither it nor any sample says when it ran.
            repeats: Rounds per sample; a sample with outputs has one.
            concurrency: Rounds that run at the same time.
            on_progress: Called after each round with the number of finished rounds and
                of all.

        Returns:
            A result per round, in the order of the samples, and ``overall_stats``.

        Raises:
            UsageError: A sample has no outputs and there is no runner, a sample is not
                in the format, or the runner returned something that is not an output.
        """
        if repeats < 1 or concurrency < 1:
            raise UsageError(
                f"repeats is {repeats} and concurrency {concurrency}; pass at least 1"
            )
        samples = list(samples)
        info = _dated(info or RunInfo(), samples)
        rounds = [
            sample
            for sample in samples
            for _ in range(1 if _was_run(sample) else repeats)
        ]

        def evaluate(sample: Any) -> EvaluationResult:
            return self.evaluator.evaluate_run(
                self.pipeline.id,
                variant,
                sample,
                self._run(sample, variant, loop),
                apply_rules=apply_rules,
                apply_judge=apply_judge,
                info=info,
            )

        with _EventLoop() as loop:
            results = _evaluate_all(evaluate, rounds, concurrency, on_progress)
        if results and apply_judge and self.evaluator.judge is None:
            warn(
                "average_score is nan: no judge scored the results; pass judge=… when"
                " the evaluator is made, or apply_judge=False",
                "no_judge",
            )
        return PipelineEvaluationResult(
            self.pipeline.id, variant, results, overall_stats(results)
        )

    def _run(self, sample: Any, variant: str, loop: _EventLoop) -> PipelineRun:
        if _was_run(sample):
            return PipelineRun.from_fields(sample)
        if self.runner is None:
            name = case_fields(sample).get("id")
            raise UsageError(
                f"sample {name!r} has no step_outputs, and there is no runner. Pass "
                "PipelineEvaluator(config, runner=…) to run the pipeline, or put "
                '"step_outputs": {…} into the sample to judge what it gave before'
            )
        copied = copy_json(sample, "sample") if isinstance(sample, Mapping) else sample
        arguments = (copied, variant)
        started = self._clock()
        try:
            output = self.runner(*arguments[: _arguments_of(self.runner)])
            if inspect.isawaitable(output):
                output = loop.result(output)
        except _PROGRAM_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001  # the runner is foreign code
            run = PipelineRun(error=f"{type(error).__name__}: {error}")
        else:
            # an invalid return value is an error of the caller, not of the model
            run = PipelineRun.from_output(output)
            copy_json(run.step_outputs, "step_outputs")
            copy_json([run.final_output, run.parsed_output], "final_output")
        if run.execution_time is not None:
            return run
        return replace(run, execution_time=self._clock() - started)


def overall_stats(results: Sequence[EvaluationResult]) -> dict[str, Any]:
    """Count and average the results of a run.

    Returns:
        ``success_rate`` is pass / (pass + fail + error), ``must_have_pass_rate`` of the
        samples that have the verdict, ``average_score`` of those with a score (0–10),
        ``average_execution_time`` in seconds of those with a time; ``nan`` without
        values.
    """
    counts = Counter(result.status for result in results)
    judged = counts["pass"] + counts["fail"] + counts["error"]
    must_have = [result.must_have_pass for result in results]
    broken = Counter(
        str(violation["rule"])
        for result in results
        for violation in result.rule_violations
    )
    return {
        "total_samples": len(results),
        "successful_samples": counts["pass"],
        "failed_samples": counts["fail"],
        "error_samples": counts["error"],
        "unevaluated_samples": counts["unevaluated"],
        "success_rate": counts["pass"] / judged if judged else math.nan,
        "must_have_pass_rate": _mean(must_have),
        "average_score": _mean([result.overall_score for result in results]),
        "average_execution_time": _mean([result.execution_time for result in results]),
        "rule_violations": dict(broken),
    }


def _dated(info: RunInfo, samples: Sequence[Any]) -> RunInfo:
    """Return *info* with a time, unless the samples have one."""
    has_time = any(
        isinstance(sample, Mapping) and sample.get("executed_at") for sample in samples
    )
    if info.created_at is not None or has_time:
        return info
    return replace(info, created_at=datetime.now(UTC))


def _was_run(sample: Any) -> bool:
    return isinstance(sample, Mapping) and any(
        sample.get(name) is not None for name in OUTPUT_FIELDS
    )


def _evaluate_all(
    evaluate: Callable[[Any], EvaluationResult],
    rounds: Sequence[Any],
    concurrency: int,
    on_progress: Callable[[int, int], None],
) -> list[EvaluationResult]:
    """Evaluate *concurrency* rounds at a time; an error cancels the waiting ones."""
    if concurrency == 1:
        results = []
        for done, sample in enumerate(rounds, 1):
            results.append(evaluate(sample))
            on_progress(done, len(rounds))
        return results
    with ThreadPoolExecutor(max_workers=concurrency) as threads:
        futures = [threads.submit(evaluate, sample) for sample in rounds]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                on_progress(done, len(rounds))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


class _EventLoop:
    """The event loop of ``async`` runners, in a thread that starts when one is used.

    All rounds share it, as clients of models are bound to a loop; and a notebook's own
    loop cannot be entered again.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> _EventLoop:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def result(self, output: Awaitable[Any]) -> Any:
        """Wait for the output of a runner."""

        async def result() -> Any:
            return await output

        with self._lock:
            if not self._thread.is_alive():
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(result(), self._loop).result()


def _mean(values: Sequence[float | None]) -> float:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def _runner_of(pipeline_config: Any) -> Runner | None:
    if isinstance(pipeline_config, Mapping):
        runner = pipeline_config.get("runner")
    else:
        runner = getattr(pipeline_config, "runner", None)
    return runner if callable(runner) else None  # YAML may have a text there


def _arguments_of(runner: Runner) -> int:
    """Return the number of arguments of a runner: the sample, and maybe the variant."""
    try:
        inspect.signature(runner).bind(None, None)
    except (TypeError, ValueError):
        return 1
    return 2
