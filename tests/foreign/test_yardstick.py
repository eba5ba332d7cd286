"""What a tool judged by: everything that it says, but for what decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from promptlab.ingest.foreign.yardstick import is_secret, yardstick


@pytest.mark.parametrize(
    "said",
    [
        {"timeout": 30, "max_retries": 3, "maxConcurrency": 4, "base_url": "http://x"},
        {
            "azure_endpoint": "a",
            "openai_api_base": "a",
            "api_version": "a",
            "apiHost": "a",
        },
        {"api_key": "a", "apiKey": "a", "OPENAI_API_KEY": "a", "headers": {"X": "a"}},
        {"rubric": None, "stop": [], "extra": {}, "note": ""},
        {"model": {"config": {"timeout": 3}}},
        {"name": "strict", "Name": "strict"},
    ],
)
def test_what_decides_nothing_is_no_part_at_any_depth(said: dict[str, Any]) -> None:
    assert yardstick(said, "name") == {}


@pytest.mark.parametrize(
    "said",
    [
        {"threshold": 0},
        {"strict": False},
        {"max_tokens": 5},
        {"answer_key": "b", "keywords": ["a"], "stop_token": "."},
        {"unknown": {"to": ["this", {"version": 1}]}, "weights": {"cost": 0.5}},
        {"verbosity": "low", "cached_prompt": "p", "show_reference": True},
        {"base": 2, "log": True},
    ],
)
def test_everything_else_is_a_part(said: dict[str, Any]) -> None:
    assert yardstick(said) == said


def test_a_path_counts_by_its_name_and_a_function_without_its_address() -> None:
    folders = "/home/runner/work/1", "/tmp/tmpa1b2", "C:\\ci\\7"
    paths = [f"{folder}/rubric.md" for folder in folders]
    assert {yardstick({"path": path})["path"] for path in paths} == {"rubric.md"}
    functions = [f"<function f at 0x7f{n}a0>" for n in range(2)]
    assert {yardstick([each])[0] for each in functions} == {"<function f>"}
    text = "Rate it / 10. /home is none, /tmp/a or b/c is"
    assert yardstick(text) == text.replace("/tmp/", "")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, True)
            for name in ("token", "access_token", "secretAccessKey", "auth")
        ),
        *(
            (name, True)
            for name in ("OPENAI_API_KEY", "accessKeyId", "X-Api-Key", "key")
        ),
        *((name, True) for name in ("extra_headers", "clientSecret", "hf_token")),
        *(
            (name, True)
            for name in ("authHeader", "privateKeyPem", "clientSecretValue")
        ),
        *((name, True) for name in ("apiKeyEnvar", "user_token", "awsSecretAccessKey")),
        *((name, False) for name in ("budget_tokens", "max_tokens", "stop_token")),
        *(
            (name, False)
            for name in ("answer_key", "required_keys", "keys", "keywords")
        ),
        *((name, False) for name in ("has_header", "monkey", "author", "tokenizer")),
    ],
)
def test_a_secret_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_secret(name) is expected
