"""Large Tensors and long graphs: arrays of a million within 1.6 times PyTorch's time; long chains cost the same a node.

From 1,000 to 1,000,000 nodes the time and the memory of a node, forward and backward together, grow by at most half.
That is with Python's collector at rest: it looks at all living objects again and again while they become more, which
is Python's price for a million objects of any kind. With it the time of a node grows by at most a quarter more than
PyTorch's does.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from harness import Result, agree, compare, peer

import chainrule

MILLION = np.linspace(0.1, 2.0, 1_000_000)


def run() -> Iterator[Result]:
    """How a node's cost grows, then arrays against PyTorch."""
    gc.disable()
    few, many = growth(leaf)
    gc.enable()
    yield Result("large: a node of 1,000,000 against 1,000, time", micro(many), micro(few), many / few, 1.5)
    peaks = {n: peak(n) / n for n in (1_000, 1_000_000)}
    figures = [f"{p:.0f} B" for p in (peaks[1_000_000], peaks[1_000])]
    yield Result("large: a node of 1,000,000 against 1,000, memory", *figures, peaks[1_000_000] / peaks[1_000], 1.5)
    torch = peer("torch")
    torch.set_num_threads(1)

    def other_leaf() -> Any:
        return torch.tensor(1.0, dtype=torch.float64, requires_grad=True)

    (few, many), (few_there, many_there) = growth(leaf), growth(other_leaf)
    ratios = (many / few, many_there / few_there)
    yield Result(
        "large: the same with the collector, PyTorch", *(f"{r:.3g}" for r in ratios), ratios[0] / ratios[1], 1.25
    )
    first, other = leaf(), other_leaf()
    agree([chain(first, 1_000)], [chain(other, 1_000)])
    yield compare(
        "large: a chain of 1,000,000 nodes against PyTorch",
        lambda: chain(first, 1_000_000),
        lambda: chain(other, 1_000_000),
        1,
        rounds=3,
    )
    ours = chainrule.tensor(MILLION, requires_grad=True)
    theirs = torch.tensor(MILLION, requires_grad=True)
    agree([gradient(chainrule, ours)[7]], [gradient(torch, theirs)[7]])
    yield compare(
        "large: elementwise chain on a million, PyTorch",
        lambda: gradient(chainrule, ours),
        lambda: gradient(torch, theirs),
        1.6,
    )


def gradient(lib: Any, x: Any) -> Any:
    """An elementwise chain, summed, forward and backward."""
    x.grad = None
    y = lib.sum(lib.sin(x) * x + lib.exp(-x) / (x + 1) + lib.tanh(x))
    y.backward()
    return x.grad.numpy()


def chain(x: Any, n: int) -> float:
    """A chain of n products from a leaf, forward and backward."""
    x.grad = None
    y = x
    for _ in range(n):
        y = y * 1.0000001
    y.backward()
    found: float = x.grad.item()
    return found


def leaf() -> Any:
    """A number of ours that requires a gradient."""
    return chainrule.tensor(1.0, requires_grad=True)


def growth(make: Callable[[], Any]) -> tuple[float, float]:
    """The seconds of a node in chains of 1,000 and of 1,000,000."""
    few, many = (median(seconds(make, n) / n for _ in range(3)) for n in (1_000, 1_000_000))
    return few, many


def micro(seconds: float) -> str:
    """Seconds as microseconds."""
    return f"{1e6 * seconds:.3g} µs"


def seconds(make: Callable[[], Any], n: int) -> float:
    """The time of n nodes; short chains are repeated."""
    repeats = max(1, 20_000 // n)
    start = time.perf_counter()
    for _ in range(repeats):
        chain(make(), n)
    return (time.perf_counter() - start) / repeats


def peak(n: int) -> float:
    """The most memory that n nodes take; what Python keeps for later use is let go first, or it would hide a part."""
    gc.collect()
    tracemalloc.start()
    chain(leaf(), n)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most
