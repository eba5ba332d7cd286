"""What the names of metrics say of them."""

from __future__ import annotations

import re

LESS_IS_BETTER = re.compile(
    r"\b(latency|duration|cost|costs|price|usd|fees?|errors?|loss|perplexity|ppl|seconds"
    r"|fail|fails|failed|failure|failures|wrong|incorrect|mistakes?|missed|missing"
    r"|hallucinat\w*|toxic\w*|bias\w*|harm(?!less)\w*|unsafe|offensive\w*|insult\w*|profan\w*"
    r"|violat\w*|violence|jailbr\w*|leak\w*|attack\w*|spam\w*|contradict\w*|invalid"
    r"|wer|cer|ter|mer|mae|mse|rmse|mape|brier|ece|distance|edits?|regrets?|penalty"
    r"|noise\w*|tokens?|false positives?|false negatives?|fpr|fnr|timeouts?|retries)\b"
)
"""Names of metrics for which less is better."""
_NEGATED = re.compile(r"\b(no|not|non|never|without|free|avoids?|anti)\b")
_NOT_WORD = re.compile(r"[\W_]+")


def plain_name(name: str) -> str:
    """Return lower-case words: ``isWrong`` and ``is_wrong`` become ``is wrong``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return _NOT_WORD.sub(" ", apart.lower()).strip()


def is_best_unclear(name: str) -> bool:
    """Return true for a name such as ``toxicity``, where 1 may be the worst."""
    plain = plain_name(name)
    return bool(LESS_IS_BETTER.search(plain)) and not _NEGATED.search(plain)
