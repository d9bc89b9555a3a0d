"""A graph under construction: equal nodes are one, trivial operations are not built, and every node's shape is known.

A rule of the table runs on its terms and so appends a derivative to the graph. Shapes are found by abstract
evaluation: elementwise they broadcast, elsewhere the row is run once on arrays of ones. A term may stand for a larger
array than its node holds (a number spread over a vector, say): it broadcasts where it meets others, and is spread out
in the graph only where an operation needs to see every element.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .graph import Graph
from .identities import simpler
from .ops import TABLE, Op, Traced
from .ops.arithmetic import add, identity, mul, neg
from .ops.arrays import array, count, expand_like, sum_, sum_like
from .ops.base import quietly

Shape = tuple[int, ...]
MOST_ELEMENTS = 1000  # of a constant array that is summed at once
COMMUTATIVE = frozenset({add, mul})


class GraphTerm(Traced):
    """A node of the graph in the hands of a rule.

    shape  of the array that it stands for
    like   a node of that shape: its own, unless it is spread
    """

    __slots__ = ("builder", "like", "place", "shape")

    def __init__(self, builder: Builder, place: int, shape: Shape, like: int) -> None:
        self.builder = builder
        self.place = place
        self.shape = shape
        self.like = like

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __bool__(self) -> bool:
        """A term has no value yet, so nothing can be decided by it."""
        raise TypeError("a node of a graph is neither true nor false")

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Any:
        """Append `op` to the graph; for a row that people do not call, what it means."""
        return self.builder.apply(op, xs) if op.means is None else op.means(*xs, **op.params)


class Builder:
    """Appends to `graph`; `shapes` are those of its nodes."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.shapes: list[Shape] = []
        self._places: dict[Any, int] = {}
        self._found: dict[Any, Shape] = {}
        self._patterns: list[int] = []  # for each node the simplest one that has its shape whatever the sizes are

    # --- nodes --------------------------------------------------------------------------------------------------------

    def node(self, op: Op, args: tuple[int, ...], run: Callable[..., Any] | None = None) -> int:
        """The node of `op` on other nodes as it is. `run` is what computes it for its shape, if not the row itself."""
        op = without_defaults(op)
        order = tuple(sorted(args)) if op in COMMUTATIVE else args
        key = (op.name, repr(dict(op.params)) if op.params else "", order)
        if key not in self._places:
            shape = self._shape(op, key, args, run or op.compute)
            self._places[key] = self._append(op, args, shape)
        return self._places[key]

    def simplified(self, op: Op, args: tuple[int, ...]) -> int:
        """The node of `op` on other nodes, or of something simpler that is equal elementwise."""
        found = simpler(self, op, args)
        return self.node(op, args) if found is None else found

    def number(self, value: float) -> int:
        """The node of a number; a negative one is the negative of a number, as in a text."""
        value = float(value)
        if value < 0:
            return self.node(neg, (self.number(-value),))
        key = repr(value)
        if key not in self._places:
            self._places[key] = self.graph.number(value)
            self._note((), ())
        return self._places[key]

    def leaf(self, name: str, op: Op, args: tuple[int, ...], shape: Shape) -> int:
        """The node of an input, or of a leaf with its default value."""
        place = self._append(op, args, shape)
        self.graph.give_name(name, place)
        return place

    def name(self, name: str, place: int) -> int:
        """The node called `name`: the one at `place`, or a new one where that has a name already."""
        if self.graph.nodes[place].name is not None:
            place = self._append(identity, (place,), self.shapes[place])
        self.graph.give_name(name, place)
        return place

    def value(self, place: int) -> float | None:
        """The number that a node is, if it is one."""
        node = self.graph.nodes[place]
        if node.op is neg and (value := self.graph.nodes[node.args[0]].value) is not None:
            return -value
        return node.value

    def _append(self, op: Op, args: tuple[int, ...], shape: Shape) -> int:
        self._note(shape, args if op.elementwise else ())
        return self.graph.append(op, args)

    def _note(self, shape: Shape, args: tuple[int, ...]) -> None:
        """The shape of a node that is about to be appended."""
        pattern = len(self.shapes)
        if shape and (same := [self._patterns[j] for j in args if self.shapes[j] == shape]):
            pattern = next((j for j in same if self.graph.nodes[j].is_leaf), same[0])
        self._patterns.append(pattern)
        self.shapes.append(shape)

    def _shape(self, op: Op, key: Any, args: tuple[int, ...], run: Callable[..., Any]) -> Shape:
        shapes = tuple([self.shapes[j] for j in args])
        if op.elementwise and not any(shapes):
            return ()
        known = (*key[:2], shapes)
        if known not in self._found:
            with quietly():
                self._found[known] = np.shape(run(*map(_ones, shapes)))
        return self._found[known]

    # --- terms --------------------------------------------------------------------------------------------------------

    def term(self, place: int) -> GraphTerm:
        """A node as a term."""
        return GraphTerm(self, place, self.shapes[place], place)

    def operand(self, place: int) -> Any:
        """A node as the argument of a rule: numbers as such, so that a rule's choices by them are made now."""
        value = self.value(place)
        return self.term(place) if value is None else np.float64(value)  # nan and inf are NumPy's to give

    def apply(self, op: Op, xs: Sequence[Any]) -> GraphTerm:
        """The term of `op` on terms, numbers and arrays."""
        terms = [x if isinstance(x, GraphTerm) else self.constant(x) for x in xs]
        move = self._moves.get(op.name)
        if move is not None and (moved := move(*terms, **op.params)) is not None:
            return moved
        if op.elementwise:
            return self._elementwise(op, terms)
        return self.term(self.simplified(op, tuple(map(self.spread_out, terms))))

    def _elementwise(self, op: Op, terms: list[GraphTerm]) -> GraphTerm:
        if not any(t.shape for t in terms):
            return self.term(self.simplified(op, tuple([t.place for t in terms])))
        shape = np.broadcast_shapes(*(t.shape for t in terms))
        likes = [t.like for t in terms if t.shape == shape]
        places = tuple(t.place for t in terms) if likes else tuple(map(self.spread_out, terms))
        place = self.simplified(op, places)
        if self.shapes[place] == shape:
            return self.term(place)
        return GraphTerm(self, place, shape, min(likes))

    def constant(self, value: Any) -> GraphTerm:
        """A number or an array as a term."""
        if np.ndim(value) == 0:
            return self.term(self.number(float(value)))
        made = self.apply(array, [self.constant(row) for row in value])
        first = np.ravel(value)[:1]
        if first.size and np.all(value == first):  # a number spread over the array's shape
            return GraphTerm(self, self.number(first[0]), made.shape, made.place)
        return made

    def spread(self, term: GraphTerm, x: GraphTerm) -> GraphTerm:
        """A scalar in the shape of `x`."""
        return GraphTerm(self, term.place, x.shape, x.like)

    def sum_down(self, c: Any, x: Any) -> Any:
        """A cotangent summed down to the shape of `x`."""
        return self.apply(sum_like, (c, x)) if isinstance(x, GraphTerm) else c

    def spread_out(self, term: GraphTerm) -> int:
        """A node that holds every element of what the term stands for."""
        if self.shapes[term.place] == term.shape:
            return term.place
        return self.node(expand_like, (term.place, self._patterns[term.like]))

    # --- operations between shapes ------------------------------------------------------------------------------------

    @cached_property
    def _moves(self) -> dict[str, Callable[..., GraphTerm | None]]:
        return {
            sum_like.name: self._sum_like,
            expand_like.name: self._expand_like,
            sum_.name: self._sum,
            count.name: self._count,
        }

    def _sum_like(self, c: GraphTerm, x: GraphTerm) -> GraphTerm | None:
        """`c` summed down to the shape of `x`."""
        if c.shape == x.shape:
            return c
        if self.shapes[c.place] != ():
            if self.graph.nodes[c.place].constant and math.prod(c.shape) < MOST_ELEMENTS > math.prod(x.shape):
                return self.constant(sum_like.compute(self.graph.constant_value(c.place), np.zeros(x.shape)))
            return None
        if np.prod(c.shape, dtype=int) > np.prod(x.shape, dtype=int):  # equal elements are summed by counting them
            c = c * (count(c) / count(x))
        return GraphTerm(self, c.place, x.shape, x.like)

    def _expand_like(
        self, g: GraphTerm, x: GraphTerm, axis: Any = None, keepdims: bool = False, like: bool = False
    ) -> GraphTerm | None:
        """`g` spread over the shape of `x`."""
        if like:
            return None
        if self.shapes[g.place] == () or (keepdims and self.shapes[g.place] == g.shape):
            return GraphTerm(self, g.place, x.shape, x.like)
        return self.term(g.place) if g.shape == x.shape == self.shapes[g.place] else None

    def _sum(self, x: GraphTerm, axis: Any = None, keepdims: bool = False) -> Any:
        """The sum of equal elements is one of them, counted."""
        if self.shapes[x.place] == () and x.shape and axis is None and not keepdims:
            return self.term(x.place) * count(x)
        return None

    def _count(self, x: GraphTerm, axis: Any = None) -> GraphTerm | None:
        """The number of elements, of the simplest node that has as many."""
        if axis is not None:
            return None
        return self.term(self.node(count, (self._patterns[x.like],))) if x.shape else self.constant(1.0)


def without_defaults(op: Op) -> Op:
    """The same operation, its static parameters named only where they differ from their defaults."""
    if not op.params:
        return op
    defaults = {s.name: ast.literal_eval(s.default) for s in op.statics if s.default is not None}
    kept = {name: value for name, value in op.params.items() if name not in defaults or value != defaults[name]}
    return op if len(kept) == len(op.params) else TABLE[op.name].bind(**kept)


def _ones(shape: Shape) -> Any:
    """An array that every operation takes: ones, and more on the diagonal, so that a matrix is positive definite."""
    if len(shape) < 2:
        return np.ones(shape) if shape else 1.0
    return np.ones(shape) + np.eye(shape[-2], shape[-1])
