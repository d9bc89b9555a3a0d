"""How much rounding alone may change a gradient at a point.

The graph is run again with each operation's result, forward and backward, moved by up to one unit in the last place at
random (Monte Carlo arithmetic). How far the gradients move is what the floating-point numbers leave open there: tiny
usually, large where terms cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .evaluate import backward, bound_values, trace_forward
from .graph import Graph, Value
from .ops import Op
from .ops.traced import Wrapped

if TYPE_CHECKING:
    import numpy.typing as npt

RUNS = 6


class Noisy(Wrapped):
    """A number or array each of whose results is a little off: by up to `ulp`, relatively."""

    __slots__ = ("generator", "ulp")

    def __init__(self, value: Value, generator: np.random.Generator, ulp: float) -> None:
        super().__init__(value)
        self.generator = generator
        self.ulp = ulp

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Noisy:
        """Compute `op` and move the result by up to one ulp."""
        value = op.compute(*[x.value if isinstance(x, Noisy) else x for x in xs])
        if op.exact or not op.differentiable:
            return Noisy(value, self.generator, self.ulp)
        moved = value * (1 + self.ulp * self.generator.uniform(-1, 1, np.shape(value)))
        return Noisy(moved, self.generator, self.ulp)


def spread(
    graph: Graph, values: Mapping[str, Any], gradients: Mapping[str, Value], cotangent: Value
) -> dict[str, npt.NDArray[Any]]:
    """For each gradient, elementwise, the largest distance that rounding moved it in a few noisy runs."""
    bound = bound_values(graph, values)
    farthest = {name: np.zeros(np.shape(gradient)) for name, gradient in gradients.items()}
    for run in range(RUNS):
        generator = np.random.default_rng(run)
        noisy = _gradients(graph, bound, cotangent, gradients, generator)
        for name, gradient in gradients.items():
            with np.errstate(invalid="ignore"):
                moved = np.abs(np.asarray(noisy[name]) - np.asarray(gradient))
            farthest[name] = np.fmax(farthest[name], np.where(np.isfinite(moved), moved, 0.0))
    return farthest


def _gradients(
    graph: Graph, bound: Mapping[int, Value], cotangent: Value, names: Sequence[str] | Mapping[str, Any], generator: Any
) -> dict[str, Any]:
    ulp = float(np.finfo(graph.dtype or float).eps)

    def leaf(i: int, node: Any) -> Noisy:
        value = bound.get(i)
        if value is None:
            value = graph.constant_value(node.args[0]) if node.args else 0.0
        return Noisy(value, generator, ulp)

    tape = trace_forward(graph, leaf)
    if not isinstance(tape[graph.output], Noisy):
        return dict.fromkeys(names, 0.0)
    adjoints = backward(graph, tape, Noisy(cotangent, generator, ulp))  # type: ignore[arg-type]
    found = {}
    for name in names:
        i = graph.names[name]
        adjoint = adjoints[i] if i < len(adjoints) else None
        found[name] = 0.0 if adjoint is None else getattr(adjoint, "value", adjoint)
    return found
