"""Send mail over SMTP, with encryption and login.

A password comes from the environment or from a private file, never from a setting or
the command line, and is never part of a message.
"""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Literal

from promptlab.errors import MailError, PromptlabError, SettingsError
from promptlab.settings import Settings

PASSWORD = "PROMPTLAB_SMTP_PASSWORD"
"""Environment variable of the password; it overrides the file."""

_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LOGIN_REQUIRED = 530
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Server:
    """A mail server and its options."""

    host: str
    port: int
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    timeout: float = 30.0
    """Timeout of each answer, in seconds."""


def server_from(settings: Settings, environ: Mapping[str, str] = os.environ) -> Server:
    """Return the server that *settings* name.

    Raises:
        SettingsError: there is no host, a password is missing or not kept private,
            or it would be sent unencrypted.
    """
    host = settings.smtp_host
    if not host:
        raise SettingsError(
            "smtp_host: no mail server is set; name it in promptlab.toml, or with"
            " PROMPTLAB_SMTP_HOST (--dry-run writes the mail without one)"
        )
    security = settings.smtp_security
    password = None
    if settings.smtp_user is not None:
        if security == "none" and host not in LOOPBACK:
            raise SettingsError(
                "smtp_security: with `none` the password would travel in the clear;"
                " use starttls or tls, or leave smtp_user out"
            )
        password = _password(settings, environ)
    return Server(
        host=host,
        port=settings.smtp_port or _PORTS[security],
        security=security,
        user=settings.smtp_user,
        password=password,
        ca_file=settings.smtp_ca_file,
        timeout=settings.smtp_timeout,
    )


def send(
    message: EmailMessage, sender: str, recipients: Sequence[str], server: Server
) -> None:
    """Send *message*, unchanged, to the server for every recipient; once.

    *sender* is the address that failures are returned to; none of the *recipients* is
    added to the message.

    Raises:
        SettingsError: name, password, encryption or certificate are invalid.
        MailError: the server cannot be reached, or refuses some recipient or the
            mail; names those that it was sent to.
    """
    to = list(dict.fromkeys(recipients))
    try:
        with _connect(server) as smtp:
            refused = smtp.sendmail(sender, to, message.as_bytes(policy=SMTP))
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except (OSError, UnicodeError) as error:  # smtplib's errors are OSErrors
        raise _described(server, sender, error) from None
    if refused:
        refusals = "; ".join(
            f"{to}: {_answer(*answer)}" for to, answer in refused.items()
        )
        served = ", ".join(address for address in to if address not in refused)
        raise MailError(
            f"{_name(server)} refuses {refusals}"
            f"{f' (sent to {served})' if served else ''}"
        )


def _connect(server: Server) -> smtplib.SMTP:
    """Open the connection, encrypt it and log in."""
    ca_file = None if server.ca_file is None else str(server.ca_file)
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SettingsError(
            f"smtp_ca_file: {server.ca_file} cannot be read as PEM: {error}"
        ) from None
    smtp: smtplib.SMTP
    if server.security == "tls":
        smtp = smtplib.SMTP_SSL(
            server.host, server.port, timeout=server.timeout, context=context
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=server.timeout)
    try:
        if server.security == "starttls":
            smtp.starttls(context=context)
        if server.user is not None:
            smtp.login(server.user, server.password or "")
    except BaseException:
        smtp.close()
        raise
    return smtp


def _described(server: Server, sender: str, error: Exception) -> PromptlabError:
    """Return what failed as a sentence, with the setting to check."""
    name = _name(server)
    match error:
        case smtplib.SMTPAuthenticationError():
            return SettingsError(
                f"{name} does not accept the password of {server.user!r}"
                f" ({_text(error)}); check smtp_user and {PASSWORD}"
            )
        case smtplib.SMTPNotSupportedError() if "STARTTLS" in str(error):
            return SettingsError(
                f"{name} offers no STARTTLS; use smtp_security `tls` (often port 465),"
                " or `none` on a network that you trust"
            )
        case smtplib.SMTPNotSupportedError():
            return SettingsError(f"{name} offers no login; leave smtp_user out")
        case smtplib.SMTPSenderRefused():
            return SettingsError(
                f"{name} refuses {sender!r} as sender ({_text(error)});"
                f" {_advice(server, error)}"
            )
        case smtplib.SMTPResponseException():
            return MailError(f"{name} answers {_text(error)}")
        case ssl.SSLCertVerificationError():
            return SettingsError(
                f"{name}: its certificate is not trusted ({error.verify_message});"
                " check smtp_host, or name its authority in smtp_ca_file"
            )
        case ssl.SSLError():
            return SettingsError(
                f"{name}: no encrypted connection with smtp_security"
                f" `{server.security}` ({error.reason}); ports 587 and 25 want"
                " starttls, 465 wants tls"
            )
        case socket.gaierror():
            return SettingsError(
                f"{server.host}: no such host ({error.strerror}); check smtp_host"
            )
        case UnicodeError():
            return SettingsError(
                "smtp_user or its password contains letters beyond ASCII, which SMTP"
                " cannot carry"
            )
        case ConnectionRefusedError():
            return MailError(f"{name}: nothing listens there")
    # smtplib reports a timeout as a lost connection; the cause is in the context.
    if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return MailError(f"{name} gives no answer within {server.timeout:g} s")
    return MailError(f"{name} broke the connection ({one_line(str(error))})")


def _advice(server: Server, error: smtplib.SMTPResponseException) -> str:
    """Return the fix for a refused sender: 530 means that a login is required."""
    if error.smtp_code != _LOGIN_REQUIRED:
        return "check mail_from"
    if "STARTTLS" in _text(error).upper():
        return "it wants encryption first: set smtp_security to `starttls` or `tls`"
    if server.user is None:
        return f"it wants a login: set smtp_user, and its password in {PASSWORD}"
    return f"check that {server.user!r} may send as mail_from"


def _text(error: smtplib.SMTPResponseException) -> str:
    return _answer(error.smtp_code, error.smtp_error)


def _answer(code: int, answer: bytes | str) -> str:
    """Return a server's answer, with its code, on one line."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return f"{code} {one_line(text)}".rstrip()


def one_line(text: str) -> str:
    """Return a server's reply on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _name(server: Server) -> str:
    return f"{server.host}:{server.port}"


def _password(settings: Settings, environ: Mapping[str, str]) -> str:
    if environ.get(PASSWORD):
        return environ[PASSWORD]
    path = settings.smtp_password_file
    if path is None:
        raise SettingsError(
            f"smtp_user is {settings.smtp_user!r}, but there is no password; put it in"
            f" {PASSWORD}, or in a private file that smtp_password_file names"
        )
    return _private_text(path.expanduser())


def _private_text(path: Path) -> str:
    """Read the first line of a file that only its owner can read."""
    try:
        with path.open(encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SettingsError(f"smtp_password_file: {path} is no file")
            if os.name == "posix" and status.st_mode & 0o077:
                raise SettingsError(
                    f"smtp_password_file: others can read or write {path}"
                    f" (mode {stat.S_IMODE(status.st_mode):o}); `chmod 600 {path}`"
                )
            text = file.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise SettingsError(
            f"smtp_password_file: {path} cannot be read: it is not UTF-8"
        ) from None
    except OSError as error:
        raise SettingsError(
            f"smtp_password_file: {path} cannot be read: {error.strerror}"
        ) from None
    if not text:
        raise SettingsError(f"smtp_password_file: {path} begins with an empty line")
    return text
