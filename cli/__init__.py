"""The command line of chainrule."""

import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the command; imported first, so that Ctrl-C ends it quietly while the rest is still being imported."""
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
