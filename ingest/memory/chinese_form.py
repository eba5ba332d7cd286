"""Compare Chinese answers with references: CMRC 2018's F1, and a strict equality.

Published F1 scores of Chinese call "南京" half right for "北京", so only the plain
cases are decided here: the same text after Unicode's NFKC, without punctuation, in one
form of numbers and dates; other numbers in the same text; or words without one
character in common.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from promptlab.ingest.memory.locomo_form import MULTI_HOP, OPEN_DOMAIN

_HAN, _KANA = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[\u3040-\u30ff]")
_LONGEST = 10_000
"""Characters; longer texts have no score, since its work grows with the product."""

_SEPARATOR = re.compile(r"[、;]|(?<!\d),|,(?!\d{3}(?!\d))")
"""Between parts of an answer; no comma of 1,000."""
_PIECE = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_PUNCTUATION = re.compile(r"[\s,.:;!?、。…'\"“”‘’「」《》()~]")
_DATE = re.compile(
    r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})(?!\d)\s*[日号號]?"
)
_DAY = re.compile(r"(\d{1,2})\s*月\s*(\d{1,2})\s*[日号號]")
_NUMBER = re.compile(r"(?:(?<![\w.])-)?\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

_DIGITS = {name: value for value, name in enumerate("零一二三四五六七八九")}
_DIGITS |= {"〇": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_UNITS = _TENS | {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_ALL = "".join(_DIGITS) + "".join(_UNITS)
_NUMERAL = re.compile(rf"(?<![\d{_ALL}])[{_ALL}]+(?![\d{_ALL}])")
_MIXED = re.compile(
    rf"(?<![\d.{_ALL}])(\d+(?:\.\d+)?)([{''.join(_UNITS)}])(?![\d{_ALL}])"
)


def is_chinese(text: str) -> bool:
    """Return true if a text has Chinese characters and no Japanese ones."""
    return bool(_HAN.search(text)) and not _KANA.search(text)


def cmrc_f1(
    answer: str, references: Sequence[str], category: str | None
) -> float | None:
    """Return the F1 of CMRC 2018's evaluation (`cmrc2018_evaluate.py`), 0 to 1.

    The longest common run of tokens counts as shared; a Chinese character is a token,
    and so is a word or number of others. In LoCoMo's category 1 it is the mean over the
    parts of the reference of the best part of the answer, as in LoCoMo's own F1. Of
    several references the best one counts; a text of megabytes has no score.
    """
    if max(map(len, (answer, *references))) > _LONGEST:
        return None
    scores = []
    for reference in references:
        answered = _answer_parts(answer, category)
        best = [
            max(_run_f1(part, expected) for part in answered)
            for expected in _parts(reference, category)
        ]
        scores.append(sum(best) / len(best))
    return round(max(scores), 6)


def is_same(
    answer: str, references: Sequence[str], category: str | None
) -> bool | None:
    """Return true if an answer equals a reference; ``None``: it cannot be decided."""
    if max(map(len, (answer, *references))) > _LONGEST:
        return None
    results = [_compare(answer, reference, category) for reference in references]
    if True in results:
        return True
    return None if None in results else False


def _compare(answer: str, reference: str, category: str | None) -> bool | None:
    answered = sorted(map(_form, _answer_parts(answer, category)))
    expected = sorted(map(_form, _parts(reference, category)))
    if answered == expected:
        return True
    if len(answered) == len(expected) == 1 and _skeleton(answered[0]) == _skeleton(
        expected[0]
    ):
        return False
    return _shares_nothing("".join(answered), "".join(expected))


def _skeleton(text: str) -> str:
    return _NUMBER.sub("#", text)


def _shares_nothing(answered: str, expected: str) -> bool | None:
    """Return false for other words; a number or single letter may differ in form."""
    if set(answered) & set(expected):
        return None
    are_words = all(
        len(_HAN.findall(text)) > 1 and not re.search(r"\d", text)
        for text in (answered, expected)
    )
    return False if are_words else None


def _parts(text: str, category: str | None) -> list[str]:
    text = unicodedata.normalize("NFKC", text).lower()
    if category == MULTI_HOP:
        return [part for part in _SEPARATOR.split(text) if part.strip()] or [text]
    return [text.split(";")[0]] if category == OPEN_DOMAIN else [text]


def _answer_parts(text: str, category: str | None) -> list[str]:
    return _parts(text, category if category == MULTI_HOP else None)


def _run_f1(answer: str, reference: str) -> float:
    # Each token as one character, since runs of text are found fast.
    letters: dict[str, str] = {}
    answered, expected = (
        "".join(
            letters.setdefault(piece, chr(0x10000 + len(letters)))
            for piece in _PIECE.findall(text)
        )
        for text in (answer, reference)
    )
    run = 0
    for start in range(len(answered)):
        while (
            start + run < len(answered)
            and answered[start : start + run + 1] in expected
        ):
            run += 1
    return 2 * run / (len(answered) + len(expected)) if run else 0.0


@lru_cache(maxsize=30_000)
def _form(text: str) -> str:
    """Return a text in one form of numbers and dates, without punctuation."""
    text = _THOUSANDS.sub("", text)
    text = _MIXED.sub(lambda m: _written(str(Decimal(m[1]) * _UNITS[m[2]])), text)
    text = _NUMERAL.sub(lambda m: _value(m[0]), text)
    text = _DATE.sub(lambda m: f"{int(m[1])}年{int(m[2])}月{int(m[3])}日", text)
    text = _DAY.sub(lambda m: f"{int(m[1])}月{int(m[2])}日", text)
    # The point of a number is not punctuation.
    pieces, end = [], 0
    for number in _NUMBER.finditer(text):
        pieces += [_PUNCTUATION.sub("", text[end : number.start()])]
        pieces += [_written(number[0])]
        end = number.end()
    return "".join([*pieces, _PUNCTUATION.sub("", text[end:])])


def _written(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _value(numeral: str) -> str:
    """Return a Chinese numeral in digits; one that is not plain stays as it is."""
    if not set(numeral) & _UNITS.keys():
        # "三五天" means three to five days; years and house numbers have more digits.
        if len(numeral) == 2:
            return numeral
        return "".join(str(_DIGITS[digit]) for digit in numeral)
    total = part = digit = 0
    for letter in numeral:
        if letter in _DIGITS:
            digit = _DIGITS[letter]
        elif letter in _TENS:
            part += (digit or 1) * _TENS[letter]
            digit = 0
        else:
            total = (total + part + digit) * _UNITS[letter]
            part = digit = 0
    return str(total + part + digit)
