"""A run step by step: the one record that every picture and explanation of it shows.

Forward is the nodes of the analysis in their order; backward is the edges in the order that the engine took them, with
what it sent along each. The engine itself notes it (`modes.watch_backward`): nothing here differentiates again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from .analysis import Analysis, NodeRow
from .autograd import AccumulateGrad, Flow, reachable
from .collapse import Part, parts
from .errors import ChainruleError
from .evaluate import missing_error, scalar_cotangent
from .formulas import Formula, local_formula
from .graph import Node, Value
from .modes import watch_backward
from .ops import Op, Traced
from .ops.base import PLAIN, quietly
from .printing import expression_text
from .tensors import Tensor

NODE = Traced()  # stands for an argument that is no constant
Kind = Literal["leaf", "constant", "detached", "operation"]


@dataclass(frozen=True, eq=False)
class Edge:
    """How a node depends on one of its inputs; `node` and `input` are rows of the analysis.

    law       what calculus calls the rule
    flows     whether the operation lets a gradient through to this input
    local     the value of the local derivative, of the node's shape; None for other operations and without values
    product   what backward sent along, of the input's shape; None where nothing was sent
    total     what had arrived at the input by then, this included

    `op`, `names` and `values` are those of the node and of all its inputs: what the formula is made of.
    """

    node: int
    input: int
    argument: int
    op: Op
    names: Sequence[str | float]
    values: Sequence[Value | None]
    law: str
    flows: bool
    local: Value | None = None
    product: Value | None = None
    total: Value | None = None

    @cached_property
    def formula(self) -> Formula | None:
        """The local derivative ∂node/∂input of an elementwise operation, else the cotangent of the input with g.

        None where no gradient flows, and where no formula helps a person.
        """
        return local_formula(self.op, self.argument, self.names, self.values)


@dataclass
class Steps:
    """The steps of a run.

    kinds      for each row: a leaf, a constant (requires no gradient), detached (its inputs require one), an operation
    gradients  for each row what backward brought there: the derivative of the output by it; None where nothing came
    edges      the inputs of each row, by row and argument
    backward   places of edges in the order of backward
    places     for each row, its node's place in the program
    """

    analysis: Analysis
    places: list[int]
    kinds: list[Kind]
    gradients: list[Value | None]
    edges: list[Edge]
    backward: list[int]

    def _repr_html_(self) -> str:
        from .notebook import steps_html

        return steps_html(self)

    def _repr_svg_(self) -> str | None:
        from .notebook import drawing

        return drawing(self)

    @property
    def rows(self) -> list[NodeRow]:
        """The nodes."""
        return self.analysis.nodes

    @property
    def output(self) -> int:
        """The row of the output."""
        return self._rows[self.analysis.program.output]

    def inputs(self, row: int) -> list[Edge]:
        """The edges from a row's inputs to it."""
        return [self.edges[e] for e in self._inputs[row]]

    def input_places(self, row: int) -> Sequence[int]:
        """The places of these edges."""
        return self._inputs[row]

    @cached_property
    def _inputs(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.rows]
        for e, edge in enumerate(self.edges):
            found[edge.node].append(e)
        return found

    def parts(self, limit: int) -> list[Part]:
        """The rows, repeated ones taken together where they are more than `limit` (0: never)."""
        signs = [self.analysis.program.nodes[place].op.name for place in self.places]
        inputs = [[self.edges[e].input for e in those] for those in self._inputs]
        return parts(inputs, signs, self.output, limit)

    def visits(self) -> Iterator[tuple[int, list[int]]]:
        """The nodes in the order of backward, each with the edges that it handed its cotangent on by."""
        for node, edges in groupby(self.backward, lambda e: self.edges[e].node):
            yield node, list(edges)

    def paths(self) -> dict[int, list[int]]:
        """For each row, the edges by which gradients came to it, in the order in which they came."""
        found: dict[int, list[int]] = {}
        for e in self.backward:
            found.setdefault(self.edges[e].input, []).append(e)
        return found

    def expression(self, row: int, name: Callable[[int], str]) -> str:
        """A row's expression, its inputs as `name` gives them by row."""
        rows = self._rows
        return expression_text(
            self.analysis.program, self.places[row], own=True, name=lambda j: name(rows[j]) if j in rows else None
        )

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {place: row for row, place in enumerate(self.places)}


def steps_of(analyse: Callable[[], Analysis]) -> Steps:
    """The steps of an analysis, which is made while its backward is watched."""
    with watch_backward() as flows:
        analysis = analyse()
    places = list(analysis.program.labels())
    rows = {place: row for row, place in enumerate(places)}
    sent = _by_edge(analysis, flows, rows)
    edges = [edge for row, place in enumerate(places) for edge in _edges(analysis, row, place, rows, sent)]
    place_of = {(edge.node, edge.argument): e for e, edge in enumerate(edges)}
    if analysis.missing:
        backward = _static_order(analysis, edges)
    else:
        backward = [place_of[key] for key in sent if key in place_of]
    gradients = [row.grad for row in analysis.nodes]
    for (node, _), flow in sent.items():
        gradients[node] = flow.cotangent
    return Steps(analysis, places, [*_kinds(analysis, edges, places)], gradients, edges, backward)


def _by_edge(analysis: Analysis, flows: Sequence[Flow], rows: dict[int, int]) -> dict[tuple[int, int], Flow]:
    """The flows by the row of the node whose rule ran, and the argument; in the order of backward."""
    if analysis.run is None:
        return {}
    made = {id(x._edge): rows[i] for i, x in enumerate(analysis.run.tape) if isinstance(x, Tensor) and i in rows}
    return {(made[id(f.function)], f.argument): f for f in flows if id(f.function) in made}


def _edges(
    analysis: Analysis, row: int, place: int, rows: dict[int, int], sent: dict[tuple[int, int], Flow]
) -> Iterator[Edge]:
    """The inputs of one node."""
    program, labels = analysis.program, analysis.nodes
    node = program.nodes[place]
    if node.is_leaf:
        return
    known = not analysis.missing
    names: list[str | float] = []
    values: list[Value | None] = []
    for j in node.args:
        if j in rows:
            names.append(labels[rows[j]].name)
            values.append(labels[rows[j]].value)
        else:
            value = program.nodes[j].value
            values.append(program.constant_value(j) if value is None else value)
            names.append(values[-1] if isinstance(values[-1], float) else expression_text(program, j))
    law = node.op.law_name(*(NODE if j in rows else 0.0 for j in node.args))
    for n, j in enumerate(node.args):
        if j not in rows:
            continue
        flow = sent.get((row, n))
        yield Edge(
            row,
            rows[j],
            n,
            node.op,
            names,
            values,
            law,
            node.op.vjp(n) is not None,
            _local(node.op, n, labels[row].value, values) if known and labels[row].requires_grad else None,
            None if flow is None else flow.product,
            None if flow is None else flow.total,
        )


def _local(op: Op, n: int, y: Any, xs: Sequence[Any]) -> Value | None:
    """The local derivative of an elementwise operation at the point: its rule with a cotangent of ones."""
    vjp = op.vjp(n)
    if vjp is None or not op.elementwise:
        return None
    with quietly():
        if PLAIN.issuperset(map(type, (y, *xs))):
            return scalar_cotangent(op, n, 1.0, y, xs)
        local: Value = vjp(np.ones(np.shape(y), np.asarray(y).dtype)[()], y, *xs)
        return local


def _static_order(analysis: Analysis, edges: Sequence[Edge]) -> list[int]:
    """The order of backward where it did not run: the youngest node first, only what a gradient reaches."""
    rows = analysis.nodes
    reached = {len(rows) - 1}
    order: list[int] = []
    by_node = {node: list(group) for node, group in groupby(range(len(edges)), lambda e: edges[e].node)}
    for node in range(len(rows) - 1, -1, -1):
        if node not in reached:
            continue
        for e in by_node.get(node, ()):
            if rows[edges[e].input].requires_grad and edges[e].flows:
                reached.add(edges[e].input)
                order.append(e)
    return order


def _kinds(analysis: Analysis, edges: Sequence[Edge], places: Sequence[int]) -> Iterator[Kind]:
    """What each node is."""
    rows = analysis.nodes
    fed = {edge.node for edge in edges if rows[edge.input].requires_grad}
    for row, place in enumerate(places):
        node: Node = analysis.program.nodes[place]
        if rows[row].requires_grad:
            yield "leaf" if node.is_leaf else "operation"
        else:
            yield "detached" if row in fed else "constant"


class FunctionRow(NamedTuple):
    """A function of the recorded graph: `following` are the places of its next functions, None where nothing flows.

    `variable` is the name of the leaf where an AccumulateGrad ends, `shape` that of the leaf.
    """

    name: str
    following: tuple[int | None, ...]
    variable: str | None = None
    shape: tuple[int, ...] = ()


def backward_graph(analysis: Analysis) -> list[FunctionRow]:
    """The graph that backward walks, as PyTorch has it: `grad_fn`, then its `next_functions`, down to the leaves.

    The functions come in an order in which each stands before its next ones. Raises `ChainruleError` where values are
    missing, and where the output requires no gradient.
    """
    if analysis.run is None:
        raise missing_error(analysis.program, analysis.missing)
    if not analysis.run.output.requires_grad:
        raise ChainruleError(
            "grad", f"{analysis.output} requires no gradient: it has no grad_fn, and backward has no graph to walk"
        )
    order = reachable([analysis.run.output._edge])
    place = {function: i for i, function in enumerate(order)}
    names = {id(x): name for name, x in analysis.run.items()}
    rows = []
    for function in order:
        following = tuple(None if edge is None else place[edge] for edge, _ in function.next_functions)
        leaf = function.variable if isinstance(function, AccumulateGrad) else None
        shape = () if leaf is None else leaf.shape
        rows.append(FunctionRow(function.name(), following, names.get(id(leaf)), shape))
    return rows
