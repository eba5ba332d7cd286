"""The guide's samples are Chinese, and so is the locale of these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def chinese_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
