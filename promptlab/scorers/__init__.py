"""Scorers written in Python: entry points of the group ``promptlab.scorers``.

A scorer sees one dimension's configuration and one case, and gives scores with their
evidence (analysis contract, section 5.3). ``promptlab score`` runs it; SQL turns its
scores into the dimension's result, like every other score.
"""

from __future__ import annotations

from promptlab.scorers.golden import golden_answers
from promptlab.scorers.protocol import RoundScore, Scorer

__all__ = ["RoundScore", "Scorer", "golden_answers"]
