"""Values and derivatives where a convention decides, or where a naive formula fails: each by hand."""

from __future__ import annotations

import math
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.ops import TABLE

# An expression, its inputs, its value, its derivative by each input.
POINTS: list[tuple[str, dict[str, Any], Any, list[Any]]] = [
    # powers
    ("x^0", {"x": 0}, 1, [0]),
    ("x^p", {"x": 0, "p": 0}, 1, [0, 0]),
    ("0^p", {"p": 2}, 0, [0]),
    ("0^p", {"p": 0}, 1, [0]),
    ("x^p", {"x": 0, "p": 2}, 0, [0, 0]),
    ("x^p", {"x": 0, "p": 1}, 0, [1, 0]),
    ("x^p", {"x": 0, "p": 0.5}, 0, [inf, 0]),
    ("x^p", {"x": 0, "p": -1}, inf, [-inf, -inf]),
    ("x^2", {"x": 0}, 0, [0]),
    ("x^1", {"x": 0}, 0, [1]),
    ("x^0.5", {"x": 0}, 0, [inf]),
    ("x^-1", {"x": 0}, inf, [-inf]),
    ("x^3", {"x": -2}, -8, [12]),
    ("x^-3", {"x": -2}, -0.125, [-0.1875]),
    ("x^2.5", {"x": -2}, nan, [nan]),
    ("(x^2)^0.5", {"x": -3}, 3, [-1]),
    ("1 - -2x", {"x": 5}, 11, [2]),
    ("cbrt(x)", {"x": -8}, -2, [1 / 12]),
    ("cbrt(x)", {"x": 0}, 0, [inf]),
    # lengths and angles
    ("hypot(x, w)", {"x": 0, "w": 0}, 0, [0, 0]),
    ("hypot(x, w)", {"x": -3, "w": 0}, 3, [-1, 0]),
    ("norm(x)", {"x": [0, 0]}, 0, [[0, 0]]),
    ("norm(x, 1)", {"x": [0, -2]}, 2, [[0, -1]]),
    ("norm(x, inf)", {"x": [2, -2, 1]}, 2, [[0.5, -0.5, 0]]),
    ("norm(x)", {"x": [3e200, 4e200]}, 5e200, [[0.6, 0.8]]),
    ("norm(x, 3)", {"x": [1e-200, 0]}, 1e-200, [[1, 0]]),
    ("std(x)", {"x": [2, 2]}, 0, [[0, 0]]),
    ("std(x)", {"x": [3e200, -3e200]}, 3e200, [[0.5, -0.5]]),
    ("atan2(y, x)", {"y": 0, "x": 1}, 0, [1, 0]),
    ("atan2(y, x)", {"y": 0, "x": -1}, math.pi, [-1, 0]),
    ("atan2(y, x)", {"y": 1, "x": 0}, math.pi / 2, [0, -1]),
    ("atan2(y, x)", {"y": -1, "x": 0}, -math.pi / 2, [0, 1]),
    ("atan2(y, x)", {"y": 0, "x": 0}, 0, [0, 0]),
    # logarithms and exponentials
    ("log(x)", {"x": 0}, -inf, [inf]),
    ("xlogy(x, y)", {"x": 0, "y": 0}, 0, [0, 0]),
    ("xlogy(x, y)", {"x": 0, "y": 2}, 0, [math.log(2), 0]),
    ("xlogy(x, y)", {"x": 1, "y": 0}, -inf, [-inf, inf]),
    ("logaddexp(x, y)", {"x": -inf, "y": 2}, 2, [0, 1]),
    ("logaddexp(x, y)", {"x": inf, "y": 2}, inf, [1, 0]),
    ("logaddexp(x, y)", {"x": inf, "y": inf}, inf, [0.5, 0.5]),
    ("logaddexp(x, y)", {"x": -inf, "y": -inf}, -inf, [0.5, 0.5]),
    ("logsumexp(x)", {"x": [1000, 1]}, 1000, [[1, 0]]),
    ("logsumexp(x)", {"x": [-inf, 0]}, 0, [[0, 1]]),
    ("logsumexp(x)", {"x": [inf, 0]}, inf, [[1, 0]]),
    ("logsumexp(x)", {"x": [inf, inf, 0]}, inf, [[0.5, 0.5, 0]]),
    ("logsumexp(x)", {"x": [-inf, -inf]}, -inf, [[0.5, 0.5]]),
    ("logsumexp(x)", {"x": [0, -40]}, math.exp(-40), [[1, math.exp(-40)]]),  # not log(1 + 4e-18), which is 0
    ("softmax(x)[0]", {"x": [-inf, 0]}, 0, [[0, 0]]),
    ("softmax(x)[0]", {"x": [inf, 0]}, 1, [[0, 0]]),
    ("softmax(x)[0]", {"x": [inf, inf]}, 0.5, [[0.25, -0.25]]),
    ("softmax(x)[0]", {"x": [-1000, 1000]}, 0, [[0, 0]]),
    ("softmax(x)[0]", {"x": [nan, 0]}, nan, [[nan, nan]]),
    ("log_softmax(x)[0]", {"x": [-1000, 1000]}, -2000, [[1, -1]]),
    ("log_softmax(x)[0]", {"x": [inf, 0]}, 0, [[0, 0]]),
    ("log_softmax(x)[1]", {"x": [inf, 0]}, -inf, [[-1, 1]]),
    ("log_softmax(x)[1]", {"x": [40, 0]}, -40, [[-1, 1]]),
    # choices
    ("max(x, w, z)", {"x": 1, "w": 1, "z": 1}, 1, [1 / 3, 1 / 3, 1 / 3]),
    ("min(x, w, z)", {"x": 1, "w": 1, "z": 2}, 1, [0.5, 0.5, 0]),
    ("max(x)", {"x": [1, 1, 1]}, 1, [[1 / 3, 1 / 3, 1 / 3]]),
    ("clip(x, lo, hi)", {"x": 1, "lo": 1, "hi": 2}, 1, [1, 0, 0]),
    ("clip(x, lo, hi)", {"x": 2, "lo": 1, "hi": 2}, 2, [1, 0, 0]),
    ("abs(x) + relu(x) + sign(x)", {"x": 0}, 0, [0]),
    # steps and remainders
    ("floor(x) + ceil(x)", {"x": 2}, 4, [0]),
    ("x%y", {"x": -7, "y": 3}, 2, [1, 3]),
    ("x%y", {"x": 7, "y": -3}, -2, [1, 3]),
    ("x%y", {"x": -7, "y": -3}, -1, [1, -2]),
    ("x%y", {"x": 6, "y": 3}, 0, [1, -2]),
    # products with zeros
    ("prod(x)", {"x": [0, 2, 3]}, 0, [[6, 0, 0]]),
    ("prod(x)", {"x": [0, 2, 0]}, 0, [[0, 0, 0]]),
    ("sinc(x)", {"x": 0}, 1, [0]),
    # the same function, however it is split
    ("max(x, e^x - 1, ((x+1)^2-1)/2)", {"x": 0}, 0, [1]),
    ("max(max(x, e^x - 1), ((x+1)^2-1)/2)", {"x": 0}, 0, [1]),
    ("max(x, max(e^x - 1, ((x+1)^2-1)/2))", {"x": 0}, 0, [1]),
    ("max([x, e^x - 1, ((x+1)^2-1)/2])", {"x": 0}, 0, [1]),
]
every_point = pytest.mark.parametrize(
    ("expression", "values", "value", "slopes"), POINTS, ids=[f"{p[0]} at {list(p[1].values())}" for p in POINTS]
)


@every_point
def test_numbers(expression, values, value, slopes):
    got, gradients = cr.parse(expression).value_and_grad(values)
    assert got == pytest.approx(value, rel=1e-15, abs=0, nan_ok=True)
    for name, slope in zip(values, slopes, strict=True):
        np.testing.assert_allclose(gradients[name], slope, rtol=4e-16, atol=0)


@every_point
def test_tensors(expression, values, value, slopes):
    leaves = {name: cr.tensor(v, requires_grad=True, dtype=float) for name, v in values.items()}
    output = cr.parse(expression).run(leaves).output
    output.backward()
    assert output.item() == pytest.approx(value, rel=1e-15, abs=0, nan_ok=True)
    for leaf, slope in zip(leaves.values(), slopes, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), slope, rtol=4e-16, atol=0)


@pytest.mark.parametrize("base", [2, 3, 5, 7, 10, 1000])
def test_logarithm_of_a_power_of_its_base_is_exact(base):
    powers = {n: base**n for n in range(-3, 16) if base**n < 2**53 and (n >= 0 or base == 2)}
    for n, power in powers.items():
        assert cr.parse("log(x, b)").value_and_grad({"x": power, "b": base})[0] == n
    np.testing.assert_array_equal(cr.log(np.array(list(powers.values()), dtype=float), base), list(powers))


def test_log_softmax_of_what_is_almost_sure():
    """Not log(1 - 4e-18), which is 0."""
    value, _ = cr.parse("log_softmax(x)[0]").value_and_grad({"x": [40, 0]})
    assert value == pytest.approx(-math.exp(-40), rel=1e-15)


@pytest.mark.parametrize(
    ("expression", "point", "second"),
    [
        ("sinc(x)", 0.0, -(math.pi**2) / 3),  # of sin(πx)/(πx), the normalised form
        ("prod([x, x, 2])", 0.0, 4.0),
        ("x^2", 0.0, 2.0),
        ("x^3", 0.0, 0.0),
        ("logsumexp([x, 0])", 0.0, 0.25),
        ("logsumexp([x, 0])", 1000.0, 0.0),
        ("softmax([x, 0])[0]", 0.0, 0.0),
        ("var([x, 1, 2])", 5.0, 4 / 9),
    ],
)
def test_second_derivatives(expression, point, second):
    program = cr.parse(expression)
    found = cr.hessian(lambda x: program.run({"x": x}).output, cr.tensor(point))
    assert found.item() == pytest.approx(second, rel=1e-14, abs=1e-16)


@pytest.mark.parametrize(
    ("expression", "values", "parts"),
    [
        ("x^(1/3)", {"x": -8}, ["real only for whole exponents", "cbrt( … )"]),
        (
            "sqrt((x-1)^2)",
            {"x": 1},
            ["no finite derivative where (x-1)^2 = 0", "-1 from the left, is 1 from the right"],
        ),
        ("max(x, w, z)", {"x": 1, "w": 1, "z": 1}, ["is a tie", "0 from the left, is 1 from the right, and 0.333333"]),
        ("max(x)", {"x": [2, 1, 2]}, ["max(x) is a tie", "and 0.5 by convention"]),
        ("norm(x)", {"x": [0, 0]}, ["norm(x) has a kink", "dy/dx[1] is -1 from the left, is 1 from the right"]),
        ("sum(norm(A, axis=1))", {"A": [[0, 0], [3, 4]]}, ["has a kink", "dy/dA[0, 1] is -1"]),
        ("norm(x, 1)", {"x": [0, 1]}, ["has a kink", "dy/dx[0] is -1 from the left"]),
        ("std(x)", {"x": [2, 2]}, ["std(x) has a kink", "0 by convention"]),
        ("eigvalsh(A)[0]", {"A": [[1, 0], [0, 1]]}, ["eigvalsh(A) has a kink", "1 from the left, is 0 from the right"]),
        ("log(sum(exp(x)))", {"x": [1000, 1]}, ["exp(x) is infinite", "logsumexp( … )"]),
        ("sum(exp(x)/sum(exp(x)))", {"x": [1000, 1]}, ["exp(x) is infinite", "softmax( … )"]),
        ("sum(log(softmax(x)))", {"x": [1000, 1]}, ["log_softmax( … )"]),
        ("log(det(A))", {"A": [[1e200, 0], [0, 1e200]]}, ["det(A) is infinite", "logdet( … )"]),
    ],
)
def test_what_is_said(expression, values, parts):
    from chainrule.analysis import analyse

    said = "; ".join(note.text for note in analyse(cr.parse(expression), values).notes)
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("expression", "values"),
    [("exp(x)/w", {"x": 1000, "w": 1}), ("log(x)", {"x": 0}), ("max(x, w, z)", {"x": 1, "w": 1, "z": 2})],
)
def test_nothing_is_said_in_vain(expression, values):
    from chainrule.analysis import analyse

    said = "; ".join(note.text for note in analyse(cr.parse(expression), values).notes)
    assert "( … )" not in said
    assert "tie" not in said


# --- the edges of rows on whole arrays --------------------------------------------------------------------------------

WHOLE = [(op, edge) for op in TABLE.values() if not op.elementwise for edge in op.edges if edge.value]


@pytest.mark.parametrize(("op", "edge"), WHOLE, ids=[op.name for op, _ in WHOLE])
def test_edge_of_a_whole_row(op, edge):
    """The derivative by the first element: as told there, just below and just above."""
    at = np.array(edge.point[0])
    assert edge.hit(at)

    def slope(move: float) -> float:
        moved = at.copy()
        moved.flat[0] += move
        assert bool(edge.hit(moved)) == (move == 0)
        leaf = cr.tensor(moved, requires_grad=True)
        op(leaf).backward()
        return float(leaf.grad.numpy().flat[0])

    assert slope(0) == edge.value[0]
    assert slope(-1e-9) == pytest.approx(edge.left[0], abs=1e-6)
    assert slope(1e-9) == pytest.approx(edge.right[0], abs=1e-6)


# --- max and min of many arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cr.max, cr.min], ids=["max", "min"])
def test_of_many_arguments(function):
    values = np.random.default_rng(2).permutation(21).reshape(3, 7) / 21  # no two alike
    drawn = [cr.tensor(row, requires_grad=True) for row in values] + [cr.tensor(0.49, requires_grad=True)]
    assert cr.gradcheck(function, drawn)
    assert cr.gradgradcheck(function, drawn)


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_many_is_the_nested_one_where_nothing_is_tied(name):
    values = {"A": [[1.0, 5.0], [0.0, -2.0]], "x": [2.0, 4.0], "s": 1.5}
    many, nested = cr.parse(f"{name}(A, x, s)"), cr.parse(f"{name}({name}(A, x), s)")
    cotangent = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_equal(*(p.value_and_grad(values, cotangent=cotangent) for p in (many, nested)))
    assert str(many) == f"{name}(A, x, s)"


def test_nan_among_many():
    value, gradients = cr.parse("max(x, w, z)").value_and_grad({"x": nan, "w": 1, "z": 2})
    assert math.isnan(value)
    assert set(gradients.values()) == {0}
