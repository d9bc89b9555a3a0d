"""The command line of chainrule."""

import gc
import sys
from typing import NoReturn


def seldom_collect() -> None:
    """Let Python's collector look for garbage less often: of what is imported none is, and expressions leave none."""
    gc.set_threshold(50_000)


def run() -> NoReturn:
    """Run the command; imported first, so that Ctrl-C ends it quietly while the rest is still being imported."""
    seldom_collect()
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
