r"""Redact secrets and personal data in a file's bytes before parsing.

This is the only place that redacts: rows, rejects and messages are made from its
output. Line breaks are kept, so line numbers are those of the file; columns refer to
the redacted text. A clean file costs one pass of RE2.

The patterns are RE2's, over bytes. A value may be in JSON, in JSON inside a JSON text,
or in plain text; so a quote or a slash may have backslashes before it, and the last
letter of an escape such as ``\n`` is not part of the next word (``_START``). What may
be secret because of its key is examined further (`secret_values`). docs/privacy.md
lists the rules, and tests check the list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from promptlab.encoding import mended, without_lone_surrogates
from promptlab.ingest.files.secret_values import (
    COOKIE,
    ELEMENT,
    KEY,
    LABEL,
    MARK,
    OPTION,
    SecretValue,
    find_cookie,
    find_element,
    find_labelled,
    find_option,
    find_value,
)
from promptlab.ingest.files.yaml_secrets import without_secrets

if TYPE_CHECKING:
    from re2 import _Match, _Regexp


Mode = Literal["off", "on", "strict"]


class Rule(NamedTuple):
    """One kind of value."""

    name: str
    """Used in the mark: ``[redacted:email]``."""
    mode: Mode
    """The least strict mode that applies it."""
    pattern: str
    """Its group ``X`` is replaced; without a group, `find` returns the value."""
    is_one: Callable[[bytes], bool] = lambda _: True
    """A further check of a match."""
    find: Callable[[bytes, int, int], SecretValue | None] | None = None
    """Finds the value in the data from the start and end of the match."""
    may_be_number: bool = False
    """True if it may be an unquoted number in JSON."""


def _has_digit(value: bytes) -> bool:
    return any(0x30 <= byte <= 0x39 for byte in value)


def _is_key(value: bytes) -> bool:
    """Return true if it looks random: with a digit, or 24 letters in a row."""
    return _has_digit(value) or _NO_WORD.search(value) is not None


def _is_no_port(value: bytes) -> bool:
    """Return true for a password, not ``8080?mail=a`` of a URL without one."""
    return re.match(rb"[0-9]{1,5}[?#,;]", value) is None


def _is_no_id(value: bytes) -> bool:
    """Return true for a password, not the group of ``-u 1000:1000``."""
    return not value.isdigit()


def _is_id_card(value: bytes) -> bool:
    """Check the checksum ISO 7064 MOD 11-2 of GB 11643."""
    total = sum(int(chr(d)) * 2 ** (17 - n) for n, d in enumerate(value[:17]))
    return b"10X98765432"[total % 11 :][:1] == value[17:].upper()


def _is_international(value: bytes) -> bool:
    return 8 <= sum(0x30 <= byte <= 0x39 for byte in value) <= 15


_NO_WORD = re.compile(rb"[A-Za-z]{24}")
_START = r"(?:\b|\\[nrtbf]|\\u[0-9A-Fa-f]{4})"
_NAME = r"[^/\\\"'\s:;,<>|*?()\[\]{}]+"

_PEM_BODY = r"(?:[A-Za-z0-9+/=:,\s-]|\\+[nrt/])"

RULES: tuple[Rule, ...] = (
    # The text, number or list under a key such as `password`, `token`, `api_key`,
    # `authorization`, `client_secret`, `cookie`, or behind such a name and `=`
    Rule("secret", "on", KEY, find=find_value),
    Rule("secret", "on", LABEL, find=find_labelled),
    Rule("secret", "on", OPTION, find=find_option),
    Rule("secret", "on", ELEMENT, find=find_element),
    Rule("secret", "on", COOKIE, find=find_cookie),
    # The password in `-u user:password`
    Rule(
        "secret",
        "on",
        r"(?:^|[\s\"'`])(?:-u|--user|--proxy-user)[ \t=]+\\*[\"']?[^\s:\"'\\/]+"
        r":(?P<X>[^\s\"'\\]+)",
        _is_no_id,
    ),
    # The password in `mysql -ppassword`
    Rule(
        "secret",
        "on",
        _START + r"(?:mysql(?:dump|admin)?|mariadb)"
        r"(?:[ \t]+-[\w=-]+(?:[ \t]+[^\s\"'\\-][^\s\"'\\]*)?){0,8}?"
        r"[ \t]+-p(?P<X>[^\s\"'\\]+)",
    ),
    Rule(
        "api_key",
        "on",
        _START + r"(?P<X>sk-[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{16,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{30,}"
        r"|npm_[A-Za-z0-9]{30,}|LTAI[A-Za-z0-9]{12,24}|AKLT[A-Za-z0-9_-]{20,})",
        _is_key,
    ),
    Rule(
        "jwt",
        "on",
        _START + r"(?P<X>eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*)",
    ),
    Rule(
        "bearer",
        "on",
        _START + r"(?i:bearer|basic)\s+(?P<X>[A-Za-z0-9._~+/=-]{16,})",
        _has_digit,
    ),
    # The password in `scheme://user:password@host`
    Rule(
        "url_password",
        "on",
        r"[A-Za-z][A-Za-z0-9+.-]*:(?:\\*/){2}[^/\\\s:@\"]*:(?P<X>[^/\\\s\"]+)@",
        _is_no_port,
    ),
    Rule(
        "private_key",
        "on",
        r"(?P<X>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_PEM_BODY}*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        rf"|{_PEM_BODY}*))",  # truncated
    ),
    Rule(
        "email",
        "strict",
        _START + r"(?P<X>[A-Za-z0-9_%+][A-Za-z0-9._%+-]{0,63}(?:@|\\+u0040)"
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,})",
    ),
    # Of China
    Rule(
        "id_card",
        "strict",
        _START + r"(?P<X>[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])"
        r"(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])\b",
        _is_id_card,
        may_be_number=True,
    ),
    Rule(
        "phone",
        "strict",
        _START + r"(?P<X>(?:86[- ]?)?1[3-9][0-9][- ]?[0-9]{4}[- ]?[0-9]{4})\b",
        may_be_number=True,
    ),
    Rule(
        "phone",
        "strict",
        r"(?P<X>\+[1-9][0-9]{0,2}(?:[ .()-]{0,2}[0-9]{1,5}){2,6})\b",
        _is_international,
    ),
    # The name in `/home/name`, `/Users/name`, `C:\Users\name`
    Rule(
        "home",
        "strict",
        r"(?:^|[^A-Za-z0-9._~%/\\-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4})"
        rf"\\*/(?:home|Users)\\*/(?P<X>{_NAME})",
    ),
    Rule(
        "home",
        "strict",
        rf"\b[A-Za-z]:\\+(?i:Users)\\+(?P<X>{_NAME})",
    ),
)


_STRENGTH: dict[Mode, int] = {"off": 0, "on": 1, "strict": 2}
_MOST_MEMORY = 64 << 20
"""Memory limit of RE2's automaton; the default is too slow with all rules."""

_STRING = re.compile(rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?')
_AFTER_KEY = re.compile(rb'(\\*)"\s*:\s*\Z')

# YAML values may be unquoted: a value begins after its key.
_YAML_VALUE = re.compile(rb"[ \t]*(?:-[ \t]+)*(?:[^\s:#]+:[ \t]+)?\Z")


class Redactor:
    """Redacts one file, block by block.

    Args:
        mode: ``off``, ``on`` (secrets), ``strict`` (personal data too).
        yaml: The file is YAML; else it is JSON or JSONL.
        is_utf8: It is not in another encoding.
    """

    def __init__(self, mode: Mode, *, yaml: bool = False, is_utf8: bool = True) -> None:
        self.mode = mode
        self.counts: Counter[str] = Counter()
        """Rule → values replaced so far."""
        self.n_surrogates = 0
        """Halves of surrogate pairs replaced so far."""
        self._yaml = yaml
        self._is_utf8 = is_utf8

    def redact(self, data: bytes) -> bytes:
        """Return the block with a mark in place of every value that matches a rule.

        In any mode, half of a surrogate pair becomes U+FFFD.
        """
        data = self.mend(data)
        if self.mode == "off":
            return data
        if self._yaml:
            data, n_secrets = without_secrets(data)
            self.counts["secret"] += n_secrets
        pattern, rules = _compiled(self.mode)
        match = pattern.search(data)
        if match is None:
            return data
        return b"".join(self._pieces(data, match, pattern, rules))

    def mend(self, data: bytes) -> bytes:
        """Return the block with U+FFFD in place of every half of a surrogate pair.

        JSON has blanks in place of its comments. All places stay.
        """
        if self._is_utf8:
            of_yaml = partial(without_lone_surrogates, escaped=False)
            data, n_surrogates = (of_yaml if self._yaml else mended)(data)
            self.n_surrogates += n_surrogates
        return data

    def _pieces(
        self,
        data: bytes,
        match: _Match[bytes] | None,
        pattern: _Regexp[bytes],
        rules: dict[int, tuple[Rule, int | None]],
    ) -> Iterator[bytes]:
        strings = _Strings(data)
        position = 0
        while match is not None:
            rule, group = rules[match.lastindex]
            quote = b""
            if rule.find is not None:
                value = rule.find(data, match.start(), match.end())
                start, end, quote = value or (match.end(), match.end(), b"")
            else:
                start, end = match.span(group)
            mark = self._mark(rule, data, start, end, strings, quote)
            if mark is not None:
                yield data[position:start]
                is_bare = self._yaml and rule.find is None
                line_before = data[data.rfind(b"\n", 0, start) + 1 : start]
                if is_bare and _YAML_VALUE.match(line_before):
                    mark, end = b'"' + mark + b'"', _end_of_line(data, end)
                yield mark
                position = end
            # after the value, but at least after the pattern's first character
            match = pattern.search(data, max(end, match.start() + 1, position))
        yield data[position:]

    def _mark(
        self,
        rule: Rule,
        data: bytes,
        start: int,
        end: int,
        strings: _Strings,
        quote: bytes,
    ) -> bytes | None:
        """Return the replacement; ``None`` if the value is not one of the rule."""
        value = data[start:end]
        if not value or MARK.fullmatch(value) or not rule.is_one(value):
            return None
        mark = quote + f"[redacted:{rule.name}]".encode() + quote
        if rule.may_be_number and not self._yaml:
            if _is_part_of_number(data, start, end):
                return None
            before = _AFTER_KEY.search(data, max(0, start - 200), start)
            if not strings.cover(start):
                if not _is_whole_number(data, start, end):
                    return None
                mark = b'"' + mark + b'"'
            elif before is not None and before[1]:
                inner = before[1] + b'"'
                mark = inner + mark + inner
        self.counts[rule.name] += 1
        return mark + b"\n" * value.count(b"\n")


class _Strings:
    """Finds the positions of JSON lines inside texts; call in ascending order."""

    def __init__(self, data: bytes) -> None:
        self._matches = _STRING.finditer(data)
        self._start = self._end = 0

    def cover(self, place: int) -> bool:
        while self._end <= place:
            match = next(self._matches, None)
            if match is None:
                return False
            self._start, self._end = match.span()
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


def _is_part_of_number(data: bytes, start: int, end: int) -> bool:
    """Return true if the digits continue after a decimal point."""
    before, after = data[max(0, start - 2) : start], data[end : end + 2]
    return (before[-1:] == b"." and before[:1].isdigit()) or (
        after[:1] == b"." and after[1:].isdigit()
    )


def _is_whole_number(data: bytes, start: int, end: int) -> bool:
    """Return true if *start* to *end* is a whole JSON number."""
    before = data[max(0, start - 200) : start].rstrip()[-1:]
    after = data[end : end + 1]
    digits = data[start:end].isdigit()
    return digits and before in b":,[" and (not after or after in b" \t\r\n,]}")
