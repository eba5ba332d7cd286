"""Testsets: JSONL of test cases, and the checks of their expectations."""
