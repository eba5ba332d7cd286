"""A DuckDB file, whatever it holds: opening it, copying it, marts exported of it."""
