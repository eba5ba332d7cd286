r"""Values of secret keys: the names of secret keys, and the ends of their values.

A key may be in JSON, in JSON inside a JSON text (``\"password\": ``), in JSON inside a
CSV cell (``""password"": ``), in a Python dict (``'password': ``), or before the ``=``
of a query, a shell line or a config. `KEY` finds the ends of all keys that may be
secret in one pass of RE2; only these are examined further. docs/privacy.md lists the
keys, and a test checks the list.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_KINDS_OF_KEYS = (
    "access account admin aes anthropic api app auth aws azure client consumer deploy"
    " encryption gcp github gitlab google hmac jwt license master openai private root"
    " secret service session shared signing ssh storage subscription webhook"
)
_KINDS_OF_TOKENS = (
    "access api app auth bearer bot csrf deploy github gitlab hf id jwt oauth refresh"
    " secret session slack sso user xsrf"
)
_KINDS_OF_PASS = (
    "admin database db ftp imap mongo mysql pg postgres redis root smtp ssh"
)
_MORE = (
    "base64 b64 confirm confirmation current dev hash new old plain prev previous"
    " primary prod production secondary staging test text value"
)
_TOKENS_OF_MODELS = (
    "any average avg bos cached class cls completion cost count each end"
    " eos eot every first generated in input last mask max mean min n next no"
    " num number out output pad per prev previous prompt reasoning second sep special"
    " start stop target time top total unk unknown"
)


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_SUFFIX = rf"(?:[_.-]?(?:{_any_of(_MORE)}|[0-9]{{1,3}}))*"
WORDS = (
    r"(?:passwords?|passwd|passphrase|pwd|secrets?|credentials?"
    rf"|{_any_of(_KINDS_OF_PASS)}[_-]?pass|{_any_of(_KINDS_OF_KEYS)}[_-]?keys?"
    rf"|{_any_of(_KINDS_OF_TOKENS)}[_-]?tokens|token){_SUFFIX}"
)
"""The last words of keys that may be secret."""

WHOLE = r"(?:(?:proxy-|x-)?authorization|(?:(?:set|session|auth)[_-]?)?cookies?)"
"""Keys that are secret as a whole."""

_COLON = r"\\*[\"']{1,2}[ \t\r\n]*:[ \t\r\n]*"
KEY = rf"(?i:{WORDS}(?:{_COLON}|=)|[\"']{WHOLE}{_COLON})"
"""A match ends at the start of the value."""

_OF_KEYS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST_KEY = 80
_BLANKS = b" \t\r\n"
_HUMPS = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])")
_MODELS_TOKEN = re.compile(
    rb"(?:^|[_.-])" + _any_of(_TOKENS_OF_MODELS).encode() + rb"[_.-]token(?:[_.-]|\Z)"
)
_OTHER_TOKEN = re.compile(
    rb"[a-z0-9](?<!" + rb")(?<!".join(w.encode() for w in _KINDS_OF_TOKENS.split())
    + rb")token(?:[_.-]|\Z)"
)  # fmt: skip
_OPENING = re.compile(
    rb"(?:[bBrRuU]{1,2}(?=\\*[\"']))?(\\*)(\"\"(?![ \t\r\n,}\])]|\Z)|\"|')"
)
_NUMBER = re.compile(rb"-?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_BARE = re.compile(rb"[^\s\"'\\,;&]+")
# each match starts at its first backslash, so that a run of them is scanned once
_QUOTE = re.compile(rb'(?<!\\)(\\*)"|[\r\n]')
_DOUBLED = re.compile(rb'(?<!\\)(\\*)""|[\r\n]')
_SINGLE = re.compile(rb"(?<!\\)(\\*)(?:'|\"\"?)|[\r\n]")
_IN_LIST = re.compile(rb"[\[\](){}:]|(?<!\\)\\*[\"']")
_LONGEST_LIST = 1 << 16
_NOTHING = re.compile(
    rb"(?:\[redacted:[a-z_]+\]|[\s\"'\\,\[\]()]|null|None|true|false|True|False)*\Z"
)
_IDS_OF_TOKENS = 6  # digits: the size of a vocabulary


class SecretValue(NamedTuple):
    """The place of a value, and the quotes that its mark needs."""

    start: int
    end: int
    quote: bytes = b""


def find_value(data: bytes, found: int, place: int) -> SecretValue | None:
    """Return the value of a key, if the key is secret and the value can be one.

    Args:
        data: the block.
        found: the start of the match of `KEY`.
        place: the end of the match.
    """
    whole = data[found:place]
    if whole.endswith(b"="):
        word, quote = whole[:-1], b""
    else:
        quoted = whole.rstrip(_BLANKS)[:-1].rstrip(_BLANKS)
        word = quoted.rstrip(b"\\\"'")
        quote = quoted[len(word) :]
    before = data[max(0, found - _LONGEST_KEY) : found]
    prefix = before[len(before.rstrip(_OF_KEYS)) :]
    if before[: len(before) - len(prefix)].endswith(b"\\"):
        prefix = prefix[1:]  # of an escape such as \n
    opens = found - len(prefix)
    if word[:1] in (b'"', b"'"):
        word, opens = word[1:], found + 1
    key = prefix + word
    if not is_secret(key):
        return None
    if not quote:
        return _after_equals(data, place)
    if data[opens - 1 : opens] != quote[-1:]:
        return None
    return _after_colon(data, place, key, quote)


@lru_cache(4096)
def is_secret(key: bytes) -> bool:
    """Return true if a key found by `KEY` is secret; token counts of models are not."""
    key = _HUMPS.sub(b"_", key).lower()
    if b"token" not in key or key.endswith((b"secret", b"password")):
        return True
    return not (_MODELS_TOKEN.search(key) or _OTHER_TOKEN.search(key))


def _after_equals(data: bytes, place: int) -> SecretValue | None:
    if data[place : place + 1] == b"=":  # a comparison
        return None
    text = _text(data, place)
    if text is not None:
        return text
    bare = _BARE.match(data, place)
    return SecretValue(*bare.span()) if bare else None


def _after_colon(
    data: bytes, place: int, key: bytes, quote: bytes
) -> SecretValue | None:
    text = _text(data, place)
    if text is not None:
        return text
    number = _NUMBER.match(data, place)
    if number is not None:
        is_id = key.lower() == b"token" and len(number[0]) <= _IDS_OF_TOKENS
        return None if is_id else SecretValue(*number.span(), quote)
    if data[place : place + 1] in (b"[", b"("):
        return _list(data, place, quote)
    return None


def _text(data: bytes, place: int) -> SecretValue | None:
    opening = _OPENING.match(data, place)
    if opening is None:
        return None
    ends = {b"'": _end_of_single, b'""': _end_of_doubled}.get(opening[2], end_of_text)
    return SecretValue(opening.end(), ends(data, opening.end()))


def _list(data: bytes, place: int, quote: bytes) -> SecretValue | None:
    """Return the content of a list of texts and numbers, unless it contains objects."""
    depth, at, last = 0, place, place + _LONGEST_LIST
    while (found := _IN_LIST.search(data, at, last)) is not None:
        at = found.end()
        if found[0] in b"{}:":
            return None
        depth += {b"[": 1, b"(": 1, b"]": -1, b")": -1}.get(found[0], 0)
        if depth == 0:
            inside = data[place + 1 : at - 1]
            is_empty = _NOTHING.match(inside) is not None
            return None if is_empty else SecretValue(place + 1, at - 1, quote)
        if found[0] not in b"[](){}":
            opening = _OPENING.match(data, found.start())
            text = _text(data, found.start())
            assert opening is not None and text is not None
            at = text.end + len(opening[1]) + len(opening[2])
    return None


def end_of_text(data: bytes, start: int) -> int:
    """Return the end of the JSON text whose opening quote is right before *start*.

    In a text nested in *n* others every escaped character has ``2 ** n - 1`` more
    backslashes, its quotes too. The text ends at its own unescaped quote, or where an
    outer text ends.
    """
    level = 0
    while data[start - 2 - level : start - 1 - level] == b"\\":
        level += 1
    for quote in _QUOTE.finditer(data, start):
        if quote[1] is None:
            return quote.start()
        own, rest = divmod(len(quote[1]) - level, level + 1)
        if own < 0:
            return quote.start()
        if rest == 0 and own % 2 == 0:
            return quote.end() - 1 - level
    return len(data)


def _end_of_doubled(data: bytes, start: int) -> int:
    for quote in _DOUBLED.finditer(data, start):
        if quote[1] is None:
            return quote.start()
        if len(quote[1]) % 2 == 0:
            return quote.end() - 2
    return len(data)


def _end_of_single(data: bytes, start: int) -> int:
    """Return true if a quote without a backslash ends the enclosing JSON text."""
    for quote in _SINGLE.finditer(data, start):
        if quote[1] is None:
            return quote.start()
        kind = quote[0][len(quote[1]) :]
        if kind == b"'" and not quote[1]:
            return quote.start()
        if kind == b'"' and len(quote[1]) % 2 == 0:
            return quote.end() - 1
    return len(data)
