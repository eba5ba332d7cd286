"""Sending, against a real mail server process with TLS and login."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from promptlab.errors import SettingsError
from promptlab.operations.mailing import MailError, Server, send
from promptlab.reports.mail import Envelope
from tests.mail import servers
from tests.mail.made import result, runs, to_message

pytest.importorskip("aiosmtpd", reason="the mail server of these tests is aiosmtpd")
if shutil.which("openssl") is None:
    pytest.skip("openssl makes the certificate", allow_module_level=True)

SENDER = "ci@example.com"
TO = ["a@example.com", "b@example.com"]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    """A certificate for localhost, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    paths = ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run([*command.split(), *names, *paths], check=True, capture_output=True)
    return certificate, key


@dataclass
class Running:
    server: Server
    folder: Path

    def taken(self) -> list[Path]:
        return sorted(self.folder.glob("*.eml"))

    def recipients(self) -> list[str]:
        return [path.read_text() for path in sorted(self.folder.glob("*.to"))]


@pytest.fixture
def start(certificate, tmp_path) -> Iterator[Callable[..., Running]]:
    """``start(security)``: a server, and how to reach it."""
    processes: list[subprocess.Popen[str]] = []

    def run(security: str = "starttls") -> Running:
        folder = tmp_path / "taken"
        folder.mkdir()
        process = subprocess.Popen(
            [
                sys.executable,
                servers.__file__,
                security,
                str(certificate[0]),
                str(certificate[1]),
                str(folder),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        port = int(process.stdout.readline())
        encrypted = security != "none"
        server = Server(
            host="localhost",
            port=port,
            security=security,  # type: ignore[arg-type]
            user=servers.USER if encrypted else None,
            password=servers.PASSWORD if encrypted else None,
            ca_file=certificate[0],
            timeout=10,
        )
        return Running(server, folder)

    yield run
    for process in processes:
        process.terminate()
        process.wait()


@pytest.fixture
def message():
    return to_message(result(), history=runs(), envelope=Envelope(sender=SENDER, to=TO))


@pytest.mark.parametrize("security", ["starttls", "tls", "none"])
def test_a_mail_arrives_as_it_was_made(security, start, message):
    running = start(security)
    send(message, SENDER, TO, running.server)
    (taken,) = running.taken()
    assert taken.read_bytes() == message.as_bytes()
    assert taken.stem == ("0-nobody" if security == "none" else "0-ci")
    assert running.recipients() == ["a@example.com,b@example.com"]


def test_a_wrong_password_is_a_setting_to_mend_and_never_shown(start, message):
    running = start("starttls")
    wrong = replace(running.server, password="falsch-8")
    with pytest.raises(
        SettingsError, match="does not accept the password of 'ci'"
    ) as e:
        send(message, SENDER, TO, wrong)
    assert "falsch-8" not in str(e.value) + repr(wrong)
    assert running.taken() == []


@pytest.mark.parametrize(
    ("to", "said", "served"),
    [
        (["a@example.com", "refused@example.com"],
         "refuses refused@example.com: 550 5.1.1 no such user (sent to a@example.com)",
         ["a@example.com"]),
        (["busy@example.com"], "refuses busy@example.com: 451 4.7.1 greylisted", []),
    ],
)  # fmt: skip
def test_a_refused_recipient_is_named_with_those_that_were_served(
    to, said, served, start, message
):
    running = start("none")
    with pytest.raises(MailError) as error:
        send(message, SENDER, to, running.server)
    assert str(error.value).endswith(said)
    assert running.recipients() == served


def test_a_server_that_wants_a_login_says_which_settings(start, message):
    server = replace(start("starttls").server, user=None, password=None)
    with pytest.raises(
        SettingsError, match=r"530.*wants a login: set smtp_user"
    ) as told:
        send(message, SENDER, TO, server)
    assert "PROMPTLAB_SMTP_PASSWORD" in str(told.value)
    assert "mail_from" not in str(told.value)


def test_a_server_that_wants_encryption_first_says_which_setting(start, message):
    server = replace(start("starttls").server, security="none", user=None)
    with pytest.raises(SettingsError, match=r"530.*smtp_security to `starttls`"):
        send(message, SENDER, TO, server)


def test_a_server_without_login_is_distinguished(start, message):
    running = start("none")
    server = replace(running.server, user="ci", password="x")
    with pytest.raises(SettingsError, match="offers no login; leave smtp_user out"):
        send(message, SENDER, TO, server)


def test_a_server_without_starttls_never_gets_the_password(start, message):
    running = start("none")
    server = replace(running.server, security="starttls", user="ci", password="x")
    with pytest.raises(SettingsError, match="offers no STARTTLS"):
        send(message, SENDER, TO, server)
    assert running.taken() == []


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_unknown_certificate_is_not_trusted(security, start, message):
    running = start(security)
    server = replace(running.server, ca_file=None)
    with pytest.raises(SettingsError, match="its certificate is not trusted"):
        send(message, SENDER, TO, server)
    assert running.taken() == []


def test_tls_at_a_port_that_wants_starttls_says_which_is_which(start, message):
    running = start("starttls")
    server = replace(running.server, security="tls")
    with pytest.raises(SettingsError, match="465 wants tls"):
        send(message, SENDER, TO, server)


def test_a_port_where_nothing_listens_is_reported(message):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(host="127.0.0.1", port=port, security="none", timeout=2)
    with pytest.raises(MailError, match=f"127.0.0.1:{port}: nothing listens there"):
        send(message, SENDER, TO, server)


def test_a_server_that_never_answers_is_given_up_after_the_timeout(message):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        server = Server(host="127.0.0.1", port=port, security="none", timeout=0.2)
        with pytest.raises(MailError, match=r"gives no answer within 0\.2 s"):
            send(message, SENDER, TO, server)
