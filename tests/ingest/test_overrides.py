"""Branch and commit of a file: an option, else its path, else the CI system."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlab.contracts.sources import SourcePath
from promptlab.ingest.overrides import for_path, overrides_of

BY_BRANCH = "evals/{branch}/*.csv"
BY_COMMIT = "evals/{commit}/*.csv"
GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": "main", "GITHUB_SHA": "ci"}


@pytest.mark.parametrize(
    ("pattern", "environ", "options", "expected"),
    [
        (BY_BRANCH, {}, {}, ("fix", None, "sources")),
        (BY_BRANCH, {}, {"commit": "abc"}, ("fix", "abc", "option")),
        (BY_BRANCH, {}, {"branch": "own"}, ("own", None, "option")),
        (BY_BRANCH, GITHUB, {}, ("fix", "ci", "sources")),
        (BY_BRANCH, GITHUB, {"commit": "abc"}, ("fix", "abc", "option")),
        (BY_BRANCH, GITHUB, {"branch": "own"}, ("own", "ci", "option")),
        (BY_COMMIT, {}, {"branch": "own"}, ("own", "fix", "option")),
        (BY_COMMIT, GITHUB, {"branch": "own"}, ("own", "fix", "option")),
        (BY_COMMIT, GITHUB, {"commit": "abc"}, ("main", "abc", "option")),
        ("other/{branch}/*.csv", GITHUB, {}, ("main", "ci", "github")),
        ("other/{branch}/*.csv", {}, {}, (None, None, None)),
    ],
)
def test_an_option_silences_only_the_part_of_the_path_that_it_sets(
    pattern: str,
    environ: dict[str, str],
    options: dict[str, str],
    expected: tuple[str | None, ...],
) -> None:
    sources = [SourcePath(path=pattern)]
    file = Path("evals/fix/x.csv")
    values = for_path(overrides_of(environ, **options), file, sources)
    assert (values.branch, values.commit_sha, values.revision_source) == expected
