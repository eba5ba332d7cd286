"""The outcome of an ingest, file by file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from promptlab.ingest.raw.load_log import MOST_PROBLEMS
from promptlab.ingest.raw.rows import Key, Reading
from promptlab.ingest.reading.problems import Problem


@dataclass
class FileLoad:
    """The outcome of one file, as shown to the user."""

    path: Path
    kind: str
    status: str = "loaded"
    """loaded, unchanged, rejected, skipped or purged."""
    problems: list[Problem] = field(default_factory=list)
    """The first ``MOST_PROBLEMS`` of a very large file; ``raw.rejects`` has all."""
    records_loaded: int = 0
    records_rejected: int = 0
    keys: list[Key] = field(default_factory=list)
    """The objects in it, like in a `Reading`; of an unchanged file with joined ids."""
    sha256: str = ""
    """Hash of the file's bytes; empty if it could not be read."""
    message: str | None = None
    redacted: dict[str, int] = field(default_factory=dict)
    """Rule → values that were redacted."""

    def add(self, reading: Reading) -> None:
        """Add the counts, keys and problems of one batch of the file."""
        room = max(0, MOST_PROBLEMS - len(self.problems)) if self.problems else None
        self.problems = self.problems + reading.problems[:room]
        self.records_loaded += reading.records_loaded
        self.records_rejected += reading.records_rejected
        self.keys = self.keys + reading.keys
        if reading.rejected:
            self.status = "rejected"
            found = (p.message for p in self.problems if p.severity == "reject")
            self.message = next(found, "nothing could be read")


@dataclass(frozen=True)
class Ingested:
    """The outcome of an ingest, file by file."""

    files: list[FileLoad]

    @property
    def n_loaded(self) -> int:
        """Files with new content."""
        return self._count("loaded")

    @property
    def n_unchanged(self) -> int:
        """Files that were already loaded, byte for byte."""
        return self._count("unchanged")

    @property
    def n_rejected(self) -> int:
        """Files without any valid record."""
        return self._count("rejected")

    @property
    def n_skipped(self) -> int:
        """Files of no known kind."""
        return self._count("skipped")

    @property
    def n_purged(self) -> int:
        """Files that were purged before, and are not loaded again."""
        return self._count("purged")

    @property
    def n_rejected_records(self) -> int:
        """Number of records left out, over all files."""
        return sum(file.records_rejected for file in self.files)

    @property
    def redacted(self) -> dict[str, int]:
        """Rule → values that were redacted, the most frequent first."""
        counts: Counter[str] = Counter()
        for file in self.files:
            counts.update(file.redacted)
        return dict(counts.most_common())

    def _count(self, status: str) -> int:
        return sum(file.status == status for file in self.files)
