"""Sending, against a real mail server process with TLS and login."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from promptlab.errors import SettingsError
from promptlab.operations.mailing import MailError, Server, send
from promptlab.reports.mail import Envelope, to_message
from tests.mail import servers
from tests.mail.made import result, runs

pytest.importorskip("aiosmtpd", reason="the mail server of these tests is aiosmtpd")
pytest.importorskip("cryptography", reason="its certificate is made by cryptography")

SENDER = "ci@example.com"
TO = ["a@example.com", "b@example.com"]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    """A certificate for localhost, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


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
    """``start(security, replies="451 later,…")``: a server, and how to reach it."""
    processes: list[subprocess.Popen[str]] = []

    def run(security: str = "starttls", replies: str = "") -> Running:
        folder = tmp_path / "taken"
        folder.mkdir()
        process = subprocess.Popen(
            [
                sys.executable,
                servers.__file__,
                "0",
                security,
                str(certificate[0]),
                str(certificate[1]),
                replies,
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


def test_a_busy_server_is_tried_again(start, message):
    running = start("none", replies="451 4.7.1 greylisted,451 4.7.1 greylisted")
    waits: list[float] = []
    told: list[str] = []
    send(message, SENDER, TO, running.server, wait=waits.append, say=told.append)
    assert running.recipients() == ["a@example.com,b@example.com"]
    assert waits == [2.0]
    assert "greylisted" in told[0]
    assert "trying again in 2 s" in told[0]


def test_only_those_that_were_not_served_are_tried_again(start, message):
    running = start("none", replies="451 later")
    send(message, SENDER, TO, running.server, wait=lambda _: None)
    assert running.recipients() == ["b@example.com", "a@example.com"]


def test_a_server_that_stays_busy_is_given_up(start, message):
    running = start("none", replies=",".join(["451 later"] * 20))
    waits: list[float] = []
    with pytest.raises(MailError, match="given up after 4 attempts"):
        send(message, SENDER, TO, running.server, wait=waits.append)
    assert waits == [2.0, 4.0, 8.0]


def test_a_server_that_hangs_up_serves_nobody_and_all_are_tried_again(start, message):
    running = start("none", replies="421 closing")
    send(message, SENDER, TO, running.server, wait=lambda _: None)
    assert running.recipients() == ["a@example.com,b@example.com"]


def test_a_refused_recipient_is_named_with_those_that_were_served(start, message):
    running = start("none")
    to = ["a@example.com", "refused@example.com"]
    with pytest.raises(MailError) as error:
        send(message, SENDER, to, running.server)
    assert "refuses refused@example.com: 550 5.1.1 no such user" in str(error.value)
    assert "(sent to a@example.com)" in str(error.value)
    assert running.recipients() == ["a@example.com"]


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


def test_a_server_without_login_is_told_apart(start, message):
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


def test_a_port_where_nothing_listens_is_tried_and_given_up(message):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(host="127.0.0.1", port=port, security="none", timeout=2)
    with pytest.raises(MailError, match=f"127.0.0.1:{port}: nothing listens there"):
        send(message, SENDER, TO, server, wait=lambda _: None)


def test_a_server_that_never_answers_is_given_up(message):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        server = Server(host="127.0.0.1", port=port, security="none", timeout=0.2)
        with pytest.raises(MailError, match=r"gives no answer within 0\.2 s"):
            send(message, SENDER, TO, server, attempts=2, wait=lambda _: None)
