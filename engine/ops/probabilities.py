"""Softmax, its logarithm, and log(Σ exp(x)), without overflow.

Shifted by the largest element nothing overflows. Where that is infinite, the elements that are share all between them,
as tied largest elements share a gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import div
from .arrays import REDUCTION, expand_like, sum_
from .base import Op, chain
from .exponentials import exp, log
from .kernels import in_doubles
from .reductions import each, reduced_axes


def _top(x: Any, axis: Any) -> tuple[Any, Any]:
    """The largest elements along the axes, and what to shift by: the same where it is finite, else 0."""
    top = np.max(x, axis=axis, keepdims=True, initial=-math.inf)
    return top, np.where(np.isfinite(top), top, 0.0)


def _beyond_top(x: Any, top: Any, shift: Any, axis: Any) -> Any:
    """log(Σ exp(x - top)), without loss near 0: from how many are largest, and the sum of the others."""
    largest = x == top
    ties = np.sum(largest, axis=axis, keepdims=True)
    others = np.sum(np.where(largest, 0.0, np.exp(x - shift)), axis=axis, keepdims=True)
    return np.log(ties) + np.log1p(others / ties)


@in_doubles
def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    top, shift = _top(x, axis)
    total = top + np.where(np.isinf(top), 0.0, _beyond_top(x, top, shift, axis))
    return total if keepdims else np.squeeze(total, axis=reduced_axes(axis, np.ndim(x)))[()]


def _softmax(x: Any, axis: Any = -1) -> Any:
    top, shift = _top(x, axis)
    weights = np.where(np.isfinite(top), np.exp(x - shift), x == top)
    return weights / np.sum(weights, axis=axis, keepdims=True)


@in_doubles
def _log_softmax(x: Any, axis: Any = -1) -> Any:
    top, shift = _top(x, axis)
    if np.all(np.isfinite(top)):
        return x - top - _beyond_top(x, top, shift, axis)
    return np.where(np.isfinite(top), x - shift - _beyond_top(x, top, shift, axis), np.log(_softmax(x, axis)))


logsumexp: Op = Op(
    "logsumexp",
    _logsumexp,
    "log(Σ exp(x)) over all elements or along axes, without overflow",
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: chain(
            expand_like(g, x, axis=axis, keepdims=keepdims), softmax(x, axis=axis)
        ),
    ),
    instead_of=(log, sum_, exp),
    sympy=lambda sp, x, axis=None, keepdims=False: each(sp.log, np.sum(each(sp.exp, x), axis=axis, keepdims=keepdims)),
    signature=REDUCTION,
)
softmax: Op = Op(
    "softmax",
    _softmax,
    "exp(x)/Σ exp(x) along the last axis, another, or all (axis=None); elements at inf share 1 evenly",
    instead_of=(div, sum_, exp),
    vjps=(lambda g, y, x, axis=-1: y * (g - sum_(g * y, axis=axis, keepdims=True)),),
    sympy=lambda sp, x, axis=-1: each(sp.exp, x) / np.sum(each(sp.exp, x), axis=axis, keepdims=True),
    signature="x; *, axis=-1",
)
log_softmax: Op = Op(
    "log_softmax",
    _log_softmax,
    "x - logsumexp(x) along the last axis, another, or all (axis=None)",
    instead_of=(log, softmax),
    vjps=(lambda g, y, x, axis=-1: g - exp(y) * sum_(g, axis=axis, keepdims=True),),
    sympy=lambda sp, x, axis=-1: x - each(sp.log, np.sum(each(sp.exp, x), axis=axis, keepdims=True)),
    signature="x; *, axis=-1",
    grad_fn="LogSoftmaxBackward0",
)
