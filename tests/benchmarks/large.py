"""Large Tensors and long graphs: arrays of a million within 1.6 times PyTorch's time; long chains cost the same a node.

From 1,000 to 1,000,000 nodes the memory of a node, forward and backward together, grows by at most half, and a node of
a million takes no more time than one of PyTorch's. That its time grows by no more than half, too, is for later:
Python's collector looks at all nodes again and again while they are made (PyTorch's nodes grow dearer, too).
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from harness import Result, agree, compare, peer

import chainrule

MILLION = np.linspace(0.1, 2.0, 1_000_000)


def run() -> Iterator[Result]:
    """How a node's cost grows, then arrays against PyTorch."""
    times = {n: median(seconds(n) / n for _ in range(3)) for n in (1_000, 1_000_000)}
    figures = [f"{1e6 * t:.3g} µs" for t in (times[1_000_000], times[1_000])]
    yield Result("large: a node of 1,000,000 against 1,000, time", *figures, times[1_000_000] / times[1_000], 1.5, True)
    peaks = {n: peak(n) / n for n in (1_000, 1_000_000)}
    figures = [f"{p:.0f} B" for p in (peaks[1_000_000], peaks[1_000])]
    yield Result("large: a node of 1,000,000 against 1,000, memory", *figures, peaks[1_000_000] / peaks[1_000], 1.5)
    torch = peer("torch")
    torch.set_num_threads(1)
    first, other = chainrule.tensor(1.0, requires_grad=True), torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
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


def seconds(n: int) -> float:
    """The time of n nodes; short chains are repeated."""
    repeats = max(1, 20_000 // n)
    start = time.perf_counter()
    for _ in range(repeats):
        chain(chainrule.tensor(1.0, requires_grad=True), n)
    return (time.perf_counter() - start) / repeats


def peak(n: int) -> float:
    """The most memory that n nodes take; what Python keeps for later use is let go first, or it would hide a part."""
    gc.collect()
    tracemalloc.start()
    chain(chainrule.tensor(1.0, requires_grad=True), n)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most
