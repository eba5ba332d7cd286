"""Encode the headers of a mail.

Python's header parser decodes encoded words (``=?utf-8?q?=0A?=``) in its input. Old
versions then write a line break that was hidden in one. So the parser is not used:
these headers are encoded first and written unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.header import Header
from email.message import EmailMessage
from email.policy import Policy
from urllib.parse import quote

from promptlab.errors import UsageError
from promptlab.reports.mail.view import one_line

_LONGEST_LINE = 76
_LONGEST_ADDRESS = 254  # RFC 5321
_PLAIN = re.compile(r"[ -~]+")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\Z", re.ASCII
)
_FILE_NAME = re.compile(r"[A-Za-z0-9._~-]{1,60}", re.ASCII)
_PART_OF_A_NAME = 50


class _Encoded(str):
    """The text of a header, with its encoded lines."""

    name: str
    lines: str
    content_disposition: str | None = None

    def fold(self, *, policy: Policy) -> str:
        """Return the lines; the generators of the email package call this."""
        return f"{self.name}: {self.lines}\n".replace("\n", policy.linesep)


def check_address(text: str) -> str:
    """Return *text*, an address such as ``name@example.com``.

    Raises:
        UsageError: it is not an address, or it contains an encoded word.
    """
    if not text.isascii():
        raise UsageError(f"{text!r}: only addresses in ASCII can be written to")
    is_address = _ADDRESS.match(text) and len(text) <= _LONGEST_ADDRESS
    if not is_address or "=?" in text:
        raise UsageError(f"{text!r}: is not a mail address; write name@example.com")
    return text


def write_text(message: EmailMessage, name: str, text: str, *, most: int) -> None:
    """Write a header of free text, such as the subject, on at most *most* characters.

    Args:
        message: the mail.
        name: the header.
        text: any text; line breaks and hidden characters are named or become spaces.
        most: maximum number of characters.
    """
    text = one_line(text, most)
    _write(message, name, text, _encoded(text, name))


def write_addresses(message: EmailMessage, name: str, addresses: Sequence[str]) -> None:
    """Write a header of addresses, as ``check_address`` returns them."""
    _write(message, name, ", ".join(addresses), ",\n ".join(addresses))


def write_file_name(part: EmailMessage, file_name: str) -> None:
    """Write the name of an attached file, encoded by RFC 2231 unless it is plain."""
    file_name = one_line(file_name, 200)
    if _FILE_NAME.fullmatch(file_name):
        lines = f'attachment; filename="{file_name}"'
    else:
        pieces = ["utf-8''"]
        for character in file_name:
            if len(pieces[-1]) > _PART_OF_A_NAME:
                pieces.append("")
            pieces[-1] += quote(character, safe="")
        lines = "attachment" + "".join(
            f";\n filename*{number}*={piece}" for number, piece in enumerate(pieces)
        )
    header = _write(part, "Content-Disposition", lines.replace("\n", ""), lines)
    header.content_disposition = "attachment"


def _write(message: EmailMessage, name: str, text: str, lines: str) -> _Encoded:
    header = _Encoded(text)
    header.name, header.lines = name, lines
    del message[name]
    message[name] = header
    return header


def _encoded(text: str, name: str) -> str:
    is_short = len(name) + len(": ") + len(text) <= _LONGEST_LINE
    if is_short and "=?" not in text and _PLAIN.fullmatch(text):
        return text
    return _word(text, name)


def _word(text: str, name: str) -> str:
    """Return *text* as encoded words, one per line."""
    return Header(text, "utf-8", _LONGEST_LINE, name).encode(linesep="\n")
