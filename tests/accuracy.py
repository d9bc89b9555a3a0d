"""How far each elementwise row is from the truth over its whole domain: value, first and second derivatives, in ulps.

`python tests/accuracy.py [NAME …]` prints the worst errors and where they are; with `--update` it writes the figures,
rounded up, to engine/accuracy.json, which `chainrule functions NAME` prints and test_accuracy.py holds true.

The points are log-spaced to 1e±300 on both sides of 0, and close in on every place where digits are easily lost: the
ends of the domain, 0, ±1/2, ±1, ±2, whole numbers, quarter turns, and the zeros of the function and its derivatives.
SymPy differentiates, mpmath evaluates. Results beyond the normal doubles are left out. An error is the distance in
ulps; where what is computed passes through 0 nearby, and for the gamma family left of 0, what half an ulp of the
arguments changes is taken off first (for second derivatives four times that, as their bar is four times the first's).
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).parent))

from truth import precise

import chainrule as cr
from chainrule import symbolic
from chainrule.evaluate import value_and_grad
from chainrule.graph import INPUT, Graph
from chainrule.ops import TABLE, Op

NORMAL = 2.0**-1022  # the smallest normal double
# Where rows of two arguments are real functions of both, beyond what the value at a point tells.
REAL = {
    "pow": lambda by, x, p: x > 0 or 1 not in by,
    "power_less": lambda by, x, p: x > 0,
    "log_base": lambda by, x, b: x > 0 and b > 0,
    "xlogy": lambda by, x, y: y > 0,
}
# Beyond, mpmath has too few digits for sin(πx), or takes too long.
REACH = {"sinc": 1e18, "sinc_derivative": 1e18, "digamma": 1e6, "polygamma": 1e6}
GAMMAS = ("gamma", "lgamma", "digamma", "polygamma")

Point = tuple[float, ...]
By = tuple[int, ...]  # the inputs that something is differentiated by, by place


# --- truth ------------------------------------------------------------------------------------------------------------


@cache
def counterpart(op: Op) -> tuple[Any, tuple[Any, ...]]:
    """SymPy's term for an elementwise row, and its symbols."""
    symbols = sp.symbols(op.inputs, real=True)
    return op.by(sp, *symbols), symbols


@cache
def derivative(op: Op, by: By) -> Any:
    """The row's counterpart, differentiated by SymPy."""
    if not by:
        return counterpart(op)[0]
    return symbolic.derivative(derivative(op, by[:-1]), counterpart(op)[1][by[-1]])


@cache
def function(op: Op, by: By = ()) -> Callable[[Sequence[Any]], Any]:
    """The row or a derivative of it, as a function of exact numbers; None where it is no finite real number."""
    numeric = sp.lambdify(counterpart(op)[1], derivative(op, by), [{"detach": lambda x: x}, "mpmath"])
    at = cache(lambda *xs: precise(numeric, xs))
    return lambda xs: at(*xs)


def error(op: Op, by: By, xs: Point, got: float, true: Any) -> float:
    """How far `got` is from the true value, in ulps, after the allowance (see the module's text)."""
    near = float(true)
    if math.isinf(near) or abs(near) < NORMAL:
        return 0.0
    if not math.isfinite(got):
        return math.inf
    with mpmath.workdps(40):
        off = abs(mpmath.mpf(got) - true)
        if off > math.ulp(near) and ((op.name in GAMMAS and xs[0] < 0) or passes_zero(op, by, xs, true)):
            off = max(off - change(op, by, xs, true) * (4 if order(op, by) == 2 else 1), 0)
        return float(off / math.ulp(near))


def order(op: Op, by: By) -> int:
    """The order of a derivative; a row that people do not call is a derivative itself."""
    return len(by) + (not op.public)


def passes_zero(op: Op, by: By, xs: Point, true: Any) -> bool:
    """Whether the function changes its sign within an eighth of an argument."""
    for i, x in enumerate(xs):
        for factor in (0.875, 1.125):
            there = function(op, by)([*xs[:i], x * factor, *xs[i + 1 :]])
            if there is not None and (there == 0 or (there > 0) != (true > 0)):
                return True
    return False


def change(op: Op, by: By, xs: Point, true: Any) -> Any:
    """What half an ulp of each argument changes in the true value."""
    total = mpmath.mpf(0)
    for i, x in enumerate(xs):
        with mpmath.workdps(40):
            moved = mpmath.mpf(x) + mpmath.mpf(math.ulp(x)) / 2
        there = function(op, by)([*xs[:i], moved, *xs[i + 1 :]])
        total += 0 if there is None else abs(there - true)
    return total


# --- points -----------------------------------------------------------------------------------------------------------

SPECIAL = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 20.0, 100.0, *(n * math.pi / 2 for n in (0.5, 1, 2, 3, 20, 1001)))


def points(op: Op) -> list[Point]:
    """Arguments all over the domain, the same at every run."""
    found = candidates(op, 3)
    if op.arity == 1:
        found += [(x,) for x in _near_zeros(op, [x for (x,) in found])]
    return found


def candidates(op: Op, density: int = 1) -> list[Point]:
    """The points that need no search for zeros; the more the greater `density`."""
    line = sorted(x for x in set(_line(op, density)) if abs(x) < REACH.get(op.name, math.inf))
    return [(x,) for x in line] if op.arity == 1 else list(_tuples(op, density))


def _tuples(op: Op, density: int) -> Iterator[Point]:
    """Arguments of a row of several."""
    generator = random.Random(op.name)
    some = sorted(set(_line(op, 1)))
    for _ in range(300 * density):
        yield tuple(generator.choice(some) for _ in op.inputs)
    for _ in range(150 * density):  # of one size, and almost alike
        x = generator.choice((-1, 1)) * 10 ** generator.uniform(-4, 4)
        close = x * (1 + generator.choice((-1, 1)) * 2.0 ** -generator.uniform(1, 52))
        yield (x, *(x * generator.uniform(-3, 3) for _ in op.inputs[1:]))
        yield (x, *(close for _ in op.inputs[1:]))
    for _ in range(150 * density):  # near 1 and far from it
        near = 1 + generator.choice((-1, 1)) * 2.0 ** -generator.uniform(1, 50)
        size = generator.choice((-1, 1)) * 10 ** generator.uniform(-3, 15)
        yield (near, *(size for _ in op.inputs[1:]))
        yield (*(size for _ in op.inputs[1:]), near)


def _line(op: Op, density: int) -> Iterator[float]:
    """Numbers of all sizes, more of them at the usual ones, and those that close in on special places."""
    generator = random.Random(op.name)
    for sign in (-1, 1):
        for low, high, count in ((-300, 300, 20), (-20, 20, 20), (-3, 3, 40)):
            for k in range(count * density):
                yield sign * 10 ** (low + (high - low) * (k + generator.random()) / (count * density))
        ends = [end for interval in op.domain for end in interval if math.isfinite(end)]
        for at in {*SPECIAL, *ends}:
            yield sign * at + 0.0
            for k in range(2, 54, 6 // density):
                for step in (-1, 1):
                    yield sign * at + step * max(abs(at), 1) * generator.uniform(1, 2) * 2.0**-k


def _near_zeros(op: Op, line: Sequence[float]) -> Iterator[float]:
    """Numbers that close in on the first zeros of the function and of its first two derivatives."""
    generator = random.Random(op.name)
    for n in range(3):
        f = function(op, (0,) * n)
        usual = [x for x in line if 1e-3 < abs(x) < 1e3]
        signs = [(x, t > 0) for x in usual if (t := f((x,))) is not None and t != 0]
        crossings = [(a, b) for (a, s), (b, t) in itertools.pairwise(signs) if s != t]
        crossings = sorted(crossings, key=lambda ends: abs(ends[0]))[:12]
        for low, high in crossings:
            at = _bisect(f, low, high)
            for k in range(3, 54, 2):
                for step in (-1, 1):
                    yield at + step * abs(at) * generator.uniform(1, 2) * 2.0**-k
            yield from (math.nextafter(at, -math.inf), at, math.nextafter(at, math.inf))


def _bisect(f: Any, low: float, high: float) -> float:
    """A double beside a change of sign between two."""
    value = f((low,))
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high) or (there := f((middle,))) is None or there == 0:
            break
        low, high = (middle, high) if (there > 0) == (value > 0) else (low, middle)
    return low


# --- what is computed -------------------------------------------------------------------------------------------------


def graph_of(op: Op) -> Graph:
    """A program of one operation on inputs that are called as the row calls them."""
    graph = Graph()
    for name in op.inputs:
        graph.give_name(name, graph.append(INPUT, ()))
    graph.output = graph.last = graph.append(op, tuple(range(op.arity)))
    return graph


def computed(op: Op, drawn: Sequence[Point]) -> dict[By, list[tuple[float, ...]]]:
    """Value and derivatives up to the second at each point, each computed in all ways: with numbers, with arrays."""
    graph = graph_of(op)
    by_number = [value_and_grad(graph, dict(zip(op.inputs, xs, strict=True))) for xs in drawn]
    values = [value for value, _ in by_number]
    found = {(): list(zip(values, _array(op, drawn), strict=True))}
    arrays = _with_tensors(op, [np.array(column) for column in zip(*drawn, strict=True)])
    numbers = [_with_tensors(op, xs) for xs in drawn]
    for by, column in arrays.items():
        found[by] = list(
            zip((float(one[by]) for one in numbers), np.broadcast_to(column, len(drawn)).tolist(), strict=True)
        )
    for i, name in enumerate(op.inputs):
        if (i,) in found:
            found[i,] = [(*ways, g[name]) for ways, (_, g) in zip(found[i,], by_number, strict=True)]
    return found


def _array(op: Op, drawn: Sequence[Point]) -> list[float]:
    return np.asarray(op.compute(*(np.array(column) for column in zip(*drawn, strict=True)))).tolist()


def _with_tensors(op: Op, xs: Sequence[Any]) -> dict[By, Any]:
    """First and second derivatives by backward with create_graph, on numbers or arrays."""
    leaves = [cr.tensor(x, requires_grad=True) for x in xs]
    result = op(*leaves)
    if not result.requires_grad:
        return {}
    ones = np.ones(result.shape)
    found: dict[By, Any] = {}
    firsts = cr.grad(result, leaves, ones, create_graph=True, allow_unused=True)
    for i, first in enumerate(firsts):
        if first is None:
            continue
        found[i,] = first.detach().numpy()
        seconds: Any = [None] * len(leaves)
        if first.requires_grad:
            seconds = cr.grad(first, leaves, ones, retain_graph=True, allow_unused=True)
        for j, second in enumerate(seconds):
            found[i, j] = np.zeros(result.shape) if second is None else second.detach().numpy()
    return found


# --- the measurement --------------------------------------------------------------------------------------------------


KINDS = ("value", "first", "second")


class Error(NamedTuple):
    """How far a value or a derivative is from the truth, in ulps, and where."""

    ulps: float
    by: By
    at: Point
    got: float
    true: Any


def regular(op: Op, by: By, xs: Point) -> bool:
    """Whether a derivative exists here, the value is 0 or a normal double, and no lower derivative overflows."""
    with np.errstate(all="ignore"):
        if any(edge.hit(*map(np.float64, xs)) for edge in op.edges):
            return False
    value = function(op)(xs)
    if value is None or not (value == 0 or NORMAL <= abs(value) <= sys.float_info.max):
        return False
    lower = [function(op, (i,))(xs) for i in set(by)] if len(by) > 1 else []
    if any(slope is None or abs(slope) > sys.float_info.max for slope in lower):
        return False
    return op.name not in REAL or REAL[op.name](by, *xs)


def measure(op: Op, drawn: Sequence[Point]) -> dict[str, Error]:
    """The largest errors of the value, the first and the second derivatives."""
    worst: dict[str, Error] = {}
    for by, column in computed(op, drawn).items():
        for xs, ways in zip(drawn, column, strict=True):
            if order(op, by) > 2 or not regular(op, by, xs) or (true := function(op, by)(xs)) is None:
                continue
            for got in ways:
                found = Error(error(op, by, xs, got, true), by, xs, got, true)
                kind = KINDS[order(op, by)]
                if kind not in worst or found.ulps > worst[kind].ulps:
                    worst[kind] = found
    return worst


def rows() -> dict[str, Op]:
    """The elementwise rows through which a gradient flows, static parameters at their defaults."""

    return {op.name: with_defaults(op) for op in TABLE.values() if op.elementwise and op.differentiable and op.arity}


def with_defaults(op: Op) -> Op:
    """The row with its static parameters at their defaults."""
    return op.bind(**{s.name: ast.literal_eval(s.default) for s in op.statics if s.default is not None})


# --- what is kept -----------------------------------------------------------------------------------------------------

FIGURES = Path(__file__).parents[1] / "engine" / "accuracy.json"  # the figures of public rows, in whole ulps
WORST = Path(__file__).parent / "data" / "accuracy.json"  # where the errors are largest


def main(words: Sequence[str]) -> None:
    """Measure the rows named, or all, and print; with --update keep the figures."""
    update = "--update" in words
    names = [word for word in words if word != "--update"]
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    places = json.loads(WORST.read_text()) if WORST.exists() else {}
    for name, op in rows().items():
        if names and name not in names:
            continue
        worst = measure(op, points(op))
        print(f"{name:<18}", *(f"{kind} {e.ulps:.3g} at {e.at} " for kind, e in worst.items()), flush=True)
        figures[name] = {kind: math.ceil(e.ulps) for kind, e in worst.items()}
        places[name] = sorted({e.at for e in worst.values()})
    if update:
        keep(figures, places)


def keep(figures: dict[str, Any], places: dict[str, Any]) -> None:
    """Write both files, a line for each row, in the table's order."""
    public = {name: figures[name] for name, op in rows().items() if op.public and name in figures}
    every = {name: places[name] for name in rows() if name in places}
    for path, found in ((FIGURES, public), (WORST, every)):
        lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
