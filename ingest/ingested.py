"""The outcome of an ingest, file by file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from promptlab.ingest.raw.rows import FileLoad


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
        """Number of records left out, over all files that were read."""
        return sum(
            file.records_rejected for file in self.files if file.status != "unchanged"
        )

    @property
    def n_rejected_before(self) -> int:
        """Files that an earlier call rejected, and that did not change since."""
        return sum(file.was_rejected for file in self.files)

    @property
    def n_held(self) -> int:
        """Files whose content is in the warehouse now."""
        return self.n_loaded + self.n_unchanged - self.n_rejected_before

    @property
    def redacted(self) -> dict[str, int]:
        """Rule → values that were redacted, the most frequent first."""
        counts: Counter[str] = Counter()
        for file in self.files:
            counts.update(file.redacted)
        return dict(counts.most_common())

    def _count(self, status: str) -> int:
        return sum(file.status == status for file in self.files)
