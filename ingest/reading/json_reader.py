"""The slow, exact JSON reader: where a text goes wrong, and what to write instead.

``json_text`` reads good records fast and comes here only when that fails. The reader
takes one line at a time and keeps its own stack, so that it serves records that span
lines, nesting beyond Python's recursion limit, and hostile files in linear time.

Faults of two kinds. A *grammar* fault stops the reader (``broken``). A *value* fault
(a key twice, a number that JSON or a double cannot hold, half a surrogate pair, bytes
that are not UTF-8) is noted and reading goes on, so that all of them are named at once.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any, NamedTuple

from promptlab.ingest.reading.json_messages import (
    SURROGATE,
    Want,
    byte_name,
    fix,
    lone_escape,
    printable,
    short,
    string_fault,
)
from promptlab.ingest.reading.limits import Limits
from promptlab.ingest.reading.problems import Problem

#: Containers inside each other, whatever the settings say: Python's own recursion ends
#: near 1,000 too.
MAX_DEPTH = 1000

#: Digits of one integer: what Python itself converts from and to text.
MAX_DIGITS = 4300

#: Value faults that are named of one text; a hostile one could have millions.
MAX_FAULTS = 20


@dataclass(slots=True)
class _Frame:
    """An open object or array."""

    container: Any
    is_object: bool
    line: int
    column: int
    first_in_line: bool
    key: str = ""
    repeated: bool = False  # the key stood here before: its value is read and left


class LineSpan(NamedTuple):
    """An object that stands on lines of its own inside the text that was read."""

    first_line: int
    last_line: int


_VALUE_WANTED = (Want.VALUE, Want.FIRST_VALUE)
_KEY_WANTED = (Want.KEY, Want.FIRST_KEY)

# A plain string, or one structural character, with the blanks before it: nearly all of
# a text. Whatever this does not match is looked at character by character.
_TOKEN = re.compile(r'[ \t\r\n]*(?:"([^"\\\x00-\x1f\ud800-\udfff]*)"|([{}\[\]:,]))')
_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z_]+")
_FOUND = re.compile(r"\w+")
_WORDS = {"true": True, "false": False, "null": None}
_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")


@dataclass
class JsonReader:
    """Reads one JSON value, line by line.

    Feed lines until ``complete`` or ``broken``; while neither is true the text has run
    out outside a string. Lines are text decoded with ``surrogateescape``, so that bytes
    that are not UTF-8 arrive as lone surrogates and get their place.
    """

    line: int = 1
    """Number of the next line to be fed; the first one by default."""

    strict: bool = True
    """Whether a key twice and a number beyond a double are faults too."""

    max_depth: int = MAX_DEPTH
    """Containers inside each other that are let through."""

    value: Any = None
    """What was read; the first of two equal keys counts."""

    problems: list[Problem] = field(default_factory=list)
    """Value faults, the first ``MAX_FAULTS`` of them, and last a grammar fault."""

    complete: bool = False
    """One whole value has been read, right or not."""

    broken: bool = False
    """The grammar does not allow what was fed: no further text can repair it."""

    spans: list[LineSpan] = field(default_factory=list)
    """Objects inside the value that start a line no deeper than the value itself does
    and end a line; the outermost ones, in the order of the file."""

    _frames: list[_Frame] = field(default_factory=list)
    _want: str = Want.VALUE
    _text: str = ""
    _base_column: int = 0

    def feed(self, text: str) -> None:
        """Read one more line, given without its line feed."""
        self._text = text
        if not self._base_column:
            blank = _blank_end(text, 0)
            self._base_column = blank + 1 if blank < len(text) else 0
        at = 0
        while not self.broken:
            token = _TOKEN.match(text, at)
            if token is None:
                at = _blank_end(text, at)
                if at == len(text):
                    break
                at = self._other(at)
                continue
            at = token.end()
            if token.lastindex == 2:
                self._structure(token[2], at - 1)
            elif self._want in _KEY_WANTED:
                self._key(token[1], token.start(1) - 1)
            elif self._want in _VALUE_WANTED:
                self._put(token[1])
            else:
                self._unexpected(token.start(1) - 1)
        self.complete = self._want == Want.NOTHING and not self.broken
        self.line += 1

    def finish(self) -> None:
        """Say that the text ended here; a problem if the value did not."""
        if self.complete or self.broken:
            return
        if self._frames:
            frame = self._frames[-1]
            kind = "object" if frame.is_object else "list"
            message = (
                f"the text ends inside the {kind} opened in line {frame.line}, "
                f"column {frame.column}; expected {self._want}. "
                "Close every brace and bracket."
            )
        else:
            message = "the text is empty; expected a JSON value. Write one."
        self.line -= 1
        self._break("unexpected_end", len(self._text), message)

    def pointer(self) -> str:
        """Return the JSON Pointer of the value that is being read."""
        parts = []
        for frame in self._frames:
            if not frame.is_object:
                parts.append(str(len(frame.container)))
            elif frame is not self._frames[-1] or self._want not in _KEY_WANTED:
                parts.append(frame.key.replace("~", "~0").replace("/", "~1"))
        return "".join(f"/{part}" for part in parts)

    @property
    def root(self) -> Any:
        """The value so far, also while it is open."""
        return self._frames[0].container if self._frames else self.value

    # ------------------------------------------------------------------ tokens

    def _structure(self, char: str, at: int) -> None:
        """Take one of ``{ } [ ] : ,`` where the grammar allows it."""
        want = self._want
        if char == ":" and want == Want.COLON:
            self._want = Want.VALUE
        elif char == "," and want == Want.OBJECT_NEXT:
            self._want = Want.KEY
        elif char == "," and want == Want.ARRAY_NEXT:
            self._want = Want.VALUE
        elif char in "{[" and want in _VALUE_WANTED:
            self._open(char, at)
        elif (char == "}" and want in (Want.FIRST_KEY, Want.OBJECT_NEXT)) or (
            char == "]" and want in (Want.FIRST_VALUE, Want.ARRAY_NEXT)
        ):
            self._close(at)
        else:
            self._unexpected(at)

    def _other(self, at: int) -> int:
        """Take a string with escapes, a number or a word; return where it ends."""
        wants_key = self._want in _KEY_WANTED
        if not wants_key and self._want not in _VALUE_WANTED:
            self._unexpected(at)
            return at
        if self._text[at] == '"':
            string, end = self._string(at)
            if self.broken:
                return end
            if wants_key:
                self._key(string, at)
            else:
                self._put(string)
            return end
        if wants_key:
            self._unexpected(at)
            return at
        return self._scalar(at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            string, end = scanstring(self._text, at + 1, True)
        except JSONDecodeError as error:
            self._bad_string(error)
            return "", len(self._text)
        if SURROGATE.search(string):
            self._bad_characters(at, end)
        return string, end

    def _scalar(self, at: int) -> int:
        number = _NUMBER.match(self._text, at)
        if number and not _word_goes_on(self._text, number.end()):
            self._put(self._number(number, at))
            return number.end()
        word = _WORD.match(self._text, at)
        if word and word[0] in _WORDS:
            self._put(_WORDS[word[0]])
            return word.end()
        if word and word[0] in _NOT_NUMBERS:
            self._note(
                "not_a_number",
                at,
                f"{word[0]} is not a JSON value. Write null, or leave the key out.",
            )
            self._put(None)
            return word.end()
        self._unexpected(at)
        return at

    def _number(self, match: re.Match[str], at: int) -> int | float:
        text = match[0]
        if match[1] or match[2]:
            number = float(text)
            if math.isinf(number) and self.strict:
                self._note(
                    "number_out_of_range",
                    at,
                    f"{short(text)} is beyond what a double can hold (about 1.8e308). "
                    "Write a smaller number, or a text.",
                )
            return number
        digits = len(text.removeprefix("-"))
        if digits > MAX_DIGITS:
            self._note(
                "integer_too_long",
                at,
                f"an integer of {digits} digits; the limit is {MAX_DIGITS}. "
                "Write it as a text.",
            )
            return 0
        return int(text)

    # ------------------------------------------------------------------ structure

    def _key(self, key: str, at: int) -> None:
        frame = self._frames[-1]
        frame.key = key
        frame.repeated = key in frame.container
        self._want = Want.COLON
        if frame.repeated and self.strict:
            self._note(
                "duplicate_key",
                at,
                f"the key {short(key)} stands twice in one object. Keep one of them.",
            )

    def _put(self, value: Any) -> None:
        if not self._frames:
            self.value = value
            self._want = Want.NOTHING
            return
        frame = self._frames[-1]
        if not frame.is_object:
            frame.container.append(value)
            self._want = Want.ARRAY_NEXT
        else:
            if not frame.repeated:
                frame.container[frame.key] = value
            self._want = Want.OBJECT_NEXT

    def _open(self, char: str, at: int) -> None:
        if len(self._frames) >= self.max_depth:
            limits = Limits(max_depth=self.max_depth)
            code, message = limits.too_deep()
            self._break(code, at, message)
            return
        is_object = char == "{"
        self._frames.append(
            _Frame(
                {} if is_object else [],
                is_object,
                self.line,
                at + 1,
                _blank_end(self._text, 0) == at,
            )
        )
        self._want = Want.FIRST_KEY if is_object else Want.FIRST_VALUE

    def _close(self, at: int) -> None:
        frame = self._frames.pop()
        if (
            self._frames
            and frame.is_object
            and frame.first_in_line
            and frame.column <= self._base_column
            and _blank_end(self._text, at + 1) == len(self._text)
        ):
            while self.spans and self.spans[-1].first_line >= frame.line:
                self.spans.pop()
            self.spans.append(LineSpan(frame.line, self.line))
        self._put(frame.container)

    # ------------------------------------------------------------------ faults

    def _note(self, code: str, at: int, message: str) -> None:
        if len(self.problems) < MAX_FAULTS:
            self.problems.append(
                Problem(
                    code,
                    printable(message),
                    line=self.line,
                    column=at + 1,
                    pointer=printable(self.pointer()),
                )
            )

    def _break(self, code: str, at: int, message: str) -> None:
        self.broken = True
        del self.problems[MAX_FAULTS - 1 :]  # the last word is this one's
        self._note(code, at, message)

    def _bad_characters(self, at: int, end: int) -> None:
        """Name what became a lone surrogate: a byte, or an escape without its half."""
        byte = SURROGATE.search(self._text, at, end)
        if byte:
            self._note(
                "bad_utf8",
                byte.start(),
                f"{byte_name(byte[0])} is not UTF-8. Save the file as UTF-8.",
            )
            return
        start = lone_escape(self._text, at + 1, end)
        self._note(
            "lone_surrogate",
            start,
            f"{self._text[start : start + 6]} is half of a surrogate pair and "
            "no character. Write both halves, or the character itself.",
        )

    def _bad_string(self, error: JSONDecodeError) -> None:
        self._break(*string_fault(error, self._text))

    def _unexpected(self, at: int) -> None:
        char = self._text[at]
        if SURROGATE.match(char):
            self._break(
                "bad_utf8",
                at,
                f"{byte_name(char)} is not UTF-8. Save the file as UTF-8.",
            )
            return
        word = _FOUND.match(self._text, at)
        found = word[0] if word else char
        self._break(
            "syntax",
            at,
            f"found {short(found)}, expected {self._want}. "
            f"{fix(self._want, char, found)}",
        )


def _blank_end(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _word_goes_on(text: str, at: int) -> bool:
    return text[at : at + 1].isalnum() or text[at : at + 1] in (".", "_")
