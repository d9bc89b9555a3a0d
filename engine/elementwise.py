"""Derivatives element by element: a program on small arrays as scalar operations on x[0], x[1], …

What an operation on whole arrays means for their elements is what its row computes with, run on arrays of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .building import Shape
from .errors import ChainruleError
from .gradient import Derivation, Derived
from .graph import INPUT, Graph
from .higher import Derivative, elements
from .ops import CALLS, Op
from .ops.arrays import index

MOST_NODES = 200_000


class Elementwise(Derivation):
    """A derivation in which arrays are arrays of nodes. Its derivatives are all of elements by elements."""

    def __init__(self, graph: Graph, shapes: Mapping[str, Shape] | None = None, *, inputs: Sequence[str] = ()) -> None:
        self._first = inputs  # the order of the inputs, if it is not that of the program
        super().__init__(graph, shapes)

    def _copy(self, shapes: Mapping[str, Shape]) -> int:
        graph, b = self.source, self.builder
        needed = graph.needed()
        inputs = {graph.names[name] for name in graph.inputs}
        tape: dict[int, Any] = {}
        self.elements: dict[str, Any] = {}
        for name in self._first:
            self._leaf(name, False, shapes.get(name, ()))
        for i, node in enumerate(graph.nodes):
            if node.value is not None:
                tape[i] = b.term(b.number(node.value))
            elif node.is_leaf and (needed[i] or i in inputs):
                assert node.name is not None
                default = np.shape(graph.constant_value(node.args[0])) if node.args else ()
                tape[i] = self._leaf(node.name, node.frozen, shapes.get(node.name, default))
            elif needed[i]:
                tape[i] = self._applied(i, [tape[j] for j in node.args])
                if node.name is not None and np.ndim(tape[i]) == 0:
                    tape[i] = b.term(b.name(node.name, tape[i].place))
            if len(b.graph.nodes) > MOST_NODES:
                raise ChainruleError("limit", f"written out element by element this has over {MOST_NODES:,} nodes")
        self.found = np.asarray(tape[graph.output], dtype=object)
        places = [term.place for term in self.found.flat]
        return places[0] if places else b.number(0)

    def _leaf(self, name: str, frozen: bool, shape: Shape) -> Any:
        """An input as an array of its elements; a leaf's default is for whoever calls the function."""
        b = self.builder
        if name in self.elements:
            return self.elements[name] if shape else self.elements[name][()]
        place = b.leaf(name, INPUT, (), shape)
        b.graph.nodes[place].frozen = frozen
        made = np.empty(shape, dtype=object)
        for key in np.ndindex(shape):
            made[key] = b.term(b.node(index.bind(key=key), (place,)) if key else place)
        self.elements[name] = made
        return made if shape else made[()]

    def _applied(self, i: int, xs: list[Any]) -> Any:
        op = self.source.nodes[i].op
        if not xs:
            return self._constant(op)
        if op.elementwise and not any(map(np.ndim, xs)):
            return self._node(op, *xs)
        arrays = [_array(x) for x in xs]
        try:
            if op.elementwise:
                return np.frompyfunc(lambda *terms: self._node(op, *terms), len(xs), 1)(*arrays)
            return _by_elements(op, arrays)
        except (TypeError, AttributeError, np.linalg.LinAlgError) as error:
            raise self.source.error(
                "limit", f"{op.name} cannot be written out element by element", i, hint="use --format numpy"
            ) from error
        except ValueError:
            return self.source.apply(
                i, [np.ones(np.shape(x)) for x in xs]
            )  # raises the error of shapes that do not fit

    def _node(self, op: Op, *terms: Any) -> Any:
        """The program's own operation, as it is."""
        return self.builder.term(self.builder.node(op, tuple([term.place for term in terms])))

    def _constant(self, op: Op) -> Any:
        """A constant of the language, or an array made from nothing."""
        value = op()
        if np.ndim(value) == 0:
            return self.builder.term(self.builder.node(op, ()))
        return np.frompyfunc(self.builder.constant, 1, 1)(value)

    @property
    def output_shape(self) -> Shape:
        """The shape of the program's output."""
        return np.shape(self.found)

    def _shape(self, name: str) -> Shape:
        return np.shape(self.elements[name])

    def _element(self, whole: Any, key: tuple[int, ...]) -> int:
        if whole is self.output:
            whole = np.frompyfunc(lambda term: term.place, 1, 1)(self.found)
        return int(np.asarray(whole)[key])

    def _gradients(self, output: int, names: Sequence[str]) -> list[Any]:
        inputs = [[term.place for term in self.elements[name].flat] for name in names]
        places = iter(self._places(output, [place for part in inputs for place in part]))
        return [
            np.array([next(places) for _ in part], dtype=object).reshape(self._shape(name))
            for part, name in zip(inputs, names, strict=True)
        ]

    def _derived(self, found: list[tuple[Derivative, Any]], shape: Shape | None = None) -> Derived:
        """The derivatives of a gradient by elements."""
        made = []
        for derivative, place in found:
            name = derivative.by[0][0]
            if np.ndim(place):
                made += [(Derivative((e,)), int(place[e[1]])) for e in elements(name, self._shape(name))]
            else:
                made.append((derivative, int(place)))
        b = self.builder
        values = [term.place for term in self.found.flat]
        return Derived(b.graph, b.shapes, made, shape or (len(made),), values, self.output_shape)


def _array(x: Any) -> Any:
    """A term as an array of no axes."""
    if isinstance(x, np.ndarray):
        return x
    made = np.empty((), dtype=object)
    made[()] = x
    return made


class _Names:
    """What a row's counterpart in SymPy asks of SymPy, in the table's own operations: Max, Abs, Integer."""

    Integer = staticmethod(float)
    nsimplify = staticmethod(float)

    def __getattr__(self, name: str) -> Any:
        if name not in CALLS:
            raise AttributeError(name)
        return CALLS[name]


def _by_elements(op: Op, arrays: list[Any]) -> Any:
    """An operation on whole arrays of terms."""
    if callable(op.sympy):
        return op.sympy(_Names(), *arrays, **op.params)
    return op.forward(*arrays)
