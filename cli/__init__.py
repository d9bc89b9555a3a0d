"""The command line of chainrule."""

import gc
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the command; imported first, so that Ctrl-C ends it quietly while the rest is still being imported."""
    gc.set_threshold(50_000)  # what is imported is no garbage: the collector need not look for any so often
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
