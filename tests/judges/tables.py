"""Tables of labels, verdicts, grades and scores, and what other libraries make of them.

``python -m tests.judges.tables`` writes `LIBRARIES` anew. It needs scikit-learn,
statsmodels, krippendorff, irrCAC and ppi-python, which the tests do not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIBRARIES = Path(__file__).parents[1] / "data/judges/libraries.json"
PEOPLE = ("ann", "bob", "eve")
N = 120
SCALE = 5


def tables() -> Iterator[dict[str, Any]]:
    """Return tables: a name, and answers with score and labels of people.

    They differ in the share of failures, the quality of judge and people, and in how
    many people labelled how many answers.
    """
    draw = random.Random(20261124)
    for number in range(16):
        is_graded = number % 4 == 3
        passing = (0.5, 0.7, 0.85, 0.95)[number // 4]
        n_labelled = (40, 80, 115)[number % 3]
        answers = []
        for place in range(N):
            quality = draw.random()
            several = 1 if number in (7, 15) else draw.choice((1, 2, 3))
            people = PEOPLE[:several] if place < n_labelled else ()
            if is_graded:
                labels = {p: _grade(quality + draw.gauss(0, 0.12)) for p in people}
                score = _grade(quality + draw.gauss(0.1, 0.2)) / SCALE
            else:
                is_right = quality < passing
                labels = {p: int(is_right != (draw.random() < 0.1)) for p in people}
                score = float(is_right != (draw.random() < (0.08, 0.25)[number % 2]))
            answers.append({"labels": labels, "score": score})
        draw.shuffle(answers)
        yield {"name": f"d{number}", "is_graded": is_graded, "answers": answers}


def _grade(quality: float) -> int:
    return min(SCALE, max(1, round(1 + quality * (SCALE - 1))))


def truth(labels: dict[str, int]) -> int | None:
    """Return what most people say; ``None`` without labels or for a tie."""
    passes = sum(labels.values())
    return None if 2 * passes == len(labels) else int(2 * passes > len(labels))


def by_libraries(table: dict[str, Any]) -> dict[str, float]:
    """Return the figures of a table as the libraries compute them."""
    import sys

    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]  # for numba
    import krippendorff
    import numpy as np
    import pandas as pd
    from irrCAC.raw import CAC
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    from scipy import stats
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.inter_rater import cohens_kappa
    from statsmodels.stats.proportion import proportion_confint

    answers = table["answers"]
    by_person = np.array(
        [[a["labels"].get(p, np.nan) for a in answers] for p in PEOPLE], dtype=float
    )
    level = "interval" if table["is_graded"] else "nominal"
    found = {}
    if any(len(a["labels"]) > 1 for a in answers):
        alpha = krippendorff.alpha(by_person, level_of_measurement=level)
        found["people_alpha"] = float(alpha)
    if table["is_graded"]:
        labelled = [a for a in answers if a["labels"]]
        rest = [a["score"] for a in answers if not a["labels"]]
        grades = [np.mean([g / SCALE for g in a["labels"].values()]) for a in labelled]
        scores = [a["score"] for a in labelled]
        given = np.array(grades), np.array(scores), np.array(rest)
        low, high = ppi_mean_ci(*given, alpha=0.05)
        found |= {
            "pearson": float(stats.pearsonr(scores, grades).statistic),
            "mean_difference": float(np.mean(np.subtract(scores, grades))),
            "estimate": float(ppi_mean_pointestimate(*given)[0]),
            "estimate_low": float(low[0]),
            "estimate_high": float(high[0]),
        }
        if "people_alpha" not in found:
            grades_of_one = [a["labels"]["ann"] for a in labelled]
            found["weighted_kappa"] = float(
                cohen_kappa_score(
                    [round(s * SCALE) for s in scores],
                    grades_of_one,
                    labels=range(1, SCALE + 1),
                    weights="quadratic",
                )
            )
        return found
    both = [
        (said, int(a["score"]))
        for a in answers
        if (said := truth(a["labels"])) is not None
    ]
    people, judge = map(list, zip(*both, strict=True))
    counts = np.array([[both.count((i, j)) for j in (1, 0)] for i in (1, 0)])
    (a, b), (c, d) = counts
    kappa = cohens_kappa(counts)
    raters = CAC(pd.DataFrame({"people": people, "judge": judge}), digits=12)
    found |= {
        "cohens_kappa": float(cohen_kappa_score(people, judge)),
        "kappa_low": float(kappa.kappa_low),
        "kappa_high": float(kappa.kappa_upp),
        "gwet_ac1": float(raters.gwet()["est"]["coefficient_value"]),
        "leniency_p": float(mcnemar(counts, exact=True).pvalue),
    }
    for name, k, n in (("tpr", a, a + b), ("tnr", d, c + d)):
        low, high = proportion_confint(k, n, method="wilson")
        found |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return found


if __name__ == "__main__":
    LIBRARIES.parent.mkdir(exist_ok=True)
    figures = {table["name"]: by_libraries(table) for table in tables()}
    LIBRARIES.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
