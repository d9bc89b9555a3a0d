"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions.

The rules are chosen for accuracy near the ends of the domain: 1/cosh² and not 1 - tanh², sqrt((1-x)(1+x)) and not
sqrt(1-x²), hypot(1, x) and not sqrt(1+x²). Where the second derivative would cancel or overflow on the way, the first
is a row of its own (`asin_slope`), which people do not call.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import POWER, abs_, is_constant, where
from .base import POSITIVE, REAL, Edge, Interval, Op, chain_product, kink
from .kernels import LN2, in_doubles, on_floats, two_log, two_product

LN10 = math.log(10)
DEGREE = math.pi / 180
UNIT = Interval(-1.0, 1.0)
BEYOND_ONE = Interval(1.0, math.inf)


def _pole(at: float, value: float, left: float = math.nan, right: float = math.nan) -> Edge:
    return kink(at, value=value, left=left, right=right, kind="pole")


# --- powers -----------------------------------------------------------------------------------------------------------


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
    q = np.subtract(p, less)
    exact = np.equal(q + less, p)
    power = np.power(x, q)
    if np.all(exact):
        return power
    half = np.power(x, np.true_divide(p, 2))
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
    edges=(_pole(0, math.inf, right=math.inf),),
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
    edges=(_pole(0, math.inf, math.inf, math.inf),),
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
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)

# --- exponentials and logarithms --------------------------------------------------------------------------------------

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
    (lambda y, x: 1 / x,),
    scalar=math.log,
    domain=(POSITIVE,),
    aliases=("ln",),
    edges=(_pole(0, math.inf, right=math.inf),),
)
log2: Op = Op(
    "log2",
    np.log2,
    "the logarithm to base 2",
    (lambda y, x: 1 / (x * LN2),),
    scalar=math.log2,
    sympy=lambda sp, x: sp.log(x) / sp.log(2),
    domain=(POSITIVE,),
    edges=(_pole(0, math.inf, right=math.inf),),
)
log10: Op = Op(
    "log10",
    np.log10,
    "the logarithm to base 10",
    (lambda y, x: 1 / (x * LN10),),
    scalar=math.log10,
    sympy=lambda sp, x: sp.log(x) / sp.log(10),
    domain=(POSITIVE,),
    edges=(_pole(0, math.inf, right=math.inf),),
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
    edges=(_pole(-1, math.inf, right=math.inf),),
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

# --- trigonometric functions and their inverses -----------------------------------------------------------------------

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
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)
cot: Op = Op(
    "cot",
    lambda x: np.true_divide(1, np.tan(x)),
    "the cotangent, 1/tan(x)",
    (lambda y, x: -1 - y * y,),
    scalar=lambda x: 1 / math.tan(x),
    domain=(Interval(0.0, math.pi),),
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)
asin: Op = Op(
    "asin",
    np.arcsin,
    "the inverse sine, in radians",
    (lambda y, x: asin_slope(x),),
    scalar=math.asin,
    domain=(UNIT,),
    aliases=("arcsin",),
    edges=(_pole(-1, math.inf, right=math.inf), _pole(1, math.inf, left=math.inf)),
)
acos: Op = Op(
    "acos",
    np.arccos,
    "the inverse cosine, in radians",
    (lambda y, x: -asin_slope(x),),
    scalar=math.acos,
    domain=(UNIT,),
    aliases=("arccos",),
    edges=(_pole(-1, -math.inf, right=-math.inf), _pole(1, -math.inf, left=-math.inf)),
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
    edges=(_pole(-1, math.inf, left=math.inf), _pole(1, math.inf, right=math.inf)),
)
acsc: Op = Op(
    "acsc",
    _acsc,
    "the inverse cosecant, asin(1/x)",
    (lambda y, x: -asec_slope(x),),
    scalar=_scalar_acsc,
    domain=(BEYOND_ONE,),
    aliases=("arccsc",),
    edges=(_pole(-1, -math.inf, left=-math.inf), _pole(1, -math.inf, right=-math.inf)),
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

# --- hyperbolic functions and their inverses --------------------------------------------------------------------------

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
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)
coth: Op = Op(
    "coth",
    lambda x: np.true_divide(1, np.tanh(x)),
    "the hyperbolic cotangent, 1/tanh(x)",
    (lambda y, x: -csch_squared(x),),
    scalar=lambda x: 1 / math.tanh(x),
    domain=(POSITIVE,),
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)
sech_squared: Op = Op(
    "sech_squared",
    lambda x: 2 / (1 + np.cosh(x + x)),
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
    edges=(_pole(0, -math.inf, math.inf, -math.inf),),
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
    edges=(_pole(1, math.inf, right=math.inf),),
)
atanh: Op = Op(
    "atanh",
    np.arctanh,
    "the inverse hyperbolic tangent",
    (lambda y, x: atanh_slope(x),),
    scalar=math.atanh,
    domain=(UNIT,),
    aliases=("arctanh",),
    edges=(_pole(-1, math.inf, right=math.inf), _pole(1, math.inf, left=math.inf)),
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
    edges=(_pole(0, -math.inf, right=-math.inf), _pole(1, -math.inf, left=-math.inf)),
)
acsch: Op = Op(
    "acsch",
    lambda x: np.arcsinh(np.true_divide(1, x)),
    "the inverse hyperbolic cosecant, asinh(1/x)",
    (lambda y, x: -acsch_slope(x),),
    scalar=lambda x: math.asinh(1 / x),
    domain=(POSITIVE,),
    aliases=("arccsch",),
    edges=(_pole(0, -math.inf, -math.inf, -math.inf),),
)
acoth: Op = Op(
    "acoth",
    lambda x: np.sign(x) * np.log1p(2 / (np.abs(x) - 1)) / 2,
    "the inverse hyperbolic cotangent, atanh(1/x)",
    (lambda y, x: -abs_(atanh_slope(x)),),
    scalar=lambda x: math.copysign(math.log1p(2 / (abs(x) - 1)) / 2, x),
    domain=(BEYOND_ONE,),
    aliases=("arccoth",),
    edges=(_pole(-1, -math.inf, left=-math.inf), _pole(1, -math.inf, right=-math.inf)),
)

# --- derivatives of inverses ------------------------------------------------------------------------------------------

asin_slope: Op = Op(
    "asin_slope",
    lambda x: 1 / np.sqrt((1 - x) * (1 + x)),
    "1/sqrt(1 - x²)",
    (lambda y, x: x * y * y * y,),
    scalar=lambda x: 1 / math.sqrt((1 - x) * (1 + x)),
    means=lambda x: 1 / sqrt((1 - x) * (1 + x)),
    domain=(UNIT,),
    edges=(_pole(-1, -math.inf, right=-math.inf), _pole(1, math.inf, left=math.inf)),
    public=False,
)
atan_slope: Op = Op(
    "atan_slope",
    lambda x: 1 / (1 + np.square(x)),
    "1/(1 + x²)",
    (lambda y, x: -2 * x * y * y,),
    scalar=lambda x: 1 / (1 + x * x),
    means=lambda x: 1 / (1 + x**2),
    public=False,
)
atanh_slope: Op = Op(
    "atanh_slope",
    lambda x: 1 / ((1 - x) * (1 + x)),
    "1/(1 - x²)",
    (lambda y, x: 2 * x * y * y,),
    scalar=lambda x: 1 / ((1 - x) * (1 + x)),
    means=lambda x: 1 / ((1 - x) * (1 + x)),
    domain=(UNIT,),
    edges=(_pole(-1, -math.inf, -math.inf, -math.inf), _pole(1, math.inf, math.inf, math.inf)),
    public=False,
)
asec_slope: Op = Op(
    "asec_slope",
    lambda x: 1 / (np.abs(x) * np.sqrt(np.abs((1 - x) * (1 + x)))),
    "1/(|x| sqrt|1 - x²|)",
    (lambda y, x: y * (x * atanh_slope(x) - 1 / x),),
    scalar=lambda x: 1 / (abs(x) * math.sqrt(abs((1 - x) * (1 + x)))),
    means=lambda x: 1 / (abs_(x) * sqrt(abs_(1 - x**2))),
    domain=(BEYOND_ONE,),
    edges=(
        _pole(-1, -math.inf, math.inf, -math.inf),
        _pole(0, -math.inf, math.inf, -math.inf),
        _pole(1, math.inf, math.inf, -math.inf),
    ),
    public=False,
)
acsch_slope: Op = Op(
    "acsch_slope",
    lambda x: 1 / (np.abs(x) * np.hypot(1, x)),
    "1/(|x| sqrt(1 + x²))",
    (lambda y, x: -y * (1 / x + x * atan_slope(x)),),
    scalar=lambda x: 1 / (abs(x) * math.hypot(1, x)),
    means=lambda x: 1 / (abs_(x) * sqrt(1 + x**2)),
    domain=(POSITIVE,),
    edges=(_pole(0, -math.inf, math.inf, -math.inf),),
    public=False,
)
