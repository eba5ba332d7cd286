r"""Redaction rules, one row each. The patterns are RE2's, over bytes.

A value may be in JSON, in JSON inside a JSON text, or in plain text; so a quote or a
slash may have backslashes before it, and the last letter of an escape such as ``\n`` is
not part of the next word (``_START``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from promptlab.ingest.files.secret_values import KEY, SecretValue, find_value

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


def _has_digit(found: bytes) -> bool:
    return any(0x30 <= byte <= 0x39 for byte in found)


def _is_no_port(found: bytes) -> bool:
    """Return whether it is a password, not ``8080?mail=a`` of a URL without one."""
    return re.match(rb"[0-9]{1,5}[?#,;]", found) is None


def _is_id_card(found: bytes) -> bool:
    """Check the checksum ISO 7064 MOD 11-2 of GB 11643."""
    total = sum(int(chr(d)) * 2 ** (17 - n) for n, d in enumerate(found[:17]))
    return b"10X98765432"[total % 11 :][:1] == found[17:].upper()


def _is_international(found: bytes) -> bool:
    return 8 <= sum(0x30 <= byte <= 0x39 for byte in found) <= 15


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
    Rule(
        "api_key",
        "on",
        "`sk-…`, `AKIA…`, `ghp_…`, `github_pat_…`, `glpat-…`, `xoxb-…`, `AIza…`,"
        " `hf_…`, `LTAI…`",
        _START + r"(?P<X>sk-[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{16,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{30,}"
        r"|LTAI[A-Za-z0-9]{12,24})",
        _has_digit,
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
