"""Formatting of values and untrusted texts: units, clipping, hidden characters.

Model answers are shown literally, never run or rendered. Invisible characters that
change the display of other text (control characters, bidirectional overrides,
zero-width marks) are named instead of printed.

`Filters` are the filters of every template; they do not compute results. A missing
value is a phrase of the catalogue, never ``None``, ``nan`` or 0. Shares are 0–1 inside
and percent outside.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from promptlab.contracts.analysis_result import (
    AssertionOutcome,
    CheckDifference,
)
from promptlab.contracts.comparison import ScoreComparison
from promptlab.reports.texts import Catalogue
from promptlab.rounding import of_100, rounded

# ---------- untrusted texts


# C0 and C1 without tab and line feed; soft hyphen; bidirectional marks, overrides
# and isolates; zero-width and invisible operators; line separators; lone surrogates;
# byte order mark and noncharacters; the invisible tag letters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]+"
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~!@$]|:(?=//)|(?<=www)\.)")
_REFERENCE = re.compile(
    r"""@(?=[\w"-])|[#!&$](?=\d)|[%~](?=[\w"])|\[(?=\w+:)|\bGH-(?=\d)""", re.IGNORECASE
)
"""Signs before a name or a number that GitHub and GitLab link or notify."""
_ZERO_WIDTH_SPACE = "\u200b"
_SHORTEST_CUT = 200  # marts cut values at this length or a larger one
_MOST_NAMED = 4  # of a run of hidden characters; the others are counted


@dataclass(frozen=True)
class TextPiece:
    """A piece of text: plain, marked as evidence, or the codes of hidden characters."""

    text: str
    code: str = ""
    """``U+202E``: the hidden characters; then ``text`` is empty."""
    marked: bool = False


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Signs with which a formula begins in a spreadsheet, full-width forms included."""


def parts(text: object) -> list[TextPiece]:
    """Split *text* at its hidden characters."""
    return list(_parts(_one_line_end(str(text)), marked=False))


def marked_parts(text: str, *, marked: bool) -> list[TextPiece]:
    """Split *text* at its hidden characters, with one mark for all parts."""
    return list(_parts(_one_line_end(text), marked=marked))


def visible(text: object) -> str:
    """Return *text* with its hidden characters written as ``⟦U+202E⟧``."""
    return _HIDDEN.sub(lambda m: f"⟦{_code(m.group())}⟧", _one_line_end(str(text)))


def bare(text: str | None, beside: str | None = None) -> str | None:
    """Return a JSON text for people: a string without quotes and escapes.

    Quotes stay where they make the difference: around an empty string, and around the
    string ``"5"`` *beside* the number 5. Other text is returned unchanged.
    """
    if text is None or not text.startswith('"'):
        return text
    value = _json_string(text)
    return text if value is None or value in ("", beside) else value


def _json_string(text: str) -> str | None:
    """Return the string of a JSON text, which marts may have cut."""
    try:
        value = json.loads(text)
    except ValueError:
        if len(text) < _SHORTEST_CUT:
            return None
    else:
        return value if isinstance(value, str) else None
    for end in range(len(text), len(text) - len("\\u0000"), -1):  # a cut escape
        try:
            return str(json.loads(text[:end] + '"')) + "…"
        except ValueError:
            continue
    return None


class PlainText(str):
    """A text whose hidden characters are named, apart from those of our own.

    Templates, which name those of every ``str``, escape it like any other.
    """

    __slots__ = ()


def plain(text: object) -> PlainText:
    """Return *text* on one line with Markdown escaped.

    GitHub and GitLab drop backslashes before they look for mentions (``@team``) and
    issues (``#12``), so a zero-width space separates sign and name. A backslash before
    ``/`` keeps the line from being a command (``/close``). For templates, which escape
    ``< > &`` and quotes themselves.
    """
    line = " ".join(visible(text).split())
    apart = _REFERENCE.sub(lambda sign: sign[0] + _ZERO_WIDTH_SPACE, line)
    escaped = _MARKDOWN.sub(r"\\\1", apart)
    return PlainText(f"\\{escaped}" if escaped.startswith("/") else escaped)


_OF_CHATS = str.maketrans({sign: chr(ord(sign) + 0xFEE0) for sign in "\\`*~<>[]@&|"})
_AT_A_BORDER = re.compile(r"(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")


def unmarked(text: str) -> str:
    """Return *text* on one line with the signs of chat markup in their full width.

    ``<at id=all>`` mentions nobody, ``[a](http://b)`` is no link. Not every service
    documents how a sign is escaped; the full width is no sign in any of them.
    """
    line = " ".join(text.split()).translate(_OF_CHATS)
    return _AT_A_BORDER.sub(lambda sign: chr(ord(sign[0]) + 0xFEE0), line)


def clip(text: str, limit: int) -> str:
    """Return *text* with at most *limit* characters, ending in ``…`` if cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def for_spreadsheet(value: object) -> str:
    """Return *value* as a text that no spreadsheet reads as a formula."""
    text = str(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def highlighted(
    text: str, offsets: object, *, window: int = 40, limit: int = 600
) -> list[TextPiece]:
    """Shorten a snippet around the spans of *offsets*, and mark them.

    Args:
        text: The snippet.
        offsets: Pairs ``[start, end)`` of character positions in *text*. They come
            from untrusted payloads: anything other than pairs of integers is left out,
            the rest is clamped, sorted and merged.
        window: Characters shown before the first mark.
        limit: Characters shown in all.
    """
    spans = _merged(_spans(offsets, len(text)))
    start = max(0, spans[0][0] - window) if spans and len(text) > limit else 0
    stop = min(len(text), start + limit)
    pieces = [TextPiece("…")] if start else []
    at = start
    for begin, end in spans:
        if begin >= stop:
            break
        pieces += _parts(text[at:begin], marked=False)
        at = min(end, stop)
        pieces += _parts(text[begin:at], marked=True)
    pieces += _parts(text[at:stop], marked=False)
    if stop < len(text):
        pieces.append(TextPiece("…"))
    return pieces


def _parts(text: str, *, marked: bool) -> Iterator[TextPiece]:
    at = 0
    for match in _HIDDEN.finditer(text):
        if match.start() > at:
            yield TextPiece(text[at : match.start()], marked=marked)
        yield TextPiece("", code=_code(match.group()), marked=marked)
        at = match.end()
    if at < len(text):
        yield TextPiece(text[at:], marked=marked)


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n")


def _code(hidden: str) -> str:
    named = " ".join(f"U+{ord(character):04X}" for character in hidden[:_MOST_NAMED])
    more = len(hidden) - _MOST_NAMED
    return f"{named} +{more}" if more > 0 else named


def _spans(offsets: object, length: int) -> Iterator[tuple[int, int]]:
    for pair in offsets if isinstance(offsets, list) else []:
        if not (isinstance(pair, list) and len(pair) == 2):
            continue
        if not all(type(end) is int for end in pair):
            continue
        begin, end = (min(max(0, value), length) for value in pair)
        if begin < end:
            yield begin, end


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


# ---------- values


MINUS = "\N{MINUS SIGN}"
_TOO_LONG = 1e15
_SMALL_P = 0.001
FINE_DIGITS = 4
"""Decimals of a number that would look like the one next to it, or like 0."""


@dataclass(frozen=True)
class Filters:
    """The filters in one language."""

    catalogue: Catalogue

    def percent(
        self, share: float | None, digits: int = 1, *, beside: float | None = None
    ) -> str:
        """Format ``0.842`` as ``84.2%``; only 1 is 100 % and only 0 is 0 %.

        There are more digits if it would look equal to another share *beside* it.
        """
        if share is None:
            return self._missing("not_scored")
        if beside not in (None, share) and self.percent(share) == self.percent(beside):
            digits = FINE_DIGITS
        step = Decimal(1).scaleb(-digits)
        shown = rounded(share, digits, scale=100)
        if shown == 0 and share > 0:
            return f"<{step}%"
        if shown == 100 and share < 1:
            return f">{100 - step}%"
        return f"{shown}%"

    def score(self, share: float | None, beside: float | None = None) -> str:
        """Format ``0.842`` as ``84.2``, of 100.

        A score is never rounded to a border that it does not reach: a multiple of ten
        (limits of grades) or the target *beside*: ``0.89997`` is ``89.997``.
        """
        if share is None:
            return self._missing("not_scored")
        return of_100(share, beside)

    def interval(self, low: float | None, high: float | None, of: str = "share") -> str:
        """Format an interval as ``66.2–76.6``, of 100, or "no interval".

        *of* names the filter of ends that have a sign: ``−3.4 to +1.2``.
        """
        if low is None or high is None:
            return self._missing("no_interval")
        if of == "share":
            ends = {
                "low": rounded(low, 1, scale=100),
                "high": rounded(high, 1, scale=100),
            }
            return self.catalogue.text("word.interval", **ends)
        shown = self.delta if of == "delta" else self.signed
        return self.catalogue.text("word.from_to", low=shown(low), high=shown(high))

    def delta(self, difference: float | None, digits: int = 1) -> str:
        """Format a difference of shares in points with its sign: ``+1.2``, ``−3.4``."""
        if difference is None:
            return self._missing("not_comparable")
        shown = rounded(difference, digits, scale=100)
        if shown == 0:
            return f"±{abs(shown)}"
        return f"{'+' if shown > 0 else MINUS}{abs(shown)}"

    def signed(self, difference: float | None) -> str:
        """Format a signed difference that is not a share: ``+1.2``, ``−340``."""
        if not difference:
            return self.number(difference)
        return f"{'+' if difference > 0 else ''}{self.number(difference)}"

    def points(self, difference: float | None) -> str:
        """Format a difference of shares in points without sign: ``3.4``."""
        if difference is None:
            return self._missing("not_comparable")
        return str(abs(rounded(difference, 1, scale=100)))

    def p_value(self, p: float | None) -> str:
        """Format a p-value: ``p = 0.159``, ``p < 0.001``."""
        if p is None:
            return self._missing("not_measured")
        if p < _SMALL_P:
            return f"p < {_SMALL_P}"
        return f"p = {self.number(p)}"

    def detectable(self, comparison: ScoreComparison) -> str:
        """Return a text about the smallest detectable difference of a comparison.

        With few pairs it may exceed the scale; then no number is shown.
        """
        least = comparison.smallest_detectable
        if least is None:
            return self._missing("no_detectable")
        if least > 1:
            return self.catalogue.text("changes.undetectable", n=comparison.n_pairs)
        return self.catalogue.text("changes.points", points=self.points(least))

    def number(self, value: float | None, digits: int = 3) -> str:
        """Format a number with thousands separators and at most *digits* decimals."""
        if value is None:
            return self._missing("not_measured")
        if isinstance(value, float) and not math.isfinite(value):
            return self._missing("not_measured")
        if isinstance(value, int):
            return f"{value:,}".replace("-", MINUS)
        if abs(value) >= _TOO_LONG:
            return f"{value:.4g}".replace("-", MINUS)
        shown = rounded(value, digits).normalize() + 0  # + 0: no negative zero
        if shown == 0 and value != 0:
            return f"{value:.2g}".replace("-", MINUS)
        return f"{shown:,f}".replace("-", MINUS)

    def milliseconds(self, value: float | None) -> str:
        """Format ``842 ms``, from ten seconds on ``12.3 s``."""
        if value is None:
            return self._missing("not_measured")
        if value >= 10_000:
            return f"{self.number(value / 1000, 1)} s"
        return f"{self.number(value, 0)} ms"

    def seconds(self, milliseconds: float | None) -> str:
        """Format a latency: ``1.2 s``, ``842 ms`` below a second."""
        if milliseconds is None or milliseconds < 1000:
            return self.milliseconds(milliseconds)
        return f"{self.number(milliseconds / 1000, 1)} s"

    def day(self, time: datetime, beside: datetime | None = None) -> str:
        """Return the day of *time*: ``12 Nov``, ``11月12日``.

        With its year, if *beside* is in another one.
        """
        local = time.astimezone(self.catalogue.time_zone)
        month = self.catalogue.text("time.months").split(" ")[local.month - 1]
        day = self.catalogue.text("time.day", month=month, day=str(local.day))
        zone = self.catalogue.time_zone
        if beside is None or beside.astimezone(zone).year == local.year:
            return day
        return self.catalogue.text("time.day_of_year", day=day, year=str(local.year))

    def clock(self, time: datetime) -> str:
        """Return the time of day: ``12:30``."""
        return f"{time.astimezone(self.catalogue.time_zone):%H:%M}"

    def moment(self, time: datetime) -> str:
        """``2024-10-24 20:30 北京时间``; in English ``2024-10-24 12:30 UTC``."""
        name = self.catalogue.text("time.zone")
        return f"{time.astimezone(self.catalogue.time_zone):%Y-%m-%d %H:%M} {name}"

    def value(self, value: Any) -> str:
        """Return a value of a JSON object as text: a string itself, others as JSON."""
        if value is None:
            return self._missing("null")
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return self.number(value)
        return json_text(value)

    def json_value(self, value: Any, beside: Any = None) -> str:
        """Return an expected or actual value of a check, given as JSON text.

        A string is shown without quotes (see `bare`). No value and null differ.
        *beside* is the other side, shown next to it.
        """
        if value is None:
            return self._missing("nothing")
        if value == "null":
            return self._missing("json_null")
        if not isinstance(value, str):
            return self.value(value)
        return bare(value, beside if isinstance(beside, str) else None) or value

    def listed(self, value: Any, group: str | None = None) -> str:
        """Return the values of a list separated by commas, others like `value`.

        *group* names its codes.
        """
        if not isinstance(value, list):
            return self.value(value)
        shown = [v if group is None else self.label(v, group) for v in value]
        return self.catalogue.text("word.in_list").join(self.value(v) for v in shown)

    def place(self, difference: CheckDifference) -> str:
        """Return the place of a check: its step or scope, then its JSON Pointer."""
        scope = difference.step_id or self.catalogue.label("scope", difference.scope)
        return f"{scope} {difference.pointer or self._missing('pointer')}"

    def asserted(self, assertion: AssertionOutcome) -> str:
        """Return a failed assertion of another tool with its reason, on one line."""
        if not assertion.reason:
            return assertion.name
        return self.catalogue.text(
            "assertion.sentence", name=assertion.name, reason=assertion.reason
        )

    def bound(self, assertion: AssertionOutcome) -> str:
        """Return the limit of an assertion: ``at most 5,000``, ``at least 0.8``."""
        key = "at_most" if is_upper_limit(assertion) else "at_least"
        return self.catalogue.text(
            f"assertion.{key}", threshold=self.number(assertion.threshold)
        )

    def sentence(self, difference: CheckDifference) -> str:
        """Return a failed check on one line."""
        return self.catalogue.text(
            "difference.sentence",
            place=self.place(difference),
            reason=self.label(difference.reason, "reason"),
            expected=self.json_value(difference.expected, difference.actual),
            actual=self.json_value(difference.actual, difference.expected),
        )

    def source(self, code: str) -> str:
        """Return the source of a compared output: ``output_key:intent`` in words."""
        parts = (part.partition(":") for part in code.split("+"))
        words = (f"{self.label(name, 'source')} {key}" for name, _, key in parts)
        return self.catalogue.text("word.comma").join(word.strip() for word in words)

    def known(self, name: str) -> str:
        """Return the name of a version, model or variant, or that it is unknown."""
        return self._missing("unknown") if name == "unknown" else name

    def label(self, code: str, group: str) -> str:
        """Return the catalogue's word for a code, or the code itself."""
        return self.catalogue.label(group, code)

    def as_mapping(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by their names in templates: methods and functions."""
        public = [name for name in vars(Filters) if not name.startswith("_")]
        functions = (
            bare,
            clip,
            items_by,
            iso,
            json_text,
            named,
            parts,
            plain,
            unmarked,
            visible,
        )
        methods = {name: getattr(self, name) for name in public if name != "as_mapping"}
        return methods | {function.__name__: function for function in functions}

    def _missing(self, which: str) -> str:
        return self.catalogue.text(f"missing.{which}")


_UPPER_LIMITS = frozenset({"cost", "latency", "levenshtein", "perplexity"})
"""Assertions of promptfoo whose threshold is the largest value that passes."""


def is_upper_limit(assertion: AssertionOutcome) -> bool:
    """Return true if values above the threshold fail.

    Decided by its type, or if it passed below the threshold or failed above it.
    """
    score, threshold = assertion.score, assertion.threshold
    kind = assertion.type.removeprefix("not-")
    if kind in _UPPER_LIMITS:
        return kind == assertion.type
    if score is None or threshold is None:
        return False
    if assertion.status == "pass":
        return score < threshold
    return assertion.status == "fail" and score > threshold


def named(names: Iterable[str]) -> list[str]:
    """Return the names that are known."""
    return [name for name in names if name != "unknown"]


def items_by(items: Iterable[Any], attribute: str) -> dict[Any, Any]:
    """Return *items* by an attribute that is unique among them."""
    return {getattr(item, attribute): item for item in items}


def iso(time: datetime) -> str:
    """``2024-10-24T12:30:00Z``, for machines."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def json_text(value: Any) -> str:
    """Return compact JSON with unescaped letters."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
