"""Every Eval Ever: an aggregate JSON, and one JSONL line per sample and result.

Tried on schema version 0.3.0. The aggregate ``X.json`` leads the ``X_samples.jsonl``
beside it. A task is one evaluation name; a metric is a dimension, a sample a case, and
the lines of one sample on one metric are its rounds. What only the aggregate says is
totals. The verdict of a round is ``is_correct`` of its lines; files that promptlab
wrote say the round and its verdict themselves, in ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.every_eval_ever.run import SampledRun
from promptlab.ingest.foreign.every_eval_ever.structs import FILES, SAMPLES, Aggregate
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.runs import Part, Run
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("aggregate", "samples")


def recognise(head: Head) -> str | None:
    """Results of a model; lines of samples that name an evaluation."""
    if head.has(b'"evaluation_results"'):
        keys = {"evaluation_results", "evaluation_id", "model_info"}
        return "aggregate" if keys <= head.keys else None
    keys = {"evaluation_id", "evaluation_name", "sample_id", "evaluation"}
    return "samples" if keys <= head.keys else None


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """``X.json`` leads ``X_samples.jsonl``; others stand alone."""
    samples = {part.path: part for part in parts if part.form == "samples"}
    for part in parts:
        if part.form == "aggregate":
            own = samples.pop(part.path.with_name(part.path.stem + SAMPLES), None)
            yield part, () if own is None else (own,)
    for part in samples.values():
        yield part, ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """Each evaluation that has samples; else one task of totals."""
    if source.form == "samples":
        run = SampledRun(None, source)
        yield from run.samples([source.path])
        run_id = run.aggregate.evaluation_id
        yield Problem(
            "results_missing",
            f"{source.path.name} has no aggregate beside it, which says what its"
            f" numbers mean: give {source.path.name.removesuffix(SAMPLES)}.json too",
            severity="warning",
            record_id=run_id,
        )
        return
    run = SampledRun(FILES.document(source, Aggregate), source)
    if source.companions:
        yield from run.samples(source.companions)
    if not run.open:
        yield from run.totals_alone()
