"""Whether another run can have a title: one that is made of a date or an id cannot.

Runs are compared with earlier ones of their title. Where the title is the name of a
file that a CI named by its run, every run is a first run.
"""

from __future__ import annotations

import re

_CHANGES = re.compile(
    r"""
    [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}    # a UUID
    | (?<![0-9a-z])(?=[a-f]*[0-9])[0-9a-f]{7,}(?![0-9a-z])    # a hash
    | [0-9]+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W_]+")
_SAYS_NOTHING = frozenset(
    {
        *("attempt", "build", "ci", "commit", "eval", "evals", "evaluation", "export"),
        *("file", "job", "log", "mr", "no", "nr", "out", "output", "pipeline", "pr"),
        *("promptfoo", "report", "result", "results", "run", "sha", "t", "test", "v"),
        *("version", "z"),
    }
)


def can_repeat(title: str) -> bool:
    """Return false if a title is a number, a hash, a date or the id of a run.

    Words such as "run" next to one are ignored; any other word makes a name.
    """
    rest = _CHANGES.sub(" ", title)
    if rest == title:
        return True
    return any(word.lower() not in _SAYS_NOTHING for word in _WORDS.findall(rest))
