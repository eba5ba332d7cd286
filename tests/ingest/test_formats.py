"""A file's kind comes from its content."""

from __future__ import annotations

import pytest

from promptlab.ingest.formats import recognise


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"task": {"task_id": "t"}, "cases": []}', "analysis"),
        ('{"cases": [], "task": {}}', "analysis"),
        ('{"task": {}, "dimensions": []}', "analysis"),
        ('\ufeff  {"task": {}, "cases": [', "analysis"),
        ('{"task": {"x": "}\\""}, "cases": []}', "analysis"),
        ('{"task": {}, "summary": {}, "dimensions": [], "case_results": []}', None),
        ('{"experiment_info": {"dataset": "d"}}', "memory"),
        ('{"test_results": []}', "memory"),
        ('{"sample_id": "s", "entity_id": "p"}\n', "results"),
        ('[{"sample_id": "s"}, {"sample_id": "t"}]', "results"),
        ('{"task_id": "t", "case_id": "c", "dimension_id": "d", "score": 1}', "scores"),
        ('{"id": "a", "text": "x", "expected_output": "y"}', "testset"),
        ('// a comment\n\n{\n  "id": "a",\n  "inputs": {}\n}', "testset"),
        ('not json\n{"id": "a"}\n', "testset"),
        ('{"id": "a", "cases_note": 1, "note": "\\"cases\\": []"}', "testset"),
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
    assert recognise(content.encode()) == kind
