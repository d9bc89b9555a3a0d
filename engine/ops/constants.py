"""The constants that have a name."""

from __future__ import annotations

import math

from .base import Op


def _constant(name: str, value: float, sympy: str, doc: str) -> Op:
    return Op(name, lambda: value, doc, vjps=(), scalar=lambda: value, sympy=sympy, public=False)


pi = _constant("pi", math.pi, "pi", "the circle's circumference over its diameter, also π")
e = _constant("e", math.e, "E", "Euler's number, the base of the natural logarithm")
tau = _constant("tau", math.tau, "2*pi", "2·pi, also τ")
inf = _constant("inf", math.inf, "oo", "infinity, also ∞")
