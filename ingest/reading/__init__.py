"""Convert bytes to records: limits, JSON, JSONL, YAML, places of values, problems.

These modules are independent of the formats, which use them.
"""
