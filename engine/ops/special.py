"""Special functions: those of statistics and neural networks, and the gamma family.

SciPy is imported when one of them meets an array (or a function that `math` does not have), never before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import where
from .base import POSITIVE, REAL, Edge, Interval, Op, kink
from .elementary import exp, log

SQRT_HALF = math.sqrt(0.5)
INV_SQRT_PI = 1 / math.sqrt(math.pi)
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)


def _scipy(name: str) -> Callable[..., Any]:
    """A function of scipy.special, imported at its first call."""

    def call(*xs: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*xs)

    return call


# --- neural networks --------------------------------------------------------------------------------------------------


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(np.less(x, 0), small, 1) / (1 + small)


def _scalar_sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    small = math.exp(x)
    return small / (1 + small)


sigmoid: Op = Op(
    "sigmoid",
    _sigmoid,
    "1/(1 + exp(-x))",
    (lambda y, x: sigmoid(x) * sigmoid(-x),),
    scalar=_scalar_sigmoid,
    sympy=lambda sp, x: 1 / (1 + sp.exp(-x)),
)
logit: Op = Op(
    "logit",
    lambda x: np.log(x) - np.log1p(-np.asarray(x)),
    "log(x/(1 - x)), the inverse of sigmoid",
    (lambda y, x: 1 / (x * (1 - x)),),
    scalar=lambda x: math.log(x) - math.log1p(-x),
    sympy=lambda sp, x: sp.log(x / (1 - x)),
    domain=(Interval(0.0, 1.0),),
    edges=(
        kink(0, value=math.inf, left=math.nan, right=math.inf, kind="pole"),
        kink(1, value=math.inf, left=math.inf, right=math.nan, kind="pole"),
    ),
)
softplus: Op = Op(
    "softplus",
    lambda x: np.logaddexp(x, 0),
    "log(1 + exp(x)), a smooth relu",
    (lambda y, x: sigmoid(x),),
    scalar=lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
    sympy=lambda sp, x: sp.log(1 + sp.exp(x)),
)
silu: Op = Op(
    "silu",
    lambda x: x * _sigmoid(x),
    "x·sigmoid(x), also called swish",
    (lambda y, x: sigmoid(x) * (1 + x * sigmoid(-x)),),
    scalar=lambda x: x * _scalar_sigmoid(x),
    sympy=lambda sp, x: x / (1 + sp.exp(-x)),
    aliases=("swish",),
)
gelu: Op = Op(
    "gelu",
    lambda x: x * _scipy("ndtr")(x),
    "x·Φ(x), Φ the normal distribution (the exact form, by erf)",
    (lambda y, x: erfc(-x * SQRT_HALF) / 2 + x * INV_SQRT_2PI * gauss(x * SQRT_HALF),),
    scalar=lambda x: x * (math.erfc(-x * SQRT_HALF) / 2),
    sympy=lambda sp, x: x * sp.erfc(-x / sp.sqrt(2)) / 2,
)
elu: Op = Op(
    "elu",
    lambda x: np.where(np.greater(x, 0), x, np.expm1(np.where(np.greater(x, 0), 0, x))),
    "x where x > 0, else exp(x) - 1",
    (lambda y, x: where(x > 0, 1, exp(x)),),
    scalar=lambda x: x if x > 0 else math.expm1(x),
    sympy=lambda sp, x: sp.Piecewise((x, x > 0), (sp.exp(x) - 1, True)),
)

# --- sums and products of logarithms ----------------------------------------------------------------------------------

logaddexp: Op = Op(
    "logaddexp",
    np.logaddexp,
    "log(exp(x) + exp(y)), without overflow",
    (lambda z, x, y: sigmoid(x - y), lambda z, x, y: sigmoid(y - x)),
    sympy=lambda sp, x, y: sp.log(sp.exp(x) + sp.exp(y)),
)


def _xlogy(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0.0, x * np.log(y))


xlogy: Op = Op(
    "xlogy",
    _xlogy,
    "x·log(y), and 0 where x is 0",
    (lambda z, x, y: where((x == 0) & (y <= 0), 0, log(y)), lambda z, x, y: where(x == 0, 0, x / y)),
    scalar=lambda x, y: 0.0 if x == 0 and y == y else x * math.log(y),
    sympy=lambda sp, x, y: x * sp.log(y),
    domain=(REAL, POSITIVE),
    edges=(
        Edge("pole", "x = y = 0", lambda x, y: (x == 0) & (y == 0), (0, 0), (0, 0), (math.nan,) * 2, (-math.inf, 0)),
    ),
)

# --- sinc -------------------------------------------------------------------------------------------------------------


def _sinc_derivative(x: Any, order: int = 1) -> Any:
    """The derivative of sinc of the given order: ∫₀¹ (πt)ⁿ cos(πxt + nπ/2) dt.

    From x·f⁽ⁿ⁾ + n·f⁽ⁿ⁻¹⁾ = (sin(πx)/π)⁽ⁿ⁾ where |x| > n, by Gauss-Legendre quadrature of the integral elsewhere.
    """
    x = np.asarray(x, dtype=float)
    nodes, weights = np.polynomial.legendre.leggauss(24 + 2 * order)
    t = np.pi * (nodes + 1) / 2
    near = np.abs(x) <= order + 1
    inner = np.where(near, x, 0)
    phase = np.multiply.outer(inner, t)
    waves = (np.sin if order % 2 else np.cos)(phase) * (-1 if order % 4 in (1, 2) else 1)
    by_integral = waves @ (weights / 2 * t**order)
    outer = np.where(near, 1.0, x)
    value = np.sinc(outer)
    for n in range(1, order + 1):
        source = (np.cos if n % 2 else np.sin)(np.pi * outer) * (-1 if n % 4 in (2, 3) else 1) * np.pi ** (n - 1)
        value = (source - n * value) / outer
    return np.where(near, by_integral, value)[()]


sinc: Op = Op(
    "sinc",
    np.sinc,
    "sin(πx)/(πx), and 1 at 0 (the normalised form, as NumPy's and PyTorch's)",
    (lambda y, x: sinc_derivative(x, order=1),),
    scalar=lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0,
    sympy=lambda sp, x: sp.Piecewise((sp.sin(sp.pi * x) / (sp.pi * x), sp.Ne(x, 0)), (1, True)),
)
sinc_derivative: Op = Op(
    "sinc_derivative",
    _sinc_derivative,
    "the derivative of sinc of the given order",
    (lambda y, x, order=1: sinc_derivative(x, order=order + 1),),
    sympy=lambda sp, x, order=1: sp.diff(sp.sin(sp.pi * (t := sp.Dummy())) / (sp.pi * t), t, order).subs(t, x),
    signature="x; *, order=1",
    public=False,
)

# --- error functions --------------------------------------------------------------------------------------------------


def _gauss(x: Any) -> Any:
    # x² is rounded, and exp would magnify its error x² times: split x so that the larger square is exact.
    high = np.round(np.multiply(x, 2.0**16)) / 2.0**16
    high = np.clip(high, -32, 32)
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


gauss: Op = Op(
    "gauss",
    _gauss,
    "exp(-x²), accurate for large x too",
    (lambda y, x: -2 * x * y,),
    sympy=lambda sp, x: sp.exp(-(x**2)),
    public=False,
)
erf: Op = Op("erf", _scipy("erf"), "the error function", (lambda y, x: 2 * INV_SQRT_PI * gauss(x),), scalar=math.erf)
erfc: Op = Op(
    "erfc",
    _scipy("erfc"),
    "1 - erf(x), accurate for large x",
    (lambda y, x: -2 * INV_SQRT_PI * gauss(x),),
    scalar=math.erfc,
)
erfinv: Op = Op(
    "erfinv",
    _scipy("erfinv"),
    "the inverse of erf",
    (lambda y, x: 1 / (2 * INV_SQRT_PI * gauss(y)),),
    domain=(Interval(-1.0, 1.0),),
    edges=(
        kink(-1, value=math.inf, left=math.nan, right=math.inf, kind="pole"),
        kink(1, value=math.inf, left=math.inf, right=math.nan, kind="pole"),
    ),
)

# --- the gamma family -------------------------------------------------------------------------------------------------


def _whole(x: Any) -> Any:
    return (x < 0) & (x == np.floor(x))


def _poles(at_zero: tuple[float, float, float], at_negative: tuple[float, float, float]) -> tuple[Edge, ...]:
    """The poles of the gamma family, at 0 and at -1, -2, …: the derivative given, and those of the sides."""
    value, left, right = at_negative
    negative = Edge("pole", "x = -1, -2, …", _whole, (-1.0,), (value,), (left,), (right,))
    value, left, right = at_zero
    return (kink(0, value=value, left=left, right=right, kind="pole"), negative)


def _lgamma(x: Any) -> Any:
    # SciPy's gammaln is inf for subnormal x, where log |gamma(x)| is -log |x|.
    tiny = (x != 0) & (np.abs(x) < 1e-300)
    return np.where(tiny, -np.log(np.abs(x)), np.where(np.isinf(x), math.inf, _scipy("gammaln")(x)))[()]


gamma: Op = Op(
    "gamma",
    _scipy("gamma"),
    "the gamma function, (x - 1)! for whole x",
    (lambda y, x: y * digamma(x),),
    scalar=math.gamma,
    edges=_poles((-math.inf,) * 3, (math.nan,) * 3),
    domain=(POSITIVE,),
)
lgamma: Op = Op(
    "lgamma",
    _lgamma,
    "log |gamma(x)|",
    (lambda y, x: digamma(x),),
    scalar=math.lgamma,
    edges=_poles((-math.inf, math.inf, -math.inf), (math.nan, math.inf, -math.inf)),
    sympy="loggamma",
    domain=(POSITIVE,),
)
digamma: Op = Op(
    "digamma",
    _scipy("digamma"),
    "the derivative of log gamma(x)",
    (lambda y, x: polygamma(x, order=1),),
    domain=(POSITIVE,),
    aliases=("psi",),
    edges=_poles((math.inf,) * 3, (math.inf,) * 3),
)


def _cot_derivative(x: Any, order: int) -> Any:
    """The derivative of cot(πx) of an order: πⁿ·Pₙ(cot πx) with Pₙ₊₁ = -(1 + c²)·Pₙ'."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    return np.pi**order * polynomial(np.true_divide(1.0, np.tan(np.pi * (x - np.round(x)))))


def _polygamma(x: Any, order: int = 1) -> Any:
    # By reflection for x < 0, where SciPy's series takes time that grows with |x|.
    x = np.asarray(x, dtype=float)
    left = (x < 0) & (x != np.floor(x))
    mirrored = _scipy("polygamma")(order, np.where(left, 1 - x, x))
    turned = (-1) ** order * mirrored - np.pi * _cot_derivative(np.where(left, x, 0.25), order)
    return np.where(left, turned, mirrored)[()]


polygamma: Op = Op(
    "polygamma",
    _polygamma,
    "the derivative of digamma of the given order",
    (lambda y, x, order=1: polygamma(x, order=order + 1),),
    sympy=lambda sp, x, order=1: sp.polygamma(order, x),
    edges=_poles((-math.inf, math.inf, -math.inf), (-math.inf, math.inf, -math.inf)),
    domain=(POSITIVE,),
    signature="x; *, order=1",
    public=False,
)
