"""Running the console blocks of a page in one shell, and writing down what they print.

A block is a session as a reader sees it: ``$ `` before a command, ``> `` before the
lines that continue it, everything else is output (stdout and stderr together). A block
under the comment ``file: NAME`` is written to that file when its turn comes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docs.markdown import Block

_MARK = "\x1e"


@dataclass(frozen=True)
class Command:
    """A command and what it printed."""

    text: str
    output: str
    exit_code: int = 0


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block with their outputs."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [Command("\n".join(c), tidy("\n".join(o))) for c, o in found]


def written(ran: Sequence[Command]) -> str:
    """Return the text of a console block."""
    lines: list[str] = []
    for command in ran:
        first, *more = command.text.split("\n")
        lines += [f"$ {first}", *(f"> {line}" for line in more)]
        lines += command.output.split("\n") if command.output else []
    return "\n".join(lines) + "\n"


def tidy(output: str) -> str:
    """Return an output without blanks at the ends of lines and empty lines around."""
    lines = [line.rstrip() for line in output.split("\n")]
    return "\n".join(lines).strip("\n")


def run(
    blocks: Sequence[Block], folder: Path, programs: Path, language: str
) -> dict[Block, list[Command]]:
    """Run the commands of these blocks in *folder*, in one shell, one after another.

    A program is taken from *programs* first.
    """
    script = ["exec 2>&1"]
    asked: list[tuple[Block, Command]] = []
    for block in blocks:
        name = block.note.removeprefix("file: ")
        if name != block.note:
            script.append(f"cat > {name} <<'END_OF_FILE'\n{block.text}END_OF_FILE")
            continue
        for command in commands(block):
            asked.append((block, command))
            script.append(f"{command.text}\nprintf '{_MARK}%s{_MARK}' $?")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=_environment(programs, language),
        stdout=subprocess.PIPE,
        timeout=600,
        check=False,
        text=True,
    )
    parts = done.stdout.split(_MARK)
    assert len(parts) == 2 * len(asked) + 1, done.stdout
    results: dict[Block, list[Command]] = {}
    for (block, command), output, code in zip(
        asked, parts[::2], parts[1::2], strict=False
    ):
        ran = Command(command.text, tidy(output), int(code))
        results.setdefault(block, []).append(ran)
    return results


def _environment(programs: Path, language: str) -> dict[str, str]:
    ours = ("PROMPTLAB_", "LC_", "LANG")
    own = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    folders = [programs, Path(sys.executable).parent, os.environ["PATH"]]
    return own | {
        "PATH": os.pathsep.join(map(str, folders)),
        "LC_CTYPE": "C.UTF-8",  # is everywhere, what LANG names need not be
        "LANG": language,
        "NO_COLOR": "1",
    }
