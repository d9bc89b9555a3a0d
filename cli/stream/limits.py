"""A limit on the time of one line: an alarm between two operations."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

from chainrule import ChainruleError


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise a `ChainruleError` of kind `limit` inside after so many seconds; one operation is never cut short.

    Only in the main thread of a process.
    """

    def ring(signum: int, frame: Any) -> None:
        raise ChainruleError("limit", f"the line took longer than {seconds:g} s", hint="--timeout sets the limit")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
