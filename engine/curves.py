"""A function and its derivatives over an interval, sampled where they bend, broken where they jump or end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .errors import ChainruleError
from .evaluate import forward
from .graph import Value
from .higher import Derivative, pure
from .ops import shape_text
from .program import Program

SAMPLES = 240  # intervals to start with
HALVINGS = 14  # of an interval before what is left of a step is a jump
STRAIGHT = 0.01  # of the range: what a straight line may be off
CLIMB = 40  # steps towards the top of a hill
POLE = 100.0  # how far the top of a pole is above the samples
GRID = 48  # points of a field along each axis


class Sample(NamedTuple):
    """The function and its derivatives at one place: at least the first, which a tangent needs."""

    x: float
    ys: tuple[float, ...]


@dataclass
class Curves:
    """The samples of y, dy/dx, … in order, and for each curve the pieces that belong together: runs of samples.

    `ranges` are the limits within which a curve is worth showing: near a pole they leave out what shoots away.
    """

    name: str
    output: str
    samples: list[Sample]
    pieces: list[list[tuple[int, int]]]
    ranges: list[tuple[float, float]]
    tangents: list[Sample] = field(default_factory=list)

    def label(self, curve: int) -> str:
        """The curve's name: y, dy/dx, d²y/dx²."""
        return Derivative(((self.name, ()),) * curve).label(self.output) if curve else self.output

    def piece(self, curve: int, start: int, end: int) -> tuple[list[float], list[float]]:
        """The points of a piece."""
        part = self.samples[start:end]
        return [s.x for s in part], [s.ys[curve] for s in part]


def curves(
    program: Program,
    values: Mapping[str, Value],
    name: str,
    interval: tuple[float, float],
    order: int = 1,
    tangents: Sequence[float] = (),
) -> Curves:
    """The output and its derivatives up to `order` by the input `name` over an interval. Raises `ChainruleError`.

    `tangents` are places at which a tangent is wanted.
    """
    at = _evaluator(program, values, name, order)
    low, high = interval
    first = [at(low + (high - low) * i / SAMPLES) for i in range(SAMPLES + 1)]
    windows = [_Window(*_range(at, first, k)) for k in range(order + 1)]
    samples = [first[0]]
    joined = [[True] for _ in windows]
    for left, right in pairwise(first):
        stack = [(left, right, 0)]
        while stack:
            a, b, depth = stack.pop()
            middle = at((a.x + b.x) / 2)
            rough = [w.rough(a.ys[k], middle.ys[k], b.ys[k]) for k, w in enumerate(windows)]
            if any(rough) and depth < HALVINGS and a.x < middle.x < b.x:
                stack += [(middle, b, depth + 1), (a, middle, depth + 1)]
                continue
            samples.append(b)
            for k, window in enumerate(windows):
                joined[k].append(window.joins(a.ys[k], b.ys[k], rough[k]))
    pieces = [[*_pieces(samples, k, joined[k], window)] for k, window in enumerate(windows)]
    ranges = [(window.low, window.high) for window in windows]
    return Curves(name, program.output_name, samples, pieces, ranges, [at(x) for x in tangents])


class _Window(NamedTuple):
    """What is shown of a curve; beyond its height again nothing is followed."""

    low: float
    high: float

    def clipped(self, y: float) -> float:
        """A value no further outside than the window is high."""
        high = self.high - self.low
        return min(max(y, self.low - high), self.high + high)

    def outside(self, y: float) -> bool:
        """Whether a value is not followed."""
        return not math.isfinite(y) or self.clipped(y) != y

    def rough(self, a: float, middle: float, b: float) -> bool:
        """Whether a straight line from a to b misses the middle, or a curve begins or ends between."""
        finite = [math.isfinite(y) for y in (a, middle, b)]
        if not all(finite):
            return any(finite)
        a, middle, b = map(self.clipped, (a, middle, b))
        return abs(middle - (a + b) / 2) > STRAIGHT * (self.high - self.low)

    def joins(self, a: float, b: float, rough: bool) -> bool:
        """Whether a line may join two neighbours."""
        if self.outside(a) and self.outside(b):
            return False
        step = abs(self.clipped(b) - self.clipped(a))
        return not rough or step <= STRAIGHT * (self.high - self.low)


def _evaluator(program: Program, values: Mapping[str, Value], name: str, order: int) -> Callable[[float], Sample]:
    """The output and its derivatives at a number."""

    _scalar(forward(program, {**values, name: 0.0})[program.output])

    def at(x: float) -> Sample:
        point = {**values, name: x}
        value, gradients = program.value_and_grad(point, [name])
        higher = [pure(program, point, [name], n)[0].value for n in range(2, order + 1)]
        return Sample(x, (_scalar(value), *(float(d) for d in (gradients[name], *higher) if d is not None)))

    return at


def _scalar(value: Value) -> float:
    if np.size(value) != 1:
        raise ChainruleError(
            "shape",
            f"a plot needs a scalar output; this one has shape {shape_text(np.shape(value))}",
            hint="choose an element, y[0], or a sum(…)",
        )
    return float(np.reshape(value, ()))


def _range(at: Callable[[float], Sample], samples: list[Sample], k: int) -> tuple[float, float]:
    """The limits of what is worth showing of curve k: all, unless it shoots away at a pole."""
    finite = np.array([s.ys[k] for s in samples if math.isfinite(s.ys[k])] or [0.0])
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(q) for q in np.quantile(finite, (0.05, 0.95)))
    room = 2 * (inner_high - inner_low)
    if high - low > 3 * room:  # a few values are far beyond the others
        top = _climbed(at, samples, k)
        if not abs(top) < POLE * max(abs(low), abs(high)):
            low, high = max(low, inner_low - room / 4), min(high, inner_high + room / 4)
        else:
            low, high = min(low, top), max(high, top)
    return (low - 1, high + 1) if low == high else (low, high)


def _climbed(at: Callable[[float], Sample], samples: list[Sample], k: int) -> float:
    """The value of curve k at the top of the steepest hill, by narrowing the interval around the largest sample."""
    sizes = [abs(s.ys[k]) if math.isfinite(s.ys[k]) else math.inf for s in samples]
    i = max(range(len(sizes)), key=sizes.__getitem__)
    low, high = samples[max(0, i - 1)].x, samples[min(len(samples) - 1, i + 1)].x
    best = samples[i].ys[k]
    for _ in range(CLIMB):
        left, right = at(low + (high - low) / 3), at(high - (high - low) / 3)
        if abs(left.ys[k]) > abs(right.ys[k]):
            high, found = right.x, left.ys[k]
        else:
            low, found = left.x, right.ys[k]
        if not abs(found) <= abs(best):
            best = found
    return best


def _pieces(samples: list[Sample], k: int, joined: list[bool], window: _Window) -> Iterator[tuple[int, int]]:
    """Runs of samples of curve k that are joined; none that is outside as a whole."""
    start = 0
    for i in range(1, len(samples) + 1):
        if i == len(samples) or not joined[i]:
            ys = [sample.ys[k] for sample in samples[start:i]]
            shift = 0 if math.isfinite(ys[0]) else 1
            end = i if math.isfinite(ys[-1]) else i - 1
            if not all(map(window.outside, ys)):
                yield start + shift, end
            start = i


# --- two inputs -------------------------------------------------------------------------------------------------------


@dataclass
class Field:
    """A function of two inputs on a grid: values[i, j] at (xs[j], ys[i]), and its gradient there."""

    names: tuple[str, str]
    output: str
    xs: Any
    ys: Any
    values: Any
    gradient: tuple[Any, Any]


def field_of(
    program: Program, values: Mapping[str, Value], intervals: Mapping[str, tuple[float, float]], count: int = GRID
) -> Field:
    """The output and its gradient over a rectangle of two inputs. Raises `ChainruleError`."""
    first, second = intervals
    xs, ys = (np.linspace(*interval, count) for interval in intervals.values())
    found = np.empty((3, count, count))
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            value, gradients = program.value_and_grad({**values, first: float(x), second: float(y)}, [first, second])
            found[:, i, j] = _scalar(value), gradients[first], gradients[second]
    return Field((first, second), program.output_name, xs, ys, found[0], (found[1], found[2]))
