"""Convert messages and tool calls of an agent to the steps of a round.

Chat APIs, agents and evaluation tools write almost the same lists. Read are the
messages of OpenAI (``tool_calls``, role ``tool``), of Anthropic (parts ``tool_use`` and
``tool_result``) and of Inspect, and lists of calls with their results.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from promptlab.contracts.base import LARGEST
from promptlab.json_text.reading import parse_as_duckdb
from promptlab.json_text.writing import compact, compact_as_duckdb


class Step(msgspec.Struct, gc=False, omit_defaults=True):
    """A message, or a call of a tool with its result: an object in ``rounds.steps``."""

    role: str
    tool: str | None = None
    """Name of the tool; ``None``: a message."""
    arguments: Any = None
    result: str | None = None
    """Text of the message, or what the tool returned."""
    error: str | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


_CALLS = ("tool_use", "tool_call", "server_tool_use", "function_call")
_RESULTS = ("tool_result", "function_call_output")
_TOOL_ROLES = ("tool", "function")
_SPEAKERS = ("system", "user", "assistant")
_encode = msgspec.json.Encoder().encode


def steps_of(messages: Any, calls: Any = None) -> str | None:
    """Return the steps as a JSON list, or ``None`` if nothing but an answer happened.

    Without a tool and with one message of the assistant, the messages only repeat the
    prompt and the answer.

    Args:
        messages: A list of chat messages; anything else has no steps.
        calls: A list of calls with their results, in place of or after the messages.
    """
    objects = _objects(messages)
    if not calls and _is_question(objects):
        return None
    steps: list[Step] = []
    waiting: dict[str, Step] = {}
    for message in objects:
        _add_message(message, steps, waiting)
    steps += [_call(call) for call in _objects(calls) if _id(call) not in waiting]
    n_answers = sum(step.role == "assistant" for step in steps)
    if n_answers < 2 and not any(step.role == "tool" for step in steps):
        return None
    return _encode(steps).decode()


def _is_question(messages: list[dict[str, Any]]) -> bool:
    """Return true for texts with one answer: most chats, which have no steps."""
    roles = [message.get("role") for message in messages]
    return roles.count("assistant") < 2 and all(
        role in _SPEAKERS
        and not message.get("tool_calls")
        and not isinstance(message.get("content"), list)
        for role, message in zip(roles, messages, strict=True)
    )


def steps_in(metadata: Iterable[str | None]) -> list[str | None]:
    """Return the steps of rounds with ``messages`` or a list ``steps`` as metadata."""
    return [
        _steps_of_metadata(text)
        if text is not None and ('"messages"' in text or '"steps"' in text)
        else None
        for text in metadata
    ]


def calls_of(messages: Any, calls: Any = None) -> dict[str, Any]:
    """Return the calls by the ids that expectations name: ``search``, ``search#2`` ….

    Each is an object with its tool, arguments, result and error, as it is stored.
    """
    (steps,) = steps_in([compact_as_duckdb({"messages": messages, "steps": calls})])
    by_id: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for step in () if steps is None else parse_as_duckdb(steps):
        tool = step.get("tool")
        if tool is not None:
            counts[tool] += 1
            again = f"#{counts[tool]}" if counts[tool] > 1 else ""
            by_id.setdefault(f"{tool}{again}", step)
    return by_id


def _steps_of_metadata(text: str) -> str | None:
    members = msgspec.json.decode(text)
    return steps_of(members.get("messages"), members.get("steps"))


def _add_message(
    message: dict[str, Any], steps: list[Step], waiting: dict[str, Step]
) -> None:
    parts = message.get("content")
    role = message.get("role") or message.get("type")
    role = role if isinstance(role, str) else "unknown"
    if role in _TOOL_ROLES or role in _RESULTS:
        _add_result(message, steps, waiting)
        return
    if role in _CALLS:
        calls = [message]
    else:
        step = Step(role, result=_text(parts) or None, **_figures(message))
        step.error = _error(message)
        if step != Step(role):
            steps.append(step)
        calls = _objects(message.get("tool_calls"))
        calls += [part for part in _objects(parts) if part.get("type") in _CALLS]
    for call in calls:
        step = _call(call)
        steps.append(step)
        waiting[_id(call) or f"call {len(steps)}"] = step
    for part in _objects(parts):
        if part.get("type") in _RESULTS:
            _add_result(part, steps, waiting)


def _add_result(
    part: dict[str, Any], steps: list[Step], waiting: dict[str, Step]
) -> None:
    result, call_id = _call(part), _id(part)
    step = waiting.get(call_id)
    if step is None and not call_id:  # functions of older chat APIs have a name only
        unanswered = (call for call in waiting.values() if call.result is None)
        step = next((call for call in unanswered if call.tool == result.tool), None)
    if step is None:
        steps.append(result)
        return
    step.tool = step.tool or result.tool
    step.result, step.error = result.result, result.error
    step.latency_ms = result.latency_ms if step.latency_ms is None else step.latency_ms


def _call(call: dict[str, Any]) -> Step:
    """Return a call, a result, or both in one object."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = _first(inner, "name", "tool", "function", "tool_name")
    arguments = _first(inner, "arguments", "input", "args")
    if isinstance(arguments, str):
        with suppress(msgspec.DecodeError, RecursionError):
            arguments = msgspec.json.decode(arguments)
    result, error = _first(call, "result", "output", "content"), _error(call)
    if error is None and call.get("is_error") is True:
        error, result = _text(result) or "error", None
    if error is not None and result in ("", []):
        result = None
    return Step(
        "tool",
        tool=name if isinstance(name, str) and name else "unknown",
        arguments=arguments,
        result=None if result is None else _text(result),
        error=error,
        **_figures(call),
    )


def _first(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[n] for n in names if value.get(n) is not None), None)


def _id(call: dict[str, Any]) -> str:
    call_id = _first(call, "tool_call_id", "tool_use_id", "call_id", "id")
    return call_id if isinstance(call_id, str) else ""


def _error(message: dict[str, Any]) -> str | None:
    error = message.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error
    return None if error is None or error is False else _text(error)


def _text(content: Any) -> str:
    """Return the text of a content; parts other than text only by their kind."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(_is_part(part) for part in content):
        return "\n".join(
            part["text"] if isinstance(part.get("text"), str) else f"[{part['type']}]"
            for part in content
            if part["type"] not in _CALLS + _RESULTS
        )
    return "" if content is None else compact(content)


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _objects(value: Any) -> list[dict[str, Any]]:
    items: Sequence[Any] = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]


def _figures(message: dict[str, Any]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    latency = message.get("latency_ms")
    if isinstance(latency, int | float) and not isinstance(latency, bool):
        figures = {"latency_ms": float(latency)} if 0 <= latency < math.inf else {}
    for name in ("input_tokens", "output_tokens"):
        count = message.get(name)
        if type(count) is int and 0 <= count <= LARGEST:
            figures[name] = count
    return figures
