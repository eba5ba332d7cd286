"""A file's kind comes from its content."""

from __future__ import annotations

import pytest

from promptlab.encoding import without_comments
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.formats import recognise


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"task": {"task_id": "t"}, "cases": []}', "analysis"),
        ('{"cases": [], "task": {}}', "analysis"),
        ('{"task": {}, "dimensions": []}', "analysis"),
        ('\ufeff  {"task": {}, "cases": [', "analysis"),
        ('{"task": {"x": "}\\""}, "cases": []}', "analysis"),
        # the head of a large document, and of lines: all keys of a line count
        ('{"task": {}, "cases": [{"case_id": "c"}], "a key that is cut', "analysis"),
        (
            '{"id": "a", "expected_outputs": {}, "entity_id": "e", "variant": "v"}\n{"id',
            "results",
        ),
        ('{"task": {}, "summary": {}, "dimensions": [], "case_results": []}', None),
        ('{"experiment_info": {"dataset": "d"}}', "memory"),
        ('{"test_results": []}', "memory"),
        ('{"sample_id": "s", "entity_id": "p"}\n', "results"),
        ('[{"sample_id": "s"}, {"sample_id": "t"}]', "results"),
        ('{"task_id": "t", "case_id": "c", "dimension_id": "d", "score": 1}', "scores"),
        ('{"id": "a", "text": "x", "expected_output": "y"}', "testset"),
        ('// a comment\n\n{\n  "id": "a",\n  "inputs": {}\n}', "testset"),
        ('not json\n{"id": "a", "inputs": {}}\n', "testset"),
        ('{"id": "a", "batch_items": []}', "testset"),
        ('{"id": "a", "step_inputs": {}}', "testset"),
        ('{"id": "a", "intermediate_expectations": {}}', "testset"),
        ('{"id": "a", "expected_aggregation": {}}', "testset"),
        ('{"id": "a", "text": "x", "expected": "y"}', "testset"),
        ('{"id": "a", "text": "x"}\n{"id": "b", "expected_output": 1}', "testset"),
        (
            '{"id": "a", "inputs": 1, "cases_note": 1, "note": "\\"cases\\": []"}',
            "testset",
        ),
        # other programs' files with ids
        ('{"id": "a"}', None),
        ('{"id": "live_1", "model_name": "m", "valid": false, "error": []}', None),
        ('{"id": 0, "prompt": "q", "prediction": "p", "gold": "g"}', None),
        ('{"id": "s", "traceId": "t", "name": "ok", "value": 1}', None),
        ('[{"id": "s", "input": "q", "output": "a", "scores": []}]', None),
        ("id: p\nname: P\nsteps:\n  - id: s\n", "pipeline"),
        ("", None),
        ("hello", None),
        ("{}", None),
        ("[]", None),
        ("[1, 2]", None),
        ('{"name": "package", "version": "1"}', None),
        ('"a text"', None),
        ("\x00\x01", None),
    ],
)
def test_the_kind_comes_from_the_content(content, kind):
    assert recognise(Head(without_comments(content.encode()))) == kind
