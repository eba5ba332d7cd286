"""``python -m benchmarks [NAME…]``: run benchmarks and keep the figures."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks.measure import Ratio

OUT = Path("out/bench")


def main(wanted: list[str]) -> None:
    """Run the benchmarks of these names, or all."""
    ratios = []
    _print(Ratio.HEAD)
    _print(("---",) * len(Ratio.HEAD))
    with tempfile.TemporaryDirectory(prefix="promptlab-bench-") as folder:
        for module in _modules():
            for benchmark in module.BENCHMARKS:
                if not wanted or benchmark.__name__ in wanted:
                    ratio = benchmark(Path(folder))
                    _print(ratio.row())
                    ratios.append(ratio)
    OUT.mkdir(parents=True, exist_ok=True)
    figures = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python"
        f" {platform.python_version()}",
        "ratios": [asdict(ratio) for ratio in ratios],
    }
    (OUT / "figures.json").write_text(json.dumps(figures, indent=2), "utf-8")


def _modules() -> list:
    names = (m.name for m in pkgutil.iter_modules(benchmarks.__path__))
    found = [importlib.import_module(f"benchmarks.{n}") for n in names if n[0] != "_"]
    return [module for module in found if hasattr(module, "BENCHMARKS")]


def _print(row: tuple[str, ...]) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(row)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
