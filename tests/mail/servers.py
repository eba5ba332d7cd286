"""A real mail server in a separate process, for tests of sending.

Run as a script: ``servers.py SECURITY CERTIFICATE KEY FOLDER``. It takes mail for
anyone but ``refused@…`` and ``busy@…``, wants the login ``ci`` / ``geheim-7`` where it
is encrypted, and writes every message it takes to FOLDER.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path
from typing import Any

USER = "ci"
PASSWORD = "geheim-7"


async def serve(security: str, certificate: str, key: str, folder: Path) -> None:
    from aiosmtpd.smtp import SMTP, AuthResult

    class Handler:
        async def handle_RCPT(
            self, server: Any, session: Any, envelope: Any, to: str, options: Any
        ) -> str:
            if to.startswith("busy@"):
                return "451 4.7.1 greylisted"
            if to.startswith("refused@"):
                return "550 5.1.1 no such user"
            envelope.rcpt_tos.append(to)
            return "250 OK"

        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            number = len(list(folder.glob("*.eml")))
            name = f"{number}-{session.auth_data or 'nobody'}.eml"
            served = ",".join(envelope.rcpt_tos)
            (folder / f"{number}.to").write_text(served, "utf-8")
            (folder / name).write_bytes(envelope.original_content)
            return "250 taken"

    def log_in(server: Any, session: Any, envelope: Any, how: str, given: Any) -> Any:
        right = given.login == USER.encode() and given.password == PASSWORD.encode()
        return AuthResult(success=right, handled=False, auth_data=USER)

    context = None
    if security != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

    def session() -> Any:
        encrypted = security != "none"
        return SMTP(
            Handler(),
            hostname="localhost",
            require_starttls=security == "starttls",
            tls_context=context if security == "starttls" else None,
            auth_required=encrypted,
            auth_require_tls=security != "tls",
            authenticator=log_in,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        session, "127.0.0.1", 0, ssl=context if security == "tls" else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:4], Path(sys.argv[4])))
