"""Messages and tool calls become steps, in whichever shape a chat API writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptlab.steps import steps_in, steps_of

ARGUMENTS = {"city": "Bern"}
CALLED = {"role": "tool", "tool": "weather", "arguments": ARGUMENTS, "result": "rain"}
SAYS = {"role": "assistant", "result": "It rains."}

SHAPES = {
    "chat completions": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Bern"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "assistant", "content": "It rains."},
    ],
    "functions of older chat APIs": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "weather", "arguments": ARGUMENTS}}],
        },
        {"role": "function", "name": "weather", "content": "rain"},
        {"role": "assistant", "content": "It rains."},
    ],
    "responses": [
        {
            "type": "function_call",
            "call_id": "1",
            "name": "weather",
            "arguments": '{"city": "Bern"}',
        },
        {"type": "function_call_output", "call_id": "1", "output": "rain"},
        {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
    ],
    "parts of a message": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "1", "name": "weather", "input": ARGUMENTS}
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": [{"type": "text", "text": "rain"}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
    ],
    "Inspect": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "function": "weather", "arguments": ARGUMENTS}],
        },
        {"role": "tool", "tool_call_id": "1", "function": "weather", "content": "rain"},
        {"role": "assistant", "content": "It rains."},
    ],
}


def _steps(messages: Any, calls: Any = None) -> Any:
    written = steps_of(messages, calls)
    return None if written is None else json.loads(written)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_call_and_its_result_is_the_same_two_steps(shape: str) -> None:
    assert _steps(SHAPES[shape]) == [CALLED, SAYS]


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ({"name": "f", "output": {"a": 1}}, {"result": '{"a":1}'}),
        ({"tool": "f", "error": {"message": "down"}}, {"error": "down"}),
        ({"name": "f", "is_error": True, "output": "down"}, {"error": "down"}),
        ({"name": "f", "arguments": "not JSON"}, {"arguments": "not JSON"}),
        ({"name": "f", "arguments": "[" * 9999}, {"arguments": "[" * 9999}),
        ({"name": "f", "latency_ms": 7}, {"latency_ms": 7.0}),
        ({"name": "f", "latency_ms": True, "input_tokens": -1}, {}),
        ({"name": "f", "latency_ms": "7", "output_tokens": 10**30}, {}),
        ({"name": {"no": "text"}}, {"tool": "unknown"}),
    ],
)
def test_a_list_of_calls_says_what_each_took_and_returned(call: Any, step: Any) -> None:
    assert _steps(None, [call]) == [{"role": "tool", "tool": "f", **step}]


def test_calls_that_the_messages_have_too_are_listed_once() -> None:
    calls = [{"id": "1", "name": "weather"}, {"id": "2", "name": "clock"}]
    tools = [step.get("tool") for step in _steps(SHAPES["Inspect"], calls)]
    assert tools == ["weather", None, "clock"]


def test_a_part_that_is_no_text_is_named_by_its_kind() -> None:
    picture = [{"type": "text", "text": "see"}, {"type": "image", "data": "x" * 99}]
    said = [{"role": "user", "content": picture}, SAYS, SAYS]
    messages = [each | {"content": each.get("result")} for each in said[1:]]
    assert _steps([said[0], *messages])[0]["result"] == "see\n[image]"


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "text",
        [],
        [1, None, "x", []],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        [{"role": "assistant", "tool_calls": [1, "x"]}],
        [{"role": ["odd"], "content": 1}],
    ],
)
def test_a_question_and_its_answer_are_no_steps_and_neither_is_nonsense(
    messages: Any,
) -> None:
    assert _steps(messages) is None


def test_rounds_have_steps_where_their_metadata_lists_them() -> None:
    rounds = [
        json.dumps({"messages": SHAPES["Inspect"]}),
        "{}",
        json.dumps({"steps": [{"tool": "weather", "args": ARGUMENTS}]}),
        json.dumps({"steps": {"weather": {"latency_ms": 7}}}),
        json.dumps({"messages": 5}),
    ]
    found = steps_in(rounds)
    assert json.loads(found[0]) == [CALLED, SAYS]
    assert json.loads(found[2])[0]["arguments"] == ARGUMENTS
    assert [each is None for each in found] == [False, True, False, True, True]
