"""The gamma family: gamma, its logarithm, and the derivatives of that."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .base import POSITIVE, Edge, Op, pole
from .kernels import by_scipy, cos_pi, horner, in_doubles, on_floats, pieces, sin_pi, two_log, two_product, two_sum

DIGAMMA_2, DIGAMMA_2_REST = 0.42278433509846713, 4.942915152430645e-18  # 1 - γ, and what the double lacks


def _whole(x: Any) -> Any:
    return (x < 0) & (x == np.floor(x))


def _poles(at_zero: tuple[float, float, float], at_negative: tuple[float, float, float]) -> tuple[Edge, ...]:
    """The poles of the gamma family, at 0 and at -1, -2, …: the derivative given, and those of the sides."""
    value, left, right = at_negative
    negative = Edge("pole", "x = -1, -2, …", _whole, (-1.0,), (value,), (left,), (right,))
    value, left, right = at_zero
    return (pole(0, value, left, right), negative)


@cache
def _zetas() -> tuple[float, ...]:
    """The coefficients of (ψ(2 + t) - ψ(2))/t from the last: (-1)ᵏ(ζ(k) - 1), Abramowitz and Stegun 6.3.14."""
    k = np.arange(60.0, 1.0, -1.0)
    return tuple((by_scipy("zetac")(k) * (-1.0) ** k).tolist())


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
    return np.where(within, np.where(_whole(x), math.nan, value), by_scipy("gamma")(x))


def _scalar_gamma(x: float) -> float:
    # The same with Python's integers, whose product is exact.
    if not abs(x) < 180:
        return float(by_scipy("gamma")(x))
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
        (True, by_scipy("gammaln")),
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
        (True, by_scipy("digamma")),
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
    return tuple(float(b) / math.factorial(2 * j) for j, b in enumerate(by_scipy("bernoulli")(20)[2::2], start=1))


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
