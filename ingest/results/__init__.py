"""Evaluation results: JSONL or a JSON list, each a round of a case."""
