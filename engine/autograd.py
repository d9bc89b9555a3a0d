"""Backward: the graph that Tensors recorded, walked from an output to the leaves.

Each operation on a Tensor that requires a gradient leaves a `Function`: its rule, what the rule needs, and edges to the
Functions of its inputs. A leaf's edge ends in `AccumulateGrad`. Backward visits every Function once, the youngest
first: an operation is younger than its inputs, so by then all its cotangents have arrived.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ChainruleError
from .evaluate import cotangent_of
from .ops import Op

if TYPE_CHECKING:
    from .tensors import Tensor

_ages = count()


class Function:
    """One operation of the recorded graph.

    `next_functions` are its edges, as PyTorch has them: (function, 0) for each input, (None, 0) where nothing flows.
    """

    __slots__ = ("__weakref__", "_name", "age", "edges", "op", "output", "retain", "saved")

    def __init__(self, op: Op, xs: Sequence[Any], edges: tuple[Edge, ...], output: Tensor) -> None:
        self.op = op
        self.saved: Sequence[Any] | None = xs
        self.edges = edges
        self.age = next(_ages)
        self.output: Any = output._data
        self.retain: weakref.ref[Tensor] | None = None
        self._name = op.backward_name(*xs)

    def name(self) -> str:
        """PyTorch's name of it: MulBackward0."""
        return self._name

    @property
    def next_functions(self) -> tuple[tuple[Function | AccumulateGrad | None, int], ...]:
        """The functions of the inputs, down to `AccumulateGrad`."""
        return tuple((edge, 0) for edge in self.edges)

    def target(self) -> Tensor | None:
        """The tensor that keeps the cotangent, if one asked to (`retain_grad`) and still lives."""
        return self.retain() if self.retain is not None else None

    def __repr__(self) -> str:
        return f"<{self._name} object>"


class AccumulateGrad:
    """The end of an edge at a leaf: what arrives is added to the leaf's `grad`."""

    __slots__ = ("age", "variable")

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.age = -1  # older than any operation

    def name(self) -> str:
        """PyTorch's name of it."""
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        """Nothing: a leaf has no inputs."""
        return ()

    def target(self) -> Tensor:
        """The leaf."""
        return self.variable

    def __repr__(self) -> str:
        return "<AccumulateGrad object>"


Edge = Function | AccumulateGrad | None


def reachable(roots: Iterable[Edge]) -> list[Function | AccumulateGrad]:
    """All functions below `roots`, the youngest first: an order in which every one comes before its inputs."""
    seen: set[int] = set()
    found: list[Function | AccumulateGrad] = []
    stack = [root for root in roots if root is not None]
    while stack:
        function = stack.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        found.append(function)
        if isinstance(function, Function):
            stack.extend(edge for edge in function.edges if edge is not None and id(edge) not in seen)
    found.sort(key=lambda function: -function.age)
    return found


def run_backward(
    starts: Sequence[tuple[Edge, Any]], *, retain_graph: bool, create_graph: bool
) -> list[tuple[Function | AccumulateGrad, Any]]:
    """Carry cotangents from `starts`, pairs of a function and the cotangent of its output, to all leaves.

    Returns each visited function with its whole cotangent (a number, an array, or a Tensor with `create_graph`).
    Without `retain_graph` what the functions saved is let go. Raises `ChainruleError` of kind `grad`.
    """
    from .tensors import wrap

    arrived: dict[int, Any] = {}
    for function, cotangent in starts:
        before = arrived.get(id(function))
        arrived[id(function)] = cotangent if before is None else before + cotangent
    done: list[tuple[Function | AccumulateGrad, Any]] = []
    with np.errstate(all="ignore"):
        for function in reachable(edge for edge, _ in starts):
            g = arrived.pop(id(function), None)
            if g is None:
                continue
            done.append((function, g))
            if isinstance(function, AccumulateGrad):
                continue
            if function.saved is None:
                raise ChainruleError(
                    "grad",
                    "Trying to backward through the graph a second time",
                    hint="the values it saved were let go; call the first backward with retain_graph=True",
                )
            xs, y = function.saved, function.output
            if create_graph:
                y = wrap(y, function)
            else:
                xs = [getattr(x, "_data", x) for x in xs]
            for n, edge in enumerate(function.edges):
                if edge is not None and (c := cotangent_of(function.op, n, g, y, xs)) is not None:
                    before = arrived.get(id(edge))
                    arrived[id(edge)] = c if before is None else before + c
            if not retain_graph:
                function.saved = None
                function.output = None
    return done
