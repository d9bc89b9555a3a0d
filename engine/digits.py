"""A graph in many digits: exact points through it, and derivatives as limits of differences.

Each operation runs by the counterpart that its row names for SymPy, with mpmath in SymPy's place. Neither our rules nor
floating point take part, so what is found here judges both. Real numbers only: what is not real is undefined (nan).

A central difference with step h is wrong by a part of about h²; with h = 10⁻²⁰ and enough digits that is nothing. It is
computed again with far smaller steps wherever it matters, so that neither cancellation nor a near pole decides.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp

from .graph import NUMBER, Graph
from .ops import Op
from .ops.arithmetic import PRODUCT, SIGN, SUM
from .ops.barriers import const, detach

NAN = mpmath.mpf("nan")
MOST_DIGITS = 3000  # beyond those that the steps need
EASY_DIGITS = 400  # beyond which special functions take seconds
LARGEST = 5000  # bits of the integer part of an argument, beyond which a function counts as undefined
STEPS = (20, 60, 180)  # digits of the steps of differences, tried one after the other

Place = tuple[int, tuple[int, ...]]  # an element: the node, and the index in its array
Direction = tuple[tuple[Place, int], ...]  # what moves together: elements, each with its weight


_UNDEFINED = (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence)


def _piecewise(*pieces: Any) -> Any:
    return next((value for value, condition in pieces if condition), NAN)


class _Library:
    """Mpmath under the names of SymPy's functions."""

    Piecewise = type("Piecewise", (), {"__new__": lambda cls, *pieces: _piecewise(*pieces)})
    Abs, floor, ceiling = abs, staticmethod(mpmath.floor), staticmethod(mpmath.ceil)
    Lt, Le, Gt, Ge = operator.lt, operator.le, operator.gt, operator.ge
    Eq, Ne, Not = operator.eq, operator.ne, operator.not_
    Integer = nsimplify = staticmethod(mpmath.mpf)

    @staticmethod
    def And(*truths: Any) -> bool:
        return all(truths)

    @staticmethod
    def Or(*truths: Any) -> bool:
        return any(truths)

    @staticmethod
    def Max(*xs: Any) -> Any:
        return NAN if any(x != x for x in xs) else max(xs)

    @staticmethod
    def Min(*xs: Any) -> Any:
        return NAN if any(x != x for x in xs) else min(xs)

    @staticmethod
    def Heaviside(x: Any) -> Any:
        return (1 + mpmath.sign(x)) / 2

    @staticmethod
    def Rational(p: int, q: int = 1) -> Any:
        return mpmath.mpf(p) / q

    @staticmethod
    def erfc(x: Any, evaluate: bool = True) -> Any:
        return mpmath.erfc(x)

    @staticmethod
    def polygamma(order: int, x: Any) -> Any:
        return mpmath.psi(order, x)

    @staticmethod
    def loggamma(x: Any) -> Any:
        return mpmath.re(mpmath.loggamma(x))

    pi = property(lambda self: +mp.pi)
    E = property(lambda self: +mp.e)
    oo = property(lambda self: mp.inf)

    class Matrix:
        """A matrix, as far as the table's rows use SymPy's."""

        def __init__(self, rows: Any) -> None:
            self.rows = mpmath.matrix(rows)

        def det(self) -> Any:
            return mpmath.det(self.rows) if self.rows.rows else mpmath.mpf(1)

        def inv(self) -> Any:
            return mpmath.inverse(self.rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(mpmath, name)


LIBRARY = _Library()


@cache
def operation(op: Op) -> Callable[..., Any]:
    """A row as a function of numbers or object arrays of mpmath's, nan for what is undefined."""
    arithmetic = op.level in (SUM, SIGN) or (op.level == PRODUCT and op.differentiable)

    def call(*xs: Any) -> Any:
        if not arithmetic and any(_too_large(x) for x in xs):
            return NAN
        try:
            return _real(op.by(LIBRARY, *xs))
        except _UNDEFINED:
            return NAN

    def whole(*xs: Any) -> Any:
        try:
            return _real(op.by(LIBRARY, *xs))
        except _UNDEFINED:
            shape = np.shape(op(*[harmless(np.shape(x)) for x in xs]))
            return np.full(shape, NAN, dtype=object) if shape else NAN

    def elementwise(*xs: Any) -> Any:
        if any(type(x) is np.ndarray for x in xs):
            return np.frompyfunc(call, len(xs), 1)(*xs)
        return call(*xs)

    return elementwise if op.elementwise else whole


def harmless(shape: tuple[int, ...]) -> Any:
    """Numbers in a shape at which operations on arrays are defined: a square matrix is positive definite."""
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        return np.eye(shape[-1]) + np.full(shape, 0.25)
    return np.full(shape, 1.25) if shape else 1.25


def _too_large(x: Any) -> bool:
    return type(x) is mpmath.mpf and bool(x) and x == x and mpmath.mag(x) > LARGEST


def _real(y: Any) -> Any:
    """A number or an array of them as real ones."""
    kind = type(y)
    if kind is mpmath.mpf:
        return y
    if kind is np.ndarray:
        return np.frompyfunc(_real, 1, 1)(y) if y.ndim else _real(y[()])
    if kind is mpmath.mpc:
        return y.real if y.imag == 0 else NAN
    return mpmath.mpf(y)


def number(x: Any) -> Any:
    """An exact number (a `Fraction`, or a float as the decimal that it prints as) to the working precision."""
    if isinstance(x, Fraction):
        return mpmath.mpf(x.numerator) / x.denominator
    return mpmath.mpf(repr(float(x)))


def convert(values: Any) -> Any:
    """`number` on arrays too."""
    return np.frompyfunc(number, 1, 1)(values) if np.ndim(values) else number(values)


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """So many decimal digits inside."""
    with mp.workdps(digits):
        yield


class Tape:
    """The nodes of a graph that `roots` depend on, in many digits, at the values of its inputs (exact, by place)."""

    def __init__(self, graph: Graph, roots: Sequence[int], values: Mapping[int, Any]) -> None:
        self.graph = graph
        self.values = values
        self.order = ancestors(graph, roots)
        self.tape: dict[int, Any] = {}
        for i in self.order:
            self.tape[i] = self._value(i, self.tape)

    def _value(self, i: int, tape: Mapping[int, Any]) -> Any:
        node = self.graph.nodes[i]
        if i in self.values:
            return convert(self.values[i])
        if node.op is NUMBER:
            return number(node.value)
        if node.is_leaf:
            return tape[node.args[0]] if node.args else NAN
        return operation(node.op)(*[tape[j] for j in node.args])

    def spread(self) -> int:
        """How many digits more than usual it takes so that nothing vanishes beside the largest of the numbers here.

        Arguments of functions count too, as exponents: inside, a function may add their exponentials to 1.
        """
        sizes, exponents = [0], [0]
        for i, value in self.tape.items():
            sizes += [mpmath.mag(v) for v in np.ravel(value) if mpmath.isfinite(v) and v]
            if not self.graph.nodes[i].op.level:
                arguments = [abs(v) for j in self.graph.nodes[i].args for v in np.ravel(self.tape[j])]
                exponents += [int(min(v, MOST_DIGITS)) for v in arguments if v > 40]
        return min((max(sizes) - min(sizes)) * 302 // 1000, MOST_DIGITS) + max(exponents)

    def moved(self, offsets: Mapping[Place, Any], root: int) -> Any:
        """The value of `root` when elements of some nodes are moved by `offsets`."""
        changed: dict[int, Any] = {}
        for (place, index), offset in offsets.items():
            value = changed.get(place, self.tape[place])
            if index:
                value = value.copy()
                value[index] = value[index] + offset
            else:
                value = value + offset
            changed[place] = value
        nodes = self.graph.nodes
        for i in self.order:
            if i > root:
                break
            node = nodes[i]
            if i in changed or node.op is detach or node.op is const:
                continue
            for j in node.args:
                if j in changed:
                    xs = [changed[j] if j in changed else self.tape[j] for j in node.args]
                    changed[i] = operation(node.op)(*xs) if not node.is_leaf else xs[0]
                    break
        return changed.get(root, self.tape[root])


def ancestors(graph: Graph, roots: Sequence[int]) -> list[int]:
    """The nodes that some nodes depend on, themselves included, in topological order."""
    wanted = set(roots)
    stack = [*wanted]
    while stack:
        for j in graph.nodes[stack.pop()].args:
            if j not in wanted:
                wanted.add(j)
                stack.append(j)
    return sorted(wanted)


class Stencil(NamedTuple):
    """A difference: the moves of a derivative in several directions, each with its coefficient; shifted to one side."""

    by: tuple[Direction, ...]
    side: int = 0  # -1 or 1: all moves to the left or the right of the point

    def apply(self, tape: Tape, root: int, digits: int) -> Any:
        """The difference quotient with steps of 10^-digits."""
        times = {direction: self.by.count(direction) for direction in self.by}
        steps = {direction: _step(tape, direction, digits) for direction in times}
        total: Any = 0
        for moves in itertools.product(*(range(m + 1) for m in times.values())):
            offsets: dict[Place, Any] = {}
            coefficient = 1
            for k, (direction, m) in zip(moves, times.items(), strict=True):
                coefficient *= (-1) ** k * math.comb(m, k)
                shift = (m - 2 * k + self.side * m) * steps[direction]
                for place, weight in direction:
                    offsets[place] = offsets.get(place, 0) + shift * weight
            total = total + coefficient * tape.moved(offsets, root)
        for direction, m in times.items():
            total = total / (2 * steps[direction]) ** m
        return total


def _step(tape: Tape, direction: Direction, digits: int) -> Any:
    """A step that is small beside the number that it moves."""
    sizes = [abs(value) for (place, index), _ in direction if (value := _element(tape.tape[place], index))]
    return min([mpmath.mpf(1), *sizes]) * mpmath.mpf(10) ** -digits


def _element(value: Any, index: tuple[int, ...]) -> Any:
    return value[index] if index else value


def working_digits(digits: int, order: int) -> int:
    """How many digits are computed with where steps of 10^-digits are taken `order` times."""
    return (order + 1) * digits + 40
