"""Shared fixtures of the mail tests: the mail checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mail.made import checker


@pytest.fixture(scope="session")
def check() -> Callable[..., dict[str, Any]]:
    """``check(data, expect_canaries=…)``: what the mail checker says of a message."""
    called = checker()
    if called is None:
        pytest.skip("no mail checker beside this checkout (../shared/tools)")

    def run(
        data: bytes, path: Path, *, expect_canaries: bool = False
    ) -> dict[str, Any]:
        path.write_bytes(data)
        options = ["--expect-canaries"] if expect_canaries else []
        told = json.loads(called("--json", *options, path))
        return told[0] if isinstance(told, list) else told

    return run
