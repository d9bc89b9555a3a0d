"""The independent check of an analysis: SymPy's derivative of the expression against the engine's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .analysis import Analysis
from .rounding import spread
from .worker import symbolic_results


@dataclass(frozen=True)
class Check:
    """SymPy's word on one derivative.

    `verdict` is `agrees`, `differs`, or None with the `reason` that there is no check. `formula` is SymPy's derivative
    in our language, `exact` its value to 30 digits. `digits` is how many agree, `lost` how many cancellation costs.
    """

    name: str
    index: tuple[int, ...]
    gradient: float | None
    formula: str | None = None
    exact: str | None = None
    verdict: Literal["agrees", "differs"] | None = None
    digits: int | None = None
    lost: int = 0
    reason: str | None = None


def check(analysis: Analysis, timeout: float) -> list[Check]:
    """SymPy's formulas for the derivatives, and at a point its verdict on the engine's numbers."""
    program, point = analysis.program, analysis.point
    finite = point is not None and all(
        np.all(np.isfinite(v)) for v in (*point.values(), analysis.value) if v is not None
    )
    answer = symbolic_results(
        program, analysis.shapes, analysis.wrt, point if finite else None, analysis.cotangent, timeout
    )
    unsure = {name for note in analysis.notes for name in note.undifferentiable}
    spreads = {}
    if point is not None and any(found.value for found in answer.elements.values()):
        start = 1.0 if analysis.cotangent is None else analysis.cotangent
        spreads = spread(program, point, analysis.gradients, start)
    checks = []
    for (name, index), found in answer.elements.items():
        if point is None:
            checks.append(Check(name, index, None, found.formula, reason=None if found.formula else answer.reason))
            continue
        gradient = float(np.asarray(analysis.gradients[name])[index])
        reason = None
        if not math.isfinite(gradient) or not finite:
            reason = "not finite here"
        elif name in unsure:
            reason = "not differentiable here"
        elif found.value is None:
            reason = answer.reason or "SymPy finds no value here"
        if reason is not None:
            checks.append(Check(name, index, gradient, found.formula, found.value, reason=reason))
        else:
            assert found.value is not None
            noise = float(np.asarray(spreads[name])[index])
            checks.append(compare(name, index, gradient, found.formula, found.value, noise))
    return checks


def compare(name: str, index: tuple[int, ...], gradient: float, formula: str | None, exact: str, noise: float) -> Check:
    """The verdict on one number: it differs only beyond what rounding explains (`noise`, see `rounding`)."""
    import mpmath

    with mpmath.workdps(40):
        truth = mpmath.mpf(exact)
        distance = float(abs(mpmath.mpf(gradient) - truth))
        size = float(abs(truth))
    allowed = 8 * noise + 4 * math.ulp(gradient)
    if distance > allowed:
        return Check(name, index, gradient, formula, exact, "differs", _digits(distance, size))
    lost = max(0, round(math.log10(max(noise, 5e-324) / size / 2.0**-52))) if size and noise > size * 1e-10 else 0
    return Check(name, index, gradient, formula, exact, "agrees", _digits(distance, size), lost)


def _digits(distance: float, size: float) -> int:
    """How many significant decimal digits agree, 15 at most (all that a double is sure to have)."""
    if distance == 0:
        return 15
    return 0 if size == 0 else max(0, min(15, math.floor(-math.log10(distance / size))))
