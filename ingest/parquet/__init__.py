"""The raw layer as Parquet files, for engines that do not read DuckDB's."""

from ingest.parquet.layer import ParquetLayer
from ingest.parquet.sink import ingest

__all__ = ["ParquetLayer", "ingest"]
