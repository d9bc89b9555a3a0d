"""Every row of the table: its derivatives against SymPy's at high precision, its edges, its agreement with itself.

Everything is derived from the row (arguments, domain, edges, static parameters), so a new row is tested by being there.
The rule under test is never used to say what is right: SymPy differentiates the row's counterpart, and mpmath evaluates
that; rows on whole arrays meet central differences of their own forward.
"""

from __future__ import annotations

import ast
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from truth import pairs, precise, ulps

import chainrule as cr
from chainrule import symbolic
from chainrule.evaluate import value_and_grad
from chainrule.graph import INPUT, Graph
from chainrule.ops import TABLE, Interval, Op
from chainrule.tensors import Tensor

BAR = 4  # ulp
# Below this doubles lose digits or vanish, and so may a derivative whose parts do.
UNDERFLOW = 1e-300

# Rows that are not within the bar today: the bound in ulp for the value, for the derivatives, and why.
LOOSE: dict[str, tuple[float, float, str]] = {}

DIFFERENTIABLE_ELSEWHERE = {"detach": "stops the gradient on purpose", "const": "stops the gradient on purpose"}


# --- rows, as the tests need them -------------------------------------------------------------------------------------


def fixed(op: Op) -> Op:
    """The row with its static parameters at their defaults."""
    return op.bind(**{s.name: ast.literal_eval(s.default) for s in op.statics if s.default is not None})


ELEMENTWISE = {op.name: fixed(op) for op in TABLE.values() if op.elementwise and op.arity}
WHOLE = {op.name: op for op in TABLE.values() if not op.elementwise and op.differentiable}
EDGES = [(op, edge) for op in ELEMENTWISE.values() for edge in op.edges]

elementwise = pytest.mark.parametrize("op", ELEMENTWISE.values(), ids=ELEMENTWISE.keys())
whole = pytest.mark.parametrize("op", WHOLE.values(), ids=WHOLE.keys())
every_edge = pytest.mark.parametrize(("op", "edge"), EDGES, ids=[f"{op.name}: {edge.at}" for op, edge in EDGES])


def graph_of(op: Op) -> Graph:
    """A program of one operation on inputs that are called as the row calls them."""
    graph = Graph()
    for name in op.inputs:
        graph.give_name(name, graph.append(INPUT, ()))
    graph.output = graph.last = graph.append(op, tuple(range(op.arity)))
    return graph


def gradients(op: Op, xs: Sequence[Any], cotangent: Any = 1.0) -> list[Any]:
    """The cotangents of the inputs, by numbers through a graph."""
    return list(value_and_grad(graph_of(op), dict(zip(op.inputs, xs, strict=True)), cotangent=cotangent)[1].values())


def draw(interval: Interval, magnitudes: tuple[float, float], generator: random.Random) -> float:
    """A double inside the interval: of any magnitude where it is unbounded, and also close to its ends."""
    low, high = interval
    while True:
        size = 10 ** generator.uniform(*magnitudes)
        if low == -math.inf and high == math.inf:
            x = generator.choice((-1, 1)) * size
        elif high == math.inf:
            x = low + size
        elif low == -math.inf:
            x = high - size
        else:
            near = (high - low) * 10 ** generator.uniform(-12, -0.3)
            x = generator.choice((low + near, high - near, generator.uniform(low, high)))
        if low < x < high:
            return x


def points(op: Op, count: int, magnitudes: tuple[float, float] = (-8, 3)) -> list[tuple[float, ...]]:
    """Arguments drawn from the row's domain, the same at every run."""
    generator = random.Random(f"{op.name} {magnitudes}")
    return [tuple(draw(interval, magnitudes, generator) for interval in op.domain) for _ in range(count)]


@cache
def counterpart(op: Op) -> tuple[Any, tuple[Any, ...]]:
    """SymPy's term for an elementwise row, and its symbols."""
    symbols = sp.symbols(op.inputs, real=True)
    return symbolic.counterpart(op, symbols), symbols


@cache
def function(op: Op, *by: int) -> Callable[[tuple[float, ...]], Any]:
    """The row's counterpart, differentiated by the inputs at the places `by`, as a function of exact doubles."""
    term, symbols = counterpart(op)
    for i in by:
        term = symbolic.derivative(term, symbols[i])
    numeric = sp.lambdify(symbols, term, "mpmath")
    return lambda xs: precise(numeric, xs)


def off(got: float, true: Any) -> float:
    """The distance in ulps, nothing where both are as good as 0."""
    return 0.0 if abs(mpmath.mpf(got) - true) < UNDERFLOW else ulps(got, true)


# --- accuracy ---------------------------------------------------------------------------------------------------------


def check_accuracy(op: Op, drawn: list[tuple[float, ...]]) -> None:
    value_bar, derivative_bar, _ = LOOSE.get(op.name, (BAR, BAR, ""))
    graph = graph_of(op)
    met = 0
    for xs in drawn:
        value, gradient = value_and_grad(graph, dict(zip(op.inputs, xs, strict=True)))
        true = function(op)(xs)
        if true is None:
            continue
        met += 1
        assert off(value, true) <= value_bar, (xs, value, true)
        for i, got in enumerate(gradient.values()):
            if op.name not in DIFFERENTIABLE_ELSEWHERE and (true := function(op, i)(xs)) is not None:
                assert off(got, true) <= derivative_bar, (op.inputs[i], xs, got, true)
    assert met >= len(drawn) / 3


@elementwise
def test_value_and_derivatives_are_accurate(op):
    check_accuracy(op, points(op, 30))
