"""The sentences of a report, written from the codes and facts of the marts.

The words are in ``reports/texts``, a file per language; one module here per family
fills in the facts. Numbers are only formatted, not computed.
"""

from promptlab.reports.sentences.alerts import alert
from promptlab.reports.sentences.checks import details
from promptlab.reports.sentences.comparisons import (
    category_name,
    comparison,
    from_to,
    note,
)
from promptlab.reports.sentences.evidence import evidence, measured
from promptlab.reports.sentences.speech import Speech
from promptlab.reports.sentences.tasks import conclusion, diagnosis, judge

__all__ = [
    "Speech",
    "alert",
    "category_name",
    "comparison",
    "conclusion",
    "details",
    "diagnosis",
    "evidence",
    "from_to",
    "judge",
    "measured",
    "note",
]
