"""Arrays from nothing: of zeros, of ones, of counted and of random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ChainruleError
from .base import Op
from .sizes import check_size


def _creation(name: str, forward: Any, doc: str, signature: str = "; *shape") -> Op:
    return Op(name, forward, doc, vjps=(), signature=signature)


def _random(draw: str) -> Any:
    def forward(shape: tuple[int, ...] = (), seed: int | tuple[int, ...] = 0) -> Any:
        """Drawn from PCG64 seeded by (the user's seed, the draw's number in its program): the same at every call."""
        return getattr(np.random.default_rng(seed), draw)(check_size(shape) or None)

    return forward


def _arange(bounds: tuple[float, ...]) -> Any:
    if not 1 <= len(bounds) <= 3:
        raise ChainruleError("value", "arange takes stop, or start and stop, or start, stop and step")
    start, stop, step = (0.0, *bounds, 1.0) if len(bounds) == 1 else (*bounds, 1.0)[:3]
    if step == 0:
        raise ChainruleError("value", "the step of arange must not be 0")
    check_size((max(0, math.ceil(min((stop - start) / step, 1e18))),))
    return np.arange(start, stop, step, dtype=float)


zeros = _creation("zeros", lambda shape=(): np.zeros(check_size(shape))[()], "zeros of a shape")
ones = _creation("ones", lambda shape=(): np.ones(check_size(shape))[()], "ones of a shape")
eye = _creation(
    "eye", lambda n, m=None: np.eye(n, check_size((n, n if m is None else m))[1]), "the identity matrix", "; n, m=None"
)
arange = _creation("arange", _arange, "0, 1, … below stop; or from start, or by a step", "; *bounds")
linspace = _creation(
    "linspace",
    lambda start, stop, num=50: np.linspace(start, stop, check_size((num,))[0]),
    "num evenly spaced numbers, both ends included",
    "; start, stop, num=50",
)
rand = _creation("rand", _random("random"), "uniform random numbers in [0, 1)", "; *shape, *, seed=0")
randn = _creation(
    "randn", _random("standard_normal"), "normal random numbers (mean 0, variance 1)", "; *shape, *, seed=0"
)
