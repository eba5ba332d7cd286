r"""Redact secrets and personal data in a file's bytes before parsing.

This is the only place that redacts: rows, rejects and messages are made from its
output. Line breaks are kept, so line numbers are those of the file; columns refer to
the redacted text. A clean file costs one pass of RE2.

The patterns are RE2's, over bytes. A value may be in JSON, in JSON inside a JSON text,
or in plain text; so a quote or a slash may have backslashes before it, and the last
letter of an escape such as ``\n`` is not part of the next word (``_START``).

A secret key may be in JSON, in JSON inside a JSON text (``\"password\": ``), in JSON
inside a CSV cell (``""password"": ``), in a Python dict (``'password': ``), before
the ``=`` of a query, a shell line or a config, at the start of a line of YAML, in a
header, an option or an XML element, or be a Chinese label. `KEY` and the patterns below
it find what may be secret in one pass of RE2; only this is examined further.
docs/privacy.md lists the keys and the forms, and tests check the lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from promptlab.encoding import mended, without_lone_surrogates

if TYPE_CHECKING:
    from re2 import _Match, _Regexp


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


Mode = Literal["off", "on", "strict"]


class Rule(NamedTuple):
    """One kind of value."""

    name: str
    """Used in the mark: ``[redacted:email]``."""
    mode: Mode
    """The least strict mode that applies it."""
    what: str
    """Description for the documentation."""
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
    Rule(
        "secret",
        "on",
        "the text, number or list under a key such as `password`, `token`, `api_key`,"
        " `authorization`, `client_secret`, `cookie`, or behind such a name and `=`",
        KEY,
        find=find_value,
    ),
    Rule("secret", "on", "a password after a Chinese label", LABEL, find=find_labelled),
    Rule("secret", "on", "the value of an option", OPTION, find=find_option),
    Rule("secret", "on", "the text of an XML element", ELEMENT, find=find_element),
    Rule("secret", "on", "the value of a cookie header", COOKIE, find=find_cookie),
    Rule(
        "secret",
        "on",
        "the password in `-u user:password`",
        r"(?:^|[\s\"'`])(?:-u|--user|--proxy-user)[ \t=]+\\*[\"']?[^\s:\"'\\/]+"
        r":(?P<X>[^\s\"'\\]+)",
        _is_no_id,
    ),
    Rule(
        "secret",
        "on",
        "the password in `mysql -ppassword`",
        _START + r"(?:mysql(?:dump|admin)?|mariadb)"
        r"(?:[ \t]+-[\w=-]+(?:[ \t]+[^\s\"'\\-][^\s\"'\\]*)?){0,8}?"
        r"[ \t]+-p(?P<X>[^\s\"'\\]+)",
    ),
    Rule(
        "api_key",
        "on",
        "`sk-…`, `AKIA…`, `ghp_…`, `github_pat_…`, `glpat-…`, `xoxb-…`, `AIza…`,"
        " `hf_…`, `npm_…`, `LTAI…`, `AKLT…`, with a digit or 24 letters in a row",
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
        "JSON web tokens",
        _START + r"(?P<X>eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*)",
    ),
    Rule(
        "bearer",
        "on",
        "what follows `Bearer` or `Basic`",
        _START + r"(?i:bearer|basic)\s+(?P<X>[A-Za-z0-9._~+/=-]{16,})",
        _has_digit,
    ),
    Rule(
        "url_password",
        "on",
        "the password in `scheme://user:password@host`",
        r"[A-Za-z][A-Za-z0-9+.-]*:(?:\\*/){2}[^/\\\s:@\"]*:(?P<X>[^/\\\s\"]+)@",
        _is_no_port,
    ),
    Rule(
        "private_key",
        "on",
        "PEM private keys, whole",
        r"(?P<X>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_PEM_BODY}*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        rf"|{_PEM_BODY}*))",  # truncated
    ),
    Rule(
        "email",
        "strict",
        "e-mail addresses",
        _START + r"(?P<X>[A-Za-z0-9_%+][A-Za-z0-9._%+-]{0,63}(?:@|\\+u0040)"
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,})",
    ),
    Rule(
        "id_card",
        "strict",
        "ID card numbers of China, where the check digit is right",
        _START + r"(?P<X>[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])"
        r"(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])\b",
        _is_id_card,
        may_be_number=True,
    ),
    Rule(
        "phone",
        "strict",
        "mobile numbers of China",
        _START + r"(?P<X>(?:86[- ]?)?1[3-9][0-9][- ]?[0-9]{4}[- ]?[0-9]{4})\b",
        may_be_number=True,
    ),
    Rule(
        "phone",
        "strict",
        "international numbers with `+`",
        r"(?P<X>\+[1-9][0-9]{0,2}(?:[ .()-]{0,2}[0-9]{1,5}){2,6})\b",
        _is_international,
    ),
    Rule(
        "home",
        "strict",
        "the name in `/home/name`, `/Users/name`, `C:\\Users\\name`",
        r"(?:^|[^A-Za-z0-9._~%/\\-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4})"
        rf"\\*/(?:home|Users)\\*/(?P<X>{_NAME})",
    ),
    Rule(
        "home",
        "strict",
        "",
        rf"\b[A-Za-z]:\\+(?i:Users)\\+(?P<X>{_NAME})",
    ),
)


_STRENGTH: dict[Mode, int] = {"off": 0, "on": 1, "strict": 2}
_MOST_MEMORY = 64 << 20
"""Memory limit of RE2's automaton; the default is too slow with all rules."""

_STRING = re.compile(rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?')
_AFTER_KEY = re.compile(rb'(\\*)"\s*:\s*\Z')
_MARK = re.compile(rb"\[redacted:[a-z_]+\]")

MAX_YAML_BYTES = 2 << 20
"""Maximum size of YAML; PyYAML needs seconds for more, and pipelines are smaller."""

# YAML values may be unquoted: a value begins after its key.
_YAML_VALUE = re.compile(rb"[ \t]*(?:-[ \t]+)*(?:[^\s:#]+:[ \t]+)?\Z")
_YAML_SECRET = re.compile(
    rf"^([ \t]*(?:-[ \t]+)*[\"']?([\w.-]*{WORDS}|{WHOLE})[\"']?"
    r":[ \t]+)([^\s|>{#][^\n\r]*)".encode(),
    re.IGNORECASE | re.MULTILINE,
)
_YAML_KEY = re.compile(rf"[\w.-]*(?:{WORDS})|{WHOLE}", re.IGNORECASE)
_NO_SECRETS_OF_YAML = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"}
_ANCHOR = re.compile(r"(?:!\S*\s+)?(&\S+\s+)?(?:!\S*\s+)?")


def _values_of_yaml(text: str) -> list[tuple[int, int]] | None:
    """Return the places of texts, numbers and lists under secret keys, in order.

    Returns:
        Start and end in characters; ``None`` if it cannot be parsed, or is too large.
    """
    import yaml

    if len(text) > MAX_YAML_BYTES:
        return None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    places: set[tuple[int, int]] = set()
    waiting = [(root, False)] if root is not None else []
    visited = set()
    while waiting:
        node, is_secret_here = waiting.pop()
        if (id(node), is_secret_here) in visited:  # an alias
            continue
        visited.add((id(node), is_secret_here))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(item, is_secret_here) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                is_its_value = is_secret_here and key.value == "value"
                is_secret_key = _is_secret_in_yaml(str(key.value))
                waiting += [(key, False), (value, is_secret_key or is_its_value)]
        elif is_secret_here and node.value and node.tag not in _NO_SECRETS_OF_YAML:
            places.add((node.start_mark.index, node.end_mark.index))
    return sorted(places)


def _is_secret_in_yaml(key: str) -> bool:
    return bool(_YAML_KEY.fullmatch(key)) and is_secret(key.encode())


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
            data = self._redact_yaml(data)
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
        if not value or _MARK.fullmatch(value) or not rule.is_one(value):
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

    def _redact_yaml(self, data: bytes) -> bytes:
        """Redact the values of secret keys; line by line if it is not valid YAML."""
        text = data.decode("utf-8", "surrogateescape")
        places = _values_of_yaml(text)
        if places is None:
            return _YAML_SECRET.sub(self._yaml_secret, data)
        pieces, position = [], 0
        for start, end in places:
            value = text[start:end].rstrip()  # a block ends where the next key begins
            if start < position or _MARK.fullmatch(value.strip("\"'").encode()):
                continue
            self.counts["secret"] += 1
            anchor = (_ANCHOR.match(value) or [""])[1] or ""
            lines = "\n" * (value.count("\n") - anchor.count("\n"))
            mark = f'{anchor}"[redacted:secret]"{lines}'
            pieces += [text[position:start], mark]
            position = start + len(value)
        return "".join([*pieces, text[position:]]).encode("utf-8", "surrogateescape")

    def _yaml_secret(self, match: re.Match[bytes]) -> bytes:
        if not is_secret(match[2]):
            return match[0]
        self.counts["secret"] += 1
        return match[1] + b'"[redacted:secret]"'


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
