"""DuckDB files: open them, copy them, read exported marts."""
