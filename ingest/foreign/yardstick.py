"""Remove from a tool's description of its judging all that cannot change a verdict.

The rest is the yardstick: the parameters of a dimension, whose change makes the results
of two runs incomparable. A list of what counts would miss what the next version of a
tool adds; so readers list what does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Any

from promptlab.ingest.foreign.names import plain_name

_OF_CALLS = re.compile(
    # where a model is called
    r"(\w+ ){0,2}(base url|api base|endpoint|api host|api version)|base path|host"
    r"|user agent|proxy|proxies"
    # number of tries, and number at once
    r"|((max|num) )?retr(y|ies)( count| on \w+)?"
    r"|(max )?concurrency|max concurrent|(max |adaptive )?connections|(rate )?delay"
    r"|((max|num) )?(workers|threads|processes)|rate limit|batch( size)?|throttle\w*"
    # what it shows and keeps
    r"|verbose( mode)?|debug|quiet|show (progress|indicator)|progress( bar)?|logger"
    r"|log level|(use |write )?cache|cache (dir|path|prompt)"
)
"""Settings of calls, which change neither the question nor the judgement.

A time limit is not among them: a judge or a test that does not finish has failed.
"""
_SECRET = re.compile(
    r"\b(api|access|auth|private|secret|subscription|service|account|signing"
    r"|encryption)( \w+)? keys?\b|\b(secrets?|passwords?|passwd|passphrase|auth"
    r"|authorization|headers|credentials?|cookies?|bearer)\b|\b token$"
)
_NO_SECRET = re.compile(
    r"\b(stop|start|end|eos|bos|pad|unk|mask|sep|cls|image|special|first|last) token$"
)
"""Tokens of a text. Names such as ``max_tokens`` and ``answer_key`` are no secrets."""
_MAYBE_SECRET = frozenset({"key", "token"})
"""Names that are as often those of a field or a word: their value decides."""
_LIKE_SECRET = re.compile(r"(?=\D*\d)\S{16,}")
_ADDRESS = re.compile(r"\s+at 0x[0-9a-fA-F]+(?=>)")
_MACHINE = (
    # a checkout of CI, a home, a temporary folder, of Windows and of others
    r"[A-Za-z]:[\\/]+(?:a[\\/]+[^\\/\s]+[\\/]+[^\\/\s]+[\\/]+"
    r"|(?:[^\s'\"<>|]*?[\\/])?(?:(?i:te?mp)[\\/]+)(?:[^\\/\s]+[\\/]+(?=[^\\/\s]))?"
    r"|Users[\\/]+[^\\/\n'\"<>|]+[\\/]+)"
    r"|/(?:home|Users)/runner[/]work/[^/\s]+/[^/\s]+/|/(?:(?:home|Users)/[^/\s]+|root)/"
    r"|/github/workspace/|/(?:__w|builds)/[^/\s]+/[^/\s]+/|/workspaces/[^/\s]+/"
    r"|/(?:workspace|workdir|app)/"
    r"|(?:/private)?/var/folders/[^/\s]+/[^/\s]+/T/(?:[^/\s]+/(?=[^/\s]))?"
    r"|(?:/private)?(?:/var)?/tmp/(?:[^/\s]+/(?=[^/\s]))?"
)
_ROOTS = (
    r"[A-Za-z]:[\\/]|/(?:app|builds?|content|data|github|home|mnt|opt|private|root"
    r"|runner|srv|tmp|Users|usr|var|workdir|work|workspaces?|__w)/"
)
_PATH = re.compile(
    rf"(?<![\w.~-])(?<!:/)(?:file:/{{2,3}})?(?:{_MACHINE}|(?={_ROOTS}))"
    r"(?P<rest>[^\s'\"<>|]*[^\\/\s'\"<>|])"
)
"""An absolute path: what is the machine's own in it, and the rest."""
_DRIVE = re.compile(r"^[A-Za-z]:(?=[\\/])")
_KEPT = 3
"""Components of a path that count: which checkpoint of which model."""


def yardstick(description: Any, *left_out: str) -> Any:
    """Return the part of a description of judging that may change a verdict.

    Removed at any depth are members without a value (null, empty), so that a default
    which a newer version writes out changes nothing; settings of calls, such as
    retries; what may be a secret; of absolute paths what is another one on each machine
    (`without_machine`), and addresses in memory.

    Args:
        description: Any JSON value: the options of a scorer, its configuration.
        left_out: Members that change no verdict either, at any depth. Case and
            separators of words do not matter: ``max_workers`` is ``maxWorkers``.
    """
    return _rest(description, _plain_names(left_out))


def without_addresses(written: str) -> str:
    """Return a text without addresses in memory: ``<PIL.Image at 0x7f3a>``."""
    return _ADDRESS.sub("", written)


def without_machine(written: str) -> str:
    """Return a text with the last components of absolute paths, below the machine's.

    Homes, temporary folders and checkouts of CI are other ones on each machine.
    """
    return _PATH.sub(_end_of_path, written)


def _end_of_path(path: re.Match[str]) -> str:
    parts = re.split(r"[\\/]+", _DRIVE.sub("", path["rest"]))
    return "/".join([part for part in parts if part][-_KEPT:])


def is_secret(name: str, value: Any = None) -> bool:
    """Return true for a setting that may hold a secret, by its name.

    Of the names ``key`` and ``token`` the value decides.
    """
    plain = _plain(name)
    if plain in _MAYBE_SECRET:
        return isinstance(value, str) and bool(_LIKE_SECRET.fullmatch(value))
    return bool(_SECRET.search(plain)) and not _NO_SECRET.search(plain)


def _rest(value: Any, left_out: Collection[str]) -> Any:
    if isinstance(value, str):
        return without_addresses(without_machine(value))
    if isinstance(value, list):
        return [_rest(item, left_out) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        name: _rest(member, left_out)
        for name, member in value.items()
        if _plain(name) not in left_out and not _changes_no_verdict(name, member)
    }
    return {name: member for name, member in kept.items() if not _is_empty(member)}


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


_plain = cache(plain_name)


@cache
def _plain_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_plain, names))


def _changes_no_verdict(name: str, value: Any) -> bool:
    if _plain(name) in _MAYBE_SECRET:
        return is_secret(name, value)
    return _never_changes_a_verdict(name)


@cache
def _never_changes_a_verdict(name: str) -> bool:
    return bool(_OF_CALLS.fullmatch(_plain(name))) or is_secret(name)
