"""Files into a warehouse's raw tables, or into Parquet files instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab import __version__
from promptlab.errors import NothingToDo

if TYPE_CHECKING:
    from ingest.load import FileLoad
    from promptlab.pipeline import Warehouse

OnProgress = Callable[[Path, int], None]


@dataclass(frozen=True)
class Ingested:
    """What an ingest did, file by file."""

    files: list[FileLoad]

    @property
    def n_loaded(self) -> int:
        """Files that brought something new."""
        return self._count("loaded")

    @property
    def n_unchanged(self) -> int:
        """Files that were there before, byte by byte."""
        return self._count("unchanged")

    @property
    def n_rejected(self) -> int:
        """Files of which nothing could be used."""
        return self._count("rejected")

    @property
    def n_skipped(self) -> int:
        """Files of no known kind."""
        return self._count("skipped")

    @property
    def n_purged(self) -> int:
        """Files that were purged before, and stay out."""
        return self._count("purged")

    @property
    def n_rejected_records(self) -> int:
        """Records left out, of every file that was read."""
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


def load(
    warehouse: Warehouse,
    paths: Sequence[Path],
    *,
    kind: str,
    sink: str,
    workers: str,
    on_start: Callable[[int, int], None],
    **options: Any,
) -> Ingested:
    """Load files and folders; ``Warehouse.ingest`` says what each argument means."""
    from ingest.plan import plan
    from ingest.reading.limits import Limits

    planned = plan(paths, kind, warehouse.settings.tables)
    if not planned:
        raise NothingToDo(f"no files below {', '.join(map(str, paths))}")
    on_start(len(planned), sum(found.size for found, _ in planned))
    options |= {
        "ingest_version": __version__,
        "limits": Limits.of(warehouse.settings),
        "redact": warehouse.settings.redact,
    }
    if sink == "duckdb":
        from ingest import raw
        from ingest.load import ingest

        with warehouse.writable() as con:
            raw.check_not_views(con)
            return Ingested(ingest(con, planned, **options))
    from ingest.parquet import ParquetLayer
    from ingest.parquet import ingest as ingest_parquet
    from promptlab.workers import mapping

    with mapping(workers) as map_shards:
        return Ingested(
            ingest_parquet(
                ParquetLayer.of(sink), planned, map_shards=map_shards, **options
            )
        )
