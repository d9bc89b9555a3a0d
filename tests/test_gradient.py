"""Derivatives as graphs: equal to the numbers' gradients, printed, read back, differentiated again, linear in size."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from test_properties import tame_expressions, values
from truth import by_sympy, close

import chainrule as cr
from chainrule.errors import ChainruleError
from chainrule.evaluate import forward
from chainrule.gradient import Derivation, gradient
from chainrule.higher import hessian, jacobian, pure
from chainrule.ops import TABLE

steady = settings(deadline=None, derandomize=True, max_examples=150, database=None)

ARRAYS = [
    "sum((x @ w - t)^2) | x: 5x3, w: 3, t: 5",
    "mean((sigmoid(x @ w + b) - t)^2) | x: 5x3, w: 3, t: 5, b: ()",
    "mean((tanh(x @ u + b) @ w - t)^2) | x: 5x3, u: 3x4, b: 4, w: 4, t: 5",
    "-mean(t*log(p) + (1 - t)*log(1 - p)) | p: 4, t: 4",
    "sum(x + b) | x: 4x3, b: 3",
    "sum((x - mean(x, axis=0))^2 / mean(x, axis=1, keepdims=True)) | x: 4x3",
    "sum(max(x, axis=1)) + min(x) | x: 2x3",
    "norm(x) + norm(x, 1) + norm(x, inf) | x: 3",
    "det(A) + sum(inv(A)*B) | A: 3x3, B: 3x3",
    "dot(x, y) + sum(x*y[0]) | x: 3, y: 3",
    "sum(x[1:]^2) + x[0]*x[2] + sum(A[0]) + A[1, 2] | x: 3, A: 2x3",
    "sum([x, 2x, w]*v) | v: 3",
    "sum(A.T @ v + 1/b) | A: 2x3, v: 2, b: 3x1",
    "sum(u*v) | u: 3x1, v: 1x4",
    "sum(where(x > 0.5, x*w, w/x)) | x: 2x3, w: 3",
    "sum(relu(x)*clip(w, 0.2, 0.8)) | x: 2x3",
    "sum(detach(x)*x + const(x)) | x: 3",
]


def drawn(program: cr.Program, seed: int = 0) -> dict[str, Any]:
    """A point for the inputs of a program, in the shapes that stand after its bar."""
    random = np.random.default_rng(seed)
    return {name: random.uniform(0.1, 0.9, program.shapes.get(name, ())) for name in program.inputs}


def evaluated(graph: cr.Graph, point: dict[str, Any], prefix: str = "d") -> dict[str, Any]:
    """The values of the statements that are derivatives."""
    tape = forward(graph, point)
    return {name: tape[i] for name, i in graph.names.items() if name.startswith(prefix) and "_d" in name}


# --- scalars ----------------------------------------------------------------------------------------------------------


@steady
@given(tame_expressions, values)
def test_equals_the_gradients_on_numbers(text, point):
    program = cr.parse(text)
    expected = program.value_and_grad(point)[1]
    graph = gradient(program)
    assume(all(map(math.isfinite, forward(graph, point))))  # 0·inf is 0 in the engine's product, not in a plain one
    found = evaluated(graph, point)
    scale = max(1.0, *map(abs, expected.values())) if expected else 1.0
    assert list(found) == [f"dy_d{name}" for name in program.inputs]
    for name, g in expected.items():
        assert found[f"dy_d{name}"] == pytest.approx(g, rel=1e-11, abs=1e-13 * scale)


@steady
@given(tame_expressions, values)
def test_reads_back(text, point):
    graph = gradient(cr.parse(text))
    read = cr.parse(str(graph))
    assert str(cr.parse(str(read))) == str(read)
    a, b = (evaluated(g, point) for g in (graph, read))
    assert all(a[name] == b[name] or a[name] != a[name] for name in a)
    assert a.keys() == b.keys()


@settings(steady, max_examples=40)
@given(tame_expressions, values)
def test_second_derivatives_are_sympys(text, point):
    program = cr.parse(text)
    assume(program.inputs)
    first = gradient(program, [program.inputs[0]])
    name = f"dy_d{program.inputs[0]}"
    second = gradient(first, [program.inputs[0]])
    expected = by_sympy(first, point, [program.inputs[0]])[program.inputs[0]]
    assume(expected is not None and abs(expected) < 1e6)
    found = evaluated(second, point, f"d{name}")
    assert found[f"d{name}_d{program.inputs[0]}"] == pytest.approx(float(expected), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x^3", "y = x^3; dy_dx = 3*x^2"),
        ("(x + w)*(w + 1)", "y = (x + w)*(w + 1); dy_dx = w + 1; dy_dw = x + w + (w + 1)"),
        ("a = x + w; b = w + 1; y = a*b", "a = x + w; b = w + 1; y = a*b; dy_dx = b; dy_dw = a + b"),
        ("f(x, w) = x/w", "f = x/w; df_dx = 1/w; df_dw = -(f/w)"),
        ("relu(x - 1)*w", "y = relu(x - 1)*w; dy_dx = w if x - 1 > 0 else 0; dy_dw = relu(x - 1)"),
        ("exp(x)", "y = exp(x); dy_dx = y"),
        ("3", "y = 3"),
        ("x*0 + floor(w)", "y = x*0 + floor(w); dy_dx = 0; dy_dw = 0"),
        ("dy_dx*x", "y = dy_dx*x; dy_ddy_dx = x; dy_dx_1 = dy_dx"),
        ("digamma(x) + erf(x)", "y = digamma(x) + erf(x); dy_dx = 1.1283791670955126*exp(-x^2) + polygamma(x)"),
    ],
)
def test_trivial_operations_are_not_built(text, expected):
    graph = gradient(cr.parse(text))
    assert str(graph) == expected


def test_a_cotangent_of_zero_contributes_zero():
    graph = gradient(cr.parse("where(x > 0, sqrt(x), 0) + relu(x)*log(w)"))
    assert evaluated(graph, {"x": -1.0, "w": -1.0})["dy_dx"] == 0


@steady
@given(tame_expressions, values)
def test_higher_orders_are_those_of_tensors(text, point):
    program = cr.parse(text)
    names = program.inputs[:2]
    assume(names)
    # A plain product makes nan where a zero cotangent meets a pole.
    assume(all(np.all(np.isfinite(v)) for v in forward(program, point)))
    for kind, expected in (
        ("hessian", hessian(program, point, names)),
        ("pure", pure(program, point, names, 3)),
        ("jacobian", jacobian(program, point, names)),
    ):
        derivation = Derivation(program)
        derived = derivation.pure(names, 3) if kind == "pure" else getattr(derivation, kind)(names)
        assert [d.by for d, _ in derived.found] == [d.by for d in expected]
        tape = forward(derived.program(), point)
        for (_, place), derivative in zip(derived.found, expected, strict=True):
            if math.isfinite(derivative.value) and abs(derivative.value) < 1e8:
                assert tape[place] == pytest.approx(derivative.value, rel=1e-7, abs=1e-7)


# --- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ARRAYS)
def test_arrays(text):
    program = cr.parse(text)
    point = drawn(program)
    value, expected = program.value_and_grad(point)
    graph = gradient(program)
    assert forward(graph, point)[graph.names[program.output_name]] == value
    for name, found in evaluated(graph, point).items():
        assert close(found, expected[name.rpartition("_d")[2]]), name


@pytest.mark.parametrize("text", ARRAYS)
def test_arrays_read_back(text):
    graph = gradient(cr.parse(text))
    if "key=[1:]" in str(graph):
        pytest.skip("the language has no slices as parameters")
    read = cr.parse(str(graph))
    point = drawn(read)
    for name, found in evaluated(read, point).items():
        assert close(found, evaluated(graph, point)[name])


@pytest.mark.parametrize("text", ["sum((x*w)^3) | x: 3, w: 3", "mean(tanh(x*w))*sum(x) | x: 4"])
def test_hessians_of_arrays(text):
    program = cr.parse(text)
    point = drawn(program)
    derived = Derivation(program).hessian()
    tape = forward(derived.program(), point)
    for (_, place), derivative in zip(derived.found, hessian(program, point, program.inputs), strict=True):
        assert tape[place] == pytest.approx(derivative.value, rel=1e-12, abs=1e-14)


def test_jacobian_of_arrays():
    program = cr.parse("A @ x + w*x | A: 3x3, x: 3")
    point = drawn(program)
    derived = Derivation(program).jacobian()
    tape = forward(derived.program(), point)
    for (found, place), derivative in zip(derived.found, jacobian(program, point, program.inputs), strict=True):
        assert (found.by, found.of) == (derivative.by, derivative.of)
        assert tape[place] == pytest.approx(derivative.value, rel=1e-12, abs=1e-14)


def test_sizes_stay_open():
    """The gradient's graph is for the number of axes that was said, not for the lengths."""
    graph = gradient(cr.parse("mean((x @ w + b - t)^2) | x: 5x3, w: 3, t: 5"))
    point = {"x": np.ones((7, 2)), "w": np.ones(2), "t": np.arange(7.0), "b": 0.5}
    expected = cr.parse("mean((x @ w + b - t)^2)").value_and_grad(point)[1]
    for name, found in evaluated(graph, point).items():
        assert close(found, expected[name.rpartition("_d")[2]])


# --- errors and size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x @ w | x: 2x3, w: 2", "@ does not fit the shapes 2×3 and (2,)"),
        ("x*2 | x: 3", "the gradient needs a scalar output; y has shape (3,)"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ChainruleError) as caught:
        gradient(cr.parse(text))
    assert caught.value.message == message
    assert caught.value.spans


def test_a_jacobian_too_large():
    with pytest.raises(ChainruleError, match="1,000,000 derivatives"):
        Derivation(cr.parse("x*2 | x: 1000")).jacobian()


def test_linear_in_the_terms():
    def seconds(terms: int) -> float:
        program = cr.parse(" + ".join(f"x*sin({i}*w)" for i in range(terms)))
        start = time.perf_counter()
        graph = gradient(program)
        took = time.perf_counter() - start
        assert len(graph.nodes) < 16 * terms
        return took

    assert seconds(8000) < 10 * max(seconds(2000) for _ in range(2))


def test_deep_and_shared():
    text = "a0 = x + w\n" + "".join(f"a{i} = a{i - 1}*a{i - 1}\n" for i in range(1, 400)) + "a399*w"
    graph = gradient(cr.parse(text))
    assert len(graph.nodes) < 3000
    assert len(str(graph)) < 100_000
    nested = gradient(cr.parse("sin(" * 5000 + "x" + ")" * 5000))
    assert cr.parse(str(nested)).value_and_grad({"x": 1}, [])[0] == pytest.approx(
        cr.parse("sin(" * 5000 + "x" + ")" * 5000).value_and_grad({"x": 1})[1]["x"]
    )


def test_every_elementwise_row():
    for op in TABLE.values():
        if not (op.public and op.elementwise and op.differentiable) or op.statics:
            continue
        call = (
            f" {op.infix} ".join(op.inputs)
            if op.infix and op.arity == 2
            else f"{op.infix or op.name}({', '.join(op.inputs)})"
        )
        program = cr.parse(call)
        low = [max(i.low, -2.0) for i in op.domain]
        point = {n: lo + 0.37 * (min(i.high, lo + 2) - lo) for n, i, lo in zip(op.inputs, op.domain, low, strict=True)}
        expected = program.value_and_grad(point)[1]
        read = cr.parse(str(gradient(program)))
        for name, found in evaluated(read, point).items():
            assert found == pytest.approx(expected[name.rpartition("_d")[2]], rel=1e-12), op.name
