"""Hyperbolic functions and their inverses.

The rules are chosen for accuracy far out and near the ends of the domain: 1/cosh² and not 1 - tanh², hypot(1, x) and
not sqrt(1+x²).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import abs_
from .base import BEYOND_ONE, POSITIVE, UNIT, Interval, Op, pole
from .powers import sqrt
from .slopes import acsch_slope, asec_slope, atanh_slope
from .trigonometric import hypot

sinh: Op = Op("sinh", np.sinh, "the hyperbolic sine", (lambda y, x: cosh(x),), scalar=math.sinh)
cosh: Op = Op("cosh", np.cosh, "the hyperbolic cosine", (lambda y, x: sinh(x),), scalar=math.cosh)
tanh: Op = Op("tanh", np.tanh, "the hyperbolic tangent", (lambda y, x: sech_squared(x),), scalar=math.tanh)
sech: Op = Op(
    "sech",
    lambda x: np.true_divide(1, np.cosh(x)),
    "the hyperbolic secant, 1/cosh(x)",
    (lambda y, x: -y * tanh(x),),
    scalar=lambda x: 1 / math.cosh(x),
)
csch: Op = Op(
    "csch",
    lambda x: np.true_divide(1, np.sinh(x)),
    "the hyperbolic cosecant, 1/sinh(x)",
    (lambda y, x: -y * coth(x),),
    scalar=lambda x: 1 / math.sinh(x),
    domain=(POSITIVE,),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
coth: Op = Op(
    "coth",
    lambda x: np.true_divide(1, np.tanh(x)),
    "the hyperbolic cotangent, 1/tanh(x)",
    (lambda y, x: -csch_squared(x),),
    scalar=lambda x: 1 / math.tanh(x),
    domain=(POSITIVE,),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
sech_squared: Op = Op(
    "sech_squared",
    lambda x: 2.0 / (1.0 + np.cosh(x + x)),
    "1/cosh(x)²",
    (lambda y, x: -2 * y * tanh(x),),
    scalar=lambda x: 2 / (1 + math.cosh(2 * x)),
    means=lambda x: 1 / cosh(x) ** 2,
    public=False,
)


def _csch_squared(x: Any) -> Any:
    size = -2 * np.abs(x)
    return 4 * np.exp(size) / np.expm1(size) / np.expm1(size)


csch_squared: Op = Op(
    "csch_squared",
    _csch_squared,
    "1/sinh(x)²",
    (lambda y, x: -2 * y * coth(x),),
    means=lambda x: 1 / sinh(x) ** 2,
    domain=(POSITIVE,),
    edges=(pole(0, -math.inf, math.inf, -math.inf),),
    public=False,
)
asinh: Op = Op(
    "asinh",
    np.arcsinh,
    "the inverse hyperbolic sine",
    (lambda y, x: 1 / hypot(1, x),),
    scalar=math.asinh,
    aliases=("arcsinh",),
)
acosh: Op = Op(
    "acosh",
    np.arccosh,
    "the inverse hyperbolic cosine",
    (lambda y, x: 1 / (sqrt(x - 1) * sqrt(x + 1)),),
    scalar=math.acosh,
    domain=(BEYOND_ONE,),
    aliases=("arccosh",),
    edges=(pole(1, math.inf, right=math.inf),),
)
atanh: Op = Op(
    "atanh",
    np.arctanh,
    "the inverse hyperbolic tangent",
    (lambda y, x: atanh_slope(x),),
    scalar=math.atanh,
    domain=(UNIT,),
    aliases=("arctanh",),
    edges=(pole(-1, math.inf, right=math.inf), pole(1, math.inf, left=math.inf)),
)


def _asech(x: Any) -> Any:
    near = np.arcsinh(np.sqrt((1 - x) * (1 + x)) / x)  # acosh magnifies the rounding of 1/x there
    return np.where(np.less(x, 0.5), np.arccosh(np.true_divide(1, x)), near)


def _scalar_asech(x: float) -> float:
    return math.acosh(1 / x) if x < 0.5 else math.asinh(math.sqrt((1 - x) * (1 + x)) / x)


asech: Op = Op(
    "asech",
    _asech,
    "the inverse hyperbolic secant, acosh(1/x)",
    (lambda y, x: -asec_slope(x),),
    scalar=_scalar_asech,
    domain=(Interval(0.0, 1.0),),
    aliases=("arcsech",),
    edges=(pole(0, -math.inf, right=-math.inf), pole(1, -math.inf, left=-math.inf)),
)
acsch: Op = Op(
    "acsch",
    lambda x: np.arcsinh(np.true_divide(1, x)),
    "the inverse hyperbolic cosecant, asinh(1/x)",
    (lambda y, x: -acsch_slope(x),),
    scalar=lambda x: math.asinh(1 / x),
    domain=(POSITIVE,),
    aliases=("arccsch",),
    edges=(pole(0, -math.inf, -math.inf, -math.inf),),
)
acoth: Op = Op(
    "acoth",
    lambda x: np.sign(x) * np.log1p(2 / (np.abs(x) - 1)) / 2,
    "the inverse hyperbolic cotangent, atanh(1/x)",
    (lambda y, x: -abs_(atanh_slope(x)),),
    scalar=lambda x: math.copysign(math.log1p(2 / (abs(x) - 1)) / 2, x),
    domain=(BEYOND_ONE,),
    aliases=("arccoth",),
    edges=(pole(-1, -math.inf, left=-math.inf), pole(1, -math.inf, right=-math.inf)),
)
