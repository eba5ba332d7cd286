"""The raw layer as Parquet files, for engines that do not read DuckDB's."""

from ingest.parquet.layer import ParquetLayer
from ingest.parquet.sink import ingest_parquet
from ingest.parquet.workers import mapping

__all__ = ["ParquetLayer", "ingest_parquet", "mapping"]
