"""Startup: a whole `chainrule grad --json` costs what importing NumPy, click and Rich costs, or at most 5 % more.

What the command does not need it does not import: SymPy, SciPy, Rich. Both processes find their bytecode compiled, as
after an installation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator

from harness import Result, SkippedError, compare

ARGUMENTS = ["grad", "--json", "(x+w)*(w+1)", "x=2", "w=1"]
PEER = "import numpy, click, rich.table, rich.console"
UNWANTED = ("sympy", "scipy", "rich")
INSPECT = f"""
import sys
from chainrule.cli.main import main
try:
    main({ARGUMENTS!r})
finally:
    print(*[name for name in {UNWANTED!r} if name in sys.modules], file=sys.stderr)
"""


def run() -> Iterator[Result]:
    """Processes of the interpreter that runs this."""
    command = shutil.which("chainrule", path=sysconfig.get_path("scripts"))
    if command is None:
        raise SkippedError("needs the chainrule command (pip install -e .)")
    ours, peer = [command, *ARGUMENTS], [sys.executable, "-c", PEER]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}

        def run_process(arguments: list[str]) -> str:
            """Run a process to its end; its standard error."""
            return subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True).stderr

        name = "startup: against import numpy, click, rich"
        yield compare(name, lambda: run_process(ours), lambda: run_process(peer), 1.05, rounds=25)
        imported = run_process([sys.executable, "-c", INSPECT]).split()
        yield Result(f"startup: imports of {', '.join(UNWANTED)}", " ".join(imported) or "none", "", len(imported), 0)
