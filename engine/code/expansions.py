"""Operations written out in simpler ones, in the language, for targets that do not have them.

Each agrees with the row's own forward to 12 digits, which a test holds; near zeros the row is more accurate. A target
that has the operation never looks here.
"""

from __future__ import annotations

EXPANSIONS = {
    "floordiv": "round((x - x % y)/y)",
    "maximum": "y if y > x or y != y else x",
    "minimum": "y if y < x or y != y else x",
    "clip": "x if x != x else min(max(x, lo), hi)",
    "sign": "1 if x > 0 else -1 if x < 0 else x*0",
    "relu": "x if x > 0 or x != x else 0",
    "heaviside": "1 if x > 0 else 0 if x < 0 else 0.5 + x*0",
    "round": "n = floor(x); r = x - n; n if r < 0.5 else n + 1 if r > 0.5 else 2*floor(n/2 + 0.5)",
    "square": "x*x",
    "reciprocal": "1/x",
    "exp2": "2^x",
    "log2": "log(x)/log(2)",
    "log_base": "log(x)/log(b)",
    "sec": "1/cos(x)",
    "csc": "1/sin(x)",
    "cot": "1/tan(x)",
    "asec": "acos(1/x)",
    "acsc": "asin(1/x)",
    "acot": "atan(1/x)",
    "sech": "1/cosh(x)",
    "csch": "1/sinh(x)",
    "coth": "1/tanh(x)",
    "asech": "acosh(1/x)",
    "acsch": "asinh(1/x)",
    "acoth": "atanh(1/x)",
    "deg2rad": "x*(pi/180)",
    "rad2deg": "x*(180/pi)",
    "sigmoid": "1/(1 + exp(-x)) if x >= 0 else exp(x)/(1 + exp(x))",
    "logit": "log(x) - log1p(-x)",
    "softplus": "max(x, 0) + log1p(exp(-abs(x)))",
    "silu": "x*sigmoid(x)",
    "gelu": "x*(erfc(-x*0.7071067811865476)/2)",
    "elu": "x if x > 0 else expm1(x)",
    "logaddexp": "x + log(2) if x == y else max(x, y) + log1p(exp(-abs(x - y)))",
    "xlogy": "0 if x == 0 and y == y else x*log(y)",
    "sinc": "sin(pi*x)/(pi*x) if x != 0 else 1",
    # x² is rounded, and exp would magnify its error x² times: h is x cut so that its square is exact.
    "gauss": "h = clip(round(x*65536)/65536, -32, 32); exp(-h*h)*exp(-(x - h)*(x + h))",
}
