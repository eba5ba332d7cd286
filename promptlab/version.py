"""The version of promptlab that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("promptlab-warehouse")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.0.0"
