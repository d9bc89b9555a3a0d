"""Identities that a graph under construction knows: 0 + x, 1·x, x/1 and the like are not built.

Each is exact, or rounds less often than what it replaces: a·(1/b) becomes a/b. What could lose accuracy or change the
value somewhere, as x - x = 0 or (a + b)·c = a·c + b·c would, is left to SymPy. One is the chain rule's: a product
with a choice that is 0 on one side stays 0 there, whatever the other factor is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .ops import Op
from .ops.arithmetic import AND, COMPARISON, NOT, OR, add, and_, div, mul, neg, or_, sub, where
from .ops.arrays import array, index, place_like
from .ops.base import chain_product
from .ops.linalg import matmul
from .ops.powers import pow_

if TYPE_CHECKING:
    from .building import Builder

TRUTHS = (COMPARISON, OR, AND, NOT)  # the levels of operations that give 1 or 0
COLUMN = (Ellipsis, None)  # the index that makes a vector a column
EXACT = 2.0**53  # below it every whole number is a double


def simpler(b: Builder, op: Op, args: tuple[int, ...]) -> int | None:
    """A node equal to `op` on `args` that is simpler, or None."""
    if op.name == index.name:
        return _index(b, op.params["key"], args[0])
    values = [b.value(j) for j in args]
    if None not in values and (folded := _folded(op, values)) is not None:
        return b.number(folded)
    rule = RULES.get(op.name)
    if rule is not None:
        return rule(b, *args)
    if op.level in TRUTHS and all(b.graph.nodes[j].constant for j in args):
        return b.number(float(op(*map(b.graph.constant_value, args))))
    return None


def _folded(op: Op, values: Any) -> float | None:
    """The value of an operation on numbers where it is exact, None elsewhere."""
    if op.name in _ARITHMETIC and all(map(math.isfinite, values)):
        try:
            value = float(op.compute(*values))
            exactly = _ARITHMETIC[op.name](*map(Fraction, values))
        except (ZeroDivisionError, OverflowError):
            return None
        return value if math.isfinite(value) and Fraction(value) == exactly else None
    return float(op.compute(*values)) if op.level in TRUTHS else None


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    add.name: operator.add,
    sub.name: operator.sub,
    mul.name: operator.mul,
    chain_product.name: operator.mul,
    div.name: operator.truediv,
}


def _opposite(b: Builder, place: int) -> int | None:
    """x of a node -x."""
    node = b.graph.nodes[place]
    return node.args[0] if node.op is neg else None


def _inside(b: Builder, choice: int, change: Callable[[int], int]) -> int | None:
    """A choice that is 0 on one side, with its other side changed; None for any other node."""
    node = b.graph.nodes[choice]
    if node.op is where:
        c, one, other = node.args
        if b.value(one) == 0:
            return b.simplified(where, (c, one, change(other)))
        if b.value(other) == 0:
            return b.simplified(where, (c, change(one), other))
    return None


def _same_choice(b: Builder, x: int, y: int) -> int | None:
    """The sum of two choices by one condition that are 0 on the same side."""
    left, right = b.graph.nodes[x], b.graph.nodes[y]
    if left.op is where is right.op and left.args[0] == right.args[0]:
        for zero, other in ((1, 2), (2, 1)):
            if b.value(left.args[zero]) == b.value(right.args[zero]) == 0:
                addend = right.args[other]
                return _inside(b, x, lambda term: b.simplified(add, (term, addend)))  # noqa: B023
    return None


def _add(b: Builder, x: int, y: int) -> int | None:
    if b.value(x) == 0:
        return y
    if b.value(y) == 0:
        return x
    if x == y:
        return b.simplified(mul, (b.number(2), x))
    if (z := _opposite(b, y)) is not None:
        return b.simplified(sub, (x, z))
    if (z := _opposite(b, x)) is not None:
        return b.simplified(sub, (y, z))
    return _same_choice(b, x, y)


def _sub(b: Builder, x: int, y: int) -> int | None:
    if b.value(y) == 0:
        return x
    if b.value(x) == 0:
        return b.simplified(neg, (y,))
    if (z := _opposite(b, y)) is not None:
        return b.simplified(add, (x, z))
    return None


def _neg(b: Builder, x: int) -> int | None:
    if b.value(x) == 0:
        return x
    opposite = _opposite(b, x)
    return _inside(b, x, lambda term: b.simplified(neg, (term,))) if opposite is None else opposite


def _mul(b: Builder, x: int, y: int) -> int | None:
    for u, v in ((x, y), (y, x)):
        if (z := _opposite(b, u)) is not None:
            return b.simplified(neg, (b.simplified(mul, (z, v)),))
        if (value := b.value(u)) in (0, 1):
            return v if value else b.number(0)
    inside = _inside(b, x, lambda term: b.simplified(mul, (term, y)))
    inside = inside or _inside(b, y, lambda term: b.simplified(mul, (x, term)))
    if inside is not None:
        return inside
    if b.value(x) is None and b.value(y) is not None:
        x, y = y, x  # a number comes first
    if b.value(x) is not None:
        factor = b.graph.nodes[y].args[0] if b.graph.nodes[y].op is mul else None
        if factor is not None and _whole_product(b.value(x), b.value(factor)):
            return b.simplified(mul, (b.simplified(mul, (x, factor)), b.graph.nodes[y].args[1]))
    for u, v in ((x, y), (y, x)):
        node = b.graph.nodes[v]
        if node.op is div and b.value(node.args[0]) == 1:
            return b.simplified(div, (u, node.args[1]))
    return b.node(mul, (x, y))


def _whole_product(x: float | None, y: float | None) -> bool:
    return x is not None and y is not None and x.is_integer() and y.is_integer() and abs(x * y) < EXACT


def _chain_product(b: Builder, g: int, d: int) -> int:
    """The product of a cotangent and a local derivative: it is 0 where the cotangent is chosen to be 0."""
    if b.graph.nodes[g].op.level in TRUTHS:
        return b.simplified(where, (g, d, b.number(0)))
    inside = _inside(b, g, lambda term: b.simplified(chain_product, (term, d)))
    return b.simplified(mul, (g, d)) if inside is None else inside


def _div(b: Builder, x: int, y: int) -> int | None:
    if b.value(y) == 1:
        return x
    if b.value(x) == 0:
        return x
    for u, v, swap in ((x, y, False), (y, x, True)):
        if (z := _opposite(b, u)) is not None:
            return b.simplified(neg, (b.simplified(div, (v, z) if swap else (z, v)),))
    return _inside(b, x, lambda term: b.simplified(div, (term, y)))


def _pow(b: Builder, x: int, p: int) -> int | None:
    value = b.value(p)
    if value == 1:
        return x
    if value == 0:
        return b.number(1)
    return b.simplified(div, (b.number(1), x)) if value == -1 else None


def _where(b: Builder, c: int, one: int, other: int) -> int | None:
    if (value := b.value(c)) is not None:
        return one if value else other
    nodes = b.graph.nodes
    if one == other or (b.value(one) == 1 and b.value(other) == 0 and nodes[c].op.level in TRUTHS):
        return one if one == other else c
    if nodes[one].op is where and nodes[one].args[0] == c:
        return b.simplified(where, (c, nodes[one].args[1], other))
    if b.value(other) == 0 and nodes[one].op is where and b.value(nodes[one].args[2]) == 0:
        inner, term, zero = nodes[one].args  # both must hold
        return b.simplified(where, (b.simplified(and_, (c, inner)), term, zero))
    if nodes[other].op is where and nodes[other].args[0] == c:
        return b.simplified(where, (c, one, nodes[other].args[2]))
    return None


def _and(b: Builder, x: int, y: int) -> int | None:
    return _logic(b, x, y, absorbing=False)


def _or(b: Builder, x: int, y: int) -> int | None:
    return _logic(b, x, y, absorbing=True)


def _logic(b: Builder, x: int, y: int, *, absorbing: bool) -> int | None:
    for u, v in ((x, y), (y, x)):
        if (value := b.value(u)) is not None:
            if bool(value) is absorbing:
                return b.number(float(absorbing))
            if b.graph.nodes[v].op.level in TRUTHS:  # a truth value itself
                return v
    return None


def _index(b: Builder, key: tuple[Any, ...], x: int) -> int | None:
    """One element of a list, or of an array of zeros with one element."""
    node = b.graph.nodes[x]
    if key == (Ellipsis, 0) and node.op is matmul:  # a matrix times a column is a matrix times a vector
        right = b.graph.nodes[node.args[1]]
        if right.op.name == index.name and right.op.params["key"] == COLUMN and len(b.shapes[right.args[0]]) == 1:
            return b.node(matmul, (node.args[0], right.args[0]))
    if not all(type(k) is int and k >= 0 for k in key):
        return None
    if node.op is array:
        first, rest = node.args[key[0]], key[1:]
        return b.simplified(index.bind(key=rest), (first,)) if rest else first
    if node.op.name == place_like.name and len(key) == len(b.shapes[x]):
        there = node.op.params["key"]
        if len(there) == len(key) and all(type(k) is int and k >= 0 for k in there):
            return node.args[0] if there == key else b.number(0)
    return None


RULES: dict[str, Callable[..., int | None]] = {
    add.name: _add,
    sub.name: _sub,
    neg.name: _neg,
    mul.name: _mul,
    chain_product.name: _chain_product,
    div.name: _div,
    pow_.name: _pow,
    where.name: _where,
    and_.name: _and,
    or_.name: _or,
}
