"""Powers and roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import POWER, is_constant, where
from .base import POSITIVE, REAL, Edge, Op, chain_product, pole
from .exponentials import log
from .kernels import in_doubles, two_product


def _power_name(x: Any, p: Any) -> str:
    return "PowBackward0" if is_constant(p) else "PowBackward2" if is_constant(x) else "PowBackward1"


def _power_law(x: Any, p: Any) -> str:
    return "power rule" if is_constant(p) else "exponential rule" if is_constant(x) else "generalized power rule"


pow_: Op = Op(
    "pow",
    np.power,
    "x to the power p; real only for x >= 0 unless p is an integer",
    (
        lambda y, x, p: chain_product(p, power_less(x, p)),  # 0 at x = p = 0
        lambda y, x, p: where((x == 0) & (p >= 0), 0, y * log(x)),
    ),
    scalar=math.pow,
    slopes=(
        lambda y, x, p: p * _scalar_power_less(x, p) if p else 0.0,
        lambda y, x, p: 0.0 if x == 0 and p >= 0 else y * math.log(x),
    ),
    sympy=lambda sp, x, p: x**p,
    domain=(POSITIVE, REAL),
    grad_fn=_power_name,
    law=_power_law,
    edges=(
        Edge("pole", "x = 0, 0 < p < 1", lambda x, p: (x == 0) & (p > 0) & (p < 1), (0, 0.5),
             (math.inf, 0), (math.nan, math.nan), (math.inf, 0)),
        Edge("pole", "x = 0, p < 0", lambda x, p: (x == 0) & (p < 0), (0, -1),
             (-math.inf, -math.inf), (-math.inf, math.nan), (-math.inf, -math.inf)),
        Edge("pole", "x = 0, p = 0", lambda x, p: (x == 0) & (p == 0), (0, 0),
             (0, 0), (0, math.nan), (0, -math.inf)),
    ),
    infix="^",
    level=POWER,
    signature="x, p",
)  # fmt: skip


def _power_less(x: Any, p: Any, less: int = 1) -> Any:
    # log x magnifies the rounding of p - less, where there is any; p/2 is exact.
    q = p - less  # a plain p stays plain: it makes no doubles of single ones
    exact = np.equal(q + less, p)
    power = np.power(x, q)
    if np.all(exact):
        return power
    half = np.power(x, p / 2)
    return np.where(exact, power, half / np.power(x, less // 2) * (half / np.power(x, less - less // 2)))


def _scalar_power_less(x: float, p: float, less: int = 1) -> float:
    q = p - less
    if q + less == p:
        return math.pow(x, q)
    half = math.pow(x, p / 2)
    return half / x ** (less // 2) * (half / x ** (less - less // 2))


power_less: Op = Op(
    "power_less",
    _power_less,
    "x to the power p - less, for p - less that no double holds",
    (
        lambda y, x, p, *, less=1: chain_product(p - less, power_less(x, p, less=less + 1)),
        lambda y, x, p, *, less=1: where((x == 0) & (p >= less), 0, y * log(x)),
    ),
    scalar=_scalar_power_less,
    means=lambda x, p, less=1: x ** (p - less),
    domain=(POSITIVE, REAL),
    signature="x, p; *, less=1",
    public=False,
)
sqrt: Op = Op(
    "sqrt",
    np.sqrt,
    "the square root",
    (lambda y, x: 1 / (2 * y),),
    scalar=math.sqrt,
    domain=(POSITIVE,),
    edges=(pole(0, math.inf, right=math.inf),),
)


def _better_root(root: Any, x: Any) -> Any:
    """One step of Newton's method from libm's cube root, which is 2 ulp off and more."""
    square, lost = two_product(root, root)
    cube, rest = two_product(square, root)
    return root - ((cube - x) + (lost * root + rest)) / (3 * square)


@in_doubles
def _cbrt(x: Any) -> Any:
    root = np.cbrt(x)
    return np.where((np.abs(x) > 1e-300) & (np.abs(x) < 1e300), _better_root(root, x), root)


def _scalar_cbrt(x: float) -> float:
    root = math.cbrt(x)
    return _better_root(root, x) if 1e-300 < abs(x) < 1e300 else root


cbrt: Op = Op(
    "cbrt",
    _cbrt,
    "the real cube root, of negative numbers too",
    (lambda y, x: 1 / (3 * y * y),),
    scalar=_scalar_cbrt,
    numpy=(np.cbrt,),
    sympy=lambda sp, x: sp.Piecewise((sp.cbrt(x), x >= 0), (-sp.cbrt(-x), True)),
    domain=(POSITIVE,),
    edges=(pole(0, math.inf, math.inf, math.inf),),
)
square: Op = Op(
    "square",
    np.square,
    "x²",
    (lambda y, x: 2 * x,),
    scalar=lambda x: x * x,
    sympy=lambda sp, x: x**2,
    grad_fn="PowBackward0",
)
reciprocal: Op = Op(
    "reciprocal",
    np.reciprocal,
    "1/x",
    (lambda y, x: -y * y,),
    scalar=lambda x: 1 / x,
    sympy=lambda sp, x: 1 / x,
    domain=(POSITIVE,),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
