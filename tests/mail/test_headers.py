"""Texts in the headers of a mail: encoded by us, decoded by nothing on the way."""

from __future__ import annotations

import base64
import email
import email.policy
from email.message import EmailMessage
from email.policy import SMTP
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.errors import UsageError
from promptlab.reports.mail import (
    Envelope,
    check_address,
    one_line,
    subject_of,
    write_addresses,
    write_file_name,
    write_text,
)
from promptlab.reports.printing import Filters
from promptlab.reports.texts import catalogue
from tests.mail.made import gate, result, to_message

_HIDDEN_HEADERS = ["\nBcc: e@x.co", "\r\nBcc: e@x.co", "\n\nbody", "\r\rX: y", "\0"]
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def _words(hidden: str) -> list[str]:
    """The encoded words that hold a text, in every form that parsers take."""
    q = "".join(f"={byte:02X}" for byte in hidden.encode())
    b = base64.b64encode(hidden.encode()).decode()
    forms = [("utf-8", "q", q), ("UTF-8", "Q", q.lower()), ("u8", "b", b)]
    forms += [("us-ascii", "B", b), ("utf-8*en", "q", q)]
    words = [f"=?{charset}?{kind}?{text}?=" for charset, kind, text in forms]
    half = len(hidden) // 2 or 1
    pair = [
        base64.b64encode(part.encode()).decode()
        for part in (hidden[:half], hidden[half:])
    ]
    split = " ".join(f"=?utf-8?b?{part}?=" for part in pair)
    return [*words, split, split.replace(" ", ""), f"=?utf-8?q?a{q}", f"a{words[0]}b"]


TEXTS = [
    *(word for hidden in _HIDDEN_HEADERS for word in _words(hidden)),
    *(f"a{line_break}Bcc: e@x.co" for line_break in _LINE_BREAKS),
    "a\0Bcc: e@x.co",
    "x" * 10_000,
    "不要发布 " * 2_000,
    "=?utf-8?q?" * 1_000,
    "plain, short: (text) \"quoted\" <a@b> ; x=y",
    "=?= ?= =?",
    "\ud800 half a letter",
    "a\u202eb\u200b",
]  # fmt: skip


def _mail() -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["MIME-Version"] = "1.0"
    return message


def _reread(data: bytes):
    """The headers as read by both parsers of the email package."""
    return [
        email.message_from_bytes(data, policy=policy)
        for policy in (email.policy.default, email.policy.compat32)
    ]


def _is_well_written(data: bytes, names: list[str]) -> bool:
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    begun = [line.partition(b":")[0].decode() for line in lines if line[:1] != b" "]
    return (
        begun == names
        and all(line.isascii() and len(line) <= 78 for line in lines)
        and not any(byte < 32 or byte == 127 for line in lines for byte in line)
        and not body.strip()
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_one_header_and_is_read_as_it_was_written(text):
    message = _mail()
    write_text(message, "Subject", text, most=200)
    data = message.as_bytes()
    assert _is_well_written(data, ["MIME-Version", "Subject"])
    assert message["Subject"] == one_line(text, 200)
    modern, old = _reread(data)
    assert modern["Subject"] == one_line(text, 200)
    decoded = email.header.make_header(email.header.decode_header(old["Subject"]))
    assert str(decoded) == one_line(text, 200)


@given(st.text(st.sampled_from("=?_ \nqQbBuU8-aé0AcC:@\u2028\0"), max_size=80))
def test_no_text_of_these_signs_is_read_as_another(text):
    message = _mail()
    write_text(message, "Subject", text or "-", most=200)
    data = message.as_bytes()
    assert _is_well_written(data, ["MIME-Version", "Subject"])
    assert _reread(data)[0]["Subject"] == one_line(text or "-", 200)


@pytest.mark.parametrize("text", [*TEXTS, "report.html", "报告 1~ab.html", 'a";b="c'])
def test_a_file_name_is_one_parameter_and_is_read_as_it_was_written(text):
    message = _mail()
    message.add_attachment(b"x", maintype="text", subtype="html")
    (part,) = message.iter_attachments()
    write_file_name(part, text)
    assert part.is_attachment()
    head = message.as_bytes().split(b"\r\n\r\n")[1]
    begun = [line.split(b":")[0] for line in head.split(b"\r\n") if line[:1] != b" "]
    assert [name for name in begun if name and not name.startswith(b"--")] == [
        b"Content-Type", b"Content-Transfer-Encoding", b"MIME-Version",
        b"Content-Disposition",
    ]  # fmt: skip
    assert head.isascii()
    for read in _reread(message.as_bytes()):
        (again,) = read.get_payload()
        assert again.get_filename() == one_line(text, 200)
        assert again.get_content_disposition() == "attachment"


@pytest.mark.parametrize("word", [w for h in _HIDDEN_HEADERS for w in _words(h)])
def test_an_encoded_word_in_a_case_id_or_a_subject_adds_no_header_and_no_body(word):
    said = f"Do not ship: 1 case broke ({word})"
    made = result(task={"title": word, "task_id": word}).model_copy(
        update={"gate": gate(said)}
    )
    for subject in (None, word, f"{word} {word}"):
        data = to_message(made, envelope=Envelope(subject=subject)).as_bytes()
        head = data.partition(b"\r\n\r\n")[0]
        begun = [line.split(b":")[0] for line in head.split(b"\r\n") if line[:1] > b" "]
        assert begun == [
            b"Subject", b"From", b"To", b"Date", b"Message-ID", b"Auto-Submitted",
            b"MIME-Version", b"Content-Type", b"Content-Language",
        ]  # fmt: skip
        wanted = subject or subject_of(made, Filters(catalogue("zh")))
        assert _reread(data)[0]["Subject"] == one_line(wanted, 200)
        (page,) = [
            part.get_filename()
            for part in _reread(data)[0].walk()
            if part.get_content_disposition() == "attachment"
        ]
        assert "=?" not in page


@pytest.mark.parametrize(
    "address",
    [
        *(word.replace(" ", "") + "@example.com" for word in _words("\nBcc: e@x.co")),
        *(f"a@{word}" for word in _words("\nBcc: e@x.co")),
        *(f"a{sign}@example.com" for sign in _LINE_BREAKS + "\0\t ,;<>()[]\\\"é"),
        *(f"a@example.com{sign}b" for sign in _LINE_BREAKS + "\0\t ,;<>()[]\\\"é"),
        "a@b@c",
        " a@b",
        "a@b ",
        "a@b\n",
        ".a@b",
        "a..b@c",
        "a@b..c",
        "a@b.",
        "a@[127.0.0.1]",
        f"{'a' * 300}@b",
    ],
)  # fmt: skip
def test_an_address_in_which_anything_could_hide_is_refused(address):
    with pytest.raises(UsageError, match="address"):
        check_address(address)


@pytest.mark.parametrize(
    "address", ["a@b.cn", "a.b+c=d@mail-1.example", "o'x@localhost"]
)
def test_a_plain_address_is_written_as_it_is(address):
    message = _mail()
    write_addresses(message, "To", [check_address(address)])
    assert f"To: {address}\r\n".encode() in message.as_bytes()
    assert quote(_reread(message.as_bytes())[0]["To"]) == quote(address)
