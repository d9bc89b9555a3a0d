"""What accurate forwards are made of: sums and products with what rounding lost, and sin(πx).

They run on doubles, as numbers or arrays. T. J. Dekker, "A floating-point technique for extending the available
precision", 1971.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

SPLITTER = 2.0**27 + 1


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, and what its rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """a·b, and what its rounding lost; both below 1e300 in size."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Any) -> tuple[Any, Any]:
    """Two numbers of half the digits, whose sum is a."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def in_doubles(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel run in doubles, its result in the inputs' floating type."""

    @functools.wraps(kernel)
    def call(*xs: Any, **params: Any) -> Any:
        result = np.asarray(kernel(*(np.asarray(x, dtype=float) for x in xs), **params))
        given = [x.dtype for x in xs if hasattr(x, "dtype")]
        wanted = np.result_type(*given) if given else result.dtype
        return (result.astype(wanted) if wanted.kind == "f" else result)[()]

    return call


def by_math(function: Callable[[float], float]) -> Callable[..., Any]:
    """A function of `math` on each element of an array: slower than SciPy's, and closer to the truth."""

    def call(x: Any) -> Any:
        return np.fromiter(map(function, np.ravel(x).tolist()), float, np.size(x)).reshape(np.shape(x))

    return in_doubles(call)


def sin_pi(x: Any) -> Any:
    """sin(πx), the argument reduced before π rounds it."""
    rest = x - 2 * np.round(x / 2)
    return np.sin(np.pi * np.where(np.abs(rest) > 0.5, np.copysign(1, rest) - rest, rest))


def cos_pi(x: Any) -> Any:
    """cos(πx), the argument reduced before π rounds it."""
    return np.sin(np.pi * (0.5 - np.abs(x - 2 * np.round(x / 2))))


def scalar_sin_pi(x: float) -> float:
    """sin(πx) of a Python float."""
    rest = math.remainder(x, 2)
    return math.sin(math.pi * (math.copysign(1, rest) - rest if abs(rest) > 0.5 else rest))
