"""Read YAML as plain JSON data, with the place of every value.

Only plain data is accepted: no Python objects, no custom tags. The file is read as a
graph of nodes and converted to values here, because PyYAML's constructor accepts
repeated keys, converts dates to objects, and does not report places. Aliases share
nodes, so a small file can describe an enormous value; the expanded size is limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from promptlab.encoding import SURROGATE
from promptlab.ingest.files.yaml_secrets import MAX_YAML_BYTES
from promptlab.ingest.reading.problems import Problem, lone_surrogate_warning
from promptlab.json_text.places import BOM, Keys, decode, pointer
from promptlab.json_text.reading import not_utf8

#: Maximum nesting depth of mappings and lists.
MAX_DEPTH = 100

#: Maximum expanded size of a file, in characters and values: this, or ten times the
#: file, whichever is larger.
LEAST_ROOM = 100_000


@dataclass
class YamlText:
    """The content of a YAML file."""

    value: Any = None
    """Objects, lists, texts, numbers, booleans, null; dates and times stay text."""

    problems: list[Problem] = field(default_factory=list)
    """With any reject, ``value`` must not be used."""

    places: dict[Keys, tuple[int, int]] = field(default_factory=dict)
    """Path of a value → line and column of its place, from 1."""

    written: dict[Keys, str] = field(default_factory=dict)
    """Path of a number, boolean or date → its text in the file."""

    def place(self, keys: Keys) -> tuple[int, int]:
        """Return line and column of a value, or of the nearest one around it."""
        while keys not in self.places and keys:
            keys = keys[:-1]
        return self.places.get(keys, (1, 1))


def read_yaml(data: bytes) -> YamlText:
    """Read one YAML document; never raises."""
    result = YamlText()
    if len(data) > MAX_YAML_BYTES:
        message = (
            f"{len(data)} bytes of YAML; the limit is {MAX_YAML_BYTES}. Is this it?"
        )
        result.problems.append(Problem("too_large", message, line=1, column=1))
        return result
    data = data.removeprefix(BOM)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        message = not_utf8(chr(0xDC00 + data[error.start]), decode(data))
        result.problems.append(Problem("bad_utf8", message, line=line, column=column))
        return result
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        _Unfolding(result, max(LEAST_ROOM, 10 * len(text))).run(root)
    except yaml.YAMLError as error:
        result.problems.append(_syntax_problem(error, text))
    except RecursionError:
        message = "nested too deeply to be read. Flatten it."
        result.problems.append(Problem("too_deep", message, line=1, column=1))
    return result


_HINTS = {
    "character '\\t'": " Indent with blanks, not with tabs.",
    "another document": " Write one pipeline per file.",
    "<block end>": " Indent what belongs together by the same number of blanks.",
    "mapping values are not allowed": " Put a text that holds a colon in quotes.",
}


def _syntax_problem(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        error_message = ", ".join(
            part for part in (error.context, error.problem) if part
        )
        hint = next(
            (hint for part, hint in _HINTS.items() if part in error_message), ""
        )
        message = f"not YAML: {error_message}.{hint}"
        return Problem("syntax", message, line=mark.line + 1, column=mark.column + 1)
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        character = ord(text[error.position])
        return Problem(
            "control_character",
            f"the character U+{character:04X} may not stand in YAML. Remove it.",
            line=before.count("\n") + 1,
            column=len(before) - before.rfind("\n"),
        )
    return Problem("syntax", f"not YAML: {error}", line=1, column=1)


class _StopUnfolding(Exception):
    """The value is infinite, too large or too deep; has a code and a message."""


def _too_large() -> _StopUnfolding:
    message = "its aliases (*) unfold to far more than the file. Write them out."
    return _StopUnfolding("too_large", message)


class _Unfolding:
    """Converts nodes to values."""

    def __init__(self, result: YamlText, room: int) -> None:
        self._result = result
        self._room = room
        self._open: set[int] = set()  # nodes on the path to the current one
        self._scalars = SafeConstructor()

    def run(self, root: yaml.Node | None) -> None:
        if root is None:
            return
        try:
            self._result.value = self._value(root, ())
        except _StopUnfolding as stop:
            code, message = stop.args
            self._problem(code, root, (), message)

    def _value(self, node: yaml.Node, keys: Keys) -> Any:
        self._result.places.setdefault(keys, _place(node))
        if isinstance(node, yaml.ScalarNode):
            self._spend(node)
            return self._scalar(node, keys)
        with self._inside(node):
            if isinstance(node, yaml.SequenceNode) and _is(node, "seq"):
                return [
                    self._value(child, (*keys, index))
                    for index, child in enumerate(node.value)
                ]
            if isinstance(node, yaml.MappingNode) and _is(node, "map"):
                return {
                    key: self._value(child, (*keys, key))
                    for key, child in self._members(node, keys).items()
                }
            self._unknown_tag(node, keys)
            return None

    def _members(self, node: yaml.MappingNode, keys: Keys) -> dict[str, yaml.Node]:
        """Return the members of a mapping; its own override those merged by ``<<``."""
        members: dict[str, yaml.Node] = {}
        merged: list[yaml.Node] = []
        for key_node, child in node.value:
            if _is(key_node, "merge"):
                several = isinstance(child, yaml.SequenceNode)
                merged += child.value if several else [child]
            elif not isinstance(key_node, yaml.ScalarNode):
                message = "a key is a text, not a structure. Write a text."
                self._problem("wrong_type", key_node, keys, message)
            else:
                key = self._text(key_node, keys)
                if key in members:
                    message = f"the key {key!r} stands twice. Keep one of them."
                    self._problem("duplicate_key", key_node, (*keys, key), message)
                members[key] = child
        for source in merged:
            if not isinstance(source, yaml.MappingNode):
                message = "<< takes a mapping or a list of mappings."
                self._problem("wrong_type", source, keys, message)
                continue
            with self._inside(source):
                members = {**self._members(source, keys), **members}
        return members

    @contextmanager
    def _inside(self, node: yaml.Node) -> Iterator[None]:
        """Track a container while it is expanded."""
        self._spend(node)
        if id(node) in self._open:
            raise _too_large()
        if len(self._open) >= MAX_DEPTH:
            message = f"more than {MAX_DEPTH} mappings and lists inside each other."
            raise _StopUnfolding("too_deep", f"{message} Flatten it.")
        self._open.add(id(node))
        try:
            yield
        finally:
            self._open.remove(id(node))

    def _scalar(self, node: yaml.ScalarNode, keys: Keys) -> Any:
        if _is(node, "str"):
            return self._text(node, keys)
        if _is(node, "null"):
            return None
        if _is(node, "timestamp"):
            self._result.written[keys] = node.value
            return node.value
        readers = {
            "int": self._scalars.construct_yaml_int,
            "float": self._scalars.construct_yaml_float,
            "bool": self._scalars.construct_yaml_bool,
        }
        for kind, read in readers.items():
            if _is(node, kind):
                return self._plain(node, keys, kind, read)
        self._unknown_tag(node, keys)
        return None

    def _plain(self, node: yaml.ScalarNode, keys: Keys, kind: str, read: Any) -> Any:
        self._result.written[keys] = node.value
        try:
            value = read(node)
        except (ValueError, KeyError, ConstructorError):
            message = f"{node.value[:40]!r} is no {kind}. Put a text in quotes."
            self._problem("wrong_type", node, keys, message)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            message = f"{node.value[:40]} is not a JSON number. Write null."
            self._problem("not_a_number", node, keys, message)
            return None
        return value

    def _text(self, node: yaml.ScalarNode, keys: Keys) -> str:
        text: str = node.value
        if SURROGATE.search(text):
            # PyYAML does not join the two halves of an escaped pair.
            joined = text.encode("utf-16", "surrogatepass")
            text, count = SURROGATE.subn(
                "\ufffd", joined.decode("utf-16", "surrogatepass")
            )
            if count:
                line, column = _place(node)
                problem = lone_surrogate_warning(
                    count, line=line, column=column, pointer=pointer(keys)
                )
                self._result.problems.append(problem)
        return text

    def _unknown_tag(self, node: yaml.Node, keys: Keys) -> None:
        name = node.tag.replace("tag:yaml.org,2002:", "!!")
        message = f"the tag {name} is not known here. Write plain YAML."
        self._problem("unknown_tag", node, keys, message)

    def _spend(self, node: yaml.Node) -> None:
        self._room -= 1
        if isinstance(node, yaml.ScalarNode):
            self._room -= len(node.value)
        if self._room < 0:
            raise _too_large()

    def _problem(self, code: str, node: yaml.Node, keys: Keys, message: str) -> None:
        line, column = _place(node)
        self._result.problems.append(
            Problem(code, message, line=line, column=column, pointer=pointer(keys))
        )


def _is(node: yaml.Node, kind: str) -> bool:
    return bool(node.tag == f"tag:yaml.org,2002:{kind}")


def _place(node: yaml.Node) -> tuple[int, int]:
    mark = node.start_mark
    return mark.line + 1, mark.column + 1
