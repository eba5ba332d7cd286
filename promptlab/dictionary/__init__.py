"""The data dictionary: every table and column, and the lineage of each mart."""
