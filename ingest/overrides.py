"""Title, variant, branch and commit of a call, for all of its files.

Options override ``[[sources]]`` of the config, which override the variables of a CI
system; all of them override the content of a file. The commit of the local git
repository is used where nothing else names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from promptlab.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from promptlab.contracts.sources import SourcePath
    from promptlab.ingest.local_commit import LocalCommit

_CI = {
    "github": (
        "GITHUB_ACTIONS",
        ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"),
        ("GITHUB_BASE_REF",),
        ("GITHUB_SHA",),
    ),
    "gitlab": (
        "GITLAB_CI",
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_DEFAULT_BRANCH"),
        ("CI_COMMIT_SHA",),
    ),
    "azure_pipelines": (
        "TF_BUILD",
        ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH"),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH",),
        ("BUILD_SOURCEVERSION",),
    ),
    "jenkins": (
        "JENKINS_URL",
        ("CHANGE_BRANCH", "BRANCH_NAME"),
        ("CHANGE_TARGET",),
        ("GIT_COMMIT",),
    ),
}
"""CI system → its marker variable, and those of branch, base and commit."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values that a call sets for a file: columns of ``raw.tasks``."""

    title: str | None = None
    variant: str | None = None
    created_at: datetime | None = None
    run_name: str | None = None
    branch: str | None = None
    base_branch: str | None = None
    commit_sha: str | None = None
    revision_source: str | None = None
    """``option``, ``sources``, ``git``, or the CI system whose variables were read."""
    options: frozenset[str] = frozenset()
    """``branch`` and ``commit``, where options set them; not a column."""
    recheck_of: str | None = None
    """The task or run whose cases were asked again."""
    local: LocalCommit | None = None
    """Commit of the repository that the call is in; not a column."""
    local_commit: str | None = None
    """The same, for a file without a commit that was written there; not a column."""
    other_ids: frozenset[str] = frozenset()
    """Ids of other tasks, which a re-check must not replace; not a column."""
    prompt_vars: tuple[str, ...] = ()
    """Variables of promptfoo tests that are part of the prompt; not a column."""
    tag_keys: tuple[str, ...] | None = None
    """Keys of metadata whose values become tags; not a column."""

    def columns(self) -> dict[str, object]:
        """Return its values by column."""
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in _NO_COLUMNS
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def of_run(self) -> tuple[str, ...]:
        """Return the values that distinguish equal rows of runs without ids."""
        values = (self.title, self.variant, self.created_at, self.recheck_of)
        return tuple(str(value or "") for value in values) if any(values) else ()

    @property
    def identity(self) -> str | None:
        """Return the values that require reading a known file again."""
        values: list[object] = [self.title, self.variant, self.created_at]
        if self.prompt_vars or self.tag_keys is not None:
            values += [",".join(self.prompt_vars), ",".join(self.tag_keys or ())]
        if self.recheck_of:
            values.append(f"recheck of {self.recheck_of}")
        return "|".join(str(value or "") for value in values) if any(values) else None


_NO_COLUMNS = {
    "options",
    "other_ids",
    "prompt_vars",
    "tag_keys",
    "local",
    "local_commit",
}

NO_OVERRIDES = Overrides()


def overrides_of(
    environ: Mapping[str, str],
    *,
    time: str | None = None,
    branch: str | None = None,
    base_branch: str | None = None,
    commit: str | None = None,
    **named: Any,
) -> Overrides:
    """Return the values of options and of the variables of a CI system.

    The time is ISO 8601; without a zone: UTC. *named* are further fields.

    Raises:
        UsageError: the time is invalid.
    """
    moment = None
    if time is not None:
        moment = _moment(time)
        if moment is None:
            raise UsageError(
                f"--time {time}: expected a date or time such as 2026-11-24T09:30"
            )
    of_ci = _of_ci(environ)
    by_option = {"branch": branch, "commit": commit}
    options = frozenset(name for name, value in by_option.items() if value)
    return Overrides(
        created_at=moment,
        branch=branch or of_ci.branch,
        base_branch=base_branch or of_ci.base_branch,
        commit_sha=commit or of_ci.commit_sha,
        revision_source="option" if options else of_ci.revision_source,
        options=options,
        **named,
    )


def for_path(
    overrides: Overrides, path: Path, sources: Sequence[SourcePath]
) -> Overrides:
    """Add the values of the first of *sources* that matches *path*, and of git."""
    is_named = overrides.commit_sha is not None or overrides.branch is not None
    if overrides.local is not None and not is_named:
        overrides = replace(overrides, local_commit=overrides.local.sha_for(path))
    for source in sources:
        values = source.values_for(path.resolve().as_posix())
        if values is None:
            continue
        date = values.get("date")
        by_path = (values.keys() & {"branch", "commit"}) - overrides.options
        if by_path:
            is_option = bool(overrides.options)
            overrides = replace(
                overrides,
                branch=values["branch"] if "branch" in by_path else overrides.branch,
                commit_sha=(
                    values["commit"] if "commit" in by_path else overrides.commit_sha
                ),
                revision_source="option" if is_option else "sources",
            )
        return replace(
            overrides,
            title=overrides.title or values.get("title"),
            variant=overrides.variant or values.get("variant"),
            created_at=overrides.created_at or (_moment(date) if date else None),
        )
    return overrides


def _of_ci(environ: Mapping[str, str]) -> Overrides:
    def first(names: Sequence[str]) -> str | None:
        value = next((environ[name] for name in names if environ.get(name)), None)
        return value.removeprefix("refs/heads/") if value else None

    for name, (known, branch, base, commit) in _CI.items():
        if environ.get(known):
            return Overrides(
                branch=first(branch),
                base_branch=first(base),
                commit_sha=first(commit),
                revision_source=name,
            )
    return Overrides()


def _moment(text: str) -> datetime | None:
    """Return a date, or a date and time, as a time in UTC."""
    from promptlab.contracts.base import in_utc  # pydantic: not for `--help`

    try:
        return in_utc(datetime.fromisoformat(text.strip().replace("_", "T")))
    except (ValueError, OverflowError):
        return None
