"""``promptlab send`` and ``promptlab report --format email``, on a small warehouse."""

from __future__ import annotations

import email
import email.policy
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from promptlab.cli import cli
from promptlab.errors import MailError, PromptlabError


@pytest.fixture
def call(example_warehouse, tmp_path, monkeypatch):
    """``call("send", …)``: the command on the example warehouse."""
    monkeypatch.chdir(tmp_path)
    db = str(example_warehouse.settings.db)

    def run(*arguments: str):
        return CliRunner().invoke(cli, [*arguments, "--db", db])

    return run


def read(path):
    data = Path(path).read_bytes()
    return email.message_from_bytes(data, policy=email.policy.default)


def test_a_dry_run_writes_the_mail_and_prints_its_path(call, tmp_path):
    done = call(
        "send", "cs-regression-v3.2", "--to", "a@example.com", "--to", "b@example.com", "--dry-run",
        "--out", str(tmp_path / "mails"), "--attach", "zip", "--lang", "en",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    message = read(done.stdout.strip())
    assert message["To"] == "a@example.com, b@example.com"
    assert message["Subject"].startswith(("Do not ship", "不要发布"))
    assert [p.get_content_type() for p in message.iter_attachments()] == [
        "application/zip"
    ]


def test_a_subject_of_ones_own_is_used(call, tmp_path):
    done = call("send", "--to", "a@example.com", "--dry-run", "--subject", "夜间回归")
    mails = done.stdout.splitlines()
    assert len(mails) == 3  # the examples have three titles
    assert {read(mail)["Subject"] for mail in mails} == {"夜间回归"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("send", "--to", "a@example.com"), "mail_from (the sender), smtp_host (the"),
        (("send", "--to", "nobody", "--dry-run"), "not a mail address"),
        (("send", "--to", "a@b.cn", "--dry-run", "--attach", "link"), "report_url"),
    ],
)
def test_what_is_missing_has_a_sentence(arguments, words, call):
    done = call(*arguments)
    assert isinstance(done.exception, PromptlabError)
    assert words in str(done.exception)
    assert done.exception.exit_code == 2


def test_there_is_no_option_for_a_password():
    from promptlab.cli.send import send

    assert [p.name for p in send.params if "pass" in (p.name or "")] == []


def test_mails_that_could_not_be_sent_are_kept(call, tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("PROMPTLAB_SMTP_HOST", "127.0.0.1")
    monkeypatch.setenv("PROMPTLAB_SMTP_PORT", str(port))
    monkeypatch.setenv("PROMPTLAB_SMTP_SECURITY", "none")
    monkeypatch.setenv("PROMPTLAB_MAIL_FROM", "ci@example.com")
    done = call("send", "--to", "a@example.com", "--out", str(tmp_path / "mails"))
    assert isinstance(done.exception, MailError)
    said, _, kept = str(done.exception).partition("; kept in ")
    assert said == f"127.0.0.1:{port}: nothing listens there"
    mails = kept.split(", ")
    assert len(mails) == 3
    assert {read(mail)["To"] for mail in mails} == {"a@example.com"}
