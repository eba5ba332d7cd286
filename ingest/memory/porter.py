"""Porter's stemmer with the extensions that LoCoMo's published scores were made with.

Porter, "An algorithm for suffix stripping", Program 14 (1980). The extensions are those
of NLTK's ``PorterStemmer`` in its default mode: a table of irregular forms, words of
two letters unchanged, other rules for ``-ies``, ``-ied``, ``-y`` and ``-alli``, and two
suffixes more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

_IRREGULAR = {
    **dict.fromkeys(("sky", "skies"), "sky"),
    **dict.fromkeys(("innings", "inning"), "inning"),
    **dict.fromkeys(("outings", "outing"), "outing"),
    **dict.fromkeys(("cannings", "canning"), "canning"),
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    **{word: word for word in ("news", "howe", "proceed", "exceed", "succeed")},
}
_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance")),
    *(("izer", "ize"), ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e")),
    *(("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    *(("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    *(("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic")),
    *(("ful", ""), ("ness", "")),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _last_suffix):
        word = step(word)
    return _tidied(word)


def _kinds(word: str) -> str:
    """Return ``c`` or ``v`` for each letter: a ``y`` is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if is_vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """Return m of a word of the form ``[C](VC){m}[V]``."""
    return _kinds(word).count("vc")


def _is_short(word: str) -> bool:
    """Return true if it ends like ``-hop``, or is a vowel and a consonant."""
    kinds = _kinds(word)
    return kinds == "vc" or (kinds.endswith("cvc") and word[-1] not in "wxy")


def _replace_suffix(
    word: str, rules: Iterable[tuple[str, str]], holds: Callable[[str], bool]
) -> str:
    """Apply the first rule whose suffix the word has, if the rest meets a condition."""
    for suffix, instead in rules:
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return rest + instead if holds(rest) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = next((ending for ending in ("ed", "ing") if word.endswith(ending)), None)
    if suffix is None or "v" not in _kinds(word.removesuffix(suffix)):
        return word
    rest = word.removesuffix(suffix)
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-2:-1] == rest[-1] and _kinds(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _final_y(word: str) -> str:
    is_after_consonant = len(word) > 2 and _kinds(word)[-2] == "c"
    return word[:-1] + "i" if word.endswith("y") and is_after_consonant else word


def _double_suffix(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi"):  # the l counts as a part of the stem
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_suffix(word, _STEP_2, lambda rest: _measure(rest) > 0)


def _suffix(word: str) -> str:
    return _replace_suffix(word, _STEP_3, lambda rest: _measure(rest) > 0)


def _last_suffix(word: str) -> str:
    def holds(rest: str) -> bool:
        is_ion = len(word) - len(rest) == 3 and word.endswith("ion")
        return _measure(rest) > 1 and (not is_ion or rest[-1] in "st")

    return _replace_suffix(word, ((suffix, "") for suffix in _STEP_4), holds)


def _tidied(word: str) -> str:
    if word.endswith("e"):
        m = _measure(word[:-1])
        if m > 1 or (m == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
