"""Hostile texts in the headers of a mail: each is one header and adds no other."""

from __future__ import annotations

import base64
import email
import email.policy

import pytest

from promptlab.errors import UsageError
from promptlab.reports.mail import Envelope, check_address
from tests.mail.made import canaries, gate, result, to_message

HIDDEN = "\r\nBcc: e@x.co"
QUOTED = "".join(f"={byte:02X}" for byte in HIDDEN.encode())
BASE64 = base64.b64encode(HIDDEN.encode()).decode()
WORDS = [
    f"=?utf-8?q?{QUOTED}?=",
    f"=?UTF-8*en?Q?{QUOTED.lower()}?=",
    f"a=?us-ascii?B?{BASE64}?=b",
    f"=?utf-8?b?{BASE64[:8]}?= =?utf-8?b?{BASE64[8:]}?=",
    f"=?utf-8?q?a{QUOTED}",
]
LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = [
    *canaries(),
    *WORDS,
    *(f"a{line_break}Bcc: e@x.co" for line_break in LINE_BREAKS),
    "a\0Bcc: e@x.co",
    "x" * 10_000,
    "\u4e0d\u8981\u53d1\u5e03" * 2_000,
    "=?utf-8?q?" * 1_000,
    "plain, short: (text) \"quoted\" <a@b> ; x=y",
    "\ud800 half a letter",
    "a\u202eb\u200b",
]  # fmt: skip
NAMES = [
    "Subject", "From", "To", "Date", "Auto-Submitted", "MIME-Version",
    "Content-Type", "Message-ID", "Content-Language",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("where", ["subject", "headline", "title and id"])
def test_no_text_adds_a_header_or_a_body(where, text):
    made = result()
    if where == "headline":
        made = made.model_copy(update={"gate": gate(f"Do not ship: ({text})")})
    if where == "title and id":
        made = result(task={"title": text, "task_id": text})
    own = Envelope(subject=text if where == "subject" else None, attach="zip")
    data = to_message(made, envelope=own).as_bytes()
    head = data.partition(b"\r\n\r\n")[0]
    lines = head.split(b"\r\n")
    assert [line.split(b":")[0].decode() for line in lines if line[:1] > b" "] == NAMES
    assert all(line.isascii() and len(line) <= 78 for line in lines)
    for policy in (email.policy.default, email.policy.compat32):
        message = email.message_from_bytes(data, policy=policy)
        assert message.defects == []
        files = [part.get_filename() for part in message.walk()]
        assert [name.endswith(".zip") for name in files if name] == [True]
    subject = email.message_from_bytes(data, policy=email.policy.default)["Subject"]
    assert subject.isprintable()
    assert len(subject) <= 210


def test_a_subject_is_read_as_it_was_written_but_for_encoded_words():
    own = Envelope(subject=f"\u597d{HIDDEN} {WORDS[0]}")
    data = to_message(result(), envelope=own).as_bytes()
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert message["Subject"] == f"\u597d Bcc: e@x.co {WORDS[0].replace('=?', '= ?')}"


@pytest.mark.parametrize(
    "address",
    [
        *(f"{word}@example.com".replace(" ", "") for word in WORDS),
        *(f"a@{word}" for word in WORDS),
        *(f"a{sign}@example.com" for sign in LINE_BREAKS + "\0\t ,;<>()[]\\\"\u00e9"),
        *(f"a@example.com{sign}b" for sign in LINE_BREAKS + "\0\t ,;<>()[]\\\"\u00e9"),
        "", "a", "a@", "@b", "a@b@c", " a@b", "a@b ", "a@b\n", ".a@b", "a..b@c", "a@b..c",
        "a@b.", "a@[127.0.0.1]", "A <a@b>", f"{'a' * 300}@b",
    ],
)  # fmt: skip
def test_an_address_in_which_anything_could_hide_is_refused(address):
    with pytest.raises(UsageError, match="address"):
        check_address(address)


@pytest.mark.parametrize(
    "address", ["a@b.cn", "a.b+c=d@mail-1.example", "o'x@localhost"]
)
def test_a_plain_address_is_written_as_it_is(address):
    message = to_message(result(), envelope=Envelope(to=[address]))
    assert f"To: {address}\r\n".encode() in message.as_bytes()
