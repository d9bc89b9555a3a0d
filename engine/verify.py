"""Verdicts on claims: is this the derivative, where, and if not, at which point does it differ?

The derivative is a difference in many digits (see `digits`), so a verdict owes nothing to the rules of the table, to
floating point or to SymPy; SymPy's proof, where there is one, comes on top. The points are always the same ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import mpmath
import numpy as np

from . import domains
from .claims import Claim
from .digits import MOST_DIGITS, STEPS, Direction, Stencil, Tape, ancestors, finite, number, precision, working_digits
from .diagnosis import diagnose
from .domains import Bounds, Condition
from .errors import ChainruleError
from .graph import Graph
from .ops import shape_text
from .points import Point, drawn, simple

Verdict = Literal["proved", "agrees", "agrees where", "differs", "undecided"]
POINTS = 12  # that must agree
ATTEMPTS = 400  # to find so many
EQUAL = mpmath.mpf(10) ** -25


@dataclass
class Counterexample:
    """A point where claim and derivative differ, with both values; for arrays the element."""

    point: dict[str, Any]
    element: tuple[int, ...]
    derivative: Any
    claimed: Any


@dataclass
class Result:
    """The verdict on a claim.

    where           the conditions under which it holds, as text; empty where it holds everywhere
    counterexample  for `differs`
    hint            what went wrong, or what would help
    reason          why it is undecided
    points          at how many points both sides were compared
    timed_out       SymPy was stopped at the limit; None where it was not asked
    """

    claim: str
    wrt: str
    verdict: Verdict
    where: list[str]
    counterexample: Counterexample | None = None
    hint: str | None = None
    reason: str | None = None
    points: int = 0
    timed_out: bool | None = None


class Sides(NamedTuple):
    """Both sides at a point: arrays of one shape, and the state of each element.

    States: `equal`, `differs`, `unclear` (the digits do not suffice), `no derivative`, `no claim` (undefined there).
    """

    derivative: Any
    claimed: Any
    states: list[str]

    @property
    def state(self) -> str:
        """The state of the point as a whole."""
        for state in ("no derivative", "no claim", "differs", "unclear"):
            if state in self.states:
                return state
        return "equal"


class Case:
    """A claim made ready to be computed at points."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.graph: Graph = claim.graph
        graph = self.graph
        names = graph.names
        leaves = {i: graph.shapes.get(name, ()) for name, i in names.items() if graph.nodes[i].is_leaf}
        self.fixed: dict[int, Any] = {}
        for name, i in names.items():
            node = graph.nodes[i]
            if not node.is_leaf:
                continue
            value = graph.at.get(name)
            if value is None and node.args and i not in {j for group in claim.by for j in group}:
                value = graph.constant_value(node.args[0])
            if value is not None:
                self.fixed[i] = exactly(value)
        self.fixed |= {i: exactly(value) for i, value in claim.at.items()}
        self.shapes = {i: np.shape(self.fixed[i]) if i in self.fixed else shape for i, shape in leaves.items()}
        for name, i in names.items():  # a leaf's default says its shape
            if graph.nodes[i].is_leaf and graph.nodes[i].args and i not in self.fixed and name not in graph.shapes:
                self.shapes[i] = np.shape(graph.constant_value(graph.nodes[i].args[0]))

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

    def at(self, point: Point, *, answer: int | None = None, root: int | None = None) -> Sides:
        """Both sides at a point, with as many digits as it takes."""
        answer = self.claim.answer if answer is None else answer
        root = self.claim.root if root is None else root
        before: list[Any] | None = None
        extra, needed = 0, [root, answer, *(i for group in self.claim.by for i in group)]
        for step in STEPS:
            digits = working_digits(step, self.order) + extra
            with precision(min(digits, MOST_DIGITS)):
                tape = Tape(self.graph, needed, point)
                derivative = self.derivative(tape, step, root=root)
                claimed = self.fitted(np.asarray(tape.tape[answer], dtype=object), derivative.shape)
                pairs = list(zip(np.ravel(derivative), np.ravel(claimed), strict=True))
                states = _states(pairs, before, enough=digits <= MOST_DIGITS)
                before = [abs(d - c) for d, c in pairs]
                extra = extra or tape.spread()
            if "unclear" not in states or "no derivative" in states or "no claim" in states:
                break
        return Sides(derivative, claimed, states)

    def fitted(self, claimed: Any, shape: tuple[int, ...]) -> Any:
        """The claimed array in the derivative's shape. Raises `ChainruleError` where it has another."""
        if claimed.shape == shape:
            return claimed
        if claimed.size == int(np.prod(shape)) and tuple(n for n in claimed.shape if n > 1) == tuple(n for n in shape if n > 1):  # fmt: skip
            return claimed.reshape(shape)
        raise ChainruleError(
            "shape",
            f"{self.claim.label} has shape {shape_text(shape)}, and what is claimed {shape_text(claimed.shape)}",
            spans=[self.claim.span],
            source=self.graph.source,
            hint="of arrays, dY/dX has the shape of Y followed by that of X",
        )

    def smooth(self, point: Point) -> bool:
        """Whether the derivatives from the left and from the right are the same there."""
        step = STEPS[0]
        with precision(working_digits(step, self.order)):
            tape = Tape(self.graph, [self.claim.root, *(i for group in self.claim.by for i in group)], point)
            left, right = (np.ravel(self.derivative(tape, step, side)) for side in (-1, 1))
            return all(
                mpmath.isfinite(a) and mpmath.isfinite(b) and abs(a - b) <= mpmath.mpf(10) ** -8 * (abs(a) + abs(b))
                or abs(a - b) < mpmath.mpf(10) ** -15
                for a, b in zip(left, right, strict=True)
            )

    def named(self, point: Point) -> dict[str, Any]:
        """A point by the inputs' names, those that matter."""
        matter = set(Tape(self.graph, [self.claim.root, self.claim.answer], point).order)
        matter |= {i for group in self.claim.by for i in group}
        return {self.graph.nodes[i].name or "": value for i, value in point.items() if i in matter}


def exactly(value: Any) -> Any:
    """Numbers as fractions: decimals as they are written."""
    if np.ndim(value):
        return np.frompyfunc(exactly, 1, 1)(np.asarray(value, dtype=object))
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def _states(pairs: list[tuple[Any, Any]], before: list[Any] | None, *, enough: bool) -> list[str]:
    """What can be said of each element, given how far the sides were apart with the last steps."""
    states = []
    for k, (d, c) in enumerate(pairs):
        gap, size = abs(d - c), max(abs(d), abs(c))
        if not mpmath.isfinite(d):
            states.append("no derivative")
        elif not mpmath.isfinite(c):
            states.append("no claim")
        elif gap <= EQUAL * size or (before is not None and gap <= before[k] * mpmath.mpf(10) ** -15):
            states.append("equal")  # or what is between them vanishes with the step
        elif before is not None and enough and abs(gap - before[k]) <= mpmath.mpf(10) ** -8 * gap:
            states.append("differs")
        else:
            states.append("unclear")
    return states


# --- the verdict ------------------------------------------------------------------------------------------------------


class Region:
    """Where a claim's two sides exist: bounds of single inputs, and other conditions."""

    def __init__(self, case: Case) -> None:
        graph, claim = case.graph, case.claim
        self.case = case
        found = [c for place in _order(graph, claim) for c in domains.conditions(graph, [place])]
        given = domains.assumed(graph, graph.assumptions)
        self.assumed: dict[int, Bounds] = {}
        for c in given:
            self._bound(self.assumed, c)
        self.bounds: dict[int, Bounds] = {}
        self.loose: list[Condition] = []
        self.soft: list[tuple[int, Fraction]] = []
        for c in (simpler for condition in found for simpler in domains.simplified(graph, condition)):
            solved = domains.solve(graph, c)
            if solved is None or np.ndim(case.fixed.get(solved[0])):
                if c not in self.loose:
                    self.loose.append(c)
            elif solved[0] not in case.fixed:
                self.bounds.setdefault(solved[0], Bounds()).add(*solved[1:])
                if solved[1] == "!=":
                    self.soft.append((solved[0], solved[2]))

    def _bound(self, into: dict[int, Bounds], c: Condition) -> None:
        solved = domains.solve(self.case.graph, c)
        if solved is not None:
            into.setdefault(solved[0], Bounds()).add(*solved[1:])

    def for_drawing(self) -> dict[int, Bounds]:
        """The bounds of single inputs that points are drawn within."""
        merged: dict[int, Bounds] = {}
        for source in (self.bounds, self.assumed):
            for place, bounds in source.items():
                into = merged.setdefault(place, Bounds())
                for relation, bound in ((">", bounds.low), ("<", bounds.high)):
                    if bound is not None:
                        into.add(relation, bound)
        return {p: b for p, b in merged.items() if b.low is None or b.high is None or b.low < b.high}

    def texts(self, broad: list[Tape]) -> list[str]:
        """The conditions in words, without those that the assumptions say or that nothing violates."""
        graph = self.case.graph
        said = []
        for place, bounds in self.bounds.items():
            kept = replace(bounds, holes={h for h in bounds.holes if not self._removable(place, h)})
            given = self.assumed.get(place, Bounds())
            if given.low is not None and (kept.low is None or given.low >= kept.low):
                kept.low = None
            if given.high is not None and (kept.high is None or given.high <= kept.high):
                kept.high = None
            kept.holes = {h for h in kept.holes if given.contains(h)}
            said += kept.texts(graph.nodes[place].name or "")
        inside = [tape for tape in broad if self._inside(tape)]
        for c in self.loose:
            text = domains.condition_text(graph, c)
            if text not in said and self._violated(c, inside):
                said.append(text)
        return said

    def _inside(self, tape: Tape) -> bool:
        """Whether a point meets the conditions on single inputs."""
        return all(
            bounds.contains(value) and value not in bounds.holes
            for place, bounds in self.bounds.items()
            if not np.ndim(value := tape.values[place])
        )

    def _violated(self, c: Condition, broad: list[Tape]) -> bool:
        if c.relation == "words":
            return True
        signs = set()
        for tape in broad:
            value = tape.moved({}, c.node) if c.node in tape.tape else None
            if value is None:
                continue
            for v in np.ravel(value):
                if mpmath.isfinite(v):
                    signs.add(int(mpmath.sign(v - mpmath.mpf(c.bound.numerator) / c.bound.denominator)))
        return {">": bool(signs & {0, -1}), "<": bool(signs & {0, 1})}.get(c.relation, 0 in signs or len(signs) > 1)

    def _removable(self, place: int, hole: Fraction) -> bool:
        """Whether both sides exist at a point left out, and are equal there."""
        case = self.case
        if len(case.shapes) > 1 + len(case.fixed) or case.shapes.get(place):
            return False
        point = {**case.fixed, place: hole}
        if set(case.shapes) - set(point):
            return False
        try:
            return case.at(point).state == "equal" and case.smooth(point)
        except ChainruleError:
            return False


def _order(graph: Graph, claim: Claim, *, answer: bool = True) -> list[int]:
    return ancestors(graph, [claim.root, claim.answer] if answer else [claim.root])


def judge(claim: Claim) -> Result:
    """The verdict on a claim by numbers alone: `agrees`, `agrees where`, `differs` or `undecided`.

    Raises `ChainruleError` where shapes do not fit or a value is missing.
    """
    case = Case(claim)
    region = Region(case)
    equal, different, unclear, absent = [], [], [], []
    nothing = 0
    for point in _points(case, region):
        if not _holds(case, point):
            continue
        sides = case.at(point)
        {"equal": equal, "differs": different, "unclear": unclear, "no claim": absent}.get(sides.state, []).append(point)
        nothing += sides.state == "no derivative"
        if len(equal) + len(different) >= POINTS or (len(absent) >= 3 * POINTS and not equal and not different):
            break
    result = Result(claim.text, claim.wrt, "undecided", [], points=len(equal) + len(different))
    if different:
        result.verdict = "differs"
        result.counterexample = _counterexample(case, different[0])
        result.hint = diagnose(case, different, equal)
        return result
    if not equal:
        result.reason, result.hint = _why_undecided(case, region, unclear, absent, nothing)
        return result
    result.verdict = "agrees where" if absent else "agrees"
    result.where = region.texts(_broad(case, region))
    return result


def _points(case: Case, region: Region) -> Iterator[Point]:
    """Points within the bounds, then some without them (to see whether one side exists there)."""
    if not set(case.shapes) - set(case.fixed):
        yield {i: case.fixed[i] for i in case.shapes}
        return
    bounded = drawn(case.shapes, region.for_drawing(), case.fixed)
    free = drawn(case.shapes, region.assumed, case.fixed)
    for turn in range(ATTEMPTS):
        yield next(free if turn % 3 == 2 else bounded)


def _holds(case: Case, point: Point) -> bool:
    """Whether the program's assumptions hold at a point."""
    graph = case.graph
    if not graph.assumptions:
        return True
    with precision(30):
        tape = Tape(graph, graph.assumptions, point)
        return all(np.all(np.asarray(tape.tape[i]) != 0) for i in graph.assumptions)


def _broad(case: Case, region: Region) -> list[Tape]:
    """The nodes at points of all kinds, for what holds everywhere."""
    some = itertools.chain(itertools.islice(simple(case.shapes, case.fixed), 60),
                           itertools.islice(drawn(case.shapes, {}, case.fixed), 40),
                           itertools.islice(drawn(case.shapes, region.for_drawing(), case.fixed), 40))  # fmt: skip
    with precision(25):
        graph = case.graph
        return [Tape(graph, range(len(graph.nodes)), point) for point in some if _holds(case, point)]


def _counterexample(case: Case, found: Point) -> Counterexample:
    """The simplest point where the sides differ, at which the derivative exists from both sides."""
    candidates = itertools.islice(simple(case.shapes, case.fixed), 60)
    for point in itertools.chain(candidates, [found]):
        if not _holds(case, point):
            continue
        sides = case.at(point)
        if sides.state == "differs" and (point is found or case.smooth(point)):
            k = sides.states.index("differs")
            index = tuple(map(int, np.unravel_index(k, sides.derivative.shape))) if sides.derivative.ndim else ()
            return Counterexample(
                case.named(point), index, np.ravel(sides.derivative)[k], np.ravel(sides.claimed)[k]
            )
    raise AssertionError("the point itself differs")


def _why_undecided(case: Case, region: Region, unclear: Any, absent: Any, nothing: int) -> tuple[str, str | None]:
    if unclear:
        return "the two sides are too close to tell apart with the digits that were tried", None
    if absent:
        needs = ", ".join(region.texts(_broad(case, region)))
        hint = f"it may need {needs}" if needs else "is a value or an assumption missing?"
        return "the claim has no real value at any point where the derivative exists", hint
    hint = "give an assumption (x > 0) or a value (x = 2) at which it exists"
    return "no real point was found where the function is differentiable", hint


def value_text(x: Any, digits: int = 10) -> str:
    """A number of many digits as people read it."""
    if isinstance(x, Fraction):
        return domains.fraction_text(x)
    text: str = mpmath.nstr(x, digits)
    return text[:-2] if text.endswith(".0") else text


def is_finite(values: Any) -> bool:
    """Whether all elements are defined and finite."""
    return finite(values)


def as_mapping(point: Mapping[str, Any]) -> dict[str, str]:
    """A counterexample's point as texts."""
    return {name: _text(value) for name, value in point.items()}


def _text(value: Any) -> str:
    if np.ndim(value):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return value_text(value)
