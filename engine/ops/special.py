"""Special functions: those of statistics and neural networks, and the gamma family.

SciPy is imported when one of them meets an array (or a function that `math` does not have), never before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .arithmetic import where
from .base import POSITIVE, REAL, Edge, Interval, Op, kink
from .elementary import cos, exp, log, sech_squared
from .kernels import (
    by_math,
    cos_pi,
    horner,
    in_doubles,
    on_floats,
    pieces,
    scalar_sin_pi,
    sin_pi,
    two_exp,
    two_log,
    two_product,
    two_sum,
)  # fmt: skip

SQRT_HALF, SQRT_HALF_REST = math.sqrt(0.5), -4.833646656726457e-17
HALF_SQRT_PI = math.sqrt(math.pi) / 2
INV_SQRT_PI = 1 / math.sqrt(math.pi)
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
GELU_ZERO = (-0.7517915246935645, 1.4956759177009883e-17)  # and what the double lacks


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
    (lambda y, x: sech_squared(x / 2) / 4,),
    scalar=_scalar_sigmoid,
    sympy=lambda sp, x: 1 / (1 + sp.exp(-x)),
)


@in_doubles
def _logit(x: Any) -> Any:
    middle = np.abs(x - 0.5) < 0.25  # where log(x) and log(1 - x) would cancel
    return np.where(middle, np.log1p((2 * x - 1) / (1 - x)), np.log(x) - np.log1p(-x))


def _scalar_logit(x: float) -> float:
    return math.log1p((2 * x - 1) / (1 - x)) if 0.25 < x < 0.75 else math.log(x) - math.log1p(-x)


logit: Op = Op(
    "logit",
    _logit,
    "log(x/(1 - x)), the inverse of sigmoid",
    (lambda y, x: 1 / x + 1 / (1 - x),),
    scalar=_scalar_logit,
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
    lambda x: np.where(np.less(x, -40), x * np.exp(x), x / (1 + np.exp(-np.asarray(x)))),
    "x·sigmoid(x), also called swish",
    (lambda y, x: sigmoid(x) * where(x < 0, sigmoid(-x) * (1 + x + exp(x)), 1 + x * sigmoid(-x)),),
    scalar=lambda x: x * math.exp(x) if x < -40 else x / (1 + math.exp(-x)),
    sympy=lambda sp, x: x / (1 + sp.exp(-x)),
    aliases=("swish",),
)
gelu: Op = Op(
    "gelu",
    in_doubles(lambda x: x * _normal_cdf(x)),
    "x·Φ(x), Φ the normal distribution (the exact form, by erf)",
    (lambda y, x: gelu_slope(x),),
    scalar=on_floats(lambda x: x * _normal_cdf(x)),
    sympy=lambda sp, x: x * sp.erfc(-x / sp.sqrt(2), evaluate=False) / 2,  # SymPy would make it cancel
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


def _cancelling_logaddexp(larger: Any, below: Any, lost: Any) -> Any:
    """larger + log(1 + exp(below + lost)), near its zeros too."""
    ratio, rest = two_exp(below)
    total, missed = two_sum(1.0, ratio)
    high, low = two_log(total)
    value, left = two_sum(larger, high)
    return value + (left + low + (missed + rest + ratio * lost) / total)


@in_doubles
def _logaddexp(x: Any, y: Any) -> Any:
    # exp magnifies the rounding of x - y, |x - y| times: what it lost is put back.
    larger = np.maximum(x, y)
    below, lost = two_sum(np.minimum(x, y), -larger)
    value = np.where(np.isfinite(below), larger + np.log1p(np.exp(below) * (1 + lost)), np.logaddexp(x, y))
    cancels = (larger < 0) & (larger > -2) & (below > -700)
    if not np.any(cancels):
        return value
    return np.where(cancels, _cancelling_logaddexp(larger, np.where(cancels, below, 0.0), lost), value)


def _scalar_logaddexp(x: float, y: float) -> float:
    if not math.isfinite(x - y):
        raise ValueError("the array form tells what this is")
    larger = max(x, y)
    below, lost = two_sum(min(x, y), -larger)
    if -2 < larger < 0 and below > -700:
        return float(_cancelling_logaddexp(larger, below, lost))
    return larger + math.log1p(math.exp(below) * (1 + lost))


@in_doubles
def _sigmoid_difference(x: Any, y: Any) -> Any:
    difference, lost = two_sum(x, -y)
    near = _sigmoid(np.where(x == y, 0.0, difference))  # of the same infinity, too
    return np.where(np.isfinite(difference), near + near * _sigmoid(-difference) * lost, near)


def _scalar_sigmoid_difference(x: float, y: float) -> float:
    difference, lost = two_sum(x, -y)
    near = _scalar_sigmoid(0.0 if x == y else difference)
    return near + near * _scalar_sigmoid(-difference) * lost if math.isfinite(difference) else near


logaddexp: Op = Op(
    "logaddexp",
    _logaddexp,
    "log(exp(x) + exp(y)), without overflow",
    (lambda z, x, y: sigmoid_difference(x, y), lambda z, x, y: sigmoid_difference(y, x)),
    scalar=_scalar_logaddexp,
    sympy=lambda sp, x, y: sp.log(sp.exp(x) + sp.exp(y)),
    numpy=(np.logaddexp,),
)
sigmoid_difference: Op = Op(
    "sigmoid_difference",
    _sigmoid_difference,
    "sigmoid(x - y), without the rounding of x - y",
    (lambda s, x, y: s * sigmoid_difference(y, x), lambda s, x, y: -s * sigmoid_difference(y, x)),
    scalar=_scalar_sigmoid_difference,
    means=lambda x, y: sigmoid(x - y),
    public=False,
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

# --- sinc -------------------------------------------------------------------------------------------------------------


@in_doubles
def _sinc(x: Any) -> Any:
    return np.where(x == 0, 1.0, sin_pi(x) / (np.pi * np.where(x == 0, 1.0, x)))


@cache
def _sinc_series(order: int) -> tuple[float, ...]:
    """The coefficients by x² of the derivative of sinc of an order, from the last; of odd orders it is x times that."""
    powers = range(order + 14, (order - 1) // 2, -1)
    return tuple((-1) ** k * math.pi ** (2 * k) / (2 * k + 1) / math.factorial(2 * k - order) for k in powers)


def _sinc_derivative(x: Any, order: int = 1) -> Any:
    """The derivative f⁽ⁿ⁾ of sinc, by x·f⁽ⁿ⁾ + n·f⁽ⁿ⁻¹⁾ = (sin(πx)/π)⁽ⁿ⁾; near 0, where that cancels, its series."""

    def far(x: Any) -> Any:
        value = sin_pi(x) / (np.pi * x)
        for n in range(1, order + 1):
            wave = (cos_pi if n % 2 else sin_pi)(x) * (-1 if n % 4 in (2, 3) else 1) * np.pi ** (n - 1)
            value = (wave - n * value) / x
        return value

    near = abs(x) <= (order + 1) / 4
    return pieces(x, (near, lambda x: horner(x * x, _sinc_series(order)) * x ** (order % 2)), (True, far))


sinc: Op = Op(
    "sinc",
    _sinc,
    "sin(πx)/(πx), and 1 at 0 (the normalised form, as NumPy's and PyTorch's)",
    (lambda y, x: sinc_derivative(x),),
    scalar=lambda x: scalar_sin_pi(x) / (math.pi * x) if x else 1.0,
    sympy=lambda sp, x: sp.Piecewise((sp.sin(sp.pi * x) / (sp.pi * x), sp.Ne(x, 0)), (1, True)),
    numpy=(np.sinc,),
)
sinc_derivative: Op = Op(
    "sinc_derivative",
    in_doubles(_sinc_derivative),
    "the derivative of sinc of the given order",
    (lambda y, x, *, order=1: sinc_derivative(x, order=order + 1),),
    scalar=on_floats(_sinc_derivative),
    sympy=lambda sp, x, order=1: sp.diff(sp.sin(sp.pi * (t := sp.Dummy())) / (sp.pi * t), t, order).subs(t, x),
    means=lambda x, order=1: (cos(math.pi * x) - sinc(x)) / x,
    signature="x; *, order=1",
    public=False,
)

# --- error functions --------------------------------------------------------------------------------------------------


_erf, _erfc = by_math(math.erf), by_math(math.erfc)


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
    y = _scipy("erfinv")(size)
    missed = np.where(size < 0.5, size - _erf(y), _erfc(y) - (1 - size)) * HALF_SQRT_PI * np.exp(y * y)
    return y, np.where(np.isfinite(missed), missed, 0.0)


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
        kink(-1, value=math.inf, left=math.nan, right=math.inf, kind="pole"),
        kink(1, value=math.inf, left=math.inf, right=math.nan, kind="pole"),
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
        kink(-1, value=-math.inf, left=math.nan, right=-math.inf, kind="pole"),
        kink(1, value=math.inf, left=math.inf, right=math.nan, kind="pole"),
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

# --- the gamma family -------------------------------------------------------------------------------------------------

DIGAMMA_2, DIGAMMA_2_REST = 0.42278433509846713, 4.942915152430645e-18  # 1 - γ, and what the double lacks


def _whole(x: Any) -> Any:
    return (x < 0) & (x == np.floor(x))


def _poles(at_zero: tuple[float, float, float], at_negative: tuple[float, float, float]) -> tuple[Edge, ...]:
    """The poles of the gamma family, at 0 and at -1, -2, …: the derivative given, and those of the sides."""
    value, left, right = at_negative
    negative = Edge("pole", "x = -1, -2, …", _whole, (-1.0,), (value,), (left,), (right,))
    value, left, right = at_zero
    return (kink(0, value=value, left=left, right=right, kind="pole"), negative)


@cache
def _zetas() -> tuple[float, ...]:
    """The coefficients of (ψ(2 + t) - ψ(2))/t from the last: (-1)ᵏ(ζ(k) - 1), Abramowitz and Stegun 6.3.14."""
    k = np.arange(60.0, 1.0, -1.0)
    return tuple((_scipy("zetac")(k) * (-1.0) ** k).tolist())


@cache
def _zetas_by_order() -> tuple[float, ...]:
    return tuple(zeta / k for k, zeta in zip(range(60, 1, -1), _zetas(), strict=True))


def _digamma_from_2(t: Any) -> Any:
    """ψ(2 + t) for |t| <= 1."""
    return DIGAMMA_2 + t * horner(t, _zetas())


def _log_gamma_from_2(t: Any, terms: int = 59) -> Any:
    """log Γ(2 + t) for |t| <= 1; 30 terms are enough for |t| <= 1/2."""
    value, rest = two_sum(DIGAMMA_2, t * horner(t, _zetas_by_order()[-terms:]))
    return t * value + t * (rest + DIGAMMA_2_REST)


def _stirling(x: Any) -> Any:
    """log Γ(x) for 40 <= x <= 1e15, by Stirling's series."""
    high, low = two_log(x)
    product, rest = two_product(x - 0.5, high - 1)
    series = horner(1 / (x * x), (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)) / x
    return product + (rest + (x - 0.5) * low + (math.log(2 * math.pi) - 1) / 2 + series)


@in_doubles
def _gamma(x: Any) -> Any:
    # From Γ(2 + t), |t| <= 1/2, by the recurrence: a product of factors that are exact, with what its rounding lost.
    within = np.abs(x) < 180
    whole = np.where(within, np.round(x), 2.0)
    up, steps = whole >= 2, np.abs(whole - 2)
    unit = np.where(np.abs(x) > 1, 2.0**-500, 1.0)  # so that nothing overflows on the way
    product, lost = unit, np.zeros_like(x)
    for k in range(int(np.max(steps, initial=0))):
        factor, missed = two_sum(x, np.where(up, -(k + 1.0), k))
        factor, missed = np.where(k < steps, factor, 1.0), np.where(k < steps, missed, 0.0)
        lost = lost * factor + product * missed
        product, rest = two_product(product, factor)
        lost = lost + rest
    start = np.exp(_log_gamma_from_2(np.where(within, x - whole, 0.0), terms=30))
    value = np.where(up, start * (product + lost) / unit, start / ((product + lost) / unit))
    return np.where(within, np.where(_whole(x), math.nan, value), _scipy("gamma")(x))


def _scalar_gamma(x: float) -> float:
    # The same with Python's integers, whose product is exact.
    if not abs(x) < 180:
        return float(_scipy("gamma")(x))
    n, d = x.as_integer_ratio()
    whole = round(x)
    start = math.exp(_log_gamma_from_2(x - whole, terms=30))
    if whole >= 2:
        return start * float(math.prod(range(n - (whole - 2) * d, n, d)) / d ** (whole - 2))
    return start * float(d ** (2 - whole) / math.prod(range(n, n + (2 - whole) * d, d)))


def _lgamma(x: Any) -> Any:
    # SciPy's gammaln is inf for subnormal x, and loses digits at its zeros and around.
    size = abs(x)
    return pieces(
        x,
        ((size < 1e-300) & (x != 0), lambda x: -np.log(abs(x))),
        ((x > 0.3) & (x < 1.3), lambda x: _log_gamma_from_2(x - 1) - np.log(x)),
        ((x >= 1.3) & (x < 3), lambda x: _log_gamma_from_2(x - 2)),
        ((x >= 3) & (x < 3.7), lambda x: _log_gamma_from_2(x - 3) + np.log(x - 1)),
        (((x >= 3.7) & (x < 40)) | ((x > -30) & (x < -2)), lambda x: np.log(abs(_gamma(x)))),
        ((x >= 40) & (x < 1e15), _stirling),
        (np.isinf(x), abs),
        (True, _scipy("gammaln")),
    )


gamma: Op = Op(
    "gamma",
    _gamma,
    "the gamma function, (x - 1)! for whole x",
    (lambda y, x: y * digamma(x),),
    scalar=_scalar_gamma,
    edges=_poles((-math.inf,) * 3, (math.nan,) * 3),
    domain=(POSITIVE,),
)
lgamma: Op = Op(
    "lgamma",
    in_doubles(_lgamma),
    "log |gamma(x)|",
    (lambda y, x: digamma(x),),
    scalar=on_floats(_lgamma),
    edges=_poles((-math.inf, math.inf, -math.inf), (math.nan, math.inf, -math.inf)),
    sympy="loggamma",
    domain=(POSITIVE,),
)


def _digamma(x: Any) -> Any:
    # By reflection for x < 0, with an exact argument of the cotangent. SciPy's is 3 ulp off in some places.
    return pieces(
        x,
        ((x < 0) & (x != np.floor(x)), lambda x: _digamma(1 - x) - np.pi * _cot_pi(x)),
        ((x > 0.7) & (x < 1.1), lambda x: _digamma_from_2(x - 1) - 1 / x),
        ((x > 1.7) & (x < 3), lambda x: _digamma_from_2(x - 2)),
        ((x >= 3) & (x < 4), lambda x: _digamma_from_2(x - 3) + 1 / (x - 1)),
        (True, _scipy("digamma")),
    )


def _cot_pi(x: Any) -> Any:
    return cos_pi(x) / sin_pi(x)


digamma: Op = Op(
    "digamma",
    in_doubles(_digamma),
    "the derivative of log gamma(x)",
    (lambda y, x: polygamma(x),),
    scalar=on_floats(_digamma),
    domain=(POSITIVE,),
    aliases=("psi",),
    edges=_poles((math.inf,) * 3, (math.inf,) * 3),
)


@cache
def _cot_polynomial(order: int) -> tuple[float, ...]:
    """Pₙ in the derivative of cot(x) of order n, Pₙ(cot x), from the highest power: Pₙ₊₁ = -(1 + c²)·Pₙ'."""
    polynomial = np.poly1d([1.0, 0.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.poly1d([-1.0, 0.0, -1.0])
    return tuple(polynomial.coeffs.tolist())


@cache
def _bernoullis() -> tuple[float, ...]:
    """B₂ⱼ/(2j)! for j = 1, 2, …, 10."""
    return tuple(float(b) / math.factorial(2 * j) for j, b in enumerate(_scipy("bernoulli")(20)[2::2], start=1))


def _hurwitz(x: Any, s: int, count: int) -> Any:
    """Σ (x + k)⁻ˢ over k >= 0, for x > 0: the first `count` terms, and the rest by Euler's and Maclaurin's formula."""
    far = x + count
    rest = 1 / far ** (s - 1) / (s - 1) + 1 / far**s / 2
    rising = float(s)
    for j, bernoulli in enumerate(_bernoullis(), start=1):
        rest = rest + bernoulli * rising / far ** (s + 2 * j - 1)
        rising *= (s + 2 * j - 1) * (s + 2 * j)
    for k in range(count - 1, -1, -1):  # the smallest first
        rest = rest + (1 / (x + k)) ** s
    return rest


def _polygamma(x: Any, order: int = 1) -> Any:
    # By reflection for x < 0.
    def right(x: Any) -> Any:
        far = (x > 20 + order, lambda x: _hurwitz(x, order + 1, 0))
        near = (True, lambda x: _hurwitz(x, order + 1, 12 + order))
        return -((-1) ** order) * math.factorial(order) * pieces(x, far, near)

    def left(x: Any) -> Any:
        return (-1) ** order * right(1 - x) - np.pi ** (order + 1) * horner(_cot_pi(x), _cot_polynomial(order))

    return pieces(x, ((x < 0) & (x != np.floor(x)), left), (True, right))


polygamma: Op = Op(
    "polygamma",
    in_doubles(_polygamma),
    "the derivative of digamma of the given order",
    (lambda y, x, *, order=1: polygamma(x, order=order + 1),),
    scalar=on_floats(_polygamma),
    sympy=lambda sp, x, order=1: sp.polygamma(order, x),
    edges=_poles((-math.inf, math.inf, -math.inf), (-math.inf, math.inf, -math.inf)),
    domain=(POSITIVE,),
    signature="x; *, order=1",
    public=False,
)
