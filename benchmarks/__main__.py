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

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.measure import Ratio

OUT = Path("out/bench")


def main(wanted: list[str]) -> None:
    """Run the benchmarks of these names, or all."""
    ratios = []
    with tempfile.TemporaryDirectory(prefix="promptlab-bench-") as folder:
        for module in _modules():
            for benchmark in module.BENCHMARKS:
                if not wanted or benchmark.__name__ in wanted:
                    ratio = benchmark(Path(folder))
                    print(*ratio.row(), sep="  ", flush=True)  # noqa: T201
                    ratios.append(ratio)
    _print(ratios)
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


def _print(ratios: list[Ratio]) -> None:
    table = Table(
        "what",
        "took",
        "peer",
        "took",
        "ratio",
        "CPU",
        "ratio",
        "meant",
        "peak memory",
        "",
    )
    for ratio in ratios:
        table.add_row(*ratio.row())
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
