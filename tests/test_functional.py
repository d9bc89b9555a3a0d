"""Derivatives of functions: against results worked out by hand, against each other, and against differences."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.ops import TABLE, Interval, Op

MATRIX = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def plain(found: Any) -> Any:
    """Tensors as numbers and lists, tuples of them as tuples."""
    return tuple(map(plain, found)) if isinstance(found, tuple) else found.detach().tolist()


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_jacobian():
    assert plain(cr.jacobian(lambda x: x**3, 2.0)) == 12
    assert plain(cr.jacobian(lambda x: x * x, [1.0, 2.0, 3.0])) == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert plain(cr.jacobian(lambda x: np.array(MATRIX) @ x, cr.tensor([1.0, 1.0]))) == MATRIX
    assert plain(cr.jacobian(lambda x: cr.sum(x * x), [1.0, 2.0])) == [2, 4]


def test_jacobian_of_several_inputs():
    found = cr.jacobian(lambda x, w: x * w, (cr.tensor([1.0, 2.0]), cr.tensor(3.0)))
    assert plain(found) == ([[3, 0], [0, 3]], [1, 2])


def test_jacobian_by_a_matrix():
    found = cr.jacobian(lambda m: m @ np.array([1.0, 10.0]), cr.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.shape == (2, 2, 2)
    assert plain(found) == [[[1, 10], [0, 0]], [[0, 0], [1, 10]]]


def test_hessian():
    assert plain(cr.hessian(lambda x: x**3, 2.0)) == 12
    assert plain(cr.hessian(lambda x: x[0] ** 2 * x[1], [3.0, 5.0])) == [[10, 6], [6, 0]]
    assert plain(cr.hessian(lambda x: cr.dot(x, x), [3.0, 5.0])) == [[2, 0], [0, 2]]


def test_hessian_of_several_inputs():
    found = cr.hessian(lambda x, w: x**3 * w, (2.0, cr.tensor(3.0)))
    assert plain(found) == ((36, 12), (12, 0))


def test_hessian_by_a_matrix():
    found = cr.hessian(lambda m: cr.sum(m * m), cr.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.shape == (2, 2, 2, 2)
    assert np.reshape(found.numpy(), (4, 4)).tolist() == (2 * np.eye(4)).tolist()


def test_hessian_needs_a_scalar():
    with pytest.raises(RuntimeError, match=r"scalar output.*\(2,\)"):
        cr.hessian(lambda x: x * x, [1.0, 2.0])


def test_vjp():
    assert plain(cr.vjp(lambda x: x * x, [1.0, 2.0], [1.0, 10.0])) == ([1, 4], [2, 40])
    assert plain(cr.vjp(lambda x, w: x * w, (2.0, cr.tensor(3.0)))) == (6, (3, 2))
    assert plain(cr.vjp(lambda x: x * x, 3.0, 10.0)) == (9, 60)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        cr.vjp(lambda x: x * x, [1.0, 2.0], [1.0])
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        cr.vjp(lambda x: x * x, [1.0, 2.0])


def test_jvp():
    assert plain(cr.jvp(lambda x: x * x, [1.0, 2.0], [1.0, 10.0])) == ([1, 4], [2, 40])
    assert plain(cr.jvp(lambda x, w: x * w, (cr.tensor([1.0, 2.0]), cr.tensor(3.0)), ([1.0, 0.0], 2.0))) == (
        [3, 6],
        [5, 4],
    )
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        cr.jvp(lambda x: x * x, [1.0, 2.0], [1.0])


def test_hvp():
    assert plain(cr.hvp(lambda x: x[0] ** 2 * x[1], [3.0, 5.0], [1.0, 2.0])) == (45, [22, 6])
    assert plain(cr.hvp(lambda x, w: x**3 * w, (2.0, cr.tensor(3.0)), (1.0, 1.0))) == (24, (48, 12))


def test_hvp_checks_the_shape_of_its_direction():
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        cr.hvp(lambda x: cr.sum(x**3), [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])


def test_value_and_grad():
    def product(x, w):
        return cr.sum(x * w)

    assert plain(cr.value_and_grad(product)([1.0, 2.0], cr.tensor([3.0, 4.0]))) == (11, [3, 4])
    assert plain(cr.value_and_grad(product, 1)(cr.tensor([1.0, 2.0]), [3.0, 4.0])) == (11, [1, 2])
    assert plain(cr.value_and_grad(product, (0, 1))([1.0, 2.0], [3.0, 4.0])) == (11, ([3, 4], [1, 2]))


def test_inputs_are_left_alone():
    x = cr.tensor([1.0, 2.0], requires_grad=True)
    assert plain(cr.value_and_grad(lambda v: cr.dot(v, v))(x)) == (5, [2, 4])
    assert plain(cr.hessian(lambda v: cr.dot(v, v), x)) == [[2, 0], [0, 2]]
    assert x.grad is None


def test_whole_numbers_are_taken_as_floats():
    assert plain(cr.jacobian(lambda x: x * x, 3)) == 6
    assert plain(cr.hessian(lambda x: cr.dot(x, x), [1, 2])) == [[2, 0], [0, 2]]


def test_function_must_return_a_tensor():
    with pytest.raises(RuntimeError, match="must return a tensor, not float"):
        cr.jacobian(lambda x: 1.0, 2.0)


def test_what_does_not_depend_has_derivative_zero():
    assert plain(cr.jacobian(lambda x, w: x * 2, (1.0, cr.tensor([1.0, 2.0])))) == (2, [0, 0])
    assert plain(cr.hessian(lambda x: 2 * x, 3.0)) == 0
    assert plain(cr.jvp(lambda x: x.detach() * 2, 3.0, 1.0)) == (6, 0)
    assert plain(cr.hvp(lambda x: 2 * x, 3.0, 1.0)) == (6, 0)


def test_third_derivative_of_a_line_is_zero():
    def second(x):
        return cr.hessian(lambda v: 2.0 * v, x, create_graph=True)

    assert plain(cr.jacobian(second, 3.0)) == 0


# --- against each other -----------------------------------------------------------------------------------------------

rng = np.random.default_rng(3)
WEIGHTS = rng.standard_normal((3, 4))


def network(x: cr.Tensor) -> cr.Tensor:
    """A function of four numbers with three values."""
    return cr.tanh(WEIGHTS @ x) * cr.exp(-cr.norm(x)) + x[0] * x[1]


def energy(x: cr.Tensor) -> cr.Tensor:
    return cr.sum(network(x) ** 2) + cr.sin(x[2] * x[3])


@pytest.mark.parametrize("seed", range(5))
def test_products_are_the_jacobians(seed):
    draw = np.random.default_rng(seed).standard_normal
    x, v, u = draw(4), draw(4), draw(3)
    full = cr.jacobian(network, cr.tensor(x)).numpy()
    forward, back = cr.jvp(network, cr.tensor(x), v)[1].numpy(), cr.vjp(network, cr.tensor(x), u)[1].numpy()
    assert forward == pytest.approx(full @ v, rel=1e-12, abs=1e-14)
    assert back == pytest.approx(u @ full, rel=1e-12, abs=1e-14)
    step = 1e-6
    ahead = network(cr.tensor(x + step * v)).numpy() - network(cr.tensor(x)).numpy()
    assert forward == pytest.approx(ahead / step, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_hvp_is_the_hessian_times_v(seed):
    draw = np.random.default_rng(seed).standard_normal
    x, v = draw(4), draw(4)
    full = cr.hessian(energy, cr.tensor(x)).numpy()
    assert full == pytest.approx(full.T, rel=1e-10, abs=1e-12)
    assert cr.hvp(energy, cr.tensor(x), v)[1].numpy() == pytest.approx(full @ v, rel=1e-10, abs=1e-12)
    gradient = cr.value_and_grad(energy)
    step = 1e-5
    ends = [gradient(cr.tensor(x + sign * step * v))[1].numpy() for sign in (1, -1)]
    assert full @ v == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("mode", ["jacobian", "hessian", "vjp", "jvp"])
def test_create_graph_lets_the_outer_graph_through(mode):
    """The derivative of d(x³·w)/dx (second derivative for the Hessian) by the outer x and w."""
    x, w = (cr.tensor(v, requires_grad=True) for v in (2.0, 5.0))

    def cube(v):
        return v**3 * w

    made = {
        "jacobian": lambda: cr.jacobian(cube, x, create_graph=True),
        "hessian": lambda: cr.hessian(cube, x, create_graph=True),
        "vjp": lambda: cr.vjp(cube, x, create_graph=True)[1],
        "jvp": lambda: cr.jvp(cube, x, 1.0, create_graph=True)[1],
    }[mode]()
    by_x, by_w = cr.grad(made, [x, w])
    assert plain((made, by_x, by_w)) == ((60, 30, 12) if mode == "hessian" else (60, 60, 12))


def test_without_create_graph_results_are_plain():
    x = cr.tensor(2.0, requires_grad=True)
    for found in (cr.jacobian(cr.sin, x), cr.hessian(cr.sin, x), *cr.vjp(cr.sin, x), *cr.jvp(cr.sin, x, 1.0)):
        assert not found.requires_grad


def test_they_work_under_no_grad():
    with cr.no_grad():
        assert plain(cr.jacobian(lambda x: x * x, 3.0)) == 6
        assert plain(cr.hessian(lambda x: x * x, 3.0)) == 2
        assert plain(cr.jvp(lambda x: x * x, 3.0, 1.0)) == (9, 6)
        assert plain(cr.hvp(lambda x: x * x, 3.0, 1.0)) == (9, 2)


# --- gradcheck --------------------------------------------------------------------------------------------------------

ELEMENTWISE = [op for op in TABLE.values() if op.partials is not None and op.differentiable]
SMOOTH = [op for op in ELEMENTWISE if callable(op.partials[0]) and op.name not in ("where", "clip")]


def inside(interval: Interval, part: float) -> float:
    """A point of the interval; of an infinite one not far from its end, or from 0."""
    low, high = interval
    if math.isfinite(low) and math.isfinite(high):
        return low + part * (high - low)
    if math.isfinite(low):
        return low + 0.3 + part
    return high - 0.3 - part if math.isfinite(high) else 0.2 + part


def points(op: Op, dtype: Any = float) -> tuple[cr.Tensor, ...]:
    """Arguments inside the row's domain, no two of them equal."""
    parts = (0.35, 0.8, 0.6)
    xs = [inside(interval, part) for interval, part in zip(op.domain, parts, strict=False)]
    assert not any(edge.hit(*xs) for edge in op.edges)
    return tuple(cr.tensor(x, requires_grad=True, dtype=dtype) for x in xs)


def called(op: Op) -> Callable[..., Any]:
    """The row as a function of its inputs, with its static parameters."""
    given = {static.name: ast.literal_eval(static.default or "1") for static in op.statics}
    return op.bind(**given) if given else op


def wrong(op: Op, i: int, factor: float) -> Op:
    """The row with its partial derivative by input `i` too large by a factor."""
    right, bound = op.partials[i], called(op)

    def rule(y, *xs):
        return (right(y, *xs, **bound.params) if callable(right) else right) * factor

    return replace(bound, partials=(*op.partials[:i], rule, *op.partials[i + 1 :]), vjps=None, slopes=None)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_every_row_passes(op):
    xs = points(op)
    assert cr.gradcheck(called(op), xs)
    assert cr.gradgradcheck(called(op), xs)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_planted_error_is_caught(op):
    xs = points(op)
    for i, rule in enumerate(op.partials):
        gradient = cr.grad(called(op)(*xs), xs[i], materialize_grads=True)[0].item()
        if rule is None or gradient == 0:
            continue
        bad = wrong(op, i, 1.0005)
        with pytest.raises(RuntimeError) as caught:
            cr.gradcheck(bad, xs)
        assert f"input {i} = " in str(caught.value)
        assert "relative error 5.0e-04" in str(caught.value)
        assert cr.gradcheck(bad, xs, raise_exception=False) is False


def test_planted_error_of_the_second_derivative():
    row = TABLE["sin"]
    bad_cos = wrong(TABLE["cos"], 0, 1.0005)
    bad = replace(row, partials=(lambda y, x: bad_cos(x),), vjps=None, slopes=None)
    x = cr.tensor(0.7, requires_grad=True)
    assert cr.gradcheck(bad, x)
    with pytest.raises(RuntimeError, match=r"relative error 5\.0e-04"):
        cr.gradgradcheck(bad, x)


def test_message_names_the_place_and_both_numbers():
    bad = wrong(TABLE["sin"], 0, 2.0)
    x = cr.tensor([0.5, math.pi / 2, 0.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        cr.gradcheck(lambda w, v: w * bad(v)[2], (cr.tensor(1.0), x))
    for part in ("input 1[2] = 0", "backward gives 2", "differences give 1"):
        assert part in str(caught.value)


@pytest.mark.parametrize("size", [1e-150, 1e-8, 1e8, 1e150])
def test_planted_error_at_every_size(size):
    x = cr.tensor(size, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"relative error 5\.0e-04"):
        cr.gradcheck(wrong(TABLE["square"], 0, 1.0005), x, atol=0.0)


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda x: (1 - cr.cos(x)) / x**2, 1e-4),
        (lambda x: (x + 1e9) - 1e9, 2.0),
        (lambda x: cr.exp(x) - cr.exp(x) + x, 20.0),
        (lambda x: (x - 1) ** 7, 1.001),
        (lambda x: x**7 - 7 * x**6 + 21 * x**5 - 35 * x**4 + 35 * x**3 - 21 * x**2 + 7 * x - 1, 1.1),
        (lambda x: x**2, 1e150),
        (lambda x: x**2, 1e-150),
        (lambda x: cr.sqrt(x), 1e-12),
        (lambda x: cr.log(x), 1e-200),
        (lambda x: 1 / x, 1e100),
        (lambda x: cr.exp(x), -700.0),
        (lambda x: cr.exp(x), 700.0),
        (lambda x: cr.sin(x), 1e6),
        (lambda x: cr.tanh(x), 15.0),
        (lambda x: 1e-9 * cr.sin(x), 1.0),
        (lambda x: x - x, 1.0),
    ],
)
def test_right_rules_pass_where_differences_are_hard(function, at):
    assert cr.gradcheck(function, cr.tensor(at, requires_grad=True))


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (cr.abs, 0.0),
        (cr.relu, 0.0),
        (lambda x: cr.maximum(x, 2 * x - 1), 1.0),
        (lambda x: cr.abs(x - 1e6), 1e6),
        (lambda x: 1e-6 * cr.abs(x), 0.0),
        (lambda x: cr.abs(x - 3) + 1000 * x, 3.0),
    ],
)
def test_kink_is_named(function, at):
    with pytest.raises(RuntimeError, match=r"has a kink there: its derivative is \S+ from the left and \S+ from the"):
        cr.gradcheck(function, cr.tensor(at, requires_grad=True))


def test_no_kink_is_seen_where_there_is_none():
    for at in (1e-3, 0.5, 30.0):
        assert cr.gradcheck(cr.abs, cr.tensor(at, requires_grad=True))
    assert cr.gradcheck(lambda x: cr.abs(x) ** 3, cr.tensor(0.0, requires_grad=True))


def test_function_that_ends_at_the_point():
    with pytest.raises(RuntimeError, match=r"not defined on both sides|kink"):
        cr.gradcheck(lambda x: x * cr.sqrt(x), cr.tensor(0.0, requires_grad=True))


@pytest.mark.parametrize("op", [op for op in SMOOTH if op.public], ids=lambda op: op.name)
def test_single_precision_is_judged_by_its_own(op):
    xs = points(op, np.float32)
    assert cr.gradcheck(called(op), xs)


def test_wrong_rule_in_single_precision():
    x = cr.tensor([0.5, 1.0], requires_grad=True, dtype=np.float32)
    with pytest.raises(RuntimeError, match=r"relative error 4\.8e-02"):
        cr.gradcheck(wrong(TABLE["sin"], 0, 1.05), x)


def test_gradcheck_of_arrays_and_several_outputs():
    m, v = (cr.tensor(data, requires_grad=True) for data in (MATRIX, [0.3, -0.7]))
    assert cr.gradcheck(lambda m, v: (m @ v, cr.norm(m), cr.dot(v, v)), (m, v))
    assert cr.gradgradcheck(lambda m, v: (cr.tanh(m @ v), cr.dot(v, v) ** 2), (m, v))
    assert cr.gradcheck(energy, cr.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True))
    assert cr.gradgradcheck(energy, cr.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True))


def test_detached_part_is_a_wrong_gradient():
    with pytest.raises(RuntimeError, match="backward gives 3, differences give 6"):
        cr.gradcheck(lambda x: x * x.detach(), cr.tensor(3.0, requires_grad=True))


def test_gradcheck_needs_something_to_check():
    with pytest.raises(RuntimeError, match="needs an input that requires a gradient"):
        cr.gradcheck(cr.sin, cr.tensor(1.0))


def test_gradcheck_leaves_its_inputs_alone():
    x = cr.tensor([1.0, 2.0], requires_grad=True)
    assert cr.gradcheck(lambda v: v * v, x)
    assert x.grad is None
    assert x.tolist() == [1, 2]


def test_gradcheck_of_a_function_that_is_another_each_time():
    with pytest.raises(cr.ChainruleError, match="other values each time"):
        cr.gradcheck(lambda x: x * np.random.default_rng().random(), cr.tensor(2.0, requires_grad=True))
