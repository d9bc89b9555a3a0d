"""A claim made ready to be computed: its inputs' shapes and values, and both its sides at a point."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import mpmath
import numpy as np

from .claims import Claim
from .digits import (
    MOST_DIGITS,
    STEPS,
    Direction,
    Stencil,
    Tape,
    ancestors,
    harmless,
    number,
    precision,
    working_digits,
)
from .errors import ChainruleError
from .graph import Graph
from .ops import shape_text
from .ops.base import quietly
from .points import Point

EQUAL = mpmath.mpf(10) ** -34  # the error of a difference with the first of the steps is far below
ROUNDED = 12  # a number with so many digits was rounded, and is taken to be right up to its last but three


# What can be said of both sides at a point: the digits may not suffice, or a side may be undefined there. A point of
# several elements is what the first of these states says that one of them has.
STATES = ("no derivative", "no claim", "differs", "unclear", "equal")


class Sides(NamedTuple):
    """Both sides at a point: arrays of one shape, and the state of each element."""

    derivative: Any
    claimed: Any
    states: list[str]

    @property
    def state(self) -> str:
        """The state of the point as a whole."""
        return min(self.states, key=STATES.index, default="equal")


class Case:
    """A claim made ready to be computed at points."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.graph: Graph = claim.graph
        self.fixed = _values(claim)
        self.digits = _rounded(claim)
        self.shapes = {i: self._shape(i) for i in self.graph.names.values() if self.graph.nodes[i].is_leaf}
        self._fit()

    def _shape(self, i: int) -> tuple[int, ...]:
        """The shape of an input: that of its value, the one declared, or that of its default."""
        node = self.graph.nodes[i]
        if i in self.fixed:
            return np.shape(self.fixed[i])
        if node.name in self.graph.shapes:
            return self.graph.shapes[node.name]
        return np.shape(self.graph.constant_value(node.args[0])) if node.args else ()

    def _fit(self) -> None:
        """Run both sides on arrays of the inputs' shapes. Raises `ChainruleError` where the shapes do not fit."""
        tape: dict[int, Any] = {}
        for i in ancestors(self.graph, [self.claim.root, self.claim.answer]):
            node = self.graph.nodes[i]
            if i in self.shapes:
                tape[i] = harmless(self.shapes[i])
            elif node.value is not None:
                tape[i] = node.value
            else:
                try:
                    with quietly():
                        tape[i] = self.graph.apply(i, [tape[j] for j in node.args])
                except ChainruleError as error:
                    if error.kind != "shape":
                        return  # a singular matrix, or the like: no matter of shapes
                    if not any(self.shapes.values()):
                        error.hint = "say the shapes: 'A: 2x2' 'x: 2', or behind a bar: … | A: 2x2, x: 2"
                    raise (self.claim.misfit(error) if i >= self.claim.begin else error) from None

    @cached_property
    def order(self) -> int:
        """The order of the derivative."""
        return len(self.claim.by)

    def directions(self, group: tuple[int, ...], tape: Tape) -> tuple[tuple[int, ...], list[Direction]]:
        """What one differentiation moves: the shape of the result's axes, and a direction for each element."""
        along = self.claim.along
        if along is not None:
            moves = [((i, index), number(exactly(w))) for i, v in along.items() for index, w in np.ndenumerate(v)]
            return (), [tuple(moves)]
        if len(group) == 1:
            shape = np.shape(tape.tape[group[0]])
            return shape, [(((group[0], index), 1),) for index in np.ndindex(shape)]
        if any(np.ndim(tape.tape[i]) for i in group):
            raise ChainruleError(
                "shape",
                f"{self.claim.label} needs scalar inputs, or a single array",
                hint="claim dy/dx for each input instead",
            )
        return (len(group),), [(((i, ()), 1),) for i in group]

    def derivative(self, tape: Tape, step: int, side: int = 0, root: int | None = None) -> Any:
        """The derivative by differences with steps of 10^-step, an object array."""
        root = self.claim.root if root is None else root
        grids = [self.directions(group, tape) for group in self.claim.by]
        known: dict[tuple[Direction, ...], Any] = {}
        found = []
        for by in itertools.product(*(grid for _, grid in grids)):
            key = tuple(sorted(by, key=str))  # the order of differentiation does not matter
            if key not in known:
                known[key] = np.asarray(Stencil(key, side).apply(tape, root, step), dtype=object)
            found.append(known[key])
        shape = sum((shape for shape, _ in grids), ())
        inner = np.shape(tape.tape[root])
        flat = np.array([v for array in found for v in np.ravel(array)], dtype=object)
        return np.moveaxis(flat.reshape((-1, *inner)), 0, -1).reshape((*inner, *shape))

    def at(self, point: Point, most: int = MOST_DIGITS) -> Sides:
        """Both sides at a point, with as many digits as it takes, but at most so many besides those of the steps."""
        before: list[Any] | None = None
        extra, needed = 0, [self.claim.root, self.claim.answer, *(i for group in self.claim.by for i in group)]
        for step in STEPS:
            if extra > most:
                break
            with precision(working_digits(step, self.order) + extra):
                tape = Tape(self.graph, needed, point)
                derivative = self.derivative(tape, step)
                claimed = self.fitted(np.asarray(tape.tape[self.claim.answer], dtype=object), derivative.shape)
                pairs = list(zip(np.ravel(derivative), np.ravel(claimed), strict=True))
                states = _states(pairs, before, EQUAL if self.digits is None else mpmath.mpf(10) ** -self.digits)
                before = [abs(d - c) for d, c in pairs]
                extra = extra or tape.spread()
            if "unclear" not in states or "no derivative" in states or "no claim" in states:
                break
        return Sides(derivative, claimed, states)

    def fitted(self, claimed: Any, shape: tuple[int, ...]) -> Any:
        """The claimed array in the derivative's shape. Raises `ChainruleError` where it has another."""
        if claimed.shape == shape:
            return claimed
        if [n for n in claimed.shape if n > 1] == [n for n in shape if n > 1]:
            return claimed.reshape(shape)
        said = f"{self.claim.label} has shape {shape_text(shape)}, and what is claimed {shape_text(claimed.shape)}"
        hint = "of arrays, dY/dX has the shape of Y followed by that of X"
        if claimed.shape == shape[::-1]:
            hint += ": transpose what is claimed"
        raise self.claim.misfit(ChainruleError("shape", said, hint=hint))

    def smooth(self, point: Point) -> bool:
        """Whether the derivatives from the left and from the right are the same there."""
        step = STEPS[0]
        with precision(working_digits(step, self.order)):
            tape = Tape(self.graph, [self.claim.root, *(i for group in self.claim.by for i in group)], point)
            left, right = (np.ravel(self.derivative(tape, step, side)) for side in (-1, 1))
            return all(
                (mpmath.isfinite(a) and mpmath.isfinite(b) and abs(a - b) <= mpmath.mpf(10) ** -8 * (abs(a) + abs(b)))
                or abs(a - b) < mpmath.mpf(10) ** -15
                for a, b in zip(left, right, strict=True)
            )

    def named(self, point: Point) -> dict[str, Any]:
        """A point by the inputs' names, those that matter."""
        matter = set(Tape(self.graph, [self.claim.root, self.claim.answer], point).order)
        matter |= {i for group in self.claim.by for i in group}
        return {self.graph.nodes[i].name or "": value for i, value in point.items() if i in matter}


def _values(claim: Claim) -> dict[int, Any]:
    """The inputs' values as the program, its bar and the claim give them, exact; what is differentiated by moves."""
    graph, moved = claim.graph, {j for group in claim.by for j in group}
    found = {graph.names[name]: value for name, value in graph.at.items() if graph.nodes[graph.names[name]].is_leaf}
    for i in graph.names.values():
        node = graph.nodes[i]
        if node.is_leaf and node.args and i not in moved and i not in found:
            found[i] = graph.constant_value(node.args[0])
    return {i: exactly(value) for i, value in (found | claim.at).items()}


def exactly(value: Any) -> Any:
    """Numbers as fractions: decimals as they are written."""
    if np.ndim(value):
        return np.frompyfunc(exactly, 1, 1)(np.asarray(value, dtype=object))
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def _rounded(claim: Claim) -> int | None:
    """To how many digits a claim can be right whose numbers were rounded; None where none was."""
    found = [
        len(str(node.value).partition("e")[0].replace(".", "").strip("0"))
        for node in claim.graph.nodes[claim.begin : claim.answer + 1]
        if node.value is not None
    ]
    long = [n for n in found if n >= ROUNDED]
    return min(long) - 4 if long else None


def _states(pairs: list[tuple[Any, Any]], before: list[Any] | None, close: Any) -> list[str]:
    """What can be said of each element, given how far the sides were apart with the last steps."""
    states = []
    for k, (d, c) in enumerate(pairs):
        gap, size = abs(d - c), max(abs(d), abs(c))
        if not mpmath.isfinite(d):
            states.append("no derivative")
        elif not mpmath.isfinite(c):
            states.append("no claim")
        elif before is None and size == 0:
            states.append("unclear")  # something small may have vanished beside something large
        elif gap <= close * size or (before is not None and gap <= before[k] * mpmath.mpf(10) ** -15):
            states.append("equal")  # or what is between them vanishes with the step
        elif before is not None and abs(gap - before[k]) <= mpmath.mpf(10) ** -8 * gap:
            states.append("differs")
        else:
            states.append("unclear")
    return states
