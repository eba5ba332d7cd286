"""Read JSON: fast for valid text, with exact errors for invalid text.

There are two sets of rules. *Strict*, for files written by hand (testsets): repeated
keys and numbers beyond a double are errors. *Lenient*, for files written by programs:
the first of equal keys is used, like in DuckDB, and such a number is infinite. NaN,
Infinity, half of a surrogate pair, bytes that are not UTF-8, integers of more than
``MAX_DIGITS`` digits and more than ``MAX_DEPTH`` levels are errors in both.

Python's C decoder reads the text first, with a check of each object's keys. Only if it
refuses, `JsonReader` reads the text again to name each error and its place. No
``RecursionError`` leaves this module.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any, NoReturn

import msgspec

from promptlab.encoding import SURROGATE, looks_like
from promptlab.errors import InputError, UsageError
from promptlab.json_text.places import Keys, escape_pointer
from promptlab.json_text.writing import OutOfRange, RepeatedKeys

MAX_DEPTH = 800
"""Levels of objects and lists; the setting ``max_depth`` can only be lower. Python's
own recursion ends near 1,000."""

MAX_DIGITS = 4300
"""Digits of one integer: the most that Python converts from and to text."""

MAX_FAULTS = 20
"""Maximum number of reported errors of one text; hostile text may have millions."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_CONTAINERS = frozenset({dict, list})


@dataclass(frozen=True, slots=True)
class Fault:
    """One error inside a value."""

    keys: Keys
    """The path to it, from the top of the value that was read."""
    code: str
    message: str
    line: int | None = None
    """From 1; None where only the path is known."""
    column: int | None = None
    """From 1, in characters."""


class JsonTextError(InputError):
    """A text is not valid JSON; ``faults`` names each error and its place."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "\n".join(
                f"line {fault.line}, column {fault.column}: {fault.message}"
                for fault in faults
            )
        )


# ---------------------------------------------------------------------- fast reading


class _RefusedError(ValueError):
    """The fast decoder found something that the strict rules forbid."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RefusedError
    return members


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _RefusedError
    return number


def _no_constant(_: str) -> NoReturn:
    raise _RefusedError


# scan_once reads one value from a place on, in C; typeshed does not know it.
_scan = json.JSONDecoder(  # type: ignore[attr-defined]
    object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant
).scan_once
_encode = msgspec.json.Encoder().encode


def parse_all(text: str) -> tuple[Any, list[Fault]]:
    """Read one JSON value leniently; return it with every error.

    A value with an error is null or an approximation. A grammar error ends the reading
    and is the last error.
    """
    try:
        return parse_fast(text), []
    except (ValueError, RecursionError):
        reader = read_exactly(text, strict=False)
        return reader.root, reader.faults


def beyond_doubles(text: str) -> list[Fault]:
    """Return the errors of numbers beyond a double in a text."""
    faults = read_exactly(text, keep=False).faults
    return [fault for fault in faults if fault.code == "number_out_of_range"]


def errors_of(text: str, *, allow: Collection[str] = ()) -> list[Fault]:
    """Return the messages of all errors of a text; codes in *allow* are not errors."""
    return [fault for fault in read_exactly(text).faults if fault.code not in allow]


def parse_fast(text: str) -> Any:
    """Read one strict JSON value at the speed of the C decoder.

    Raises:
        ValueError: The text has an error, or may have one.
        RecursionError: It is nested too deeply for the fast decoder.
    """
    text = text.strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise _RefusedError from None
    if end != len(text):
        raise _RefusedError
    if "\\u" in text and _SURROGATE_ESCAPE.search(text):
        _encode(value)  # refuses a lone surrogate with a ValueError
    if not text.isascii():
        text.encode()  # so does this, for bytes that were not UTF-8
    if text.count("{") + text.count("[") > MAX_DEPTH and depth(value) is None:
        raise _RefusedError
    return value


def depth(value: Any, most: int = MAX_DEPTH) -> int | None:
    """Count the levels of a value; return None if it has more than *most*."""
    level = [value] if type(value) in _CONTAINERS else []
    levels = 0
    while level:
        levels += 1
        if levels > most:
            return None
        level = [
            inner
            for one in level
            for inner in (one.values() if type(one) is dict else one)
            if type(inner) in _CONTAINERS
        ]
    return levels


# -------------------------------------------------------------- as DuckDB stores JSON


class JsonText(str):
    """JSON text that means the value it contains.

    A plain ``str`` among outputs is a text; ``JsonText('{"n": 1e2}')`` is an object,
    read with all digits of its numbers.
    """

    __slots__ = ()


def parse_as_duckdb(text: str) -> Any:
    """Read JSON leniently, and keep what `compact_as_duckdb` needs to write it again.

    Repeated keys are kept (`RepeatedKeys`), numbers beyond a double (`OutOfRange`), and
    every digit of an integer of any length.

    Raises:
        JsonTextError: With all errors.
    """
    try:
        return copy_json(_duckdb_decoder.decode(text))
    except (JSONDecodeError, RecursionError, UsageError):
        reader = read_exactly(text, strict=False)
    if reader.faults:
        raise JsonTextError(reader.faults)
    return reader.value


def copy_json(value: Any, where: str = "") -> Any:
    """Return a deep copy of a JSON value, made of plain Python types.

    Args:
        value: Objects (any ``Mapping`` with text keys), lists or tuples, texts, finite
            numbers, booleans, None; :class:`JsonText` is read.
        where: Name of the value in error messages, such as ``step_outputs``.

    Raises:
        UsageError: A part of it is not JSON; the message has its place.
    """
    root: list[Any] = [None]
    repeated: list[RepeatedKeys] = []
    stack: list[tuple[Any, Any, Any, str, int]] = [(value, root, 0, where, 0)]
    while stack:
        source, parent, key, place, level = stack.pop()
        if level > MAX_DEPTH:
            raise UsageError(
                f"{where}: nested deeper than {MAX_DEPTH} levels, or a value that "
                "contains itself; pass a tree of plain JSON values"
            )
        if isinstance(source, JsonText):
            try:
                source = parse_as_duckdb(source)
            except InputError as error:
                raise UsageError(f"{place}: not JSON: {error}") from None
        if isinstance(source, RepeatedKeys):
            copied = RepeatedKeys(dict.fromkeys(source))
            copied.names = list(source.names)
            copied.written = [None] * len(source.written)
            repeated.append(copied)
            parent[key] = copied
            for index, child in enumerate(source.written):
                below = f"{place}/{escape_pointer(source.names[index])}"
                stack.append((child, copied.written, index, below, level + 1))
        elif isinstance(source, Mapping):
            for name in source:
                if not isinstance(name, str):
                    raise UsageError(
                        f"{place}: key {name!r} is {type(name).__name__}, JSON keys are"
                        f" text; write {str(name)!r}"
                    )
                _check_text(name, place)
            parent[key] = members = dict.fromkeys(source)
            for name, child in source.items():
                below = f"{place}/{escape_pointer(name)}"
                stack.append((child, members, name, below, level + 1))
        elif isinstance(source, list | tuple):
            parent[key] = items = [None] * len(source)
            for index, child in enumerate(source):
                stack.append((child, items, index, f"{place}/{index}", level + 1))
        elif source is None or isinstance(source, bool | OutOfRange):
            parent[key] = source
        elif isinstance(source, str):
            _check_text(source, place)
            parent[key] = str.__str__(source)
        elif isinstance(source, int):
            parent[key] = int(source)
        elif isinstance(source, float):
            if not math.isfinite(source):
                raise UsageError(
                    f"{place}: {source} is not a JSON number; use None for a missing"
                    " value"
                )
            parent[key] = float(source)
        else:
            raise UsageError(
                f"{place}: {type(source).__name__} is not a JSON value; pass dict,"
                " list, str, int, float, bool or None"
            )
    for one in repeated:
        one.keep_first()
    return root[0]


def _check_text(value: str, place: str) -> None:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{place}: character {error.start} is half of a surrogate pair, which "
                "no UTF-8 file can contain; replace it"
            ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeated = RepeatedKeys(members)
    repeated.names = [name for name, _ in pairs]
    repeated.written = [child for _, child in pairs]
    repeated.keep_first()
    return repeated


def _integer(text: str) -> int:
    return int(text) if len(text) < MAX_DIGITS else int(Decimal(text))


def _double(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        return value
    beyond = OutOfRange(value)
    beyond.text = text
    return beyond


def _no_number(name: str) -> NoReturn:
    raise JSONDecodeError(name, "", 0)


_duckdb_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_double,
    parse_constant=_no_number,
)


# --------------------------------------------------------------------- exact reading


class Want:
    """Return what the grammar allows next, for the message."""

    VALUE = "a value"
    FIRST_VALUE = 'a value or "]"'
    KEY = "a key in double quotes"
    FIRST_KEY = 'a key in double quotes or "}"'
    COLON = '":" after the key'
    OBJECT_NEXT = '"," or "}"'
    ARRAY_NEXT = '"," or "]"'
    NOTHING = "nothing more"


@dataclass(slots=True)
class _Frame:
    """An open object or array."""

    container: Any
    is_object: bool
    line: int
    column: int
    first_in_line: bool
    size: int = 0
    key: str = ""
    repeated: bool = False
    """True if the object already has the key: the value is discarded."""


LineSpan = tuple[int, int]
"""First and last line of lines that contain only this object."""


_VALUE_WANTED = (Want.VALUE, Want.FIRST_VALUE)
_KEY_WANTED = (Want.KEY, Want.FIRST_KEY)

# A plain string, or one structural character, with the white space before it: nearly
# all tokens. Anything else is read character by character.
_TOKEN = re.compile(r'[ \t\r\n]*(?:"([^"\\\x00-\x1f\ud800-\udfff]*)"|([{}\[\]:,]))')
_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z_]+")
_FOUND = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_WORDS = {"true": True, "false": False, "null": None}
_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")


def read_exactly(text: str, *, strict: bool = True, keep: bool = True) -> JsonReader:
    """Read one value with the exact reader, to its end or its first grammar error.

    Args:
        text: The text, decoded with `decode`.
        strict: Selects the rules.
        keep: Build the value; False saves memory if only errors are needed.
    """
    reader = JsonReader(strict=strict, keep=keep)
    for line in text.split("\n"):
        reader.feed(line)
        if reader.broken:
            break
    reader.finish()
    return reader


@dataclass
class JsonReader:
    """Reads one JSON value line by line and reports every error.

    It keeps its own stack, so it reads records that span lines, text beyond Python's
    recursion limit, and hostile files in linear time. A *grammar* error stops it
    (``broken``). A *value* error (a repeated key, a number that JSON or a double cannot
    hold, half of a surrogate pair, bytes that are not UTF-8) is recorded and reading
    continues, so that all errors are reported at once.

    Feed lines until ``complete`` or ``broken``; while neither is true, the text ended
    outside a string. Lines are decoded with ``surrogateescape``.
    """

    line: int = 1
    """Number of the next line to be fed."""

    strict: bool = True
    """If true, repeated keys and numbers beyond a double are errors."""

    keep: bool = True
    """Build the value."""

    max_depth: int = MAX_DEPTH
    """Maximum nesting depth."""

    value: Any = None
    """The value; the first of two equal keys is used."""

    faults: list[Fault] = field(default_factory=list)
    """The first ``MAX_FAULTS`` value errors, then a grammar error, if any."""

    complete: bool = False
    """True if a whole value was read, with or without errors."""

    broken: bool = False
    """True after a grammar error: further lines cannot repair the text."""

    spans: list[LineSpan] = field(default_factory=list)
    """Outermost objects inside the value that start a line, indented no deeper than the
    value itself, and end a line; in file order."""

    _frames: list[_Frame] = field(default_factory=list)
    _want: str = Want.VALUE
    _text: str = ""
    _base_column: int = 0

    def feed(self, text: str) -> None:
        """Read the next line, without its line feed."""
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
        """End the text; add an error if the value is incomplete."""
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

    def keys(self) -> Keys:
        """Return the path to the value that is being read."""
        return tuple(
            frame.key if frame.is_object else frame.size
            for frame in self._frames
            if not (
                frame.is_object
                and frame is self._frames[-1]
                and self._want in _KEY_WANTED
            )
        )

    @property
    def root(self) -> Any:
        """Return the value so far, even if incomplete."""
        return self._frames[0].container if self._frames else self.value

    def _structure(self, char: str, at: int) -> None:
        """Process one of ``{ } [ ] : ,`` if the grammar allows it."""
        want = self._want
        if char == ":" and want == Want.COLON:
            self._want = Want.VALUE
        elif char == "," and want == Want.OBJECT_NEXT:
            self._want = Want.KEY
        elif char == "," and want == Want.ARRAY_NEXT:
            self._want = Want.VALUE
        elif char in "{[" and want in _VALUE_WANTED:
            if len(self._frames) >= self.max_depth:
                self._break("too_deep", at, too_deep(self.max_depth))
                return
            is_object = char == "{"
            starts_line = _blank_end(self._text, 0) == at
            container: Any = {} if is_object else []
            self._frames.append(
                _Frame(container, is_object, self.line, at + 1, starts_line)
            )
            self._want = Want.FIRST_KEY if is_object else Want.FIRST_VALUE
        elif (char == "}" and want in (Want.FIRST_KEY, Want.OBJECT_NEXT)) or (
            char == "]" and want in (Want.FIRST_VALUE, Want.ARRAY_NEXT)
        ):
            self._close(at)
        else:
            self._unexpected(at)

    def _close(self, at: int) -> None:
        frame = self._frames.pop()
        if (
            self._frames
            and frame.is_object
            and frame.first_in_line
            and frame.column <= self._base_column
            and _blank_end(self._text, at + 1) == len(self._text)
        ):
            while self.spans and self.spans[-1][0] >= frame.line:
                self.spans.pop()
            self.spans.append((frame.line, self.line))
        self._put(frame.container)

    def _other(self, at: int) -> int:
        """Process a string with escapes, a number or a word; return its end."""
        wants_key = self._want in _KEY_WANTED
        is_string = self._text[at] == '"'
        if not (is_string and wants_key) and self._want not in _VALUE_WANTED:
            self._unexpected(at)
            return at
        if not is_string:
            return self._scalar(at)
        try:
            string, end = scanstring(self._text, at + 1, True)
        except JSONDecodeError as error:
            self._bad_string(error)
            return len(self._text)
        if SURROGATE.search(string):
            self._bad_characters(at, end)
        if wants_key:
            self._key(string, at)
        else:
            self._put(string)
        return int(end)

    def _scalar(self, at: int) -> int:
        number = _NUMBER.match(self._text, at)
        if number:
            after = self._text[number.end() : number.end() + 1]
            if not (after.isalnum() or after in {".", "_"}):
                self._put(self._number(number, at))
                return number.end()
        word = _WORD.match(self._text, at)
        if word and word[0] in _WORDS:
            self._put(_WORDS[word[0]])
            return word.end()
        if word and word[0] in _NOT_NUMBERS:
            message = f"{word[0]} is not a JSON value. Write null, or omit the key."
            self._note("not_a_number", at, message)
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

    def _key(self, key: str, at: int) -> None:
        frame = self._frames[-1]
        frame.key = key
        frame.repeated = key in frame.container
        self._want = Want.COLON
        if frame.repeated and self.strict:
            self._note(
                "duplicate_key",
                at,
                f"the object repeats the key {short(key)}. Keep one of them.",
            )

    def _put(self, value: Any) -> None:
        if not self._frames:
            self.value = value
            self._want = Want.NOTHING
            return
        frame = self._frames[-1]
        if frame.is_object:
            if self.keep and not frame.repeated:
                frame.container[frame.key] = value
            self._want = Want.OBJECT_NEXT
        else:
            if self.keep:
                frame.container.append(value)
            frame.size += 1
            self._want = Want.ARRAY_NEXT

    def _note(self, code: str, at: int, message: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            # of hundreds of levels the line and column say more
            keys = () if code == "too_deep" else self.keys()
            self.faults.append(Fault(keys, code, printable(message), self.line, at + 1))

    def _break(self, code: str, at: int, message: str) -> None:
        self.broken = True
        del self.faults[MAX_FAULTS - 1 :]  # this one always fits
        self._note(code, at, message)

    def _bad_characters(self, at: int, end: int) -> None:
        """Report a lone surrogate: an invalid byte, or an escape without its pair."""
        byte = SURROGATE.search(self._text, at, end)
        if byte:
            self._note("bad_utf8", byte.start(), not_utf8(byte[0], self._text))
            return
        pending = None  # a first half; its second half must follow directly
        for match in _ESCAPE.finditer(self._text, at + 1, end):
            code = int(match[1], 16) if match[1] else 0
            is_second = 0xDC00 <= code <= 0xDFFF
            if pending is not None:
                if not (is_second and match.start() == pending + 6):
                    break
                pending = None
            elif 0xD800 <= code <= 0xDBFF:
                pending = match.start()
            elif is_second:
                pending = match.start()
                break
        start = at if pending is None else pending
        self._note(
            "lone_surrogate",
            start,
            f"{self._text[start : start + 6]} is half of a surrogate pair, not a "
            "character. Write both halves, or the character itself.",
        )

    def _bad_string(self, error: JSONDecodeError) -> None:
        text, at = self._text, error.pos
        if error.msg.startswith("Unterminated"):
            self._break(
                "unterminated_string",
                at,
                "the text that opens here has no closing quote in its line. Add the "
                'quote; inside a text write " as \\" and a line break as \\n.',
            )
        elif error.msg.startswith("Invalid control"):
            control = text[at : at + 1]
            escape = {"\t": "\\t", "\r": "\\r"}.get(control, f"\\u{ord(control):04x}")
            self._break(
                "control_character",
                at,
                f"a bare control character (U+{ord(control):04X}) in a text. "
                f"Write it as {escape}.",
            )
        else:
            start = text.rindex("\\", 0, at + 1)  # Python points at the u of \\u12g4
            self._break(
                "bad_escape",
                start,
                f"{text[start : start + 2]} is not a JSON escape. "
                "Write a backslash itself as \\\\.",
            )

    def _unexpected(self, at: int) -> None:
        char = self._text[at]
        if SURROGATE.match(char):
            self._break("bad_utf8", at, not_utf8(char, self._text))
            return
        word = _FOUND.match(self._text, at)
        token = word[0] if word else char
        self._break(
            "syntax",
            at,
            f"found {short(token)}, expected {self._want}. "
            f"{_correction(self._want, char, token)}",
        )


def _blank_end(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


# --------------------------------------------------------------------------- wording


def too_deep(limit: int, depth: int | None = None) -> str:
    """Return the message for too deep nesting; *depth* may be unknown."""
    levels = f"more than {limit}" if depth is None else str(depth)
    return (
        f"{levels} objects and lists inside each other; the limit is {limit} (setting"
        " max_depth). Flatten the value."
    )


def not_utf8(surrogate: str, text: str) -> str:
    """Return the message for a byte that became a lone surrogate in a decoded text."""
    code = ord(surrogate)
    is_byte = 0xDC80 <= code <= 0xDCFF  # surrogateescape's encoding of a byte
    name = f"byte 0x{code - 0xDC00:02X}" if is_byte else f"code point U+{code:04X}"
    alike = looks_like(text.encode("utf-8", "surrogateescape")) if is_byte else None
    hint = f": the text looks like {alike}" if alike else ""
    return f"the {name} is not UTF-8{hint}. Save the file as UTF-8."


def short(text: str) -> str:
    """Quote a piece of the text, cut if it is long."""
    return repr(text) if len(text) <= 40 else repr(text[:40]) + "…"


def printable(text: str) -> str:
    """Write invalid bytes and lone surrogates as escapes."""
    return text if text.isascii() else SURROGATE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    is_byte = 0xDC80 <= code <= 0xDCFF
    return f"\\x{code - 0xDC00:02x}" if is_byte else f"\\u{code:04x}"


def _correction(want: str, char: str, token: str) -> str:
    """Return the likeliest correction of an unexpected token."""
    if want == Want.NOTHING:
        if char == ",":
            return "Records are not separated by commas: remove it."
        if char in "{[":
            return "Write each record on its own line."
        return "Remove what follows the record."
    if char in "/#":
        return "A comment is a whole line that starts with //."
    if char == "'" or char in "“”‘’":
        return 'Write keys and texts in straight double quotes (").'
    if token in ("True", "False", "None"):
        return "JSON writes true, false and null."
    if char in "}]" and want in (Want.KEY, Want.VALUE):
        return "Remove the comma before it, or add what is missing."
    if want in (Want.OBJECT_NEXT, Want.ARRAY_NEXT):
        return "Add the missing comma or close what is open."
    if char in "+.-0123456789" and want in _VALUE_WANTED:
        return "A number has no plus sign, no leading zero and no bare point."
    if want in _KEY_WANTED:
        return 'Write keys in straight double quotes (").'
    return "Write texts in double quotes."
