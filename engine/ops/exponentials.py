"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .base import BEYOND_ONE, POSITIVE, REAL, Edge, Interval, Op, pole
from .kernels import LN2, in_doubles, on_floats, two_log, two_product

LN10 = math.log(10)

exp: Op = Op("exp", np.exp, "e to the power x", (lambda y, x: y,), scalar=math.exp)
exp2: Op = Op("exp2", np.exp2, "2 to the power x", (lambda y, x: y * LN2,), scalar=math.exp2, sympy=lambda sp, x: 2**x)
expm1: Op = Op(
    "expm1",
    np.expm1,
    "exp(x) - 1, accurate near 0",
    (lambda y, x: exp(x),),
    scalar=math.expm1,
    sympy=lambda sp, x: sp.exp(x) - 1,
)
log: Op = Op(
    "log",
    np.log,
    "the natural logarithm; log(x, b) is to base b",
    (lambda y, x: 1.0 / x,),
    scalar=math.log,
    domain=(POSITIVE,),
    aliases=("ln",),
    edges=(pole(0, math.inf, right=math.inf),),
)
log2: Op = Op(
    "log2",
    np.log2,
    "the logarithm to base 2",
    (lambda y, x: 1 / (x * LN2),),
    scalar=math.log2,
    sympy=lambda sp, x: sp.log(x) / sp.log(2),
    domain=(POSITIVE,),
    edges=(pole(0, math.inf, right=math.inf),),
)
log10: Op = Op(
    "log10",
    np.log10,
    "the logarithm to base 10",
    (lambda y, x: 1 / (x * LN10),),
    scalar=math.log10,
    sympy=lambda sp, x: sp.log(x) / sp.log(10),
    domain=(POSITIVE,),
    edges=(pole(0, math.inf, right=math.inf),),
)
log1p: Op = Op(
    "log1p",
    np.log1p,
    "log(1 + x), accurate near 0",
    (lambda y, x: 1 / (1 + x),),
    scalar=math.log1p,
    sympy=lambda sp, x: sp.log(1 + x),
    domain=(Interval(-1.0, math.inf),),
    grad_fn="Log1PBackward0",
    edges=(pole(-1, math.inf, right=math.inf),),
)


def _log_base(x: Any, b: Any) -> Any:
    # The quotient of rounded logarithms would be 3 ulp off, and log(1000, 10) below 3.
    usual = (x > 0) & (b > 0) & (b != 1) & np.isfinite(x) & np.isfinite(b)
    (p, p_rest), (q, q_rest) = two_log(np.where(usual, x, 2.0)), two_log(np.where(usual, b, 2.0))
    ratio = p / q
    product, rest = two_product(ratio, q)
    better = ratio + ((p - product) - rest + p_rest - ratio * q_rest) / q
    return np.where(usual, better, np.log(x) / np.log(b))


_scalar_log_base = on_floats(_log_base)
log_base: Op = Op(
    "log_base",
    in_doubles(_log_base),
    "the logarithm of x to base b",
    (lambda y, x, b: 1 / log(b) / x, lambda y, x, b: -y / (b * log(b))),
    scalar=lambda x, b: math.log2(x) if b == 2 else math.log10(x) if b == 10 else _scalar_log_base(x, b),
    sympy=lambda sp, x, b: sp.log(x) / sp.log(b),
    domain=(POSITIVE, BEYOND_ONE),
    edges=(
        Edge("pole", "x = 0", lambda x, b: x == 0, (0, 2), (math.inf, math.inf), (math.nan,) * 2, (math.inf,) * 2),
        Edge(
            "pole",
            "b = 1",
            lambda x, b: b == 1,
            (2, 1),
            (math.inf, -math.inf),
            (-math.inf, -math.inf),
            (math.inf, -math.inf),
        ),
    ),
    grad_fn="LogBaseBackward0",
    signature="x, b",
    overloads="log",
)


def _xlogy(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0.0, x * np.log(y))


xlogy: Op = Op(
    "xlogy",
    _xlogy,
    "x·log(y), and 0 where x is 0",
    (lambda z, x, y: where((x == 0) & (y <= 0), 0, log(y)), lambda z, x, y: where((x == 0) & (y == 0), 0, x / y)),
    scalar=lambda x, y: 0.0 if x == 0 and y == y else x * math.log(y),
    sympy=lambda sp, x, y: x * sp.log(y),
    domain=(REAL, POSITIVE),
    edges=(
        Edge("pole", "x = y = 0", lambda x, y: (x == 0) & (y == 0), (0, 0), (0, 0), (math.nan,) * 2, (-math.inf, 0)),
    ),
)
