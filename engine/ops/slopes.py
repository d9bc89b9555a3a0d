"""Derivatives of inverse functions that are rows of their own, which people do not call.

Their own derivatives, written out in other functions, would cancel or overflow on the way.
"""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import abs_
from .base import BEYOND_ONE, POSITIVE, UNIT, Op, pole
from .powers import sqrt

asin_slope: Op = Op(
    "asin_slope",
    lambda x: 1 / np.sqrt((1 - x) * (1 + x)),
    "1/sqrt(1 - x²)",
    (lambda y, x: x * y * y * y,),
    scalar=lambda x: 1 / math.sqrt((1 - x) * (1 + x)),
    means=lambda x: 1 / sqrt((1 - x) * (1 + x)),
    domain=(UNIT,),
    edges=(pole(-1, -math.inf, right=-math.inf), pole(1, math.inf, left=math.inf)),
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
    edges=(pole(-1, -math.inf, -math.inf, -math.inf), pole(1, math.inf, math.inf, math.inf)),
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
        pole(-1, -math.inf, math.inf, -math.inf),
        pole(0, -math.inf, math.inf, -math.inf),
        pole(1, math.inf, math.inf, -math.inf),
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
    edges=(pole(0, -math.inf, math.inf, -math.inf),),
    public=False,
)
