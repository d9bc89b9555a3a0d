"""What the tests compare with: recorded rows, distances in ulps, and true values by mpmath.

A unit in the last place (ulp) is the distance between neighbouring doubles; 0.5 ulp is the best that rounding allows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from chainrule import symbolic
from chainrule.graph import Graph

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> list[dict[str, Any]]:
    """The rows of a file of tests/data."""
    with (DATA / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ulps(got: float, true: Any) -> float:
    """How far `got` is from the true value (a number of mpmath, or a float), in ulps of the true value."""
    with mpmath.workdps(60):
        near = float(true)
        if math.isnan(got) or math.isnan(near):
            return 0.0 if math.isnan(got) and math.isnan(near) else math.inf
        if math.isinf(got) or math.isinf(near):
            return 0.0 if got == near else math.inf
        return float(abs(mpmath.mpf(got) - true) / math.ulp(near))


def precise(function: Callable[..., Any], xs: tuple[float, ...]) -> Any:
    """The value of a function of mpmath at exact doubles, to 30 digits; None where it is no finite real number.

    The working precision is raised until two in a row agree, so that cancellation inside `function` does no harm.
    """
    before = None
    for digits in (50, 150, 700, 3000):
        with mpmath.workdps(digits):
            try:
                found = mpmath.mpmathify(function(*map(mpmath.mpf, xs)))
            except (ValueError, OverflowError, ZeroDivisionError, mpmath.libmp.NoConvergence):
                return None
            if found.imag != 0 or not mpmath.isfinite(found):
                return None
            found = found.real
            # Everything may have cancelled: only the last precision is believed when it says 0.
            if before is not None and found != 0 and abs(found - before) <= abs(found) * mpmath.mpf(10) ** -30:
                return found
            before = found
    return found if found == 0 else None


def pairs(ours: Any, theirs: Any) -> Iterator[tuple[float, float]]:
    """The elements of two numbers or arrays of one shape, side by side."""
    assert np.shape(ours) == np.shape(theirs)
    return zip(np.ravel(ours).tolist(), np.ravel(theirs).tolist(), strict=True)


def close(ours: Any, theirs: Any, relative: float = 1e-12, absolute: float = 1e-14) -> bool:
    """Whether all elements agree, relatively or absolutely."""
    return all(abs(a - b) <= max(relative * abs(b), absolute) for a, b in pairs(ours, theirs))


def by_sympy(program: Graph, values: dict[str, float], wrt: Iterable[str]) -> dict[str, Any]:
    """The derivatives of a scalar program of scalar inputs, differentiated and evaluated to 30 digits by SymPy."""
    term, symbols = symbolic.lower(program, {}, doubles=True)
    point = {symbols[name]: symbolic.as_double(value) for name, value in values.items() if name in symbols}
    scalar = symbolic.total(term, None)
    found = {name: symbolic.value_at(symbolic.derivative(scalar, symbols[name]), point) for name in wrt}
    with mpmath.workdps(40):
        return {name: None if value is None else mpmath.mpf(str(value)) for name, value in found.items()}
