"""Timing whole processes in turn, so that a machine's drift hits both sides alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Sample:
    """One run of one command."""

    seconds: float
    """Wall time."""
    peak_mb: float
    """Largest resident set, in 10^6 bytes."""
    said: str = ""
    """The printed output."""
    cpu: float = 0.0
    """Seconds of all cores."""


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
    cpu: float = 0.0
    cpu_ratio: float = 0.0
    """The same of the seconds of all cores, which other processes change less."""

    HEAD: ClassVar = (
        *("what", "took", "peer", "took", "ratio"),
        *("CPU", "ratio", "meant", "peak memory", "note"),
    )
    """Names of the columns of `row`."""

    def row(self) -> tuple[str, ...]:
        """The figures as text, for a table."""
        return (
            self.name,
            f"{self.seconds:.2f} s",
            self.peer,
            f"{self.peer_seconds:.2f} s",
            f"{self.ratio:.2f}",
            f"{self.cpu:.2f} s" if self.cpu else "",
            f"{self.cpu_ratio:.2f}" if self.cpu else "",
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
cpu = usage.ru_utime + usage.ru_stime
measured = time.perf_counter() - started, cpu, usage.ru_maxrss
os.write(int(sys.argv[1]), "{} {} {}".format(*measured).encode())
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
                # installed packages have bytecode, whatever the caller's own has
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
                pass_fds=[reported],
                check=False,
            )
        finally:
            os.close(reported)
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise RuntimeError(said)
        seconds, cpu, kilobytes = reading.read().split()
    return Sample(float(seconds), int(kilobytes) * 1024 / 1e6, said, float(cpu))


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
    pairs = list(zip(ours, theirs, strict=True))
    return Ratio(
        name=name,
        peer=peer_name,
        seconds=statistics.median(sample.seconds for sample in ours),
        peer_seconds=statistics.median(sample.seconds for sample in theirs),
        cpu=statistics.median(sample.cpu for sample in ours),
        peak_mb=max(sample.peak_mb for sample in ours),
        ratio=statistics.median(a.seconds / b.seconds for a, b in pairs),
        cpu_ratio=statistics.median(a.cpu / b.cpu for a, b in pairs),
        limit=limit,
    )


def goal(seconds: float) -> Sample:
    """A peer that is a time to keep to, on one core."""
    return Sample(seconds, 0, cpu=seconds)


def python(script: str, *args: object) -> list[str]:
    """The command that runs a Python script given as text."""
    return [sys.executable, "-c", script, *map(str, args)]
