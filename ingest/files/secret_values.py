r"""Values that are secret because of the key, option, element or label before them.

A secret key may be in JSON, in JSON inside a JSON text (``\"password\": ``), in JSON
inside a CSV cell (``""password"": ``), in a Python dict (``'password': ``), before
the ``=`` of a query, a shell line or a config, at the start of a line of YAML, in a
header, an option or an XML element, or be a Chinese label. `KEY` and the patterns below
it find what may be secret in one pass of RE2; only this is examined further.
docs/privacy.md lists the keys and the forms, and tests check the lists.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MARK = re.compile(rb"\[redacted:[a-z_]+\]")
"""What is in place of a value."""

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


_JOINT = "(?:[_-]|%5f|%2d)?"
_SUFFIX = rf"(?:\.?{_JOINT}(?:{_any_of(_MORE)}|[0-9]{{1,3}}))*"
WORDS = (
    r"(?:passwords?|passwd|passphrase|pwd|secrets?|credentials?"
    rf"|{_any_of(_KINDS_OF_PASS)}{_JOINT}pass|{_any_of(_KINDS_OF_KEYS)}{_JOINT}keys?"
    rf"|{_any_of(_KINDS_OF_TOKENS)}{_JOINT}tokens|token){_SUFFIX}"
)
"""The last words of keys that may be secret."""

WHOLE = r"(?:(?:proxy-|x-)?authorization|(?:(?:set|session|auth)[_-]?)?cookies?)"
"""Keys that are secret as a whole."""


def _written(text: str) -> str:
    """Return a pattern for Chinese text as it is, and as JSON escapes it."""
    escaped = "".join(rf"\\+u{ord(sign):04x}" for sign in text)
    return f"{text}|{escaped}"


_QUOTES, _GAP = r"\\*[\"']{1,2}", r"[ \t\r\n]*"
_COLON = rf"{_QUOTES}{_GAP}:{_GAP}"
_MEMBER = rf"{_COLON}(?:\{{{_GAP}{_QUOTES}value{_COLON})?"
_PAIR = rf"{_QUOTES}{_GAP},{_GAP}(?:{_QUOTES}value{_COLON})?"
KEY = (
    rf"(?i:{WORDS}(?:{_MEMBER}|{_PAIR}|[ \t]*(?:=|{_written('＝')})[ \t]*|:[ \t]+)"
    rf"|[\"']{WHOLE}(?:{_MEMBER}|{_PAIR}))"
)
"""A match ends at the start of the value."""


_LABELS = "密码 口令 密钥 私钥 令牌 密匙 授权码"
LABEL = (
    rf"(?i:(?:{'|'.join(map(_written, _LABELS.split()))})(?:{_QUOTES})?{_GAP}"
    rf"(?::|=|{_written('：')}|{_written('＝')}){_GAP})"
)
OPTION = rf"(?i:(?:^|[\s\"'`,]|\\[nrt])(?:--?|env[ \t]+)[a-z0-9_.-]*{WORDS}[ \t]+)"
ELEMENT = rf"(?i:<[a-z0-9_:.-]*{WORDS}(?:[ \t][^<>]*)?>)"
COOKIE = r"(?i:(?:set-)?cookie:[ \t]*)"

_OF_KEYS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-%"
_LONGEST_KEY = 80
_PERCENT = re.compile(rb"%5f|%2d", re.IGNORECASE)
_HEADER = re.compile(WHOLE.encode(), re.IGNORECASE)
_FORM_OF_KEY = re.compile(
    rb"(\\*[\"']{1,2})[ \t\r\n]*([:,])[ \t\r\n]*(\{?[ \t\r\n]*\\*[\"']{1,2}value"
    rb"\\*[\"']{1,2}[ \t\r\n]*:[ \t\r\n]*)?\Z|():[ \t]+\Z",
    re.IGNORECASE,
)
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
_WORD = re.compile(rb"(?![$<>\[({%|&*!@`])[!#-&(-+\--:=-\[\]-_a-~]{6,}")
"""A value without quotes where prose or code might be: ASCII, and no placeholder."""
_STRONG = re.compile(rb"[0-9!@#$%^*]")
_CODE = re.compile(rb"[(\[{<>]")
_ENDS = re.compile(rb"[ \t]*(?:\Z|[\r\n\\\"',;]|#|[\x80-\xff])")
_EQUALS = re.compile(
    rf"([ \t]*)(?:=|{_written('＝')})([ \t]*)\Z".encode(), re.IGNORECASE
)
_LINE = re.compile(rb"(?:\A|[\r\n\"'`,{]|\\[nrt])[ \t]*(?:-[ \t]+)?\Z")
_NAMED = re.compile(
    rb"(?:name|key|header|field)\\*[\"']{1,2}[ \t\r\n]*:[ \t\r\n]*\\*[\"']{1,2}\Z", re.I
)
_FIRST = re.compile(rb"[\[(][ \t\r\n]*\\*[\"']{1,2}\Z")
_LAST = re.compile(rb"\\*[\"']{1,2}[ \t\r\n]*[\])]")
_OF_ELEMENT = re.compile(rb"[^<>\"\\]+(?=<\\*/)")
_COOKIES = re.compile(rb"[^\"'\\,\r\n]*=[^\"'\\,\r\n]*")
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


def find_value(data: bytes, key_start: int, place: int) -> SecretValue | None:
    """Return the value of a key, if the key is secret and the value can be one."""
    key_text = data[key_start:place]
    equals = _EQUALS.search(key_text)
    form = None if equals else _FORM_OF_KEY.search(key_text)
    ends = equals or form
    assert ends
    word = key_text[: ends.start()]
    quote = form[1] or b"" if form else b""
    before = data[max(0, key_start - _LONGEST_KEY) : key_start]
    prefix = before[len(before.rstrip(_OF_KEYS)) :]
    if before[: len(before) - len(prefix)].endswith(b"\\"):
        prefix = prefix[1:]  # of an escape such as \n
    opens = key_start - len(prefix)
    if word[:1] in (b'"', b"'"):
        word, opens = word[1:], key_start + 1
    key = prefix + word
    if not is_secret(key):
        return None
    if equals:
        has_blanks = bool(equals[1] or equals[2])
        return _after_equals(data, place, key, has_blanks=has_blanks)
    leads = data[max(0, opens - _LONGEST_KEY) : opens]
    if not form or not quote:  # a line of YAML, or a header
        return _to_end_of_line(data, place, key) if _LINE.search(leads) else None
    if leads[-1:] != quote[-1:]:
        return None
    if form[2] == b":":
        return _after_colon(data, place, key, quote)
    return _of_pair(data, place, key, leads, is_named=bool(form[3]))


@lru_cache(4096)
def is_secret(key: bytes) -> bool:
    """Return true if a key found by `KEY` is secret; token counts of models are not."""
    key = _PERCENT.sub(b"_", key)
    key = _HUMPS.sub(b"_", key).lower()
    if b"token" not in key or key.endswith((b"secret", b"password")):
        return True
    return not (_MODELS_TOKEN.search(key) or _OTHER_TOKEN.search(key))


def _after_equals(
    data: bytes, place: int, key: bytes, *, has_blanks: bool
) -> SecretValue | None:
    if data[place : place + 1] in (b"=", b">", b"~"):  # a comparison
        return None
    if has_blanks:  # may be code
        return _to_end_of_line(data, place, key)
    text = _text(data, place)
    if text is not None:
        return text
    word = _BARE.match(data, place)
    return SecretValue(*word.span()) if word else None


def _to_end_of_line(data: bytes, place: int, key: bytes) -> SecretValue | None:
    """Return a text in quotes, or the only word up to the end of the line."""
    text = _text(data, place)
    if text is not None:
        is_sure = key.lower() != b"token" or is_strong(data[text.start : text.end])
        return text if is_sure else None
    word = _strong_word(data, place)
    return word if word and _ENDS.match(data, word.end) else None


def _strong_word(data: bytes, place: int) -> SecretValue | None:
    word = _WORD.match(data, place)
    if word is None or not is_strong(word[0]) or _CODE.search(word[0]):
        return None
    return SecretValue(*word.span())


def is_strong(value: bytes) -> bool:
    """Return true if a value looks like a password: six characters, not all letters."""
    return len(value) >= 6 and _STRONG.search(value) is not None


def _of_pair(
    data: bytes, place: int, key: bytes, leads: bytes, *, is_named: bool
) -> SecretValue | None:
    """Return the value of ``{"name": key, "value": …}`` or ``[key, …]``."""
    text = _text(data, place)
    if text is None:
        return None
    value = data[text.start : text.end]
    if is_named:
        is_sure = key.lower() != b"token" or is_strong(value)
        return text if _NAMED.search(leads) and is_sure else None
    is_header = _HEADER.fullmatch(key) is not None
    is_pair = _FIRST.search(leads) and _LAST.match(data, text.end)
    return text if is_pair and (is_header or is_strong(value)) else None


def find_labelled(data: bytes, _: int, place: int) -> SecretValue | None:
    """Return the value after a Chinese label."""
    opening = _OPENING.match(data, place)
    return _strong_word(data, opening.end() if opening else place)


def find_option(data: bytes, start: int, place: int) -> SecretValue | None:
    """Return the value after an option of a command, or ``ENV`` and a name."""
    name = data[start:place].split()[-1]
    if not is_secret(name.partition(b"-")[2].lstrip(b"-") or name):
        return None
    opening = _OPENING.match(data, place)
    return _text(data, place) if opening else _strong_word(data, place)


def find_element(data: bytes, start: int, place: int) -> SecretValue | None:
    """Return the text of an XML element."""
    key = data[start + 1 : place - 1].split()[0].rpartition(b":")[2]
    value = _OF_ELEMENT.match(data, place)
    if value is None or not is_secret(key):
        return None
    is_sure = key.lower() not in (b"token", b"secret") or is_strong(value[0])
    return SecretValue(*value.span()) if is_sure else None


def find_cookie(data: bytes, start: int, place: int) -> SecretValue | None:
    """Return the value of a header at the start of a line."""
    # check the start of the line first: the value may be as long as the file
    if not _LINE.search(data[max(0, start - _LONGEST_KEY) : start]):
        return None
    value = _COOKIES.match(data, place)
    return None if value is None else SecretValue(*value.span())


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
    depth, position, last = 0, place, place + _LONGEST_LIST
    while (token := _IN_LIST.search(data, position, last)) is not None:
        position = token.end()
        if token[0] in b"{}:":
            return None
        depth += {b"[": 1, b"(": 1, b"]": -1, b")": -1}.get(token[0], 0)
        if depth == 0:
            inside = data[place + 1 : position - 1]
            is_empty = _NOTHING.match(inside) is not None
            return None if is_empty else SecretValue(place + 1, position - 1, quote)
        if token[0] not in b"[](){}":
            opening = _OPENING.match(data, token.start())
            text = _text(data, token.start())
            assert opening is not None and text is not None
            position = text.end + len(opening[1]) + len(opening[2])
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
        # backslashes before the quote, without those of outer texts
        backslashes, rest = divmod(len(quote[1]) - level, level + 1)
        if backslashes < 0:
            return quote.start()
        if rest == 0 and backslashes % 2 == 0:
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
    """Return the end of a text in single quotes.

    A double quote without a backslash ends the JSON text that it is in.
    """
    for quote in _SINGLE.finditer(data, start):
        if quote[1] is None:
            return quote.start()
        kind = quote[0][len(quote[1]) :]
        if kind == b"'" and not quote[1]:
            return quote.start()
        if kind == b'"' and len(quote[1]) % 2 == 0:
            return quote.end() - 1
    return len(data)
