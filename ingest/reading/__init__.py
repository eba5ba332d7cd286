"""Bytes to records: limits, JSON, JSONL and YAML, the place of every value, problems.

Nothing here knows a format; the formats read what they need with these.
"""
