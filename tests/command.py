"""Running the real command."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}


@dataclass
class Finished:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str


def run(command: str | list[str], stdin: str | bytes = "", timeout: float = 100) -> Finished:
    """Run the real `chainrule` in a process of its own, from the project's folder."""
    words = shlex.split(command) if isinstance(command, str) else command
    if words[0] == "chainrule":
        words = [sys.executable, "-m", *words]
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        words, input=data, capture_output=True, timeout=timeout, cwd=ROOT, env=ENVIRONMENT, check=False
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())
