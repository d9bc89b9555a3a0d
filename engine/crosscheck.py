"""The independent check of an analysis: SymPy's derivative of the expression against the engine's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .analysis import Analysis
from .differences import is_kink, numeric_derivative
from .higher import Derivative
from .recorded import Recording, as_number, called
from .rounding import spread
from .tensors import Tensor, tensor
from .worker import MAX_ELEMENTS, symbolic_results

Verdict = Literal["agrees", "differs"]
DOUBLE = np.finfo(float)


@dataclass(frozen=True)
class Check:
    """An independent word on one derivative.

    `verdict` is None where there is no check, for the `reason`. `formula` is SymPy's derivative in our language,
    `exact` its value to 30 digits, `source` who says so. `digits` is how many agree, `lost` how many cancellation
    costs.
    """

    derivative: Derivative
    formula: str | None = None
    exact: str | None = None
    verdict: Verdict | None = None
    digits: int | None = None
    lost: int = 0
    reason: str | None = None
    source: str = "SymPy"


def check(analysis: Analysis, timeout: float) -> list[Check]:
    """SymPy's formulas for the derivatives, and at a point its verdict on the engine's numbers."""
    program, point = analysis.program, analysis.point
    finite = point is not None and all(
        np.all(np.isfinite(v)) for v in (*point.values(), analysis.value) if v is not None
    )
    derivatives = analysis.derivatives()
    answer = symbolic_results(
        program, analysis.shapes, derivatives, point if finite else None, analysis.cotangent, timeout
    )
    unsure = {element for note in analysis.notes for element in note.undifferentiable}
    spreads = {}
    if point is not None and any(found.value for found in answer.found):
        start = 1.0 if analysis.cotangent is None else analysis.cotangent
        spreads = spread(program, point, analysis.gradients, start) if analysis.gradients else {}
    largest = max((abs(d.value) for d in derivatives if d.value is not None and math.isfinite(d.value)), default=0.0)
    precision = np.finfo(program.dtype or float)
    checks = []
    for derivative, found in zip(derivatives, answer.found, strict=True):
        value = derivative.value
        if value is None:
            reason = None if found.formula else answer.reason
            if reason is not None and "shape" in reason and not program.shapes:
                reason += "; say the shapes after a bar: … | A: 2x2, x: 2"
            checks.append(Check(derivative, found.formula, reason=reason))
            continue
        reason = None
        if not math.isfinite(value):
            reason = "not finite here"
        elif not finite:
            reason = "the value is not finite here"
        elif any(element in unsure for element in derivative.by):
            reason = "not differentiable here"
        elif found.value is None:
            reason = answer.reason or "SymPy finds no value here"
        if reason is not None or found.value is None:
            checks.append(Check(derivative, found.formula, found.value, reason=reason))
            continue
        if analysis.kind == "gradient":
            name, index = derivative.by[0]
            noise = float(np.asarray(spreads[name])[index])
        else:  # what rounding may change here is not estimated: a part of the largest of these derivatives
            noise = 5e5 * precision.eps * largest
        verdict, digits, lost = compare(value, found.value, noise, precision)
        estimated = analysis.kind == "gradient"
        checks.append(Check(derivative, found.formula, found.value, verdict, digits, lost if estimated else 0))
    return checks


def check_function(recording: Recording, analysis: Analysis) -> list[Check]:
    """Differences of the function's own values against the engine's numbers, for each element of each argument."""
    derivatives = analysis.derivatives()
    if len(derivatives) > MAX_ELEMENTS:
        reason = f"too many elements ({len(derivatives):,}; the limit is {MAX_ELEMENTS})"
        return [Check(derivative, reason=reason) for derivative in derivatives]
    return [_by_differences(recording, analysis, derivative) for derivative in derivatives]


def _by_differences(recording: Recording, analysis: Analysis, derivative: Derivative) -> Check:
    name, index = derivative.by[0]
    gradient = math.nan if derivative.value is None else derivative.value
    weights = 1.0 if analysis.cotangent is None else analysis.cotangent

    def value(moved: float) -> Any:
        arguments = {name: _in_doubles(argument) for name, argument in recording.arguments.items()}
        data = np.array(arguments[name].detach()._data)
        data[index] = moved
        arguments[name] = tensor(data)
        output = called(recording.function, arguments)
        result = output.detach()._data if isinstance(output, Tensor) else as_number(output, recording.function)
        return np.sum(weights * np.asarray(result, dtype=float))

    at = float(np.asarray(recording.arguments[name].detach()._data)[index])
    if not np.array_equal(value(at), value(at), equal_nan=True):
        return Check(
            derivative, reason="the function gives other values each time it is called (fix its random numbers)"
        )
    numeric = numeric_derivative(value, at, 2.0**-52)
    if not math.isfinite(gradient):
        return Check(derivative, reason="not finite here")
    if not np.isfinite(numeric.value) or not np.isfinite(numeric.error):
        return Check(derivative, reason="the function is not smooth around this point")
    if bool(is_kink(numeric)):
        sides = f"{float(numeric.left):.6g} and {float(numeric.right):.6g}"
        return Check(derivative, reason=f"not differentiable here (the sides give {sides})")
    distance, size = abs(gradient - float(numeric.value)), abs(gradient)
    precision = np.finfo(recording.program.dtype or float)
    agrees = distance <= max(1e-6, 100 * float(precision.eps)) * size + 10 * float(numeric.error) + 1e-12
    digits = _digits(max(distance, float(numeric.error)), size, int(precision.precision))
    verdict: Verdict = "agrees" if agrees else "differs"
    return Check(derivative, None, repr(float(numeric.value)), verdict, digits, source="differences")


def _in_doubles(argument: Any) -> Any:
    """An argument of a function, as exact as differences need it."""
    if isinstance(argument, Tensor):
        return tensor(np.asarray(argument.detach()._data, dtype=float))
    return np.asarray(argument, dtype=float) if isinstance(argument, np.ndarray) else argument


def compare(value: float, exact: str, noise: float, precision: Any = DOUBLE) -> tuple[Verdict, int, int]:
    """The verdict on one number, how many digits agree, and how many cancellation costs.

    It differs only beyond what rounding explains (`noise`, see `rounding`). `exact` has 30 digits; `precision` is what
    NumPy says of the type of `value`.
    """
    import mpmath

    with mpmath.workdps(40):
        truth = mpmath.mpf(exact)
        distance = float(abs(mpmath.mpf(float(value)) - truth))
        size = float(abs(truth))
    epsilon, sure = float(precision.eps), int(precision.precision)
    if distance > 8 * noise + 4 * max(epsilon * abs(value), float(precision.smallest_subnormal)):
        return "differs", _digits(distance, size, sure), 0
    cancelled = size and noise > size * 5e5 * epsilon
    lost = max(0, round(math.log10(max(noise, 5e-324) / size / epsilon))) if cancelled else 0
    return "agrees", _digits(distance, size, sure), lost


def _digits(distance: float, size: float, sure: int) -> int:
    """How many significant decimal digits agree, at most those that a number is sure to have: 15 for a double."""
    if distance == 0:
        return sure
    return 0 if size == 0 else max(0, min(sure, math.floor(-math.log10(distance / size))))
