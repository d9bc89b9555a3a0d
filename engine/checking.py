"""Gradients checked by differences: `gradcheck` for first derivatives, `gradgradcheck` for second ones.

A difference quotient is wrong by its step (too large) and by rounding (too small). Here central differences over a
sequence of shrinking steps are extrapolated to step 0 (Richardson, Ridders 1982), which gives an estimate of its own
error: so a wrong rule is told from rounding, and a kink from both, since there the quotients from the left and the
right converge to different numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import ChainruleError
from .functional import grad
from .printing import element_name
from .tensors import Tensor, as_tensors, tensor

STEPS = 12
SHRINK = 1.7  # from a step to the next; not a power of 2, so that rounding shows


class Difference(NamedTuple):
    """Numeric derivatives of all outputs by one input element: the limit and its error; the same from either side."""

    value: npt.NDArray[Any]
    error: npt.NDArray[Any]
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    sides_error: npt.NDArray[Any]


def numeric_derivative(f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float) -> Difference:
    """The derivative of `f`, a function of one number with values of any shape, at `x`.

    `epsilon` is the relative precision that `f` computes with. Steps of the size of 1 and of x are tried, and the limit
    of the smaller error taken.
    """
    noise = _noise(f, x, epsilon)
    found = [_limits(f, x, epsilon, noise, scale) for scale in sorted({1.0, abs(x) or 1.0})]
    best = found[0]
    for other in found[1:]:
        closer = other.error < best.error
        sharper = other.sides_error < best.sides_error
        best = Difference(
            np.where(closer, other.value, best.value),
            np.where(closer, other.error, best.error),
            np.where(sharper, other.left, best.left),
            np.where(sharper, other.right, best.right),
            np.where(sharper, other.sides_error, best.sides_error),
        )
    return best


def _noise(f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float) -> npt.NDArray[Any]:
    """How far rounding moves the values of `f`: the second differences over a few neighbouring numbers."""
    step = 8 * epsilon * 2.0 ** np.floor(np.log2(abs(x) or 1.0))  # whole units in the last place
    return _scatter(f, x, step, order=2)


def _scatter(f: Callable[[float], npt.NDArray[Any]], x: float, step: float, order: int) -> npt.NDArray[Any]:
    """The largest difference of an order over nine values around x: what is left when the smooth part is gone."""
    near = np.array([np.asarray(f(x + k * step), dtype=float) for k in range(-4, 5)])
    found: npt.NDArray[Any] = np.max(np.abs(np.diff(near, n=order, axis=0)), axis=0)
    return found


def _limits(
    f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float, jitter: npt.NDArray[Any], scale: float
) -> Difference:
    step = scale * 2.0 ** round(np.log2(epsilon) / 6)
    middle = np.asarray(f(x), dtype=float)
    central, below, above, noise = [], [], [], []
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            h = (x + step) - x  # a step that the number format has
            up, down = np.asarray(f(x + h), dtype=float), np.asarray(f(x - h), dtype=float)
            central.append((up - down) / (2 * h))
            below.append((middle - down) / h)
            above.append((up - middle) / h)
            noise.append((jitter + epsilon * np.maximum(np.abs(up), np.abs(down))) / h)
            step /= SHRINK
        value, error = _extrapolated(central, noise, SHRINK**2)
        left, left_error = _extrapolated(below, noise, SHRINK)
        right, right_error = _extrapolated(above, noise, SHRINK)
    return Difference(value, error, left, right, left_error + right_error)


def _extrapolated(
    quotients: list[npt.NDArray[Any]], noise: list[npt.NDArray[Any]], ratio: float
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The limit of quotients whose error falls by `ratio` from each to the next, and an estimate of its error.

    Every entry of the extrapolation's table is a candidate, its error how far it moved from the entries it came from;
    the three best must also agree, since among many one may have moved little by luck.
    """
    values, errors = [], []
    table: list[npt.NDArray[Any]] = []
    for quotient, floor in zip(quotients, noise, strict=True):
        row = [quotient]
        for m, previous in enumerate(table):
            factor = ratio ** (m + 1)
            row.append((factor * row[m] - previous) / (factor - 1))
            values.append(row[-1])
            errors.append(np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - previous)) + floor)
        table = row
    stacked, moved = np.array(values), np.array(errors)
    order = np.argsort(np.where(np.isnan(moved), np.inf, moved), axis=0)[:3]
    best, second, third = np.take_along_axis(stacked, order, axis=0)
    error = np.max([np.take_along_axis(moved, order, axis=0)[0], np.abs(best - second), np.abs(best - third)], axis=0)
    return best, np.where(np.isnan(error), np.inf, error)


def gradcheck(
    function: Callable[..., Any], inputs: Any, *, rtol: float | None = None, atol: float | None = None,
    raise_exception: bool = True,
) -> bool:  # fmt: skip
    """Whether backward's gradients of `function` agree with differences, for every input that requires a gradient.

    Numbers differ when they are further apart than `rtol` relative to the larger (default: 1e-6 for float64, 1e-2 for
    float32), plus `atol`, plus what the differences themselves leave open. Raises `ChainruleError` of kind `grad` that
    names input, element and both numbers, and says whether a kink or a wrong rule explains it; with `raise_exception`
    off it returns False instead.
    """
    given = as_tensors(inputs)
    checked = [i for i, x in enumerate(given) if x.requires_grad]
    if not checked:
        raise ChainruleError(
            "grad", "gradcheck needs an input that requires a gradient", hint="tensor(…, requires_grad=True)"
        )
    for i in checked:
        epsilon = float(np.finfo(given[i].dtype).eps)
        tolerance = rtol if rtol is not None else 1e-6 if epsilon < 1e-10 else 1e-2
        failure = _first_difference(function, given, i, epsilon, tolerance, atol if atol is not None else 10 * epsilon)
        if failure is not None:
            if raise_exception:
                raise ChainruleError("grad", failure)
            return False
    return True


def gradgradcheck(
    function: Callable[..., Any], inputs: Any, *, rtol: float | None = None, atol: float | None = None,
    raise_exception: bool = True,
) -> bool:  # fmt: skip
    """Whether the gradients' own gradients agree with differences: `gradcheck` of the gradient of `function`."""
    given = as_tensors(inputs)
    places = [i for i, x in enumerate(given) if x.requires_grad]
    generator = np.random.default_rng(0)

    def gradients(*xs: Tensor) -> list[Tensor]:
        outputs = _outputs(function, xs)
        cotangents = [generator_for(o) for o in outputs]
        wanted = [xs[i] for i in places]
        found = grad(outputs, wanted, cotangents, create_graph=True, materialize_grads=True)
        return [g for g in found if g is not None]

    drawn: dict[tuple[int, ...], Any] = {}

    def generator_for(output: Tensor) -> Tensor:
        if output.shape not in drawn:
            drawn[output.shape] = generator.uniform(0.5, 1.5, output.shape)
        return tensor(np.asarray(drawn[output.shape]))

    return gradcheck(gradients, given, rtol=rtol, atol=atol, raise_exception=raise_exception)


def _outputs(function: Callable[..., Any], xs: Sequence[Tensor]) -> list[Tensor]:
    return as_tensors(function(*xs))


def _first_difference(
    function: Callable[..., Any], given: Sequence[Tensor], i: int, epsilon: float, rtol: float, atol: float
) -> str | None:
    """Why the first wrong element of input `i` is wrong, in a sentence; None where all agree."""
    x = given[i]
    data = np.asarray(x.detach()._data)
    fresh = [tensor(v.detach(), requires_grad=v.requires_grad) for v in given]
    outputs = _outputs(function, fresh)
    for index in np.ndindex(data.shape):

        def moved(value: float, index: tuple[int, ...] = index) -> npt.NDArray[Any]:
            changed = data.copy()
            changed[index] = value
            xs = [tensor(changed) if k == i else v.detach() for k, v in enumerate(given)]
            for x_, v in zip(xs, given, strict=True):
                x_.requires_grad = v.requires_grad
            found = _outputs(function, xs)
            return np.concatenate([np.ravel(np.asarray(o.detach()._data, dtype=float)) for o in found])

        numeric = numeric_derivative(moved, float(data[index]), epsilon)
        analytic = _analytic(outputs, fresh[i], index)
        size = np.maximum(np.abs(analytic), np.abs(numeric.value))
        wrong = ~(np.abs(analytic - numeric.value) <= rtol * size + atol + 4 * numeric.error)
        if np.any(wrong):  # backward itself may be in the noise, where its terms cancel
            at = float(data[index])
            backward = partial(_gradient_at, function, given, i, index)
            jitter = _scatter(backward, at, epsilon**0.4 * (abs(at) or 1.0), order=4)
            wrong &= ~(np.abs(analytic - numeric.value) <= rtol * size + atol + 4 * (numeric.error + jitter))
        for k in np.flatnonzero(wrong | is_kink(numeric)):
            return _told(i, index, int(k), len(analytic), float(data[index]), float(analytic[k]), numeric)
    return None


def _gradient_at(
    function: Callable[..., Any], given: Sequence[Tensor], i: int, index: tuple[int, ...], value: float
) -> npt.NDArray[Any]:
    """Backward's derivatives by one input element, where that element has another value."""
    data = np.array(given[i].detach()._data)
    data[index] = value
    fresh = [tensor(data if k == i else v.detach(), requires_grad=v.requires_grad) for k, v in enumerate(given)]
    return _analytic(_outputs(function, fresh), fresh[i], index)


def _analytic(outputs: Sequence[Tensor], x: Tensor, index: tuple[int, ...]) -> npt.NDArray[Any]:
    """Backward's derivatives of all output elements by one input element."""
    found = []
    for output in outputs:
        for place in np.ndindex(output.shape):
            basis = np.zeros(output.shape)
            basis[place] = 1.0
            if not output.requires_grad:
                found.append(0.0)
                continue
            g = grad(output, x, [tensor(basis)], retain_graph=True, materialize_grads=True)[0]
            found.append(0.0 if g is None else float(np.asarray(g.detach()._data)[index]))
    return np.array(found)


def _told(i: int, index: tuple[int, ...], k: int, outputs: int, at: float, analytic: float, numeric: Difference) -> str:
    """Why a check failed, in a sentence."""
    where = element_name(f"input {i}", index) + f" = {at:.10g}" + (f", output element {k}" if outputs > 1 else "")
    value, left, right = (float(part[k]) for part in (numeric.value, numeric.left, numeric.right))
    if is_kink(numeric)[k]:
        return (
            f"{where}: the function has a kink there: its derivative is {left:.6g} from the left and {right:.6g} "
            f"from the right; backward gives {analytic:.10g}"
        )
    if not np.isfinite(value):
        return f"{where}: the function is not defined on both sides of that point; backward gives {analytic:.10g}"
    relative = abs(analytic - value) / max(abs(analytic), abs(value), 5e-324)
    return f"{where}: backward gives {analytic:.10g}, differences give {value:.10g} (relative error {relative:.1e})"


def is_kink(numeric: Difference) -> npt.NDArray[Any]:
    """Where the derivatives from the left and the right are two different numbers."""
    gap = np.abs(numeric.left - numeric.right)
    size = np.maximum(np.abs(numeric.left), np.abs(numeric.right))
    found: npt.NDArray[Any] = (gap > 1e-3 * size) & (gap > 20 * numeric.sides_error)
    return found
