"""What a tool judged by: everything that it says, but for what decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from promptlab.ingest.foreign.yardstick import is_secret, yardstick


@pytest.mark.parametrize(
    "said",
    [
        {"max_retries": 3, "maxConcurrency": 4, "base_url": "http://x"},
        {
            "azure_endpoint": "a",
            "openai_api_base": "a",
            "api_version": "a",
            "apiHost": "a",
        },
        {"api_key": "a", "apiKey": "a", "OPENAI_API_KEY": "a", "headers": {"X": "a"}},
        {"key": "sk-0123456789abcdef", "a": {"token": "hf_0123456789abcdef"}},
        {"rubric": None, "stop": [], "extra": {}, "note": ""},
        {"model": {"config": {"max_retries": 3}}},
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
        {"timeout": 30, "requestTimeout": 5, "timeout_s": 3, "attempt_timeout": 3},
        {"key": "strict_answer", "token": "A", "properties": {"key": ["b"]}},
        {"token": {"enum": ["A"]}, "key": {"token": "a text of many words 1"}},
    ],
)
def test_everything_else_is_a_part(said: dict[str, Any]) -> None:
    assert yardstick(said) == said


HOME, ROOT = "/home", "/root"
RUNNER = "/".join(("runner", "work"))
MACHINES = (
    *(
        f"{HOME}/ann/",
        "/Users/ann/",
        f"{ROOT}/",
        "C:\\Users\\Ann Lee\\",
        "/tmp/tmpa1b2/",
    ),
    *("/private/tmp/x/", "/var/folders/a1/b2/T/tmpx/", "D:\\a\\p\\p\\"),
    *("C:\\Users\\ann\\AppData\\Local\\Temp\\x\\", "/github/workspace/"),
    *(f"{HOME}/{RUNNER}/p/p/", f"/Users/{RUNNER}/p/p/", "/__w/p/p/"),
    *("/builds/group/p/", "/workspaces/p/", "/workspace/", "/workdir/", "/app/"),
    *("file:///app/", f"{HOME}/ann/code/p/"),
)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_path_counts_below_the_part_that_is_the_machine_s_own(machine: str) -> None:
    for path in ("prompts/v1/judge.txt", "data/m/step-500/final"):
        expected = "/".join(path.split("/")[-3:])
        assert yardstick({"path": machine + path}) == {"path": expected}
    if not machine.endswith("code/p/"):
        assert yardstick([f"{machine}rubric.md"]) == ["rubric.md"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/data/judges/prometheus-7b/final", "/data/judges/llama-1b/final"),
        ("/app/prompts/v1/judge.txt", "/app/prompts/v2/judge.txt"),
        ("C:\\models\\a\\final", "C:\\models\\b\\final"),
        ("hf//data/ckpt/step-500/final", "hf//data/ckpt/step-1000/final"),
        ("/tmp/x/v1/judge.txt", "/tmp/x/v2/judge.txt"),
        ("http://app/v1/chat/x/y", "http://app/v2/chat/x/y"),
    ],
)
def test_another_folder_is_another_judge(one: str, other: str) -> None:
    assert yardstick({"path": one}) != yardstick({"path": other})


def test_a_text_keeps_what_is_no_path_and_a_function_loses_its_address() -> None:
    functions = [f"<function f at 0x7f{n}a0>" for n in range(2)]
    assert {yardstick([each])[0] for each in functions} == {"<function f>"}
    text = "Rate it / 10. /home is none, /tmp/a or b/c is"
    assert yardstick(text) == text.replace("/tmp/", "")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("access_token", "secretAccessKey", "auth")),
        *((name, True) for name in ("OPENAI_API_KEY", "accessKeyId", "X-Api-Key")),
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
