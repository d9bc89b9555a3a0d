"""Derivatives as graphs: the table's rules run on nodes, so that a derivative can be printed, run and differentiated.

This is reverse accumulation as in `evaluate`, on terms in the place of numbers: the tape is read from the output to
the front, each rule appends the cotangents of a node's inputs, and what has arrived at an input is its gradient. The
time is linear in the nodes, and nothing recurses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np

from .building import Builder, GraphTerm, Shape
from .errors import ChainruleError
from .evaluate import checked_names
from .graph import INPUT, LEAF, Graph
from .higher import Derivative, elements
from .ops import TABLE, Op, shape_text
from .ops.arithmetic import identity, neg
from .ops.arrays import index
from .ops.base import quietly
from .printing import expression_text, program_text

MOST_PIECES = 2000  # of a program's text that says shared expressions again wherever they are used
SKETCHED: Shape = (2, 2)
MOST_DERIVATIVES = 4096  # of a Jacobian or Hessian


def gradient(graph: Graph, wrt: Iterable[str] | None = None, shapes: Mapping[str, Shape] | None = None) -> Graph:
    """The program with a further statement for each gradient, `dy_dx = …`; the last is its output.

    `wrt` names the inputs (default: all that are not `const`). `shapes` are those of inputs that are arrays, besides
    what stands after the program's bar. Each gradient has its input's shape. Raises `ChainruleError`.

    >>> from chainrule import parse
    >>> print(gradient(parse("y = x^2*w")))
    y = x^2*w; dy_dx = 2*x*w; dy_dw = x^2
    """
    return Derivation(graph, shapes).gradient(wrt).program()


@dataclass
class Derived:
    """A program's derivatives, as nodes of one graph that begins with the program's own nodes.

    shapes  of the nodes
    found   each derivative and its place; the index () of an input that is an array stands for the whole of it
    shape   the axes along which they lie: rows and columns of a Hessian
    values  the places of the output's elements, in `value_shape`
    """

    graph: Graph
    shapes: list[Shape]
    found: list[tuple[Derivative, int]]
    shape: Shape
    values: list[int]
    value_shape: Shape = ()

    def program(self) -> Graph:
        """The program with a statement for each derivative; the last is its output."""
        graph = self.graph
        output = graph.output_name
        if graph.nodes[graph.output].name is None:
            graph.give_name(output, graph.output)
        for derivative, place in self.found:
            wanted = statement_name(output, derivative)
            name = next(n for n in chain([wanted], (f"{wanted}_{i}" for i in count(1))) if n not in graph.names)
            graph.output = graph.append(identity, (place,))
            self.shapes.append(self.shapes[place])
            graph.give_name(name, graph.output)
        graph.last = graph.output
        for place, name in name_shared(graph, [*graph.names.values()], MOST_PIECES).items():
            graph.give_name(name, place)
        return graph


def name_shared(graph: Graph, roots: Iterable[int], limit: int = 0) -> dict[int, str]:
    """Names v1, v2, … for the nodes that are used more than once, by place.

    None where the text of the `roots`, in which a shared expression is said again wherever it is used, has no more than
    `limit` pieces. Nodes that have a name already, and what is as short as one, get none.
    """
    nodes = graph.nodes
    needed = [False] * len(nodes)
    for i in roots:
        needed[i] = True
    uses = [0] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):
        if needed[i]:
            for j in nodes[i].args:
                needed[j] = True
                uses[j] += 1
    named = set(graph.names.values())
    sizes: list[int] = []
    for node in nodes:
        sizes.append(min(1 + sum(1 if j in named else sizes[j] for j in node.args), limit + 1))
    if limit and sum(sizes[i] for i in roots) <= limit:
        return {}
    free = (name for name in (f"v{n}" for n in count(1)) if name not in graph.names)
    trivial = (neg, index)
    return {
        i: next(free)
        for i, node in enumerate(nodes)
        if uses[i] > 1 and i not in named and not node.constant and TABLE.get(node.op.name) not in trivial
    }


def statement_name(output: str, derivative: Derivative) -> str:
    """A name for a derivative's statement: dy_dx, d2y_dx2, d2y_dx_dw, dy_dx_0 for an element."""

    def spelled(name: str, index: tuple[int, ...]) -> str:
        return "_".join([name, *map(str, index)])

    order = len(derivative.by)
    below = [f"d{spelled(*element)}{n if n > 1 else ''}" for element, n in derivative.runs()]
    return "_".join([f"d{order if order > 1 else ''}{spelled(output, derivative.of or ())}", *below])


class Derivation:
    """A program copied into a graph under construction, and its derivatives appended to it."""

    def __init__(self, graph: Graph, shapes: Mapping[str, Shape] | None = None) -> None:
        self.source = graph
        self.builder = Builder()
        known = {**graph.shapes, **{name: np.shape(value) for name, value in graph.at.items()}, **(shapes or {})}
        self.output = self._copy(known)
        made = self.builder.graph
        made.output, made.source = self.output, program_text(graph) if graph.source else ""
        made.shapes, made.at, made.seed = dict(known), dict(graph.at), graph.seed

    def _copy(self, shapes: Mapping[str, Shape]) -> int:
        """Copy what the output needs, and the inputs; equal expressions become one."""
        graph, b = self.source, self.builder
        needed = graph.needed()
        inputs = {graph.names[name] for name in graph.inputs}
        places: dict[int, int] = {}
        for i, node in enumerate(graph.nodes):
            if not (needed[i] or i in inputs):
                continue
            args = tuple(places[j] for j in node.args)
            if node.value is not None:
                places[i] = b.number(node.value)
            elif node.is_leaf:
                assert node.name is not None
                shape = shapes.get(node.name, b.shapes[args[0]] if args else ())
                places[i] = b.leaf(node.name, node.op, args, shape)
                b.graph.nodes[places[i]].frozen = node.frozen
            else:
                places[i] = b.node(node.op, args, lambda *xs, i=i: graph.apply(i, xs))
                if node.name is not None:
                    places[i] = b.name(node.name, places[i])
        return places[graph.output]

    # --- what is derived ----------------------------------------------------------------------------------------------

    def gradient(self, wrt: Iterable[str] | None = None) -> Derived:
        """The gradient of the output for each input."""
        names = self._names(wrt)
        wholes = self._gradients(self._scalar_output("the gradient"), names)
        return self._derived([(Derivative(((name, ()),)), place) for name, place in zip(names, wholes, strict=True)])

    def pure(self, wrt: Iterable[str] | None, order: int) -> Derived:
        """The derivatives of an order by each scalar input alone: dⁿy/dxⁿ."""
        found = []
        for name in self._names(wrt):
            if self._shape(name):
                raise ChainruleError("grad", f"--order asks for scalars; {name} is an array", hint="ask for --hessian")
            place = self._scalar_output("--order")
            for _ in range(order):
                place = self._gradients(place, [name])[0]
            found.append((Derivative(((name, ()),) * order), place))
        return self._derived(found)

    def hessian(self, wrt: Iterable[str] | None = None) -> Derived:
        """All second derivatives, row by row: rows and columns are the elements of the inputs."""
        names = self._names(wrt)
        size = sum(math.prod(self._shape(name)) for name in names)
        self._check_size(size * size)
        first = self._gradients(self._scalar_output("--hessian"), names)
        found = []
        for name, whole in zip(names, first, strict=True):
            for row in elements(name, self._shape(name)):
                second = self._gradients(self._element(whole, row[1]), names)
                for other, block in zip(names, second, strict=True):
                    for column in elements(other, self._shape(other)):
                        found.append((Derivative((row, column)), self._element(block, column[1])))
        return self._derived(found, (size, size))

    def jacobian(self, wrt: Iterable[str] | None = None) -> Derived:
        """The derivatives of every element of the output, row by row, by every element of the inputs."""
        names = self._names(wrt)
        rows, columns = math.prod(self.output_shape), sum(math.prod(self._shape(name)) for name in names)
        self._check_size(rows * columns)
        found = []
        for place in np.ndindex(self.output_shape):
            gradients = self._gradients(self._element(self.output, place), names)
            for name, whole in zip(names, gradients, strict=True):
                for element in elements(name, self._shape(name)):
                    found.append((Derivative((element,), place), self._element(whole, element[1])))
        return self._derived(found, (rows, columns))

    def _derived(self, found: list[tuple[Derivative, int]], shape: Shape | None = None) -> Derived:
        b = self.builder
        return Derived(b.graph, b.shapes, found, shape or (len(found),), [self.output])

    @property
    def output_shape(self) -> Shape:
        """The shape of the program's output."""
        return self.builder.shapes[self.output]

    def _names(self, wrt: Iterable[str] | None) -> list[str]:
        if wrt is not None:
            return checked_names(self.source, wrt)
        graph = self.source
        return graph.free

    def _shape(self, name: str) -> Shape:
        return self.builder.shapes[self.builder.graph.names[name]]

    def _scalar_output(self, what: str) -> int:
        if math.prod(self.output_shape) != 1:  # a single element counts as a scalar
            said = f"{what} needs a scalar output; {self.source.output_name} has shape {shape_text(self.output_shape)}"
            hint = "make it a scalar with sum(…), or ask for --jacobian"
            raise self.source.error("grad", said, self.source.output, hint=hint)
        return self._element(self.output, (0,) * len(self.output_shape))

    def _check_size(self, size: int) -> None:
        if size > MOST_DERIVATIVES:
            raise ChainruleError("limit", f"that is {size:,} derivatives; the limit is {MOST_DERIVATIVES:,}")

    def _element(self, whole: Any, key: tuple[int, ...]) -> int:
        """The node of an element of what `_gradients` gives for an input."""
        return self.builder.simplified(index.bind(key=key), (whole,)) if key else whole

    # --- reverse accumulation -----------------------------------------------------------------------------------------

    def _gradients(self, output: int, names: Sequence[str]) -> list[Any]:
        """The gradients of a scalar node for each of the inputs."""
        return self._places(output, [self.builder.graph.names[name] for name in names])

    def _places(self, output: int, inputs: Sequence[int]) -> list[int]:
        """The nodes of a scalar node's gradients."""
        b = self.builder
        with quietly():
            adjoints = self._accumulate(output, set(inputs))
        found = []
        for place in inputs:
            adjoint = adjoints.get(place, 0.0)
            term = adjoint if isinstance(adjoint, GraphTerm) else b.constant(adjoint)
            if b.shapes[term.place] != b.shapes[place]:
                term = b.spread(term, b.term(place))
            found.append(b.spread_out(term))
        return found

    def _accumulate(self, output: int, inputs: set[int]) -> dict[int, Any]:
        """The adjoint of every node between the output and the inputs."""
        b, nodes = self.builder, self.builder.graph.nodes
        reached = [False] * (output + 1)  # by an input
        for i in range(output + 1):
            node = nodes[i]
            reached[i] = i in inputs or (node.op is not LEAF and any(reached[j] for j in node.args))
        adjoints: dict[int, Any] = {output: 1.0}
        for i in range(output, -1, -1):
            node = nodes[i]
            if not reached[i] or i in inputs or i not in adjoints:
                continue
            g, y, xs = adjoints.pop(i), b.term(i), [b.operand(j) for j in node.args]
            for n, j in enumerate(node.args):
                vjp = node.op.vjp(n) if reached[j] else None
                if vjp is None:
                    continue
                c = vjp(g, y, *xs)
                if np.shape(c) != b.shapes[j]:
                    c = b.sum_down(c, xs[n])
                adjoints[j] = adjoints[j] + c if j in adjoints else c
        return adjoints


class _Sketch(Builder):
    """A graph whose arrays are all of one shape: for the text of a rule, in which shapes do not show."""

    def _shape(self, op: Op, key: Any, args: tuple[int, ...], run: Any) -> Shape:
        return SKETCHED if any(self.shapes[j] for j in args) else ()


def rule_text(op: Op, i: int) -> str | None:
    """The rule for input `i` as text: the partial derivative, or for an operation on arrays the cotangent with `g`.

    None where no gradient flows.
    """
    vjp = op.vjp(i)
    if vjp is None:
        return None
    b = _Sketch()
    shape = () if op.elementwise else SKETCHED
    xs = [b.term(b.leaf(name, INPUT, (), shape)) for name in ([*op.inputs] if not op.variadic else ["x"])]
    g = 1 if op.elementwise else b.term(b.leaf("g", INPUT, (), shape))
    # The output has no name of its own in the text: it stands as the function of its inputs.
    y = b.term(b.node(op, tuple(x.place for x in xs)))
    result = vjp(g, y, *xs)
    return expression_text(b.graph, result.place) if isinstance(result, GraphTerm) else f"{result:g}"
