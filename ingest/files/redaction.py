"""Redact secrets and personal data in a file's bytes before parsing.

This is the only place that redacts: rows, rejects and messages are made from its
output. Line breaks are kept, so line numbers are those of the file; columns refer to
the redacted text. A clean file costs one pass of RE2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from promptlab.ingest.files.redaction_rules import RULES, Mode, Rule
from promptlab.ingest.files.secret_values import WHOLE, WORDS, is_secret

if TYPE_CHECKING:
    from re2 import _Match, _Regexp

_STRENGTH: dict[Mode, int] = {"off": 0, "on": 1, "strict": 2}
_MOST_MEMORY = 64 << 20
"""Memory limit of RE2's automaton; the default is too slow with all rules."""

_STRING = re.compile(rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?')
_AFTER_KEY = re.compile(rb'(\\*)"\s*:\s*\Z')
_MARK = re.compile(rb"\[redacted:[a-z_]+\]")

# YAML values may be unquoted: a value begins after its key.
_YAML_VALUE = re.compile(rb"[ \t]*(?:-[ \t]+)*(?:[^\s:#]+:[ \t]+)?\Z")
_YAML_SECRET = re.compile(
    rf"^([ \t]*(?:-[ \t]+)*[\"']?([\w.-]*{WORDS}|{WHOLE})[\"']?"
    r":[ \t]+)([^\s|>{#][^\n\r]*)".encode(),
    re.IGNORECASE | re.MULTILINE,
)


class Redactor:
    """Redacts one file, block by block.

    Args:
        mode: ``off``, ``on`` (secrets), ``strict`` (personal data too).
        yaml: The file is YAML; else it is JSON or JSONL.
    """

    def __init__(self, mode: Mode, *, yaml: bool = False) -> None:
        self.mode = mode
        self.counts: Counter[str] = Counter()
        """Rule → values replaced so far."""
        self._yaml = yaml

    def redact(self, data: bytes) -> bytes:
        """Return the block with a mark in place of every value that matches a rule."""
        if self.mode == "off":
            return data
        if self._yaml:
            data = _YAML_SECRET.sub(self._yaml_secret, data)
        pattern, rules = _compiled(self.mode)
        found = pattern.search(data)
        if found is None:
            return data
        return b"".join(self._pieces(data, found, pattern, rules))

    def _pieces(
        self,
        data: bytes,
        found: _Match[bytes] | None,
        pattern: _Regexp[bytes],
        rules: dict[int, tuple[Rule, int | None]],
    ) -> Iterator[bytes]:
        strings = _Strings(data)
        done = 0
        while found is not None:
            rule, group = rules[found.lastindex]
            quote = b""
            if rule.find is not None:
                value = rule.find(data, found.start(), found.end())
                start, end, quote = value or (found.end(), found.end(), b"")
            else:
                start, end = found.span(group)
            mark = self._mark(rule, data, start, end, strings, quote)
            if mark is not None:
                yield data[done:start]
                is_bare = self._yaml and rule.find is None
                if is_bare and _YAML_VALUE.match(_line_before(data, start)):
                    mark, end = b'"' + mark + b'"', _end_of_line(data, end)
                yield mark
                done = end
            # after the value, but at least after the pattern's first character
            found = pattern.search(data, max(end, found.start() + 1, done))
        yield data[done:]

    def _mark(
        self,
        rule: Rule,
        data: bytes,
        start: int,
        end: int,
        strings: _Strings,
        quote: bytes,
    ) -> bytes | None:
        """Return the replacement, or nothing if it is not such a value."""
        value = data[start:end]
        if not value or _MARK.fullmatch(value) or not rule.is_one(value):
            return None
        mark = quote + f"[redacted:{rule.name}]".encode() + quote
        if rule.may_be_number and not self._yaml:
            if _is_part_of_number(data, start, end):
                return None
            before = _AFTER_KEY.search(data, max(0, start - 200), start)
            if not strings.cover(start):
                if not _stands_alone(data, start, end):
                    return None
                mark = b'"' + mark + b'"'
            elif before is not None and before[1]:
                inner = before[1] + b'"'
                mark = inner + mark + inner
        self.counts[rule.name] += 1
        return mark + b"\n" * value.count(b"\n")

    def _yaml_secret(self, match: re.Match[bytes]) -> bytes:
        if not is_secret(match[2]):
            return match[0]
        self.counts["secret"] += 1
        return match[1] + b'"[redacted:secret]"'


class _Strings:
    """Finds the positions of JSON lines inside texts; call in ascending order."""

    def __init__(self, data: bytes) -> None:
        self._found = _STRING.finditer(data)
        self._start = self._end = 0

    def cover(self, place: int) -> bool:
        while self._end <= place:
            found = next(self._found, None)
            if found is None:
                return False
            self._start, self._end = found.span()
        return self._start < place


@cache
def _compiled(mode: Mode) -> tuple[Any, dict[int, tuple[Rule, int | None]]]:
    """Return one pattern for all rules, and the rule and group ``X`` of each group."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes of any encoding
    options.max_mem = _MOST_MEMORY
    branches, rules, groups = [], {}, 1
    for rule in RULES:
        if _STRENGTH[rule.mode] > _STRENGTH[mode]:
            continue
        branches.append(f"({rule.pattern.replace('(?P<X>', '(')})")
        has_value = "(?P<X>" in rule.pattern
        rules[groups] = rule, groups + 1 if has_value else None
        groups += 1 + has_value
    return re2.compile("|".join(branches).encode(), options), rules


def _end_of_line(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _line_before(data: bytes, place: int) -> bytes:
    return data[data.rfind(b"\n", 0, place) + 1 : place]


def _is_part_of_number(data: bytes, start: int, end: int) -> bool:
    """Return true if the digits continue after a decimal point."""
    before, after = data[max(0, start - 2) : start], data[end : end + 2]
    return (before[-1:] == b"." and before[:1].isdigit()) or (
        after[:1] == b"." and after[1:].isdigit()
    )


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    """Return true if *start* to *end* is a whole JSON number."""
    before = data[max(0, start - 200) : start].rstrip()[-1:]
    after = data[end : end + 1]
    digits = data[start:end].isdigit()
    return digits and before in b":,[" and (not after or after in b" \t\r\n,]}")
