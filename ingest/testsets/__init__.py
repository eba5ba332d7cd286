"""Testsets: JSONL of test cases, and the checks of what they expect."""
