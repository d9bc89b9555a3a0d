"""How a benchmark measures: our figure beside a peer's, in one run, by turns.

The machines that run this are shared and noisy, so nothing is promised in seconds. A round times us and then the peer;
the ratio that counts is the median of the rounds' ratios.
"""

from __future__ import annotations

import gc
import importlib
import math
import statistics
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple

SAMPLE = 0.02  # seconds that one timing takes at least, by repeating the call


class Result(NamedTuple):
    """One line of the table: two figures, their ratio, and the most that is promised.

    A promise for `later` is shown and may be missed.
    """

    name: str
    ours: str
    peer: str
    ratio: float
    most: float
    later: bool = False

    @property
    def missed(self) -> bool:
        """Whether a promise of today is broken."""
        return self.ratio > self.most and not self.later

    def __str__(self) -> str:
        verdict = "ok" if self.ratio <= self.most else "later" if self.later else "MISSED"
        return f"{self.name:<44} {self.ours:>9} {self.peer:>9} {self.ratio:>7.3f} {self.most:>9.3g}  {verdict}"


HEADER = f"{'':<44} {'ours':>9} {'peer':>9} {'ratio':>7} {'promised':>9}"


class SkippedError(Exception):
    """The rest of a benchmark cannot run here."""


def peer(module: str) -> Any:
    """Import a peer. Raises `SkippedError` where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SkippedError(f"needs {module.partition('.')[0]} (pip install chainrule[bench])") from None


def compare(
    name: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    most: float,
    *,
    rounds: int = 9,
    later: bool = False,
) -> Result:
    """Time both by turns, after a call of each that does not count."""
    repeats = [_repeats(call) for call in (ours, peer)]
    pairs = [(_seconds(ours, repeats[0]), _seconds(peer, repeats[1])) for _ in range(rounds)]
    medians = [duration(statistics.median(times)) for times in zip(*pairs, strict=True)]
    return Result(name, *medians, statistics.median(a / b for a, b in pairs), most, later)


def _repeats(call: Callable[[], Any]) -> int:
    """How often `call` fits into a sample."""
    first = _seconds(call, 1)
    return 1 if first > 10 * SAMPLE else math.ceil(SAMPLE / _seconds(call, 1))


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    """The time of one call, garbage collection included but not what earlier calls left to collect."""
    gc.collect()
    start = perf_counter()
    for _ in range(repeats):
        call()
    return (perf_counter() - start) / repeats


def agree(ours: Iterable[float], peers: Iterable[float]) -> None:
    """Make sure that both sides computed the same: a benchmark of a wrong answer is worth nothing."""
    for a, b in zip(ours, peers, strict=True):
        if not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12):
            raise AssertionError(f"ours is {a!r}, the peer's {b!r}")


def duration(seconds: float) -> str:
    """Seconds for a person."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
