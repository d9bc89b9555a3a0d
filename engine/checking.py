"""Gradients checked by differences: `gradcheck` for first derivatives, `gradgradcheck` for second ones.

The differences know their own error (see `differences`): so a wrong rule is told from rounding, and a kink from both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .differences import Difference, is_kink, numeric_derivative, scatter
from .errors import ChainruleError
from .functional import grad
from .printing import element_name
from .tensors import Tensor, as_tensors, tensor

if TYPE_CHECKING:
    import numpy.typing as npt


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
    fresh, others = ([tensor(v.detach(), requires_grad=v.requires_grad) for v in given] for _ in range(2))
    outputs, again = _outputs(function, fresh), _outputs(function, others)
    if not all(np.array_equal(o._data, other._data, equal_nan=True) for o, other in zip(outputs, again, strict=True)):
        return "nothing can be checked: the function gives other values each time it is called (fix its random numbers)"
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
            jitter = scatter(backward, at, epsilon**0.4 * (abs(at) or 1.0), order=4)
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
