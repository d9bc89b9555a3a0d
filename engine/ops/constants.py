"""The constants that have a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .base import Op


def _constant(name: str, value: float, sympy: Callable[[Any], Any], doc: str) -> Op:
    return Op(name, lambda: value, doc, vjps=(), scalar=lambda: value, sympy=sympy, public=False)


pi = _constant("pi", math.pi, lambda sp: sp.pi, "the circle's circumference over its diameter, also π")
e = _constant("e", math.e, lambda sp: sp.E, "Euler's number, the base of the natural logarithm")
tau = _constant("tau", math.tau, lambda sp: 2 * sp.pi, "2·pi, also τ")
inf = _constant("inf", math.inf, lambda sp: sp.oo, "infinity, also ∞")
