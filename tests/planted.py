"""Planted mistakes: an expression with a wrong sign, coefficient or exponent, or without one of its terms."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp

import chainrule as cr
from chainrule import symbolic
from chainrule.digits import ancestors
from chainrule.graph import NUMBER, Graph, Node
from chainrule.ops.arithmetic import add, identity, neg, sub
from chainrule.ops.powers import pow_
from chainrule.printing import expression_text

DIGITS = 120


def planted(text: str, seed: int = 0) -> Iterator[tuple[str, str]]:
    """One mistake of each kind that the expression has a place for: the kind, and the wrong expression."""
    program = cr.parse(text)
    used = ancestors(program, [program.output])
    nodes = program.nodes
    sums = [i for i in used if nodes[i].op in (add, sub)]
    powers = [i for i in used if nodes[i].op is pow_]
    exponents = [j for i in powers for j in ancestors(program, [nodes[i].args[1]]) if nodes[j].op is NUMBER]
    places = {
        "sign": [*sums, *(i for i in used if nodes[i].op is neg)],
        "coefficient": [i for i in used if nodes[i].op is NUMBER and i not in exponents],
        "exponent": exponents,
        "dropped term": sums,
    }
    generator = random.Random(f"{seed} {text}")
    for kind, found in places.items():
        if found:
            yield kind, _changed(program, generator.choice(found), drop=kind == "dropped term")


def _changed(program: Graph, i: int, *, drop: bool) -> str:
    """The text with one node changed: without its second term, with another sign, or a number that is 1 larger."""
    node = program.nodes[i]
    if drop:
        changed = Node(identity, node.args[:1], (0, 0), False)
    elif node.op is NUMBER:
        changed = Node(NUMBER, (), (0, 0), True, (node.value or 0) + 1)
    else:
        changed = Node({add: sub, sub: add, neg: identity}[node.op], node.args, (0, 0), node.constant)
    nodes = [*program.nodes[:i], changed, *program.nodes[i + 1 :]]
    return expression_text(Graph(**{**vars(program), "nodes": nodes}), program.output)


def claimed(text: str, point: Mapping[str, str]) -> Any:
    """An expression at exact numbers, by SymPy and mpmath to many digits; nan where it has no real value."""
    return _evaluated(*_lowered(text), point)


def derivative(text: str, by: str, point: Mapping[str, str]) -> Any:
    """SymPy's derivative at exact numbers, to many digits; nan where it has no real value."""
    term, symbols = _lowered(text)
    return _evaluated(symbolic.derivative(term, symbols.get(by, sp.Dummy())), symbols, point)


def _lowered(text: str) -> tuple[Any, dict[str, Any]]:
    return symbolic.lower(cr.parse(text), {}, doubles=False)


def _evaluated(term: Any, symbols: Mapping[str, Any], point: Mapping[str, str]) -> Any:
    with mpmath.workdps(DIGITS):
        exact = [Fraction(point[name]) for name in symbols]
        numbers = [mpmath.mpf(x.numerator) / x.denominator for x in exact]
        try:
            found = mpmath.mpmathify(sp.lambdify(list(symbols.values()), term, "mpmath")(*numbers))
        except (ValueError, ZeroDivisionError):
            return mpmath.nan
        return found.real if abs(found.imag) <= abs(found) * mpmath.mpf(10) ** -40 else mpmath.nan
