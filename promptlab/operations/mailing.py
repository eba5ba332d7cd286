"""Send mail over SMTP, with encryption, login and retries; post to chats.

A password comes from the environment or from a private file, never from a setting or
the command line, and is never part of a message.
"""

from __future__ import annotations

import contextlib
import json
import os
import smtplib
import socket
import ssl
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from promptlab.errors import MailError, SettingsError
from promptlab.settings import Settings

PASSWORD = "PROMPTLAB_SMTP_PASSWORD"
"""Environment variable of the password; it overrides the file."""

ATTEMPTS = 4
_FIRST_PAUSE_S = 2.0  # doubles each time
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LOGIN_REQUIRED = 530
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Transient(Exception):
    """A temporary error; ``left`` are the remaining recipients."""

    def __init__(self, message: str, left: Sequence[str]) -> None:
        super().__init__(message)
        self.left = left


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
        if security == "none" and host not in _LOOPBACK:
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
    message: EmailMessage,
    sender: str,
    recipients: Sequence[str],
    server: Server,
    *,
    attempts: int = ATTEMPTS,
    wait: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Send *message* to the server for every recipient.

    Temporary errors are retried, only for recipients that were not accepted
    yet. If the connection breaks after the mail was sent, its delivery is
    unknown: it is not sent twice, and the error says so.

    Args:
        message: The message, sent unchanged.
        sender: Address that failures are returned to.
        recipients: Addresses; none of them is added to the message.
        server: The server.
        attempts: Maximum number of attempts.
        wait: Called with the seconds between two attempts.
        say: Called for each failed attempt that will be repeated.

    Raises:
        SettingsError: name, password, encryption or certificate are invalid.
        MailError: the server cannot be reached, or refuses some recipient or the
            mail; names those that it was sent to.
    """
    data = message.as_bytes(policy=SMTP)
    left: Sequence[str] = list(dict.fromkeys(recipients))
    refused: dict[str, str] = {}
    pause = _FIRST_PAUSE_S
    for attempt in range(1, attempts + 1):
        try:
            refused |= _deliver(data, sender, left, server)
            break
        except _Transient as fault:
            left = fault.left
            if attempt == attempts:
                raise MailError(
                    f"{fault}; given up after {attempts} attempts"
                    f"{_taken(recipients, [*left, *refused])}"
                ) from None
            say(f"{fault}; trying again in {pause:g} s")
            wait(pause)
            pause *= 2
    if refused:
        told = "; ".join(f"{to}: {why}" for to, why in refused.items())
        raise MailError(
            f"{_name(server)} refuses {told}{_taken(recipients, list(refused))}"
        )


def _deliver(
    data: bytes, sender: str, recipients: Sequence[str], server: Server
) -> dict[str, str]:
    """Try once; return permanently refused recipients with the reason."""
    try:
        smtp = _connect(server)
    except (smtplib.SMTPServerDisconnected, TimeoutError, ConnectionError) as error:
        raise _Transient(_unreachable(server, error), recipients) from None
    except smtplib.SMTPResponseException as error:
        if _is_transient(error.smtp_code):
            raise _Transient(_answer(server, error), recipients) from None
        raise MailError(_answer(server, error)) from None
    except OSError as error:
        raise _connection_fault(server, error, recipients) from None
    try:
        return _hand_over(smtp, data, sender, recipients, server)
    finally:
        smtp.close()


def _connect(server: Server) -> smtplib.SMTP:
    """Open the connection, encrypt it and log in."""
    smtp: smtplib.SMTP
    if server.security == "tls":
        smtp = smtplib.SMTP_SSL(
            server.host, server.port, timeout=server.timeout, context=_context(server)
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=server.timeout)
    try:
        if server.security == "starttls":
            smtp.starttls(context=_context(server))
        if server.user is not None:
            smtp.login(server.user, server.password or "")
    except smtplib.SMTPAuthenticationError as error:
        smtp.close()
        if _is_transient(error.smtp_code):
            raise
        raise SettingsError(
            f"{_name(server)} does not accept the password of {server.user!r}"
            f" ({_text(error)}); check smtp_user and {PASSWORD}"
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        smtp.close()
        raise SettingsError(_not_offered(server, error)) from None
    except UnicodeError:
        smtp.close()
        raise SettingsError(
            "smtp_user or its password holds letters beyond ASCII,"
            " which SMTP cannot carry"
        ) from None
    except BaseException:
        smtp.close()
        raise
    return smtp


def _hand_over(
    smtp: smtplib.SMTP,
    data: bytes,
    sender: str,
    recipients: Sequence[str],
    server: Server,
) -> dict[str, str]:
    try:
        answers = smtp.sendmail(sender, list(recipients), data)
    except smtplib.SMTPRecipientsRefused as error:
        # No recipient was accepted. A server that hangs up names only those so far.
        gone = (421, b"connection closed")
        answers = {to: error.recipients.get(to, gone) for to in recipients}
    except smtplib.SMTPSenderRefused as error:
        if _is_transient(error.smtp_code):
            raise _Transient(_answer(server, error), recipients) from None
        raise SettingsError(
            f"{_name(server)} refuses {sender!r} as sender ({_text(error)});"
            f" {_advice(server, error)}"
        ) from None
    except smtplib.SMTPResponseException as error:
        if _is_transient(error.smtp_code):
            raise _Transient(_answer(server, error), recipients) from None
        raise MailError(_answer(server, error)) from None
    except (smtplib.SMTPException, OSError) as error:
        raise MailError(
            f"{_unreachable(server, error)} while it took the mail; whether it"
            " arrives is unknown, so it was not sent again"
        ) from None
    later = [to for to, (code, _) in answers.items() if _is_transient(code)]
    if later:
        why = _decoded(answers[later[0]][1])
        raise _Transient(
            f"{_name(server)} cannot take mail for {', '.join(later)} now ({why})",
            [to for to in recipients if to in answers],
        )
    # The mail was accepted; ignore errors of closing the connection.
    with contextlib.suppress(smtplib.SMTPException, OSError):
        smtp.quit()
    return {to: f"{code} {_decoded(why)}" for to, (code, why) in answers.items()}


def _advice(server: Server, error: smtplib.SMTPResponseException) -> str:
    """Return the fix for a refused sender: 530 means that a login is required."""
    if error.smtp_code != _LOGIN_REQUIRED:
        return "check mail_from"
    if "STARTTLS" in _text(error).upper():
        return "it wants encryption first: set smtp_security to `starttls` or `tls`"
    if server.user is None:
        return f"it wants a login: set smtp_user, and its password in {PASSWORD}"
    return f"check that {server.user!r} may send as mail_from"


def _context(server: Server) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(
            cafile=None if server.ca_file is None else str(server.ca_file)
        )
    except OSError as error:
        raise SettingsError(
            f"smtp_ca_file: {server.ca_file} cannot be read as PEM: {error}"
        ) from None


def _connection_fault(server: Server, error: OSError, left: Sequence[str]) -> Exception:
    """Return the error for a server that accepts no mail, with the fix."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return SettingsError(
            f"{_name(server)}: its certificate is not trusted"
            f" ({error.verify_message}); check smtp_host, or name its authority in"
            " smtp_ca_file"
        )
    if isinstance(error, ssl.SSLError):
        return SettingsError(
            f"{_name(server)}: no encrypted connection with smtp_security"
            f" `{server.security}` ({error.reason}); ports 587 and 25 want starttls,"
            " 465 wants tls"
        )
    if type(error) is smtplib.SMTPException:
        return SettingsError(f"{_name(server)} offers no way to log in that we know")
    if isinstance(error, socket.gaierror):
        text = f"{server.host}: no such host ({error.strerror}); check smtp_host"
        if error.errno == socket.EAI_AGAIN:
            return _Transient(text, left)
        return SettingsError(text)
    return _Transient(_unreachable(server, error), left)


def _unreachable(server: Server, error: Exception) -> str:
    # smtplib reports a timeout as a lost connection; the cause is in the context.
    if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return f"{_name(server)} gives no answer within {server.timeout:g} s"
    if isinstance(error, ConnectionRefusedError):
        return f"{_name(server)}: nothing listens there"
    return f"{_name(server)} broke the connection"


def _not_offered(server: Server, error: smtplib.SMTPNotSupportedError) -> str:
    if "STARTTLS" in str(error):
        return (
            f"{_name(server)} offers no STARTTLS; use smtp_security `tls` (often port"
            " 465), or `none` on a network that you trust"
        )
    return f"{_name(server)} offers no login; leave smtp_user out"


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
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"smtp_password_file: {path} cannot be read: {_reason(error)}"
        ) from None
    if not text:
        raise SettingsError(f"smtp_password_file: {path} begins with an empty line")
    return text


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not UTF-8"


def _is_transient(code: int) -> bool:
    return 400 <= code < 500 or code == -1  # -1: smtplib, no answer


def _answer(server: Server, error: smtplib.SMTPResponseException) -> str:
    return f"{_name(server)} answers {_text(error)}"


def _text(error: smtplib.SMTPResponseException) -> str:
    return f"{error.smtp_code} {_decoded(error.smtp_error)}"


def _decoded(answer: bytes | str) -> str:
    """Return a server's answer on one line, without control characters."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _name(server: Server) -> str:
    return f"{server.host}:{server.port}"


def _taken(recipients: Sequence[str], without: Sequence[str]) -> str:
    served = [to for to in dict.fromkeys(recipients) if to not in without]
    return f" (sent to {', '.join(served)})" if served else ""


# ---------- a JSON body to the URL of a chat's webhook


_TOO_MANY = 429


def post(address: str, payload: Mapping[str, Any], *, timeout: float = 30.0) -> None:
    """Post *payload* as JSON; redirects are not followed.

    *address* is a secret and never part of a message.

    Raises:
        SettingsError: the URL is not allowed.
        MailError: the server cannot be reached, or refuses the message.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise SettingsError(
            "webhook: the address must begin with https://; check the environment"
            " variable that holds it"
        )
    request = urllib.request.Request(
        address,
        data=json.dumps(payload, ensure_ascii=False).encode(),
        headers={"Content-Type": "application/json; charset=utf-8"},
        method="POST",
    )
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(request, timeout=timeout) as answer:
            answer.read(1_000)
    except urllib.error.HTTPError as error:
        hint = "; try again later" if error.code == _TOO_MANY else ""
        raise MailError(f"webhook: {host} answers {error.code}{hint}") from None
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise MailError(f"webhook: {host} cannot be reached: {reason}") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_values: Any) -> None:
        """Refuse redirects: the body would go to a URL that is not configured."""
