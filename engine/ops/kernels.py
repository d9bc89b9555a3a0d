"""What accurate forwards are made of: sums, products, exp and log with what rounding lost, and sin(πx).

They run on doubles, as numbers or arrays. T. J. Dekker, "A floating-point technique for extending the available
precision", 1971.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .base import quiet

SPLITTER = 2.0**27 + 1
BLOCK = 4096  # elements
LN2 = math.log(2)
LN2_HIGH, LN2_REST = 0.6931471803691238, 1.9082149292705877e-10  # the first in 32 bits: its multiples are exact
EXP_TAIL = [1 / math.factorial(n) for n in range(16, 1, -1)]
ATANH_TAIL = [1 / n for n in range(25, 2, -2)]


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


def two_exp(x: Any) -> tuple[Any, Any]:
    """exp(x), and what its rounding lost; |x| below 700."""
    k = np.rint(x / LN2)
    r, lost = two_sum(x - k * LN2_HIGH, -k * LN2_REST)
    tail = r * r * horner(r, EXP_TAIL)  # exp(r) - 1 - r
    total, rest = two_sum(1.0, r)
    total, rest = two_sum(total, rest + (tail + lost * total))
    return np.ldexp(total, k.astype(int)), np.ldexp(rest, k.astype(int))


def two_log(x: Any) -> tuple[Any, Any]:
    """log(x), and what its rounding lost; x above 0 and normal."""
    m, k = np.frexp(x)
    small = m < math.sqrt(0.5)
    m, k = m * (1 + small), k - small
    more, lost = two_sum(m, 1.0)
    s = (m - 1) / more  # log(m) is 2·atanh(s)
    product, rest = two_product(s, more)
    missed = ((m - 1 - product) - rest - s * lost) / more
    square = s * s
    tail = s * square * horner(square, ATANH_TAIL)  # atanh(s) - s
    total, rest = two_sum(k * LN2_HIGH, 2 * s)
    return two_sum(total, rest + (k * LN2_REST + 2 * (missed + tail)))


def horner(x: Any, coefficients: Iterable[float]) -> Any:
    """A polynomial of x, its coefficients from the highest power to the constant."""
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


def pieces(x: Any, *cases: tuple[Any, Callable[[Any], Any]]) -> Any:
    """Each element of x by the function of the first case (condition, function) that holds; it sees no others."""
    if not isinstance(x, np.ndarray):
        return next(function(x) for holds, function in cases if holds)
    result, left = np.empty_like(x), np.full(x.shape, True)
    for holds, function in cases:
        here = left & holds
        if here.any():
            result[here] = function(x[here])
            left &= ~here
    return result


def in_doubles(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The elementwise kernel run in doubles, block by block, its result in the inputs' floating type."""

    @functools.wraps(kernel)
    def call(*xs: Any, **params: Any) -> Any:
        result = _by_blocks(kernel, [np.asarray(x, dtype=float) for x in xs], params)
        given = [x.dtype for x in xs if hasattr(x, "dtype")]
        wanted = np.result_type(*given) if given else result.dtype
        return (result.astype(wanted) if wanted.kind == "f" else result)[()]

    return call


def _by_blocks(kernel: Callable[..., Any], xs: list[Any], params: dict[str, Any]) -> Any:
    """The kernel on few elements at a time: what its many steps make in between stays in the processor's cache."""
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    if math.prod(shape) <= BLOCK:
        return np.asarray(kernel(*xs, **params))
    flat = [np.broadcast_to(x, shape).ravel() if x.ndim else x for x in xs]
    result = np.empty(math.prod(shape))
    for start in range(0, result.size, BLOCK):
        block = slice(start, start + BLOCK)
        result[block] = kernel(*(x[block] if x.ndim else x for x in flat), **params)
    return result.reshape(shape)


def on_floats(kernel: Callable[..., Any]) -> Callable[..., float]:
    """A kernel as a row's scalar form: on plain numbers NumPy's steps cost less than on arrays of one element."""

    def call(*xs: float, **params: Any) -> float:
        return float(quiet().run(kernel, *map(float, xs), **params))

    return call


def by_math(function: Callable[[float], float]) -> Callable[..., Any]:
    """A function of `math` on each element of an array: slower than SciPy's, and closer to the truth."""

    @in_doubles
    def call(x: Any) -> Any:
        return np.fromiter(map(function, np.ravel(x).tolist()), float, np.size(x)).reshape(np.shape(x))

    return lambda x: function(x) if isinstance(x, float) else call(x)


def by_scipy(name: str) -> Callable[..., Any]:
    """A function of scipy.special, imported at its first call."""

    def call(*xs: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*xs)

    return call


def sin_pi(x: Any) -> Any:
    """sin(πx), the argument reduced before π rounds it."""
    if isinstance(x, (int, float)):
        rest = math.remainder(x, 2)
        return math.sin(math.pi * (math.copysign(1, rest) - rest if abs(rest) > 0.5 else rest))
    rest = x - 2 * np.round(x / 2)
    return np.sin(np.pi * np.where(np.abs(rest) > 0.5, np.copysign(1, rest) - rest, rest))


def cos_pi(x: Any) -> Any:
    """cos(πx), the argument reduced before π rounds it."""
    if isinstance(x, (int, float)):
        return math.sin(math.pi * (0.5 - abs(math.remainder(x, 2))))
    return np.sin(np.pi * (0.5 - np.abs(x - 2 * np.round(x / 2))))
