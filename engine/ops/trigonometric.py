"""Trigonometric functions and their inverses, angles, and sinc.

The rules are chosen for accuracy near the ends of the domain: sqrt((1-x)(1+x)) and not sqrt(1-x²).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .arithmetic import where
from .base import BEYOND_ONE, POSITIVE, UNIT, Edge, Interval, Op, kink, pole
from .kernels import cos_pi, horner, in_doubles, on_floats, pieces, sin_pi
from .slopes import asec_slope, asin_slope, atan_slope

DEGREE = math.pi / 180

sin: Op = Op("sin", np.sin, "the sine, x in radians", (lambda y, x: cos(x),), scalar=math.sin)
cos: Op = Op("cos", np.cos, "the cosine, x in radians", (lambda y, x: -sin(x),), scalar=math.cos)
tan: Op = Op("tan", np.tan, "the tangent, x in radians", (lambda y, x: 1 + y * y,), scalar=math.tan)
sec: Op = Op(
    "sec", lambda x: 1 / np.cos(x), "the secant, 1/cos(x)", (lambda y, x: y * tan(x),), scalar=lambda x: 1 / math.cos(x)
)
csc: Op = Op(
    "csc",
    lambda x: np.true_divide(1, np.sin(x)),
    "the cosecant, 1/sin(x)",
    (lambda y, x: -y * cot(x),),
    scalar=lambda x: 1 / math.sin(x),
    domain=(Interval(0.0, math.pi),),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
cot: Op = Op(
    "cot",
    lambda x: np.true_divide(1, np.tan(x)),
    "the cotangent, 1/tan(x)",
    (lambda y, x: -1 - y * y,),
    scalar=lambda x: 1 / math.tan(x),
    domain=(Interval(0.0, math.pi),),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
asin: Op = Op(
    "asin",
    np.arcsin,
    "the inverse sine, in radians",
    (lambda y, x: asin_slope(x),),
    scalar=math.asin,
    domain=(UNIT,),
    aliases=("arcsin",),
    edges=(pole(-1, math.inf, right=math.inf), pole(1, math.inf, left=math.inf)),
)
acos: Op = Op(
    "acos",
    np.arccos,
    "the inverse cosine, in radians",
    (lambda y, x: -asin_slope(x),),
    scalar=math.acos,
    domain=(UNIT,),
    aliases=("arccos",),
    edges=(pole(-1, -math.inf, right=-math.inf), pole(1, -math.inf, left=-math.inf)),
)
atan: Op = Op(
    "atan",
    np.arctan,
    "the inverse tangent, in radians",
    (lambda y, x: atan_slope(x),),
    scalar=math.atan,
    aliases=("arctan",),
)


def _acsc(x: Any) -> Any:
    inverse = np.true_divide(1, x)
    near = np.arctan2(np.sign(x), np.sqrt((np.abs(x) - 1) * (np.abs(x) + 1)))  # 1/x magnifies its rounding there
    return np.where(np.abs(inverse) < 0.5, np.arcsin(inverse), near)


def _scalar_acsc(x: float) -> float:
    if abs(x) > 2:
        return math.asin(1 / x)
    return math.atan2(math.copysign(1, x), math.sqrt((abs(x) - 1) * (abs(x) + 1)))


asec: Op = Op(
    "asec",
    lambda x: np.arctan2(np.sqrt((np.abs(x) - 1) * (np.abs(x) + 1)), np.sign(x)),
    "the inverse secant, acos(1/x)",
    (lambda y, x: asec_slope(x),),
    scalar=lambda x: math.atan2(math.sqrt((abs(x) - 1) * (abs(x) + 1)), math.copysign(1, x)),
    domain=(BEYOND_ONE,),
    aliases=("arcsec",),
    edges=(pole(-1, math.inf, left=math.inf), pole(1, math.inf, right=math.inf)),
)
acsc: Op = Op(
    "acsc",
    _acsc,
    "the inverse cosecant, asin(1/x)",
    (lambda y, x: -asec_slope(x),),
    scalar=_scalar_acsc,
    domain=(BEYOND_ONE,),
    aliases=("arccsc",),
    edges=(pole(-1, -math.inf, left=-math.inf), pole(1, -math.inf, right=-math.inf)),
)
acot: Op = Op(
    "acot",
    lambda x: np.arctan(np.true_divide(1, x)),
    "the inverse cotangent, atan(1/x)",
    (lambda y, x: -atan_slope(x),),
    scalar=lambda x: math.atan(1 / x),
    domain=(POSITIVE,),
    aliases=("arccot",),
    edges=(kink(0, value=-1, left=-1, right=-1, kind="jump"),),
)
atan2: Op = Op(
    "atan2",
    np.arctan2,
    "the angle of the point (x, y), in radians; y comes first",
    (
        lambda z, y, x: _over(direction(x, y), hypot(x, y)),
        lambda z, y, x: -_over(direction(y, x), hypot(x, y)),
    ),
    scalar=math.atan2,
    aliases=("arctan2",),
    edges=(
        Edge("pole", "x = y = 0", lambda y, x: (x == 0) & (y == 0), (0, 0), (0, 0), (math.nan,) * 2, (math.nan,) * 2),
    ),
    signature="y, x",
)


def _over(a: Any, r: Any) -> Any:
    """a/r, and 0 where r is 0."""
    return where(r == 0, 0, a / r)


hypot: Op = Op(
    "hypot",
    np.hypot,
    "sqrt(x² + y²), without overflow",
    (lambda r, x, y: direction(x, y), lambda r, x, y: direction(y, x)),
    scalar=math.hypot,
    sympy=lambda sp, x, y: sp.sqrt(x**2 + y**2),
    edges=(Edge("kink", "x = y = 0", lambda x, y: (x == 0) & (y == 0), (0, 0), (0, 0), (-1, -1), (1, 1)),),
)


def _direction(x: Any, y: Any) -> Any:
    r = np.hypot(x, y)
    return np.where(np.equal(r, 0), 0.0, np.true_divide(x, r))


def _scalar_direction(x: float, y: float) -> float:
    r = math.hypot(x, y)
    return x / r if r else 0.0


direction: Op = Op(
    "direction",
    _direction,
    "x/hypot(x, y), the cosine of the angle of the point (x, y); 0 at the origin",
    (
        lambda c, x, y: _over(direction(y, x) ** 2, hypot(x, y)),
        lambda c, x, y: _over(-c * direction(y, x), hypot(x, y)),
    ),
    scalar=_scalar_direction,
    means=lambda x, y: _over(x, hypot(x, y)),
    public=False,
)
deg2rad: Op = Op(
    "deg2rad",
    np.deg2rad,
    "degrees to radians",
    (lambda y, x: DEGREE,),
    scalar=math.radians,
    sympy=lambda sp, x: x * sp.pi / 180,
    aliases=("radians",),
)
rad2deg: Op = Op(
    "rad2deg",
    np.rad2deg,
    "radians to degrees",
    (lambda y, x: 1 / DEGREE,),
    scalar=math.degrees,
    sympy=lambda sp, x: x * 180 / sp.pi,
    aliases=("degrees",),
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
    scalar=lambda x: sin_pi(x) / (math.pi * x) if x else 1.0,
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
