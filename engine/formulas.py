"""The local derivative of a node as a formula: its rule run on names.

A rule is written with ordinary operators and the table's functions, so that run on terms it appends the derivative to a
small graph of its own, which can be shown as text, as LaTeX, and with numbers in the place of names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import INPUT, Graph, Value
from .ops import TABLE, Op, Traced
from .ops.arithmetic import POWER, add, div, mul, neg, sub, where
from .ops.arrays import count, expand_like, index, reshape_like, sum_like
from .ops.base import chain_product, quietly
from .ops.powers import pow_
from .printing import expression_text

LONGEST = 60  # characters of a formula that helps a person
COTANGENT = "g"
MOVES = (sum_like, expand_like, reshape_like)  # between shapes: broadcasting says as much


class Formula(NamedTuple):
    """An expression of its own graph. The inputs of the graph are the names of the nodes that it speaks of."""

    graph: Graph
    place: int

    def text(self, name: Callable[[str], str] | None = None) -> str:
        """The formula in the language; `name` may give other texts for the names."""
        nodes = self.graph.nodes
        lookup = None if name is None else lambda i: name(nodes[i].name or "") if nodes[i].op is INPUT else None
        return expression_text(self.graph, self.place, name=lookup)

    def latex(self, name: Callable[[str], str]) -> str:
        """The formula in LaTeX, its names by `name`."""
        from .latex import expression_latex

        nodes = self.graph.nodes
        return expression_latex(
            self.graph, self.place, name=lambda i: name(nodes[i].name or "") if nodes[i].op is INPUT else None
        )

    @property
    def atomic(self) -> bool:
        """Whether it stands in a product without brackets."""
        node = self.graph.nodes[self.place]
        return node.is_leaf or node.value is not None or node.op.level in (0, POWER)


class _Term(Traced):
    """A node of the formula's graph; what is trivial is not built: x + 0, 1·x, x^1, a choice that is known."""

    __slots__ = ("graph", "ndim", "place", "value")

    def __init__(self, graph: Graph, place: int, ndim: int = 0, value: Value | None = None) -> None:
        self.graph = graph
        self.place = place
        self.ndim = ndim
        self.value = value

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Any:
        """Append `op` to the graph, or do without; for a row that people do not call, what it means."""
        if op.means is not None:
            return op.means(*xs, **op.params)
        base = TABLE.get(op.name, op)
        if base in MOVES:
            return xs[0]
        if base is count and self.value is not None:
            return op.compute(self.value)
        op = mul if base is chain_product else op
        simpler = _simpler(op, xs)
        if simpler is not None:
            return simpler
        places = tuple(x.place if isinstance(x, _Term) else number(self.graph, x) for x in xs)
        return _Term(self.graph, self.graph.append(op, places), self.ndim)


def _simpler(op: Op, xs: tuple[Any, ...]) -> Any:
    """What a trivial operation comes to, or None."""
    plain = {x for x in xs if not isinstance(x, Traced) and np.ndim(x) == 0}
    if op is mul and plain:
        return 0.0 if 0 in plain else next((x for x in xs if isinstance(x, Traced)), None) if 1 in plain else None
    if op is add and 0 in plain:
        return next(x for x in xs if isinstance(x, Traced))
    if op in (sub, div, pow_) and not isinstance(xs[1], Traced) and xs[1] == (0 if op is sub else 1):
        return xs[0]
    if op is where and not isinstance(xs[0], Traced):
        return xs[1] if xs[0] else xs[2]
    return None


def number(graph: Graph, value: Any) -> int:
    """The node of a number; a negative one is the negative of a number, as in a text."""
    place = graph.number(abs(float(value)))
    return place if value >= 0 else graph.append(neg, (place,))


def local_formula(
    op: Op, argument: int, names: Sequence[str | float], values: Sequence[Value | None]
) -> Formula | None:
    """How an operation's output changes with its `argument`; None where no gradient flows or no formula helps.

    `names` are those of the inputs, numbers for constants, and `values` their values where they are known. For an
    elementwise operation it is the partial derivative, for another the cotangent of the input, with `g` for that of the
    output.
    """
    vjp = op.vjp(argument)
    if vjp is None:
        return None
    graph = Graph()
    terms: dict[str, _Term] = {}

    def term(name: str, value: Value | None) -> _Term:
        if name not in terms:
            place = graph.append(INPUT, ())
            graph.give_name(name, place)
            terms[name] = _Term(
                graph, place, np.ndim(value) if value is not None else 0 if op.elementwise else 2, value
            )
        return terms[name]

    # NumPy's numbers give inf and nan where Python's raise
    xs = [term(n, v) if isinstance(n, str) else np.float64(n) for n, v in zip(names, values, strict=True)]
    y = _Term(graph, graph.append(op, tuple(x.place if isinstance(x, _Term) else number(graph, x) for x in xs)))
    with quietly():
        result = vjp(1 if op.elementwise else term(COTANGENT, None), y, *xs)
    if not isinstance(result, _Term):
        result = _Term(graph, number(graph, result)) if np.ndim(result) == 0 else None
    if result is None or not _presentable(graph, result.place):
        return None
    return Formula(graph, result.place)


def _presentable(graph: Graph, place: int) -> bool:
    """Whether a formula is short and uses only what people call."""
    stack = [place]
    while stack:
        node = graph.nodes[stack.pop()]
        written = node.op.public or node.op.name == index.name or node.op is INPUT or node.value is not None
        if not written:
            return False
        stack.extend(node.args)
    return len(expression_text(graph, place)) <= LONGEST
