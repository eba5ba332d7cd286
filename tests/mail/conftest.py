"""Shared fixtures of the mail tests: the mail checker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mail.made import CHECKER


@pytest.fixture(scope="session")
def check() -> Callable[..., dict[str, Any]]:
    """``check(data, expect_canaries=…)``: what the mail checker says of a message."""
    if not CHECKER.is_file():
        pytest.skip("the mail checker is not beside this checkout (../shared/tools)")
    pytest.importorskip("html5lib")
    pytest.importorskip("tinycss2", reason="the mail checker needs tinycss2")

    def run(
        data: bytes, path: Path, *, expect_canaries: bool = False
    ) -> dict[str, Any]:
        path.write_bytes(data)
        command = [sys.executable, str(CHECKER), "--json", str(path)]
        if expect_canaries:
            command.insert(2, "--expect-canaries")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        told = json.loads(done.stdout)
        return told[0] if isinstance(told, list) else told

    return run
