"""Analysis inputs: one JSON document, the cases and rounds of one task."""
