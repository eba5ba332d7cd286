"""Post a message to a chat: a JSON body to the URL of a webhook."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from promptlab.errors import MailError, SettingsError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TOO_MANY = 429


def post(address: str, payload: Mapping[str, Any], *, timeout: float = 30.0) -> None:
    """Post *payload* as JSON; redirects are not followed.

    Args:
        address: URL of the webhook. It is a secret and never part of a message.
        payload: The body.
        timeout: Seconds to wait for an answer.

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
