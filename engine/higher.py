"""Derivatives beyond the gradient: of higher order, Hessians, Jacobians, directional ones, for a program at a point.

All come from Tensors whose backward is recorded (`create_graph`), so every order uses the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from .errors import ChainruleError
from .functional import grad
from .graph import Value
from .ops import shape_text
from .printing import Element, element_name
from .program import Program
from .tensors import Tensor, tensor

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Derivative:
    """One number: the derivative of the output, or of its element `of`, by the elements `by` in turn.

    `value` is None where the program has no values.
    """

    by: tuple[Element, ...]
    of: tuple[int, ...] | None = None
    value: float | None = None

    def key(self, output: str) -> str:
        """Its name for programs: `x[0]`; `x,w` for a second derivative; `y[1],x` for an element of the output."""
        by = ",".join(element_name(*element) for element in self.by)
        return by if self.of is None else f"{element_name(output, self.of)},{by}"

    def label(self, output: str) -> str:
        """Its name for people: dy/dx[0], d²y/dx², d²y/dx dw."""
        order = len(self.by)
        top = f"d{str(order).translate(_RAISED) if order > 1 else ''}{element_name(output, self.of or ())}"
        below = (f"d{element_name(*e)}{str(n).translate(_RAISED) if n > 1 else ''}" for e, n in self.runs())
        return f"{top}/{' '.join(below)}"

    def runs(self) -> list[tuple[Element, int]]:
        """The elements in turn, each with how often it follows itself."""
        return [(element, len(list(same))) for element, same in groupby(self.by)]


def as_scalar(number: Any) -> float:
    """A number of float32 as it is, any other as Python's float."""
    return number if isinstance(number, np.float32) else float(number)  # type: ignore[return-value]


def elements(name: str, shape: tuple[int, ...]) -> Iterator[Element]:
    """The elements of an input."""
    for index in np.ndindex(shape):
        yield name, index


def _leaves(program: Program, values: Mapping[str, Any], wrt: Sequence[str]) -> tuple[Tensor, list[Tensor]]:
    """The output of a run, and the leaves to differentiate by."""
    run = program.run(values)
    return run.output, [run.at(program.names[name]) for name in wrt]


def _scalar(output: Tensor, what: str) -> Tensor:
    if output.shape:
        raise ChainruleError(
            "grad",
            f"{what} needs a scalar output; this one has shape {shape_text(output.shape)}",
            hint="make it a scalar with sum(…), or ask for --jacobian",
        )
    return output


def _next(output: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a scalar, differentiable themselves; zeros where there is nothing to record."""
    if not output.requires_grad:
        return [Tensor(np.zeros(x.shape) if x.shape else 0.0) for x in leaves]
    found = grad(output, leaves, create_graph=True, retain_graph=True, materialize_grads=True)
    return [g for g in found if g is not None]


def pure(program: Program, values: Mapping[str, Any], wrt: Sequence[str], order: int) -> list[Derivative]:
    """The derivatives of the given order by each scalar input alone: dⁿy/dxⁿ."""
    output, leaves = _leaves(program, values, wrt)
    found = []
    for name, leaf in zip(wrt, leaves, strict=True):
        if leaf.shape:
            raise ChainruleError(
                "grad", f"--order asks for scalars; {name} has shape {shape_text(leaf.shape)}", hint="ask for --hessian"
            )
        current = _scalar(output, "--order")
        for _ in range(order):
            current = _next(current, [leaf])[0]
        found.append(Derivative(((name, ()),) * order, None, as_scalar(current.detach()._data)))
    return found


def hessian(program: Program, values: Mapping[str, Any], wrt: Sequence[str]) -> list[Derivative]:
    """All second derivatives, row by row: the rows and columns are the elements of the inputs `wrt`."""
    output, leaves = _leaves(program, values, wrt)
    first = _next(_scalar(output, "--hessian"), leaves)
    found = []
    for row_name, gradient in zip(wrt, first, strict=True):
        for row in elements(row_name, gradient.shape):
            index: Any = gradient
            second = _next(index[row[1]] if row[1] else gradient, leaves)
            for column_name, g in zip(wrt, second, strict=True):
                for column in elements(column_name, g.shape):
                    value = as_scalar(np.asarray(g.detach()._data)[column[1]])
                    found.append(Derivative((row, column), None, value))
    return found


def jacobian(program: Program, values: Mapping[str, Any], wrt: Sequence[str]) -> list[Derivative]:
    """The derivatives of every element of the output by every element of the inputs `wrt`."""
    output, leaves = _leaves(program, values, wrt)
    found = []
    for place in np.ndindex(output.shape):
        basis = np.zeros(output.shape)
        basis[place] = 1.0
        gradients: Sequence[Tensor | None] = [None] * len(leaves)
        if output.requires_grad:
            gradients = grad(output, leaves, [tensor(basis)], retain_graph=True, materialize_grads=True)
        for name, leaf, g in zip(wrt, leaves, gradients, strict=True):
            data = np.zeros(leaf.shape) if g is None else np.asarray(g.detach()._data)
            for element in elements(name, leaf.shape):
                found.append(Derivative((element,), place, as_scalar(data[element[1]])))
    return found


def directional(program: Program, values: Mapping[str, Any], direction: Mapping[str, Value]) -> Value:
    """The Jacobian-vector product: the derivative of the output in a direction, an array of the output's shape."""
    from .functional import jvp

    names = list(direction)
    run = program.run(values)
    leaves = [run.at(program.names[name]).detach() for name in names]
    for name, leaf in zip(names, leaves, strict=True):
        if np.shape(direction[name]) != leaf.shape:
            raise ChainruleError(
                "shape",
                f"Mismatch in shape: the direction of {name} has shape {shape_text(np.shape(direction[name]))}, "
                f"{name} {shape_text(leaf.shape)}",
            )

    def function(*xs: Tensor) -> Tensor:
        return program.run({**values, **dict(zip(names, xs, strict=True))}).output

    product = jvp(function, tuple(leaves), tuple(direction[name] for name in names))[1]
    data: Value = product.detach()._data
    return data
