"""Every row of the table: its derivatives against SymPy's at high precision, its edges, its agreement with itself.

Everything is derived from the row (arguments, domain, edges, static parameters), so a new row is tested by being there.
The rule under test is never used to say what is right: SymPy differentiates the row's counterpart, and mpmath evaluates
that; rows on whole arrays meet central differences of their own forward.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp
from accuracy import function, graph_of, with_defaults
from truth import ulps

import chainrule as cr
from chainrule import digits, symbolic
from chainrule.evaluate import value_and_grad
from chainrule.graph import INPUT, Graph
from chainrule.ops import TABLE, Interval, Op

BAR = 4  # ulp
# Below this doubles lose digits or vanish, and so may a derivative whose parts do.
UNDERFLOW = 1e-300
# Rows whose ways to compute differ by more: near zeros, and where a row is a derivative of a high order.
WAYS = {"sinc_derivative": 16, "polygamma": 16}


# --- rows, as the tests need them -------------------------------------------------------------------------------------


ELEMENTWISE = {op.name: with_defaults(op) for op in TABLE.values() if op.elementwise and op.arity}
WHOLE = {op.name: op for op in TABLE.values() if not op.elementwise and op.differentiable}
EDGES = [(op, edge) for op in ELEMENTWISE.values() for edge in op.edges]

elementwise = pytest.mark.parametrize("op", ELEMENTWISE.values(), ids=ELEMENTWISE.keys())
whole = pytest.mark.parametrize("op", WHOLE.values(), ids=WHOLE.keys())
every_edge = pytest.mark.parametrize(("op", "edge"), EDGES, ids=[f"{op.name}: {edge.at}" for op, edge in EDGES])


def graph_of_many(op: Op, count: int) -> Graph:
    """The same for a row of any number of inputs."""
    graph = Graph()
    for i in range(count):
        graph.give_name(f"x_{i}", graph.append(INPUT, ()))
    graph.output = graph.last = graph.append(op, tuple(range(count)))
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


def test_exceptions_are_rows():
    assert {*WAYS, *MOVED} <= ELEMENTWISE.keys()
    assert PROMISES.keys() <= WHOLE.keys()


@elementwise
def test_right_beyond_the_safe_domain(op):
    """With all signs changed, where the function goes on there: no digit is promised, but the sign and the branch."""
    for xs in points(op, 20, (-2, 2)):
        mirrored = tuple(-x for x in xs)
        value, *slopes = op.compute(*mirrored), *gradients(op, mirrored)
        truths = [function(op, by)(mirrored) for by in [(), *((i,) for i in range(op.arity))]]
        if None not in truths and math.isfinite(value):
            for got, true in zip((value, *slopes), truths, strict=True):
                assert got == pytest.approx(float(true), rel=1e-9, abs=1e-300), (mirrored, got, true)


# --- one row, many ways to run it -------------------------------------------------------------------------------------

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 710.0, -746.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)


def everywhere(op: Op) -> list[tuple[float, ...]]:
    """Drawn points, and all that is special: zeros, ones, infinities, nan."""
    some = SPECIAL if op.arity < 3 else SPECIAL[::3]
    return points(op, 20) + points(op, 10, (-300, 300)) + list(itertools.product(some, repeat=op.arity))


def columns(drawn: list[tuple[float, ...]]) -> list[Any]:
    return [np.array(column) for column in zip(*drawn, strict=True)]


def same(a: float, b: float, bar: float) -> bool:
    """Whether both are nan, or the same infinity, or within some ulp."""
    return ulps(a, b) <= bar or abs(a - b) < UNDERFLOW


@elementwise
def test_scalar_form_is_the_array_form(op):
    drawn = everywhere(op)
    with np.errstate(all="ignore"):
        by_array = op.forward(*columns(drawn))
    bar = WAYS.get(op.name, BAR)
    for xs, expected in zip(drawn, by_array.tolist(), strict=True):
        got = float(op.compute(*xs))
        assert same(got, expected, bar), (xs, got, expected)


@elementwise
def test_large_arrays_give_what_small_ones_do(op):
    """Many rows work on them block by block."""
    first, *others = columns(points(op, 5))
    large = op.compute(np.tile(first, (3000, 1)), *others)
    np.testing.assert_allclose(large, np.tile(op.compute(first, *others), (3000, 1)), rtol=4e-16)


@elementwise
def test_rule_gives_the_same_on_floats_arrays_and_tensors(op):
    drawn = everywhere(op)
    cotangent = np.linspace(-2, 2, len(drawn))
    arrays = columns(drawn)
    by_array = gradients(op, arrays, cotangent)
    by_number = columns([tuple(gradients(op, xs, g)) for xs, g in zip(drawn, cotangent.tolist(), strict=True)])
    bar = WAYS.get(op.name, BAR)
    for create_graph in (False, True):
        leaves = [cr.tensor(x, requires_grad=True) for x in arrays]
        result = op(*leaves)
        if result.requires_grad:
            result.backward(cotangent, create_graph=create_graph)
        for name, array, number, leaf in zip(op.inputs, by_array, by_number, leaves, strict=True):
            recorded = np.zeros(len(drawn)) if leaf.grad is None else leaf.grad.detach().numpy()
            for xs, a, b, c in zip(drawn, array.tolist(), number.tolist(), recorded.tolist(), strict=True):
                assert same(a, b, bar), (name, xs, "array", a, "number", b)
                assert same(a, c, 0), (name, xs, "array", a, "tensor", c)


@pytest.mark.parametrize("op", TABLE.values(), ids=TABLE.keys())
def test_backward_is_called_as_pytorch_calls_it(op):
    if not op.differentiable:
        return
    leaf = cr.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    count = op.arity or 2
    for tensors in itertools.product((True, False), repeat=count):
        if any(tensors):
            required = [s.name.lstrip("*") for s in op.statics if s.default is None]
            named = {name: next(v for v in SAMPLES[name] if v is not None) for name in required}
            name = op.bind(**named).backward_name(*[leaf if tensor else 2.0 for tensor in tensors])
            assert re.fullmatch(r"[A-Z]\w*Backward\d(_copy)?|CopySlices|CopyBackwards", name)


# --- edges ------------------------------------------------------------------------------------------------------------

# The input to move off an edge where it is not the first that leaves it: its place, or None for each input on its own.
MOVED = {"hypot": None, "xlogy": 1}


@every_edge
def test_edge_has_the_chosen_derivative(op, edge):
    assert edge.hit(*edge.point)
    assert np.all(edge.hit(*map(np.float64, edge.point)))
    got = gradients(op, edge.point)
    np.testing.assert_array_equal(got, edge.value or (0,) * op.arity)  # a nan equals a nan here


@every_edge
def test_edge_has_the_derivatives_of_its_sides(op, edge):
    for sign, side in ((-1, edge.left), (1, edge.right)):
        for i, limit in enumerate(side):
            if math.isnan(limit):
                continue
            got = [gradients(op, beside(op, edge, i, sign * step))[i] for step in (1e-6, 1e-9, 1e-12)]
            if math.isfinite(limit):
                assert got[-1] == pytest.approx(limit, abs=1e-4)
            else:
                assert abs(got[0]) < abs(got[1]) < abs(got[2])
                assert math.copysign(1, got[2]) == math.copysign(1, limit)


def beside(op: Op, edge: Any, i: int, step: float) -> list[float]:
    """The edge's point with one argument moved: the first by which one leaves the edge."""
    moved = [[x + step * (n == k) for n, x in enumerate(edge.point)] for k in range(op.arity)]
    if op.name in MOVED:
        return moved[i if MOVED[op.name] is None else MOVED[op.name]]
    return next(xs for xs in moved if not edge.hit(*xs))


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE.values() if op.arity == 1], ids=lambda op: op.name)
def test_every_kink_and_pole_is_an_edge(op):
    """Where the derivative is not finite, or jumps, at 0, ±1 or an end of the domain, the row has an edge."""
    ends = [end for end in op.domain[0] if math.isfinite(end)]
    for x in {*ends, -1.0, 0.0, 1.0}:
        if not any(math.isfinite(op.compute(x + step)) for step in (-1e-9, 1e-9)):
            continue  # outside of the function
        below, here, above = (gradients(op, [x + step])[0] for step in (-1e-9, 0, 1e-9))
        if not math.isfinite(here) or abs(above - below) > 1e-3 * max(abs(above), abs(below), 1e-3):
            assert any(edge.hit(x) for edge in op.edges), (x, below, here, above)


# --- zero cotangents --------------------------------------------------------------------------------------------------


@elementwise
def test_zero_cotangent_contributes_exactly_zero(op):
    """Also where the derivative is infinite or nan: zero times anything is 0 here."""
    drawn = everywhere(op) + [tuple(map(float, edge.point)) for edge in op.edges]
    arrays, zero = columns(drawn), np.zeros(len(drawn))
    assert all(g == [0] * op.arity for g in (gradients(op, xs, 0.0) for xs in drawn))
    for gradient in gradients(op, arrays, zero):
        assert not np.any(gradient)
    for create_graph in (False, True):
        leaves = [cr.tensor(x, requires_grad=True) for x in arrays]
        result = op(*leaves)
        if result.requires_grad:
            result.backward(zero, create_graph=create_graph)
        assert all(leaf.grad is None or not np.any(leaf.grad.detach().numpy()) for leaf in leaves)


def test_derivative_of_a_zero_gradient_is_right():
    """A gradient that is zero because of u = 0 still varies with u."""
    u, w = cr.tensor(0.0, requires_grad=True), cr.tensor(0.7, requires_grad=True)
    (u * cr.sin(w)).backward(create_graph=True)
    assert w.grad.item() == 0
    slope, u.grad = w.grad, None
    slope.backward()
    assert u.grad.item() == math.cos(0.7)


def test_branch_not_taken_contributes_zero():
    x = cr.tensor([-1.0, 4.0], requires_grad=True)
    cr.where(x > 0, cr.sqrt(x), 0).backward(np.ones(2), create_graph=True)
    assert x.grad.detach().numpy().tolist() == [0, 0.25]
    first, x.grad = x.grad, None
    first.backward(np.ones(2))
    assert x.grad.numpy().tolist() == [0, -1 / 32]


# --- rows on whole arrays ---------------------------------------------------------------------------------------------

SHAPES: list[tuple[int, ...]] = [(), (3,), (4,), (1, 3), (2, 2), (2, 3), (3, 4), (3, 3), (2, 3, 4), (2, 1, 3, 3)]
# Values to try for static parameters, by the parameter's name; those that do not fit an array are skipped.
SAMPLES: dict[str, list[Any]] = {
    "axis": [None, 0, 1, -1, (0, 1)],
    "keepdims": [False, True],
    "like": [False, True],
    "axes": [None, (1, 0), (2, 0, 1)],
    "ddof": [0, 1],
    "k": [0, 1, -1],
    "ord": [2, 1, 3, math.inf],
    "which": [0, 1],
    "key": [(1,), (slice(1, None),), (Ellipsis, 0), (None, slice(None, None, 2)), ((0, 0, 1),), (0, 1)],
    "shape": [(-1,), (2, -1)],
}


# Internal rows whose callers promise more of the shapes than the forward asks for.
PROMISES: dict[str, Callable[..., bool]] = {
    "expand_like": lambda g, x, axis, keepdims, like: (
        like or np.shape(g) == np.shape(np.sum(x, axis=axis, keepdims=keepdims))
    ),
    "place_like": lambda g, x, key: np.shape(g) == np.shape(np.asarray(x)[key]),
    "place_diagonal": lambda g, x, k: np.ndim(x) == 2 and np.shape(g) == np.shape(np.diag(x, k)),
    "from_last": lambda c, x, axis: np.shape(c) == np.shape(TABLE["to_last"](x, axis=axis)),
    "cofactor_derivative": lambda h, x: np.shape(h) == np.shape(x),
    "piece_of": lambda g, *xs, axis, which: np.shape(g) == np.shape(np.concatenate(xs, axis)),
}
SYMMETRIC = {"cholesky", "eigvalsh", "eigenvectors"}  # rows that take only symmetric matrices


def array_of(shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    """Numbers of both signs, none near 0 or each other; a square matrix gets a heavy diagonal, for an inverse."""
    sizes = generator.permutation(np.linspace(0.3, 1.2, math.prod(shape)))  # no two alike: a largest is the largest
    values = sizes.reshape(shape) * generator.choice((-1, 1), shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = values + 3 * np.eye(shape[-1])
    return values if shape else float(values)


def cases(op: Op) -> Iterator[tuple[Op, list[Any]]]:
    """The row with each choice of static parameters, on arrays of all shapes that it takes."""
    choices = [SAMPLES[s.name.lstrip("*")] for s in op.statics]
    for params in itertools.product(*choices):
        bound = op.bind(**{s.name.lstrip("*"): value for s, value in zip(op.statics, params, strict=True)})
        for shapes in itertools.product(SHAPES, repeat=op.arity or 2):
            generator = np.random.default_rng(len(shapes))
            xs = [array_of(shape, generator) for shape in shapes]
            if op.name in SYMMETRIC and np.ndim(xs[0]) > 1:
                xs = [x + np.swapaxes(x, -1, -2) for x in xs if np.shape(x)[-1] == np.shape(x)[-2]]
            try:
                if op.name in PROMISES and not PROMISES[op.name](*xs, **bound.params):
                    continue
                bound.compute(*xs)
            except (ValueError, IndexError, TypeError, np.linalg.LinAlgError, cr.ChainruleError):
                continue
            yield bound, xs


def differences(f: Callable[[Any], float], x: Any) -> Any:
    """The gradient of a scalar function of an array, by central differences of fourth order."""
    flat = np.ravel(np.asarray(x, dtype=float)).copy()
    gradient = np.empty(flat.size)
    for n in range(flat.size):
        at = []
        for step in (-2e-3, -1e-3, 1e-3, 2e-3):
            moved = flat.copy()
            moved[n] += step
            at.append(f(moved.reshape(np.shape(x))))
        gradient[n] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / 12e-3
    return gradient.reshape(np.shape(x))


@whole
def test_whole_array_rule_against_differences(op):
    met = 0
    for bound, xs in cases(op):
        y = bound.compute(*xs)
        cotangent = np.random.default_rng(7).uniform(-1, 1, np.shape(y))
        leaves = [cr.tensor(x, requires_grad=True) for x in xs]
        bound(*leaves).backward(cotangent)
        for i, x in enumerate(xs):
            if bound.vjp(i) is None:
                assert leaves[i].grad is None
                continue
            met += 1

            def objective(moved, i=i, xs=xs, bound=bound, cotangent=cotangent):
                return float(np.sum(cotangent * bound.compute(*xs[:i], moved, *xs[i + 1 :])))

            got = leaves[i].grad.numpy()
            assert got.shape == np.shape(x)
            np.testing.assert_allclose(got, differences(objective, x), rtol=1e-7, atol=1e-8, err_msg=f"{bound} {xs}")
    assert met


@whole
def test_whole_array_second_derivatives_against_differences(op):
    """The gradient of the squared length of the gradient: backward through the rule itself."""
    for bound, xs in cases(op):
        if max(map(np.size, xs)) > 9:
            continue  # what the first order has seen is enough
        shape = np.shape(bound.compute(*xs))
        cotangent = np.random.default_rng(8).uniform(0.5, 1, shape)

        def squares(*values, create_graph, bound=bound, cotangent=cotangent):
            leaves = [cr.tensor(x, requires_grad=True) for x in values]
            bound(*leaves).backward(cotangent, create_graph=create_graph)
            first = [leaf.grad for leaf in leaves if leaf.grad is not None]
            for leaf in leaves:
                leaf.grad = None
            return leaves, sum(cr.sum(g * g) for g in first)

        leaves, total = squares(*xs, create_graph=True)
        if total.requires_grad:
            total.backward()
        for i, x in enumerate(xs):

            def objective(moved, i=i, xs=xs, squares=squares):
                return squares(*xs[:i], moved, *xs[i + 1 :], create_graph=False)[1].item()

            got = np.zeros(np.shape(x)) if leaves[i].grad is None else leaves[i].grad.numpy()
            np.testing.assert_allclose(got, differences(objective, x), rtol=1e-7, atol=1e-8, err_msg=f"{bound} {xs}")


@whole
def test_whole_array_zero_cotangent_is_zero(op):
    """Also at 0, where the derivative of a length is not defined."""
    for bound, xs in cases(op):
        zeros = [np.zeros(np.shape(x)) for x in xs]
        leaves = [cr.tensor(x, requires_grad=True) for x in zeros]
        try:
            result = bound(*leaves)
            result.backward(np.zeros(result.shape))
        except (cr.ChainruleError, np.linalg.LinAlgError):
            continue  # refused, not wrong: a matrix of zeros has no inverse
        assert all(leaf.grad is None or not np.any(leaf.grad.numpy()) for leaf in leaves)


SMALL = 4  # elements: enough for a matrix, little enough for SymPy


@pytest.mark.parametrize("library", [sp, digits.LIBRARY], ids=["SymPy", "mpmath"])
@whole
def test_whole_array_counterpart(op, library):
    """What SymPy and mpmath compute instead of the row, at the same numbers."""
    if not op.public:
        return  # a part of rules, which no program has
    met = 0
    for bound, xs in cases(op):
        expected = bound.compute(*xs)
        if max(map(np.size, xs)) <= (12 if library is not sp else SMALL) and np.all(np.isfinite(expected)):
            met += 1
            exact = [np.frompyfunc(lambda v: library.Rational(*v.as_integer_ratio()), 1, 1)(x) for x in xs]
            with np.errstate(all="ignore"):
                value = np.asarray(bound.by(library, *exact))
            got = np.array(value.tolist(), dtype=float)
            assert got.shape == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13, err_msg=f"{bound} {xs}")
    assert met


@whole
def test_whole_array_rule_against_sympy(op):
    """SymPy's derivatives of the counterpart: a few small cases of each row."""
    if not op.public:
        return
    small = [case for case in cases(op) if max(map(np.size, case[1])) <= SMALL]
    for bound, xs in small[:: max(1, len(small) // 6)]:
        graph = graph_of(bound) if op.arity else graph_of_many(bound, len(xs))
        names = graph.inputs
        shape = np.shape(bound.compute(*xs))
        weights = np.random.default_rng(3).integers(1, 5, shape) * 1.0
        term, symbols = symbolic.lower(graph, {n: np.shape(x) for n, x in zip(names, xs, strict=True)}, doubles=True)
        total = symbolic.total(term, weights)
        point = {}
        for name, x in zip(names, xs, strict=True):
            for index in np.ndindex(np.shape(x)):
                point[symbols[name][index] if index else symbols[name]] = symbolic.as_double(np.asarray(x)[index])
        _, found = value_and_grad(graph, dict(zip(names, xs, strict=True)), cotangent=weights)
        for name, gradient in found.items():
            for index in np.ndindex(np.shape(gradient)):
                symbol = symbols[name][index] if index else symbols[name]
                true = symbolic.value_at(symbolic.derivative(total, symbol), point)
                assert np.asarray(gradient)[index] == pytest.approx(float(true), rel=1e-11, abs=1e-13), (bound, xs)
