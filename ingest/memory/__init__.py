"""The memory benchmark: one JSON document, the run of one conversation."""
