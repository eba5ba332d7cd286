"""Timing whole processes in turn, so that a machine's drift hits both sides alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One run of one command."""

    seconds: float
    """Wall time."""
    peak_mb: float
    """Largest resident set, in 10^6 bytes."""
    said: str = ""
    """The printed output."""


@dataclass(frozen=True)
class Ratio:
    """A subject against its peer, as medians over runs taken in turn."""

    name: str
    peer: str
    seconds: float
    peer_seconds: float
    peak_mb: float
    ratio: float
    limit: float | None
    """The intended limit of the ratio, if there is one."""
    note: str = ""
    """Other measurements."""

    def row(self) -> tuple[str, ...]:
        """The figures as text, for a table."""
        return (
            self.name,
            f"{self.seconds:.2f} s",
            self.peer,
            f"{self.peer_seconds:.2f} s",
            f"{self.ratio:.2f}",
            "" if self.limit is None else f"≤ {self.limit:g}",
            f"{self.peak_mb:.0f} MB",
            self.note,
        )


# For the kernel, the peak memory of a process begins with that of the process that
# started it. So a small process, and not the one that wrote the inputs, starts it.
_WATCH = """
import os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
measured = time.perf_counter() - started, usage.ru_maxrss
os.write(int(sys.argv[1]), "{} {}".format(*measured).encode())
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


def run(command: Sequence[str], **environment: str) -> Sample:
    """Run a command to its end and measure it.

    Raises:
        RuntimeError: it failed; the message holds what it said.
    """
    measured, reported = os.pipe()
    with os.fdopen(measured) as reading:
        try:
            done = subprocess.run(
                [sys.executable, "-IS", "-c", _WATCH, str(reported), *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                pass_fds=[reported],
                check=False,
            )
        finally:
            os.close(reported)
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise RuntimeError(said)
        seconds, kilobytes = reading.read().split()
    return Sample(float(seconds), int(kilobytes) * 1024 / 1e6, said)


def compare(
    name: str,
    subject: Callable[[], Sample],
    peer_name: str,
    peer: Callable[[], Sample],
    *,
    runs: int = 3,
    limit: float | None = None,
) -> Ratio:
    """Run subject and peer in turn, after one run of each that does not count."""
    subject(), peer()
    ours, theirs = [], []
    for _ in range(runs):
        ours.append(subject())
        theirs.append(peer())
    ratios = [a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True)]
    return Ratio(
        name=name,
        peer=peer_name,
        seconds=statistics.median(sample.seconds for sample in ours),
        peer_seconds=statistics.median(sample.seconds for sample in theirs),
        peak_mb=max(sample.peak_mb for sample in ours),
        ratio=statistics.median(ratios),
        limit=limit,
    )


def python(script: str, *args: object) -> list[str]:
    """The command that runs a Python script given as text."""
    return [sys.executable, "-c", script, *map(str, args)]
