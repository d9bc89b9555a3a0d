"""Rules run on nodes: a derivative is again a graph, which can be printed, run and differentiated."""

from __future__ import annotations

from typing import Any

from .graph import INPUT, Graph
from .ops import Op, Traced
from .ops.arithmetic import mul, neg
from .ops.arrays import sum_like
from .ops.base import chain_product
from .printing import expression_text


class GraphTerm(Traced):
    """A node of a graph under construction. Trivial sums and products are not built: 0 + x, 1·x, x/1."""

    __slots__ = ("graph", "ndim", "place")

    def __init__(self, graph: Graph, place: int, ndim: int = 0) -> None:
        self.graph = graph
        self.place = place
        self.ndim = ndim

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Any:
        """Append `op` to the graph; for a row that people do not call, what it means."""
        if op.means is not None:
            return op.means(*xs, **op.params)
        if op in (mul, chain_product) and 1 in (kept := [x for x in xs if not isinstance(x, GraphTerm)]):
            return next(x for x in xs if isinstance(x, GraphTerm)) if len(kept) == 1 else 1
        if op is sum_like:
            return xs[0]  # of one shape here
        op = mul if op is chain_product else op
        places = tuple(x.place if isinstance(x, GraphTerm) else self.number(x) for x in xs)
        return GraphTerm(self.graph, self.graph.append(op, places), self.ndim)

    def number(self, value: Any) -> int:
        """The node of a number; a negative one is the negative of a number, as in a text."""
        place = self.graph.number(abs(float(value)))
        return place if value >= 0 else self.graph.append(neg, (place,))


def rule_text(op: Op, i: int) -> str | None:
    """The rule for input `i` as text: the partial derivative, or for an operation on arrays the cotangent with `g`.

    None where no gradient flows.
    """
    vjp = op.vjp(i)
    if vjp is None:
        return None
    graph = Graph()
    names = [*op.inputs] if not op.variadic else ["x"]

    def term(name: str) -> GraphTerm:
        place = graph.append(INPUT, ())
        graph.give_name(name, place)
        return GraphTerm(graph, place, 0 if op.elementwise else 2)

    xs = [term(name) for name in names]
    # The output has no name of its own in the text: it stands as the function of its inputs.
    y = GraphTerm(graph, graph.append(op, tuple(x.place for x in xs)), xs[0].ndim)
    result = vjp(1 if op.elementwise else term("g"), y, *xs)
    return expression_text(graph, result.place) if isinstance(result, GraphTerm) else f"{result:g}"
