"""A wrong claim with samples of both its sides, and the quantities that explain mistakes, in many digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import numpy as np

from .digits import STEPS, Place, Stencil, Tape, ancestors, operation
from .domains import fraction_text
from .graph import Graph
from .ops.arithmetic import identity
from .printing import expression_text

if TYPE_CHECKING:
    from .cases import Case
    from .points import Point

CLOSE = mpmath.mpf(10) ** -18


class Sample(NamedTuple):
    """Both sides at one point, and the tape of its nodes."""

    point: Point
    tape: Tape
    derivative: Any
    claimed: Any


class Patient:
    """A wrong claim with its samples."""

    def __init__(self, case: Case, points: Sequence[Point], agreeing: Sequence[Point]) -> None:
        self.case = case
        self.graph: Graph = case.graph
        self.root = _behind(self.graph, case.claim.root)
        self.points = points
        self.agreeing = agreeing
        self.scalar = (
            case.order == 1 and len(case.claim.by[0]) == 1 and case.claim.along is None
            and not case.shapes.get(self.variable)
        )  # fmt: skip

    @property
    def variable(self) -> int:
        """The node differentiated by, the first of them."""
        return self.case.claim.by[0][0]

    @property
    def element(self) -> Place:
        """The variable as an element that moves."""
        return self.variable, ()

    @cached_property
    def samples(self) -> list[Sample]:
        """Both sides at all points."""
        return [self.sample(point) for point in self.points]

    def sample(self, point: Point) -> Sample:
        """Both sides at one point."""
        claim = self.case.claim
        tape = Tape(self.graph, range(len(self.graph.nodes)), point)
        derivative = self.case.derivative(tape, STEPS[0])
        claimed = self.case.fitted(np.asarray(tape.tape[claim.answer], dtype=object), derivative.shape)
        return Sample(point, tape, derivative, claimed)

    # --- quantities at every sample -----------------------------------------------------------------------------------

    def both(self) -> tuple[list[Any], list[Any]]:
        """Derivative and claim, all elements of all samples in a row."""
        return flat(s.derivative for s in self.samples), flat(s.claimed for s in self.samples)

    def by(self, node: int, variable: int | None = None) -> list[Any]:
        """The derivative of a node at every sample."""
        place = (self.variable if variable is None else variable, ())
        return [Stencil((((place, 1),),)).apply(s.tape, node, STEPS[0]) for s in self.samples]

    def through(self, node: int, k: int) -> list[Any]:
        """What argument k contributes to the derivative of a node: all other arguments held."""
        arg = self.graph.nodes[node].args[k]
        return [self._partial(s.tape, node, k) * d for s, d in zip(self.samples, self.by(arg), strict=True)]

    def _partial(self, tape: Tape, node: int, k: int) -> Any:
        """A node's derivative by its argument k alone, also where another argument is the same node."""
        op, args = self.graph.nodes[node].op, self.graph.nodes[node].args
        xs = [tape.tape[j] for j in args]
        step = min([mpmath.mpf(1), *(abs(x) for x in xs[k : k + 1] if x)]) * mpmath.mpf(10) ** -STEPS[0]
        right, left = (operation(op)(*xs[:k], xs[k] + h, *xs[k + 1 :]) for h in (step, -step))
        return (right - left) / (2 * step)

    def value(self, node: int) -> list[Any]:
        """A node's value at every sample."""
        return [s.tape.tape[node] for s in self.samples]

    def text(self, node: int) -> str:
        """A node as an expression."""
        return expression_text(self.graph, node)

    def inside(self) -> list[int]:
        """The nodes that the function is made of and that the variable is in, the function itself last."""
        order = ancestors(self.graph, [self.root])
        depends = {self.variable}
        for i in order:
            if any(j in depends for j in self.graph.nodes[i].args):
                depends.add(i)
        return [i for i in order if i in depends and i != self.variable][-60:]


def _behind(graph: Graph, i: int) -> int:
    while graph.nodes[i].op is identity:
        i = graph.nodes[i].args[0]
    return i


# --- comparing --------------------------------------------------------------------------------------------------------


def flat(arrays: Any) -> list[Any]:
    """All elements of several arrays in a row."""
    return [v for array in arrays for v in np.ravel(array)]


def same(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Whether two quantities are equal at every sample, and not 0 at all of them."""
    pairs = list(zip(xs, ys, strict=True))
    if not pairs or any(not mpmath.isfinite(x) or not mpmath.isfinite(y) for x, y in pairs):
        return False
    size = max(max(abs(x), abs(y)) for x, y in pairs)
    return size > 0 and all(abs(x - y) <= CLOSE * max(abs(x), abs(y), size * CLOSE) for x, y in pairs)


def ratio_of(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """The constant x/y, or None where it is none."""
    quotients = [x / y for x, y in zip(xs, ys, strict=True) if x != 0 or y != 0]
    if len(quotients) < min(3, len(xs)) or not all(map(mpmath.isfinite, quotients)):
        return None
    return quotients[0] if all(abs(q - quotients[0]) <= CLOSE * abs(quotients[0]) for q in quotients) else None


def constant_text(value: Any) -> str | None:
    """A number as a fraction, or one times a well-known constant; None where it is neither."""
    for name, known in _well_known():
        for above, scaled in ((True, value / known), (False, value * known)):
            fraction = Fraction(mpmath.nstr(scaled, 30)).limit_denominator(1000)
            near = mpmath.mpf(fraction.numerator) / fraction.denominator
            if fraction and abs(near - scaled) <= CLOSE * abs(scaled):
                return _times(fraction, name, above) if name else fraction_text(fraction)
    return None


def _well_known() -> Iterator[tuple[str, Any]]:
    """Constants that people forget."""
    yield "", mpmath.mpf(1)
    yield "pi", +mpmath.mp.pi
    yield "e", +mpmath.mp.e
    for n in (2, 10):
        yield f"ln({n})", mpmath.log(n)
    for text, n in (("2", 2), ("3", 3), ("pi", +mpmath.mp.pi)):
        yield f"sqrt({text})", mpmath.sqrt(n)


def _times(fraction: Fraction, name: str, above: bool) -> str:
    """A fraction times (or divided by) a named constant: 2*pi/3."""
    top = [str(abs(fraction.numerator))] if abs(fraction.numerator) != 1 else []
    bottom = [str(fraction.denominator)] if fraction.denominator != 1 else []
    (top if above else bottom).append(name)
    below = f"/({'*'.join(bottom)})" if len(bottom) > 1 else "".join(f"/{b}" for b in bottom)
    return ("-" if fraction < 0 else "") + ("*".join(top) or "1") + below
