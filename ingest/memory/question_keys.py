"""Keys of questions: the same in every round and run, and read as the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from promptlab.ingest.case_names import cut_name, is_short

Identity = tuple[str, str, str]
"""Text, category and evidence of a question."""


class QuestionKeys:
    """The keys of a file's questions.

    A key is the text of the question. It ends in a hash where the text is long, or
    where the file asks it with another category or evidence too.
    """

    def __init__(self, identities: Iterable[Identity]) -> None:
        """Collect the questions of a whole file: a key must not depend on the round."""
        by_text: dict[str, list[Identity]] = defaultdict(list)
        for identity in dict.fromkeys(identities):
            by_text[" ".join(identity[0].split())].append(identity)
        self._keys = {
            identity: _key(text, identity, is_alone=len(identities) == 1)
            for text, identities in by_text.items()
            for identity in identities
        }

    def key(self, identity: Identity, number: int) -> str:
        """Return the key of a question, the *number*-th of its kind in its round."""
        key = self._keys[identity]
        return key if number == 1 else f"{key} ({number})"


def _key(text: str, identity: Identity, *, is_alone: bool) -> str:
    if is_short(text) and is_alone:
        return text
    digest = blake2b(digest_size=4)
    for part in identity:
        # Lengths make the joined text unambiguous.
        data = part.encode()
        digest.update(b"%d:%b" % (len(data), data))
    return cut_name(text, digest.hexdigest())
