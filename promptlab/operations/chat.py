"""Post messages to chats by their webhooks.

The address of a webhook and its secret are secrets: they come from the environment, and
no message of this module names them.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from promptlab.errors import MailError, SettingsError
from promptlab.operations.mailing import LOOPBACK, one_line
from promptlab.reports.digest import ChatMessage, json_bytes

_TOO_MANY = frozenset({429, 9499, 11232, 45009, 130101})
"""Too many messages: HTTP's code, and those of Feishu, WeCom and DingTalk."""
_MOST_OF_AN_ANSWER = 10_000


@dataclass(frozen=True)
class Hook:
    """The webhook of a service."""

    service: str
    address: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    """Key of the signature."""


def hook_of(service: str, environ: Mapping[str, str] = os.environ) -> Hook:
    """Return the webhook of *service* that the environment names.

    Raises:
        SettingsError: it names none.
    """
    prefix = f"PROMPTLAB_{service.upper().replace('-', '_')}"
    address = environ.get(f"{prefix}_WEBHOOK", "").strip()
    if not address:
        raise SettingsError(
            f"webhook: {prefix}_WEBHOOK is not set; put the address of the {service}"
            " webhook there (--dry-run writes the payload without one)"
        )
    return Hook(service, address, environ.get(f"{prefix}_SECRET", "").strip() or None)


def post(
    message: ChatMessage, hook: Hook, hosts: Sequence[str] = (), *, timeout: float = 30
) -> None:
    """Post *message*, signed if *hook* has a secret; redirects are not followed.

    *hosts* are allowed in addition to those of the service.

    Raises:
        SettingsError: the address is not allowed, or the service takes no signature.
        MailError: the server cannot be reached, or refuses the message.
    """
    host = _checked_host(hook, (*message.hosts, *hosts))
    address, body = _signed(message, hook)
    try:
        request = urllib.request.Request(
            address,
            data=json_bytes(body),
            headers={"Content-Type": "application/json; charset=utf-8"},
            method="POST",
        )
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=timeout) as answer:
            text = answer.read(_MOST_OF_AN_ANSWER)
    except urllib.error.HTTPError as error:
        raise _refusal(hook, host, error.code, "") from None
    except OSError as error:
        reason = one_line(str(getattr(error, "reason", error)))
        raise MailError(f"{hook.service}: {host} cannot be reached: {reason}") from None
    except (HTTPException, ValueError):  # their messages may quote the address
        raise MailError(
            f"{hook.service}: {host} gives no valid answer; check the address"
        ) from None
    code, reason = _error_in(text)
    if code:
        raise _refusal(hook, host, code, reason)


def _checked_host(hook: Hook, allowed: Sequence[str]) -> str:
    """Return the host of the address, which has to be one of *allowed*."""
    try:
        parts = urlsplit(hook.address)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise SettingsError(
            f"{hook.service}: the webhook's address is no URL"
        ) from None
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        raise SettingsError(
            f"{hook.service}: the webhook's address must begin with https://; check the"
            " environment variable that holds it"
        )
    if not any(host == a or (a[:1] == "." and host.endswith(a)) for a in allowed):
        raise SettingsError(
            f"{hook.service}: {host!r} is not a host of this service"
            f" ({', '.join(allowed)}); if it is yours, add it to webhook_hosts in"
            " promptlab.toml"
        )
    return host


def _signed(message: ChatMessage, hook: Hook) -> tuple[str, Mapping[str, Any]]:
    """Return address and body with time and signature.

    Feishu takes them in the body, with seconds and the text as the key (open.feishu.cn,
    custom bots); DingTalk in the query, with milliseconds and the secret as the key
    (open.dingtalk.com, custom robots).
    """
    if hook.secret is None:
        return hook.address, message.body
    if message.signature is None:
        raise SettingsError(
            f"{hook.service}: its webhooks have no secret; unset the environment"
            " variable that holds one"
        )
    in_body = message.signature == "body"
    moment = str(int(time.time() * (1 if in_body else 1000)))
    text, secret = f"{moment}\n{hook.secret}".encode(), hook.secret.encode()
    key, signed = (text, b"") if in_body else (secret, text)
    sign = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    values = {"timestamp": moment, "sign": sign}
    if in_body:
        return hook.address, {**values, **message.body}
    mark = "&" if urlsplit(hook.address).query else "?"
    return f"{hook.address}{mark}{urlencode(values)}", message.body


def _error_in(text: bytes) -> tuple[int, str]:
    """Return code and message of an answer that is an error in spite of HTTP's 200."""
    try:
        answer = json.loads(text)
    except ValueError:
        return 0, ""
    if not isinstance(answer, dict):
        return 0, ""
    codes = (answer.get(name) for name in ("errcode", "code", "StatusCode"))
    code = next((value for value in codes if isinstance(value, int) and value), 0)
    return code, str(answer.get("errmsg") or answer.get("msg") or "")


def _refusal(hook: Hook, host: str, code: int, reason: str) -> MailError:
    """Return the error of a refused message, without a secret that it quotes."""
    parts = urlsplit(hook.address)
    for secret in (hook.address, hook.secret, parts.query, parts.path, *_words(parts)):
        reason = reason.replace(secret, "***") if secret else reason
    answer = one_line(reason)[:200]
    hint = "; try again later" if code in _TOO_MANY else ""
    return MailError(f"{hook.service}: {host} answers {code} {answer}".rstrip() + hint)


def _words(parts: Any) -> list[str]:
    """Return the parts of an address that may be a key."""
    parts_of_address = [
        *parts.path.split("/"),
        *parts.query.replace("=", "&").split("&"),
    ]
    return [word for word in parts_of_address if len(word) >= 8]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_values: Any) -> None:
        """Refuse redirects: the body would go to a URL that is not configured."""
