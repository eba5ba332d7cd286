"""The raw layer as Parquet files, for engines that cannot read DuckDB files."""

from promptlab.ingest.parquet.layer import ParquetLayer
from promptlab.ingest.parquet.sink import ingest_parquet, mapping

__all__ = ["ParquetLayer", "ingest_parquet", "mapping"]
