"""Error functions, and the normal distribution, of which gelu is made."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .base import Interval, Op, pole
from .exponentials import exp
from .kernels import by_math, by_scipy, in_doubles, on_floats, pieces, two_product

SQRT_HALF, SQRT_HALF_REST = math.sqrt(0.5), -4.833646656726457e-17
HALF_SQRT_PI = math.sqrt(math.pi) / 2
INV_SQRT_PI = 1 / math.sqrt(math.pi)
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
GELU_ZERO = (-0.7517915246935645, 1.4956759177009883e-17)  # and what the double lacks
_erf, _erfc = by_math(math.erf), by_math(math.erfc)  # 1 and 3 ulp off; SciPy's are 3 and 200


@in_doubles
def _gauss(x: Any, rate: float = 1) -> Any:
    # exp magnifies the rounding of x², x² times: what it lost is put back.
    exponent, lost = two_product(np.clip(x, -40, 40), x)
    return np.exp(-rate * exponent) * (1 - rate * np.where(np.isfinite(lost), lost, 0.0))


def _scalar_gauss(x: float, rate: float = 1) -> float:
    exponent, lost = two_product(min(max(x, -40.0), 40.0), x)
    return math.exp(-rate * exponent) * (1 - rate * lost if math.isfinite(lost) else 1)


gauss: Op = Op(
    "gauss",
    _gauss,
    "exp(-rate·x²), accurate for large x too",
    (lambda y, x, *, rate=1: -2 * rate * x * y,),
    scalar=_scalar_gauss,
    sympy=lambda sp, x, rate=1: sp.exp(-sp.Rational(rate) * x**2),
    means=lambda x, rate=1: exp(-(rate * x**2)),
    signature="x; *, rate=1",
    public=False,
)
erf: Op = Op(
    "erf",
    _erf,
    "the error function",
    (lambda y, x: 2 * INV_SQRT_PI * gauss(x),),
    scalar=math.erf,
)
erfc: Op = Op(
    "erfc",
    _erfc,
    "1 - erf(x), accurate for large x",
    (lambda y, x: -2 * INV_SQRT_PI * gauss(x),),
    scalar=math.erfc,
)


def _erfinv_parts(size: Any) -> tuple[Any, Any]:
    """erfinv(x) for x >= 0 as SciPy has it, and what it missed: erf(y), or erfc(y) near 1, tells it."""
    inverse = by_scipy("erfinv")
    y = inverse(size)
    off = pieces(
        size,
        (size < 0.5, lambda size: size - _erf(inverse(size))),
        (size < 1, lambda size: _erfc(inverse(size)) - (1 - size)),
        (True, np.zeros_like),
    )
    return y, off * HALF_SQRT_PI * np.exp(np.minimum(y * y, 700.0))


def _erfinv(x: Any) -> Any:
    y, missed = _erfinv_parts(np.abs(x))
    return np.copysign(y + missed, x)


def _erfinv_slope(x: Any) -> Any:
    # exp magnifies the rounding of y², and the error of y, 2y² times.
    y, missed = _erfinv_parts(np.abs(x))
    exponent, lost = two_product(y, y)
    slope = HALF_SQRT_PI * np.exp(exponent)
    return np.where(np.isfinite(slope), slope + slope * (lost + 2 * y * missed), slope)


erfinv: Op = Op(
    "erfinv",
    in_doubles(_erfinv),
    "the inverse of erf",
    (lambda y, x: erfinv_slope(x),),
    scalar=on_floats(_erfinv),
    domain=(Interval(-1.0, 1.0),),
    edges=(
        pole(-1, math.inf, right=math.inf),
        pole(1, math.inf, left=math.inf),
    ),
)
erfinv_slope: Op = Op(
    "erfinv_slope",
    in_doubles(_erfinv_slope),
    "the derivative of erfinv, exp(erfinv(x)²)·√π/2",
    (lambda d, x: 2 * erfinv(x) * d * d,),
    scalar=on_floats(_erfinv_slope),
    sympy=lambda sp, x: sp.exp(sp.erfinv(x) ** 2) * sp.sqrt(sp.pi) / 2,
    means=lambda x: HALF_SQRT_PI * exp(erfinv(x) ** 2),
    domain=(Interval(-1.0, 1.0),),
    edges=(
        pole(-1, -math.inf, right=-math.inf),
        pole(1, math.inf, left=math.inf),
    ),
    public=False,
)

# --- the normal distribution, of which gelu is made -------------------------------------------------------------------


def _normal_cdf(x: Any) -> Any:
    # erfc magnifies the rounding of x/√2, x² times: its effect is put right.
    x = np.minimum(np.maximum(x, -40.0), 40.0)
    at, lost = two_product(x, -SQRT_HALF)
    missed = 2 * INV_SQRT_PI * np.exp(-at * at) * (lost - x * SQRT_HALF_REST)
    return (_erfc(at) - missed) / 2


def _normal_density(x: Any) -> Any:
    return INV_SQRT_2PI * (_scalar_gauss if isinstance(x, float) else _gauss)(x, 0.5)


@cache
def _gauss_legendre(count: int) -> tuple[Any, Any]:
    """Nodes and weights of the integral from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _gelu_slope_near_zero(x: Any) -> Any:
    """Around its zero, where Φ(x) + x·φ(x) cancels: the integral of its derivative from there."""
    step = x - GELU_ZERO[0] - GELU_ZERO[1]
    nodes, weights = _gauss_legendre(12)
    t = GELU_ZERO[0] + np.multiply.outer(step, nodes)
    return step * ((2 - t * t) * _normal_density(t) @ weights)


def _gelu_slope(x: Any) -> Any:
    return pieces(
        x,
        ((x > -1.5) & (x < -0.25), _gelu_slope_near_zero),
        (True, lambda x: _normal_cdf(x) + x * _normal_density(x)),
    )


gelu: Op = Op(
    "gelu",
    in_doubles(lambda x: x * _normal_cdf(x)),
    "x·Φ(x), Φ the normal distribution (the exact form, by erf)",
    (lambda y, x: gelu_slope(x),),
    scalar=on_floats(lambda x: x * _normal_cdf(x)),
    sympy=lambda sp, x: x * sp.erfc(-x / sp.sqrt(2), evaluate=False) / 2,  # SymPy would make it cancel
)
gelu_slope: Op = Op(
    "gelu_slope",
    in_doubles(_gelu_slope),
    "the derivative of gelu, Φ(x) + x·φ(x)",
    (lambda y, x: INV_SQRT_2PI * (2 * gauss(x, rate=0.5) - x * (x * gauss(x, rate=0.5))),),
    scalar=on_floats(_gelu_slope),
    sympy=lambda sp, x: sp.erfc(-x / sp.sqrt(2), evaluate=False) / 2 + x * sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
    means=lambda x: erfc(-x * SQRT_HALF) / 2 + x * INV_SQRT_2PI * exp(-(x**2) / 2),
    public=False,
)
