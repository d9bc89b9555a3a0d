"""Activations of neural networks, and the sums of exponentials that they are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .base import Interval, Op, pole
from .exponentials import exp
from .hyperbolic import sech_squared
from .kernels import in_doubles, two_exp, two_log, two_sum


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
        pole(0, math.inf, right=math.inf),
        pole(1, math.inf, left=math.inf),
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
elu: Op = Op(
    "elu",
    lambda x: np.where(np.greater(x, 0), x, np.expm1(np.where(np.greater(x, 0), 0, x))),
    "x where x > 0, else exp(x) - 1",
    (lambda y, x: where(x > 0, 1, exp(x)),),
    scalar=lambda x: x if x > 0 else math.expm1(x),
    sympy=lambda sp, x: sp.Piecewise((x, x > 0), (sp.exp(x) - 1, True)),
)

# --- sums of exponentials ---------------------------------------------------------------------------------------------


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
