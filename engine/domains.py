"""Where an expression is differentiable, in words: x > 0, x != 1, read off the edges of the table's rows.

A condition on an expression that is linear in one input is solved for it (1 - 2x > 0 is x < 1/2); others stand as they
are, and those that nothing violates are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from .graph import NUMBER, Graph
from .ops import Op
from .ops.arithmetic import COMPARISON, abs_, add, and_, div, ge, gt, identity, le, lt, mul, neg, sub
from .ops.exponentials import exp, log
from .ops.powers import cbrt, pow_, sqrt, square
from .printing import expression_text


class Condition(NamedTuple):
    """A relation that must hold: the expression at a node is >, <, != a number; or a remark of a row, as words.

    `firm` tells that the expression has no value beyond it; otherwise it may have no derivative there.
    """

    node: int
    relation: str
    bound: Fraction
    firm: bool
    words: str = ""
    either: tuple[Condition, ...] = ()  # or one of these holds, and `words` says so


class Linear(NamedTuple):
    """slope·x + offset, x the input at a place (None: a constant)."""

    place: int | None
    slope: Fraction
    offset: Fraction


@dataclass
class Bounds:
    """The open interval that an input may lie in, and the points left out of it."""

    low: Fraction | None = None
    high: Fraction | None = None
    holes: set[Fraction] = field(default_factory=set)

    def add(self, relation: str, bound: Fraction) -> None:
        """Take in x > bound, x < bound or x != bound."""
        if relation == ">":
            self.low = bound if self.low is None else max(self.low, bound)
        elif relation == "<":
            self.high = bound if self.high is None else min(self.high, bound)
        else:
            self.holes.add(bound)

    def contains(self, x: Fraction) -> bool:
        """Whether x lies inside, holes not looked at."""
        return (self.low is None or x > self.low) and (self.high is None or x < self.high)

    def texts(self, name: str) -> list[str]:
        """As conditions in the language."""
        low, high = (None if b is None else fraction_text(b) for b in (self.low, self.high))
        found = []
        if low is not None and high is not None:
            found.append(f"{low} < {name} < {high}")
        elif low is not None:
            found.append(f"{name} > {low}")
        elif high is not None:
            found.append(f"{name} < {high}")
        return found + [f"{name} != {fraction_text(hole)}" for hole in sorted(self.holes) if self.contains(hole)]


def fraction_text(x: Fraction) -> str:
    """A fraction as people write it: 0.25 where the decimals end soon, else 1/3."""
    decimal = f"{float(x):.6g}"
    return decimal if Fraction(decimal) == x else str(x)


# --- collecting -------------------------------------------------------------------------------------------------------


def conditions(graph: Graph, places: Iterable[int]) -> list[Condition]:
    """What the nodes at `places` need to be defined and differentiable."""
    found: list[Condition] = []
    for i in places:
        node = graph.nodes[i]
        if node.constant or node.is_leaf:
            continue
        if node.op is pow_:
            found += _of_power(graph, *node.args)
            continue
        found += _joined(graph, [c for edge in node.op.edges for c in _of_edge(graph, i, node.op, edge)])
    return found


def _joined(graph: Graph, found: list[Condition]) -> list[Condition]:
    """The conditions of one row; x < -1 and x > 1 together are meant as x < -1 or x > 1."""
    above = [c for c in found if c.relation == ">"]
    below = [c for c in found if c.relation == "<"]
    if not above or not below or max(c.bound for c in above) < min(c.bound for c in below):
        return found
    parts = (below[0], above[0])
    words = " or ".join(condition_text(graph, c) for c in parts)
    return [c for c in found if c not in above + below] + [
        above[0]._replace(relation="words", words=words, either=parts)
    ]


def _of_power(graph: Graph, base: int, exponent: int) -> list[Condition]:
    if graph.nodes[base].constant:
        return []
    p = float(graph.constant_value(exponent)) if graph.nodes[exponent].constant else math.nan
    if p.is_integer():
        return [Condition(base, "!=", Fraction(0), True)] if p < 0 else []
    return [Condition(base, ">", Fraction(0), True)]


def _of_edge(graph: Graph, i: int, op: Op, edge: Any) -> list[Condition]:
    args = dict(zip(op.inputs, graph.nodes[i].args, strict=False))
    match = re.fullmatch(r"(\w+) = (-?[\d.]+|\w+)", edge.at)
    if match is None or match[1] not in args:
        inside = {name: expression_text(graph, place) for name, place in args.items()}
        words = re.sub(r"\b(\w+)\b", lambda m: inside.get(m[1], m[1]), edge.at)
        for word in (" an integer", " halfway"):
            words = words.replace(word, f" not{word}")
        if not re.search(r" = | not ", words):
            words = f"not at {words}"
        *places, value = words.split(" = ")
        words = f"{' and '.join(places)} not both {value}" if len(places) > 1 else words.replace(" = ", " != ")
        return [Condition(i, "words", Fraction(0), False, words)]
    node = args[match[1]]
    if match[2] in args:  # x = y
        other = args[match[2]]
        if graph.nodes[node].constant and graph.nodes[other].constant:
            return []
        return [Condition(graph.append(sub, (node, other)), "!=", Fraction(0), False)]
    if graph.nodes[node].constant:
        return []
    bound = Fraction(match[2])
    k = op.inputs.index(match[1])
    left, right = (len(side) > k and side[k] != side[k] for side in (edge.left, edge.right))
    if left and right:
        left = right = False
    relation = ">" if left else "<" if right else "!="
    firm = edge.kind == "pole"
    return [Condition(node, relation, bound, firm)]


def assumed(graph: Graph, assumptions: Iterable[int]) -> list[Condition]:
    """The assumptions of a program as conditions, as far as they bound single expressions."""
    found, stack = [], [*assumptions]
    while stack:
        node = graph.nodes[stack.pop()]
        if node.op is and_:
            stack.extend(node.args)
        elif node.op.level == COMPARISON and node.op in (lt, le, gt, ge):
            relation = "<" if node.op in (lt, le) else ">"
            found.append(Condition(graph.append(sub, node.args), relation, Fraction(0), True))
    return found


# --- solving ----------------------------------------------------------------------------------------------------------


def simplified(graph: Graph, condition: Condition) -> list[Condition]:
    """Equivalent conditions on simpler expressions: a·b != 0 is a != 0 and b != 0."""
    found, stack = [], [condition]
    while stack:
        c = stack.pop()
        node = graph.nodes[c.node]
        if node.op is log and c.relation == "!=" and c.bound == 0:
            stack.append(c._replace(node=node.args[0], bound=Fraction(1)))
        elif c.relation == "words" or c.bound != 0:
            found.append(c)
        elif node.constant or node.op is exp:
            continue
        elif node.op is identity or (node.op is sqrt and c.relation != "<"):
            stack.append(c._replace(node=node.args[0], relation=">" if node.op is sqrt else c.relation))
        elif node.op is neg:
            stack.append(c._replace(node=node.args[0], relation={"<": ">", ">": "<"}.get(c.relation, c.relation)))
        elif node.op in (abs_, square) or (node.op is pow_ and _even(graph, node.args[1]) and c.relation != "<"):
            stack.append(c._replace(node=node.args[0], relation="!="))
        elif c.relation == "!=" and node.op in (mul, div, cbrt, pow_):
            stack.extend(c._replace(node=j) for j in (node.args if node.op is mul else node.args[:1]))
        else:
            found.append(c)
    return found


def _even(graph: Graph, exponent: int) -> bool:
    return graph.nodes[exponent].constant and float(graph.constant_value(exponent)) % 2 == 0


def linear(graph: Graph, root: int) -> Linear | None:
    """The expression at a node as slope·x + offset of a single input, exactly; None where it is no such thing."""
    values: dict[int, Linear | None] = {}
    stack = [root]
    while stack:
        i = stack[-1]
        node = graph.nodes[i]
        todo = [j for j in node.args if j not in values] if not node.is_leaf else []
        if todo:
            stack.extend(todo)
            continue
        stack.pop()
        values[i] = _linear_node(graph, i, [values[j] for j in node.args] if not node.is_leaf else [])
        if values[i] is None:
            return None
    return values[root]


def _linear_node(graph: Graph, i: int, xs: Sequence[Linear | None]) -> Linear | None:
    node = graph.nodes[i]
    zero = Fraction(0)
    if node.op is NUMBER:
        return Linear(None, zero, Fraction(repr(node.value)))
    if node.is_leaf:
        return Linear(i, Fraction(1), zero)
    known = [x for x in xs if x is not None]
    if len(known) < len(xs) or not known:
        return None
    a = known[0]
    if node.op is neg:
        return Linear(a.place, -a.slope, -a.offset)
    if node.op is identity:
        return a
    if len(known) < 2 or len({x.place for x in known} - {None}) > 1:
        return None
    b = known[1]
    place = a.place if a.place is not None else b.place
    if node.op in (add, sub):
        sign = 1 if node.op is add else -1
        return Linear(place, a.slope + sign * b.slope, a.offset + sign * b.offset)
    if node.op is mul and (a.place is None or b.place is None):
        c, x = (a.offset, b) if a.place is None else (b.offset, a)
        return Linear(place, c * x.slope, c * x.offset)
    if node.op is div and b.place is None and b.offset:
        return Linear(place, a.slope / b.offset, a.offset / b.offset)
    return None


def solve(graph: Graph, condition: Condition) -> tuple[int, str, Fraction] | None:
    """The condition as one on an input: (place, relation, bound); None where it is not linear in one."""
    form = linear(graph, condition.node) if condition.relation != "words" else None
    if form is None or form.place is None or form.slope == 0:
        return None
    bound = (condition.bound - form.offset) / form.slope
    turned = {"<": ">", ">": "<"}.get(condition.relation, condition.relation)
    return form.place, condition.relation if form.slope > 0 else turned, bound


def condition_text(graph: Graph, condition: Condition) -> str:
    """A condition that was not solved, in the language."""
    if condition.words:
        return condition.words
    return f"{expression_text(graph, condition.node)} {condition.relation} {fraction_text(condition.bound)}"
